package mcp

import (
	"bytes"
	"encoding/json"
	"time"
)

// inputSchema is a tool's input schema. It uses nothing but the keywords that
// every client and every model's provider takes: no alternatives, no null, no
// default, no format.
func inputSchema(params []param) json.RawMessage {
	s := schema{Type: "object", Properties: &properties{}}
	for _, p := range params {
		s.Properties.names = append(s.Properties.names, p.name)
		s.Properties.schemas = append(s.Properties.schemas, p.schema())
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	return mustEncode(s)
}

// schema is the part of JSON Schema that is used, in the order in which it is
// written.
type schema struct {
	Type                 string      `json:"type"`
	Description          string      `json:"description,omitempty"`
	Enum                 []string    `json:"enum,omitempty"`
	Items                *schema     `json:"items,omitempty"`
	MinItems             int         `json:"minItems,omitempty"`
	Minimum              *int64      `json:"minimum,omitempty"`
	Properties           *properties `json:"properties,omitempty"`
	AdditionalProperties *schema     `json:"additionalProperties,omitempty"`
	Required             []string    `json:"required,omitempty"`
}

func (p param) schema() schema {
	s := schema{Description: p.about, Minimum: p.minimum}
	switch p.into.(type) {
	case *int64, **int64, *time.Duration, **time.Duration:
		s.Type = "integer"
	case *bool:
		s.Type = "boolean"
	case *[]string:
		s.Type, s.MinItems = "array", 1
		s.Items = &schema{Type: "string", Enum: p.enum}
	case *map[string]string:
		s.Type = "object"
		s.AdditionalProperties = &schema{Type: "string"}
	default:
		s.Type, s.Enum = "string", p.enum
	}
	return s
}

// properties is a JSON object that keeps its order: models read it from the
// top.
type properties struct {
	names   []string
	schemas []schema
}

// MarshalJSON implements json.Marshaler.
func (p *properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range p.names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(mustEncode(name))
		b.WriteByte(':')
		b.Write(mustEncode(p.schemas[i]))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
