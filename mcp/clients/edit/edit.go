package edit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Member is one named value of an Object. Its value is a string, a bool, a
// []string or an Object.
type Member struct {
	Name  string
	Value any
}

// An Object is a JSON object or a TOML table, in the order in which it is to
// be written.
type Object []Member

// ErrUnfaithful: the text that an edit made does not mean what it should. The
// document is unchanged.
var ErrUnfaithful = errors.New("the file has a form that cannot be edited safely")

// byteOrderMark is what some Windows programs begin a file with.
const byteOrderMark = "\uFEFF"

// file is what both formats share: the text, and the mark that precedes it.
type file struct {
	mark string
	src  []byte
}

// Bytes returns the document as it is to be written.
func (f *file) Bytes() []byte { return append([]byte(f.mark), f.src...) }

// open takes the byte order mark off, and refuses text that is no UTF-8.
func open(src []byte) (file, error) {
	text, marked := bytes.CutPrefix(src, []byte(byteOrderMark))
	f := file{src: bytes.Clone(text)}
	if marked {
		f.mark = byteOrderMark
	}
	if i := invalidUTF8(text); i >= 0 {
		return file{}, fmt.Errorf("line %d is not UTF-8", 1+bytes.Count(text[:i], []byte("\n")))
	}
	return f, nil
}

func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// newline is the line end that the text uses.
func (f *file) newline() string {
	if i := bytes.IndexByte(f.src, '\n'); i > 0 && f.src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// splice is one replacement of src[from:to].
type splice struct {
	from, to int
	text     string
}

// apply makes all splices, which do not overlap, in one new text.
func apply(src []byte, splices ...splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.from - b.from })
	var out bytes.Buffer
	done := 0
	for _, s := range splices {
		out.Write(src[done:s.from])
		out.WriteString(s.text)
		done = s.to
	}
	out.Write(src[done:])
	return out.Bytes()
}

// lineStart is the offset of the first byte of the line that holds at.
func lineStart(src []byte, at int) int { return bytes.LastIndexByte(src[:at], '\n') + 1 }

// lineEnd is the offset after the line end that follows at, or the text's end.
func lineEnd(src []byte, at int) int {
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(src)
}

// indentAt is the white space that begins the line that holds at.
func indentAt(src []byte, at int) string {
	from := lineStart(src, at)
	return string(src[from : from+blanks(src[from:at])])
}

