package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// TOML is a TOML document.
type TOML struct {
	file
	root  map[string]any
	parts []tomlPart
}

// tomlPart is a header or a key with its value, with where it stands.
type tomlPart struct {
	span          // a key to the end of its value; the key of a header
	header   bool // [path] or [[path]]
	path     []string
	section  int        // how many names of path the header above supplies
	value    int        // offset of the value
	inline   bool       // the value is an inline table
	children []tomlPart // its members
}

// ParseTOML reads a document.
func ParseTOML(src []byte) (*TOML, error) {
	f, err := open(src)
	if err != nil {
		return nil, err
	}
	d := &TOML{file: file{mark: f.mark}}
	if err := d.parse(f.src); err != nil {
		return nil, err
	}
	return d, nil
}

// parse takes src over if it is valid.
func (d *TOML) parse(src []byte) error {
	root := map[string]any{}
	if err := toml.Unmarshal(src, &root); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return fmt.Errorf("not valid TOML: line %d, column %d: %s", line, column, strings.TrimPrefix(at.Error(), "toml: "))
		}
		return fmt.Errorf("not valid TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	parts, err := tomlParts(src)
	if err != nil {
		return fmt.Errorf("not valid TOML: %w", err)
	}
	d.src, d.root, d.parts = src, root, parts
	return nil
}

// tomlParts lists the document's parts in order.
func tomlParts(src []byte) ([]tomlPart, error) {
	var p unstable.Parser
	p.Reset(src)
	var parts []tomlPart
	var section []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			part := tomlHeader(e)
			section = part.path
			parts = append(parts, part)
		case unstable.KeyValue:
			parts = append(parts, tomlKeyValue(src, e, section))
		}
	}
	return parts, p.Error()
}

func tomlHeader(e *unstable.Node) tomlPart {
	names, keys := tomlKey(e.Key())
	return tomlPart{span: keys, header: true, path: names}
}

func tomlKeyValue(src []byte, e *unstable.Node, section []string) tomlPart {
	names, keys := tomlKey(e.Key())
	part := tomlPart{
		span:    span{int(e.Raw.Offset), int(e.Raw.Offset + e.Raw.Length)},
		path:    slices.Concat(section, names),
		section: len(section),
	}
	equals := keys.end + bytes.IndexByte(src[keys.end:], '=')
	part.value = equals + 1 + blanks(src[equals+1:])
	value := e.Value()
	if value.Kind != unstable.InlineTable {
		return part
	}
	part.inline = true
	members := value.Children()
	for members.Next() {
		if member := members.Node(); member.Kind == unstable.KeyValue {
			part.children = append(part.children, tomlKeyValue(src, member, part.path))
		}
	}
	return part
}

// tomlKey returns the names of a dotted key and where it stands.
func tomlKey(keys unstable.Iterator) (names []string, at span) {
	for keys.Next() {
		key := keys.Node()
		if names == nil {
			at.start = int(key.Raw.Offset)
		}
		at.end = int(key.Raw.Offset + key.Raw.Length)
		names = append(names, string(key.Data))
	}
	return names, at
}

// skipTOML skips white space and comments.
func skipTOML(src []byte, at int) int {
	for {
		at += len(src[at:]) - len(bytes.TrimLeft(src[at:], whiteSpace))
		if at == len(src) || src[at] != '#' {
			return at
		}
		at = lineEnd(src, at)
	}
}

// Get returns a value as go-toml decodes it.
func (d *TOML) Get(path ...string) (any, bool) { return lookup(d.root, path) }

// Set writes a value, and makes the tables that lead to it. A new table comes
// at the end of the file, under a header of its own, unless an inline table
// holds its place. A value that is there already is not written again.
func (d *TOML) Set(value any, path ...string) error {
	if v, ok := d.Get(path...); ok && same(v, decoded(value)) {
		return nil
	}
	if err := d.open(path); err != nil {
		return err
	}
	from := *d
	if _, isObject := value.(Object); isObject && !d.isKey(path) {
		if err := from.Delete(path...); err != nil { // it may have several parts
			return err
		}
	}
	return d.take(from.withSet(value, path), withValue(d.root, path, value), nil)
}

// isKey reports whether a path is a key with a value, and not a table with a
// header or dotted keys.
func (d *TOML) isKey(path []string) bool {
	return find(d.parts, func(p tomlPart) bool { return !p.header && slices.Equal(p.path, path) }) != nil
}

// open reports what bars the way to a path.
func (d *TOML) open(path []string) error {
	for i := 1; i < len(path); i++ {
		v, ok := lookup(d.root, path[:i])
		if !ok {
			return nil
		}
		switch v.(type) {
		case map[string]any:
		case []any:
			return notTable(path[:i], "a list")
		default:
			return notTable(path[:i], "a single value")
		}
	}
	return nil
}

