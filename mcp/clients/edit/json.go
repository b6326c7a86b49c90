package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// JSON is a JSON document, with or without comments and trailing commas.
type JSON struct {
	file
	root    hujson.Value
	decoded map[string]any
}

// ParseJSON reads a document whose root is an object. A text without any
// value, only comments or nothing at all, becomes an empty object, since
// programs that write such files take it for one.
func ParseJSON(src []byte) (*JSON, error) {
	f, err := open(src)
	if err != nil {
		return nil, err
	}
	d := &JSON{file: f}
	err = d.parse(d.src)
	if err != nil {
		if completed, ok := completeJSON(f); ok {
			err = d.parse(completed)
		}
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// completeJSON adds an empty object to a text that holds no value.
func completeJSON(f file) ([]byte, bool) {
	if skipJSON(f.src, 0) != len(f.src) {
		return nil, false
	}
	text := bytes.TrimRight(f.src, whiteSpace)
	if len(text) > 0 {
		text = append(bytes.Clone(text), f.newline()...)
	}
	return append(append(text, "{}"...), f.newline()...), true
}

// parse takes src over if it is valid and holds an object.
func (d *JSON) parse(src []byte) error {
	root, err := hujson.Parse(bytes.Clone(src)) // it keeps what it parses
	if err != nil {
		return fmt.Errorf("not valid JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if root.Value.Kind() != '{' {
		return notTable(nil, jsonKind(root))
	}
	standard := root.Clone()
	standard.Standardize()
	decoder := json.NewDecoder(bytes.NewReader(standard.Pack()))
	decoder.UseNumber()
	var decoded map[string]any
	if err := decoder.Decode(&decoded); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	d.src, d.root, d.decoded = src, root, decoded
	return nil
}

// skipJSON skips white space and comments. A comment that never ends is not
// skipped.
func skipJSON(src []byte, at int) int {
	for {
		at += len(src[at:]) - len(bytes.TrimLeft(src[at:], whiteSpace))
		switch {
		case bytes.HasPrefix(src[at:], []byte("//")):
			at = lineEnd(src, at)
		case bytes.HasPrefix(src[at:], []byte("/*")):
			end := bytes.Index(src[at+2:], []byte("*/"))
			if end < 0 {
				return at
			}
			at += 2 + end + 2
		default:
			return at
		}
	}
}

// Get returns a value as encoding/json decodes it, numbers as json.Number. Of
// members with the same name the last one counts.
func (d *JSON) Get(path ...string) (any, bool) { return lookup(d.decoded, path) }

// Set writes a value, and makes the objects that lead to it. A null on the way
// counts as nothing. A value that is there already is not written again.
func (d *JSON) Set(value any, path ...string) error {
	if v, ok := d.Get(path...); ok && same(v, decoded(value)) {
		return nil
	}
	src, err := d.withSet(value, path)
	if err != nil {
		return err
	}
	return d.take(src, withValue(d.decoded, path, value))
}

func (d *JSON) withSet(value any, path []string) ([]byte, error) {
	at := d.root
	for i, name := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok && at.Value.Kind() == 'n' {
			return d.replace(at, nest(path[i:], value)), nil
		}
		if !ok {
			return nil, notTable(path[:i], jsonKind(at))
		}
		member := lastNamed(object, name)
		if member < 0 {
			return d.add(at, name, nest(path[i+1:], value)), nil
		}
		at = object.Members[member].Value
	}
	return d.replace(at, value), nil
}

// nest wraps a value in an object for each name.
func nest(path []string, value any) any {
	for i := len(path) - 1; i >= 0; i-- {
		value = Object{{path[i], value}}
	}
	return value
}

func lastNamed(object *hujson.Object, name string) int {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if literal, ok := object.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == name {
			return i
		}
	}
	return -1
}

func (d *JSON) replace(at hujson.Value, value any) []byte {
	lay := d.layout()
	lay.indent = indentAt(d.src, at.StartOffset)
	return apply(d.src, splice{at.StartOffset, at.EndOffset, renderJSON(value, lay)})
}

func (d *JSON) add(at hujson.Value, name string, value any) []byte {
	return jsonList(at).add(d.src, d.layout(), func(lay layout) string {
		return renderMember(Member{name, value}, lay)
	})
}

// Delete removes a value, and leaves the objects that held it. What does not
// exist needs no removal.
func (d *JSON) Delete(path ...string) error {
	if _, exists := d.Get(path...); !exists {
		return nil
	}
	src := d.src
	scratch := &JSON{}
	for {
		if err := scratch.parse(src); err != nil {
			return err
		}
		next, found := scratch.withoutOne(path)
		if !found {
			break
		}
		src = next
	}
	return d.take(src, without(d.decoded, path))
}

// withoutOne removes one member of that path, if there is one.
func (d *JSON) withoutOne(path []string) (rest []byte, found bool) {
	at := d.root
	for i, name := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, false
		}
		member := lastNamed(object, name)
		if member < 0 {
			return nil, false
		}
		if i < len(path)-1 {
			at = object.Members[member].Value
			continue
		}
		l := jsonList(at)
		if len(l.members) == 1 && onlyBlank(d.src, l, 0) {
			return apply(d.src, splice{l.start + 1, l.end - 1, ""}), true
		}
		return l.remove(d.src, member), true
	}
	return nil, false
}