// blanks counts the spaces and tabs that text begins with.
func blanks(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t")) }

// startsLine reports whether only white space precedes at on its line.
func startsLine(src []byte, at int) bool {
	from := lineStart(src, at)
	return from > 0 && from+blanks(src[from:at]) == at
}

const whiteSpace = " \t\r\n"

// span is a part of the text, src[start:end].
type span struct{ start, end int }

// list is a bracketed list of members with commas between them: a JSON object
// or a TOML inline table.
type list struct {
	span                                   // from the opening bracket to after the closing one
	members []span                         // each from its name to the end of its value
	skip    func(src []byte, from int) int // skips white space and the format's comments
}

// comma is the offset of the comma that follows a member, or -1.
func (l list) comma(src []byte, member int) int {
	if at := l.skip(src, l.members[member].end); at < len(src) && src[at] == ',' {
		return at
	}
	return -1
}

// remove takes a member out of the list, with its comma, and with its lines if
// it has lines of its own.
func (l list) remove(src []byte, i int) []byte {
	m := l.members[i]
	var cuts []splice
	end, hasComma := m.end, false
	if at := l.comma(src, i); at >= 0 {
		end, hasComma = at+1, true
	} else if i > 0 {
		at := l.comma(src, i-1)
		cuts = append(cuts, splice{from: at, to: at + 1})
	}
	rest := end + blanks(src[end:])
	if rest < len(src) && src[rest] == '\r' {
		rest++
	}
	ownLines := startsLine(src, m.start) && rest < len(src) && src[rest] == '\n'
	switch {
	case ownLines:
		cuts = append(cuts, splice{from: lineStart(src, m.start), to: rest + 1})
	case hasComma:
		cuts = append(cuts, splice{from: m.start, to: end + blanks(src[end:])})
	default:
		cuts = append(cuts, splice{from: m.start - l.blanksBefore(src, i), to: end})
	}
	return apply(src, cuts...)
}

// blanksBefore counts the white space before a member, or nothing if that ends
// a comment.
func (l list) blanksBefore(src []byte, i int) int {
	from := l.start + 1
	if i > 0 {
		from = l.comma(src, i-1) + 1
	}
	before := src[from:l.members[i].start]
	if len(bytes.TrimLeft(before, whiteSpace)) > 0 {
		return 0
	}
	return len(before)
}

// layout is how a list's members are set.
type layout struct {
	inline  bool   // one after the other on a line
	indent  string // otherwise: what each member's line begins with
	unit    string // one step of indentation
	newline string
}

// add writes a member at the end of the list. text renders it in a layout.
func (l list) add(src []byte, lay layout, text func(layout) string) []byte {
	closing := l.end - 1
	if len(l.members) == 0 {
		return l.addFirst(src, lay, text)
	}
	last := len(l.members) - 1
	after := l.members[last].end
	comma := l.comma(src, last)
	if !startsLine(src, l.members[last].start) {
		lay.inline = true
		if comma >= 0 {
			return apply(src, splice{comma + 1, comma + 1, " " + text(lay) + ","})
		}
		return apply(src, splice{after, after, lay.separator() + text(lay)})
	}
	lay.inline = false
	lay.indent = indentAt(src, l.members[last].start)
	added := lay.newline + lay.indent + text(lay)
	var splices []splice
	if comma >= 0 {
		after = comma + 1
		added += ","
	} else {
		splices = append(splices, splice{after, after, ","})
	}
	// Behind the comments that may follow the last member.
	end := after + len(bytes.TrimRight(src[after:closing], whiteSpace))
	return apply(src, append(splices, splice{end, end, added})...)
}

func (l list) addFirst(src []byte, lay layout, text func(layout) string) []byte {
	closing := l.end - 1
	inside := bytes.TrimRight(src[l.start+1:closing], whiteSpace)
	from := l.start + 1 + len(inside)
	if lay.inline && !bytes.Contains(inside, []byte("\n")) {
		return apply(src, splice{from, closing, text(lay)})
	}
	lay.inline = false
	outer := indentAt(src, l.start)
	lay.indent = outer + lay.unit
	return apply(src, splice{from, closing, lay.newline + lay.indent + text(lay) + lay.newline + outer})
}

// separator stands between members on one line. A text without any space
// after a comma or colon gets none.
func (lay layout) separator() string {
	if lay.unit == "" {
		return ","
	}
	return ", "
}

// lookup finds a value in a decoded document.
func lookup(v any, path []string) (any, bool) {
	for _, name := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = table[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// withValue is a decoded document with a value put in, and the tables on the
// way made. It shares with the original what is the same.
func withValue(table map[string]any, path []string, value any) map[string]any {
	changed := maps.Clone(table)
	if changed == nil {
		changed = map[string]any{}
	}
	if len(path) == 1 {
		changed[path[0]] = decoded(value)
		return changed
	}
	next, _ := table[path[0]].(map[string]any)
	changed[path[0]] = withValue(next, path[1:], value)
	return changed
}

// without is a decoded document with a value taken out.
func without(table map[string]any, path []string) map[string]any {
	changed := maps.Clone(table)
	if len(path) == 1 {
		delete(changed, path[0])
	} else if next, ok := table[path[0]].(map[string]any); ok {
		changed[path[0]] = without(next, path[1:])
	}
	return changed
}

// decoded is what a parser makes of a value that was written.
func decoded(value any) any {
	switch v := value.(type) {
	case []string:
		items := make([]any, len(v))
		for i, s := range v {
			items[i] = s
		}
		return items
	case Object:
		table := make(map[string]any, len(v))
		for _, m := range v {
			table[m.Name] = decoded(m.Value)
		}
		return table
	}
	return value
}

// same compares decoded documents. Not-a-number is the same as itself here.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	}
	return a == b
}

// dotted shows a path in messages.
func dotted(path []string) string { return strings.Join(path, ".") }

// notTable is the error for a path that leads through something else.
func notTable(path []string, what string) error {
	if len(path) == 0 {
		return fmt.Errorf("the file holds %s where an object was expected", what)
	}
	return fmt.Errorf("%q is %s where an object was expected", dotted(path), what)
}