func (d *TOML) withSet(value any, path []string) []byte {
	if part := find(d.parts, func(p tomlPart) bool { return !p.header && slices.Equal(p.path, path) }); part != nil {
		return apply(d.src, splice{part.value, part.end, renderTOML(value)})
	}
	if table := d.inlineAbove(path); table != nil {
		key := tomlDotted(path[len(table.path):])
		return table.list().add(d.src, d.layout(), func(layout) string { return key + " = " + renderTOML(value) })
	}
	if object, ok := value.(Object); ok {
		return d.appendTable(object, path)
	}
	if after, section := d.lastSibling(path[:len(path)-1]); after >= 0 {
		line := tomlDotted(path[section:]) + " = " + renderTOML(value)
		return d.insertLine(after, line)
	}
	last := len(path) - 1
	return d.appendTable(Object{{path[last], value}}, path[:last])
}

// find returns the first part that matches, looking into inline tables.
func find(parts []tomlPart, match func(tomlPart) bool) *tomlPart {
	for i := range parts {
		if match(parts[i]) {
			return &parts[i]
		}
		if part := find(parts[i].children, match); part != nil {
			return part
		}
	}
	return nil
}

// inlineAbove returns the innermost inline table that path lies in, or nil.
func (d *TOML) inlineAbove(path []string) *tomlPart {
	var innermost *tomlPart
	parts := d.parts
	for {
		table := find(parts, func(p tomlPart) bool {
			return p.inline && len(p.path) < len(path) && under(path, p.path)
		})
		if table == nil {
			return innermost
		}
		innermost, parts = table, table.children
	}
}

