package jsonstr

// JSON is valid JSON text that encodes as itself. It is what json.RawMessage
// is, as a string, so that one copy of it can also be the text of a message.
type JSON string

// MarshalJSON implements json.Marshaler.
func (j JSON) MarshalJSON() ([]byte, error) { return []byte(j), nil }