// onlyBlank reports whether nothing but a member is in the list, no comment
// and no comma.
func onlyBlank(src []byte, l list, member int) bool {
	m := l.members[member]
	before, after := src[l.start+1:m.start], src[m.end:l.end-1]
	return len(bytes.Trim(before, whiteSpace)) == 0 && len(bytes.Trim(after, whiteSpace+",")) == 0
}

// take makes src the document if it means what it should.
func (d *JSON) take(src []byte, want map[string]any) error {
	next := &JSON{file: file{mark: d.mark}}
	if err := next.parse(src); err != nil {
		return fmt.Errorf("%w (%w)", ErrUnfaithful, err)
	}
	if !same(next.decoded, want) {
		return ErrUnfaithful
	}
	*d = *next
	return nil
}

func jsonList(v hujson.Value) list {
	l := list{span: span{v.StartOffset, v.EndOffset}, skip: skipJSON}
	if object, ok := v.Value.(*hujson.Object); ok {
		for _, m := range object.Members {
			l.members = append(l.members, span{m.Name.StartOffset, m.Value.EndOffset})
		}
	}
	return l
}

// layout takes the indentation from the root's first member. A document that
// is written on one line stays on one, and one without any space stays so.
func (d *JSON) layout() layout {
	lay := layout{unit: "  ", newline: d.newline()}
	members := d.root.Value.(*hujson.Object).Members
	if len(members) == 0 {
		return lay
	}
	first := members[0].Name.StartOffset
	text := bytes.TrimSpace(d.src)
	switch {
	case lineStart(d.src, first) > d.root.StartOffset:
		outer := indentAt(d.src, d.root.StartOffset)
		if indent := strings.TrimPrefix(indentAt(d.src, first), outer); indent != "" {
			lay.unit = indent
		}
	case !bytes.Contains(text, []byte("\n")):
		lay.inline = true
		if !bytes.Contains(text, []byte(`": `)) {
			lay.unit = ""
		}
	}
	return lay
}

func renderMember(m Member, lay layout) string {
	colon := ": "
	if lay.inline && lay.unit == "" {
		colon = ":"
	}
	return string(hujson.String(m.Name)) + colon + renderJSON(m.Value, lay)
}

// renderJSON writes a value. Objects have a line for each member, lists are
// written on one.
func renderJSON(value any, lay layout) string {
	switch v := value.(type) {
	case string:
		return string(hujson.String(v))
	case bool:
		return string(hujson.Bool(v))
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = string(hujson.String(s))
		}
		return "[" + strings.Join(items, lay.separator()) + "]"
	case Object:
		return renderObject(v, lay)
	}
	panic(fmt.Sprintf("edit: cannot write a %T", value))
}

func renderObject(object Object, lay layout) string {
	if len(object) == 0 {
		return "{}"
	}
	inner := lay
	inner.indent += lay.unit
	members := make([]string, len(object))
	for i, m := range object {
		members[i] = renderMember(m, inner)
	}
	if lay.inline {
		return "{" + strings.Join(members, lay.separator()) + "}"
	}
	line := lay.newline + inner.indent
	return "{" + line + strings.Join(members, ","+line) + lay.newline + lay.indent + "}"
}

// jsonKind names a value for a message.
func jsonKind(v hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}