// under reports whether path is prefix or lies below it.
func under(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// list is the part's inline table.
func (p *tomlPart) list() list {
	l := list{span: span{p.value, p.end}, skip: skipTOML}
	for _, child := range p.children {
		l.members = append(l.members, child.span)
	}
	return l
}

// lastSibling finds the part after which another value of a table is to be
// written, and how many names the header above supplies. It prefers the
// table's own section, then dotted keys elsewhere; -1 if the table has
// neither.
func (d *TOML) lastSibling(table []string) (part, section int) {
	part = -1
	for i, p := range d.parts {
		switch {
		case p.header && slices.Equal(p.path, table):
			return d.sectionEnd(i), len(table)
		case !p.header && under(p.path, table) && len(p.path) > len(table) && p.section < len(table):
			part, section = i, p.section
		}
	}
	return part, section
}

// sectionEnd is the last part of the section that a header begins.
func (d *TOML) sectionEnd(header int) int {
	for i := header + 1; i < len(d.parts); i++ {
		if d.parts[i].header {
			return i - 1
		}
	}
	return len(d.parts) - 1
}

// insertLine writes a line after a part, as far indented as that is.
func (d *TOML) insertLine(part int, line string) []byte {
	indent := indentAt(d.src, d.parts[part].start)
	at := lineEnd(d.src, d.parts[part].end)
	if at > 0 && d.src[at-1] != '\n' {
		return apply(d.src, splice{at, at, d.newline() + indent + line})
	}
	return apply(d.src, splice{at, at, indent + line + d.newline()})
}

// appendTable writes a table, and the tables in it, at the end.
func (d *TOML) appendTable(object Object, path []string) []byte {
	newline := d.newline()
	var b strings.Builder
	if len(d.src) > 0 {
		if !bytes.HasSuffix(d.src, []byte("\n")) {
			b.WriteString(newline)
		}
		b.WriteString(newline)
	}
	writeTable(&b, object, path, newline)
	text := b.String()
	if len(d.src) > 0 && !bytes.HasSuffix(d.src, []byte("\n")) {
		text = strings.TrimSuffix(text, newline)
	}
	return append(bytes.Clone(d.src), text...)
}

func writeTable(b *strings.Builder, object Object, path []string, newline string) {
	b.WriteString("[" + tomlDotted(path) + "]" + newline)
	for _, m := range object {
		if _, isTable := m.Value.(Object); !isTable {
			b.WriteString(tomlName(m.Name) + " = " + renderTOML(m.Value) + newline)
		}
	}
	for _, m := range object {
		if table, isTable := m.Value.(Object); isTable {
			b.WriteString(newline)
			writeTable(b, table, slices.Concat(path, []string{m.Name}), newline)
		}
	}
}

// Delete removes a value or a table with all that is under it. What does not
// exist needs no removal.
func (d *TOML) Delete(path ...string) error {
	if _, exists := d.Get(path...); !exists {
		return nil
	}
	scratch := &TOML{}
	src := d.src
	for {
		// Half of a table may be gone here, which is no error.
		parts, err := tomlParts(src)
		if err != nil {
			return err
		}
		scratch.src, scratch.parts = src, parts
		next, found := scratch.withoutOne(path)
		if !found {
			break
		}
		src = next
	}
	return d.take(src, without(d.root, path), path)
}

// withoutOne removes one part of a path, if there is one.
func (d *TOML) withoutOne(path []string) (rest []byte, found bool) {
	for i, p := range d.parts {
		switch {
		case under(p.path, path) && p.header:
			return d.withoutLines(p.start, d.parts[d.sectionEnd(i)].end, true), true
		case under(p.path, path):
			return d.withoutLines(p.start, p.end, false), true
		}
		if table, member := inlineMember(&d.parts[i], path); table != nil {
			l := table.list()
			if len(l.members) == 1 && onlyBlank(d.src, l, 0) {
				return apply(d.src, splice{l.start + 1, l.end - 1, ""}), true
			}
			return l.remove(d.src, member), true
		}
	}
	return nil, false
}

// inlineMember finds the inline table in p that holds a path, and which of its
// members that is.
func inlineMember(p *tomlPart, path []string) (table *tomlPart, member int) {
	for i := range p.children {
		if under(p.children[i].path, path) {
			return p, i
		}
		if table, member := inlineMember(&p.children[i], path); table != nil {
			return table, member
		}
	}
	return nil, 0
}

// withoutLines removes the lines from that of one offset to that of another.
// A header goes with the blank line above it.
func (d *TOML) withoutLines(first, last int, header bool) []byte {
	from, to := lineStart(d.src, first), lineEnd(d.src, last)
	before := bytes.TrimSuffix(d.src[:from], []byte(d.newline()))
	if header && (len(before) == 0 || bytes.HasSuffix(before, []byte("\n"))) {
		from = len(before)
	}
	// A text that ends without a line end goes on doing so.
	if to == len(d.src) && !bytes.HasSuffix(d.src, []byte("\n")) {
		from = len(bytes.TrimSuffix(d.src[:from], []byte(d.newline())))
	}
	return apply(d.src, splice{from, to, ""})
}

// take makes src the document if it means what it should, which is want,
// but for tables above removed that existed only because of that.
func (d *TOML) take(src []byte, want map[string]any, removed []string) error {
	next := &TOML{file: file{mark: d.mark}}
	if err := next.parse(src); err != nil {
		return fmt.Errorf("%w (%w)", ErrUnfaithful, err)
	}
	if !same(next.root, withoutImplied(want, next.root, removed)) {
		return ErrUnfaithful
	}
	*d = *next
	return nil
}

// withoutImplied takes the empty tables above a path out of was, as far as is
// does not have them either.
func withoutImplied(was, is map[string]any, path []string) map[string]any {
	for i := len(path) - 1; i > 0; i-- {
		table, _ := lookup(was, path[:i])
		if empty, ok := table.(map[string]any); !ok || len(empty) > 0 {
			break
		}
		if _, exists := lookup(is, path[:i]); exists {
			break
		}
		was = without(was, path[:i])
	}
	return was
}

func (d *TOML) layout() layout {
	return layout{inline: true, unit: "  ", newline: d.newline()}
}

// renderTOML writes a value on one line.
func renderTOML(value any) string {
	switch v := value.(type) {
	case string:
		return tomlString(v)
	case bool:
		if v {
			return "true"
		}
		return "false"
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = tomlString(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case Object:
		if len(v) == 0 {
			return "{}"
		}
		members := make([]string, len(v))
		for i, m := range v {
			members[i] = tomlName(m.Name) + " = " + renderTOML(m.Value)
		}
		return "{ " + strings.Join(members, ", ") + " }"
	}
	panic(fmt.Sprintf("edit: cannot write a %T", value))
}

func tomlDotted(path []string) string {
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = tomlName(name)
	}
	return strings.Join(names, ".")
}

// tomlName writes a name bare if it may be.
func tomlName(name string) string {
	bare := func(r rune) bool {
		return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if name != "" && strings.TrimFunc(name, bare) == "" {
		return name
	}
	return tomlString(name)
}

// tomlString writes a string: a Windows path without escapes, as a person
// would.
func tomlString(s string) string {
	literal := strings.Contains(s, `\`)
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
		if r == '\'' || r < ' ' || r == 0x7f {
			literal = false
		}
	}
	if literal {
		return "'" + s + "'"
	}
	return b.String() + `"`
}
