package mcp

import (
	"strconv"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/jsonstr"
)

// An object writes the members of a JSON object in one pass, without
// reflection. It writes just what encoding/json would of the answer's type,
// whose tags remain the description of the answer; a test compares the two.
type object struct{ json []byte }

func (o *object) begin() { o.json = append(o.json, '{') }
func (o *object) end()   { o.json = append(o.json, '}') }

// name begins a member. Names are plain identifiers.
func (o *object) name(name string) {
	if o.json[len(o.json)-1] != '{' {
		o.json = append(o.json, ',')
	}
	o.json = append(o.json, '"')
	o.json = append(o.json, name...)
	o.json = append(o.json, '"', ':')
}

func (o *object) null(name string) {
	o.name(name)
	o.json = append(o.json, "null"...)
}

func (o *object) text(name, value string) {
	o.name(name)
	o.json = jsonstr.Append(o.json, value)
}

// someText writes a text, unless it is empty.
func (o *object) someText(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) textOrNull(name string, value *string) {
	if value == nil {
		o.null(name)
		return
	}
	o.text(name, *value)
}

func (o *object) integer(name string, value int64) {
	o.name(name)
	o.json = strconv.AppendInt(o.json, value, 10)
}

func (o *object) integerOrNull(name string, value *int64) {
	if value == nil {
		o.null(name)
		return
	}
	o.integer(name, *value)
}

func (o *object) unsigned(name string, value uint64) {
	o.name(name)
	o.json = strconv.AppendUint(o.json, value, 10)
}

func (o *object) flag(name string, value bool) {
	o.name(name)
	o.json = strconv.AppendBool(o.json, value)
}

func (o *object) millis(name string, value millis) {
	o.name(name)
	o.json = value.append(o.json)
}

func (o *object) timestampOrNull(name string, value *timestamp) {
	if value == nil {
		o.null(name)
		return
	}
	o.name(name)
	o.json = value.append(o.json)
}

// texts writes a list of texts, unless it is empty.
func (o *object) texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.name(name)
	o.json = append(o.json, '[')
	for i, value := range values {
		if i > 0 {
			o.json = append(o.json, ',')
		}
		o.json = jsonstr.Append(o.json, value)
	}
	o.json = append(o.json, ']')
}

// members writes a list of processes, unless it is empty.
func (o *object) members(name string, values []member) {
	if len(values) == 0 {
		return
	}
	o.name(name)
	o.json = append(o.json, '[')
	for i, value := range values {
		if i > 0 {
			o.json = append(o.json, ',')
		}
		o.begin()
		o.integer("process_id", int64(value.ProcessID))
		o.text("name", value.Name)
		o.end()
	}
	o.json = append(o.json, ']')
}

// append writes the duration in milliseconds with at most one decimal.
func (m millis) append(b []byte) []byte {
	tenths := time.Duration(m).Round(time.Millisecond/10) / (time.Millisecond / 10)
	return appendDecimal(b, int64(tenths), 1)
}

// append writes the time in Unix seconds, to the microsecond.
func (t timestamp) append(b []byte) []byte { return appendDecimal(b, time.Time(t).UnixMicro(), 6) }

// appendDecimal writes n divided by ten to the power of places, exactly and
// without zeros at the end of the fraction.
func appendDecimal(b []byte, n int64, places int) []byte {
	for places > 0 && n%10 == 0 {
		n /= 10
		places--
	}
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	start := len(b)
	b = strconv.AppendInt(b, n, 10)
	if places == 0 {
		return b
	}
	for len(b)-start <= places { // the zero before the point, and after it
		b = append(b, 0)
		copy(b[start+1:], b[start:])
		b[start] = '0'
	}
	b = append(b, 0)
	point := len(b) - 1 - places
	copy(b[point+1:], b[point:])
	b[point] = '.'
	return b
}
