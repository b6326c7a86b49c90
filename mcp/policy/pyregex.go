package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file translates an expression from Python's re syntax (the grammar of
// CPython 3.11's re module, for str patterns) into the .NET syntax of regexp2.
//
// The translation is a full parse and not a patch-up of the text: every
// character of the result was put there on purpose, with flags resolved and
// literals escaped, so that nothing in the source can mean something else to
// the engine ("[a-z-[aeiou]]", "(?<name>x)", "\p{L}", "x{,3}"). What Python
// refuses is refused here, too. Three things differ on purpose: \N{...} is
// refused, for want of Unicode's names; back-references that ignore case
// compare by simple folding; and, as in Python 3.14, \z is \Z and \B matches
// the empty text.

// translate returns the equivalent of source in regexp2's syntax, for an
// engine without options.
func translate(source string) (string, error) {
	if !utf8.ValidString(source) {
		return "", errors.New("it is not valid UTF-8")
	}
	text, refers, err := (&pyParser{}).parse(source)
	if err != nil || !refers {
		return text, err
	}
	// Groups only need to capture when something refers to them, and captures
	// cost time and memory. Nothing is known about that before the end.
	text, _, err = (&pyParser{capture: true}).parse(source)
	return text, err
}

// pyFlags are the flags that hold at one place of an expression.
type pyFlags struct {
	ascii, ignoreCase, multiline, dotAll, verbose bool
}

// pieceKind says what a quantifier makes of a piece.
type pieceKind int

const (
	pieceItem   pieceKind = iota // can be repeated, within a group
	pieceAtom                    // can be repeated as it is
	pieceAnchor                  // "nothing to repeat"
	pieceRepeat                  // "multiple repeat"
)

// piece is one translated item of a sequence.
type piece struct {
	text  string
	kind  pieceKind
	width pyWidth
}

// pyWidth is the least and the greatest number of characters that something
// matches. Look-behind needs them equal.
type pyWidth struct{ min, max uint64 }

// maxWidth stands for "without bound". Widths saturate there.
const maxWidth = math.MaxUint64

func (w pyWidth) plus(o pyWidth) pyWidth {
	return pyWidth{satAdd(w.min, o.min), satAdd(w.max, o.max)}
}

func (w pyWidth) or(o pyWidth) pyWidth { return pyWidth{min(w.min, o.min), max(w.max, o.max)} }

func (w pyWidth) times(b bounds) pyWidth {
	return pyWidth{satMul(w.min, b.min), satMul(w.max, b.max)}
}

func satAdd(a, b uint64) uint64 {
	if a > maxWidth-b {
		return maxWidth
	}
	return a + b
}

func satMul(a, b uint64) uint64 {
	if a != 0 && b > maxWidth/a {
		return maxWidth
	}
	return a * b
}

// Limits of the syntax.
const (
	maxRepeat  = math.MaxUint32 // of Python: counts must be below
	unbounded  = uint64(maxWidth)
	maxNesting = 300 // of groups; Python ends a little later with RecursionError
)

// pyParser reads one expression. Its tokens are Python's: one character, or a
// backslash with the character after it.
type pyParser struct {
	runes []rune
	pos   int // of the token after next

	next string // token, or "" at the end
	from int    // where next begins

	capture bool // groups capture
	refers  bool // something refers to a group

	depth      int
	flags      pyFlags // global flags
	global     string  // their letters
	names      map[string]int
	groups     []*pyWidth // by number less one; nil while the group is open
	conditions []condition
	behind     int // number of the first group in the outermost look-behind, or 0
}

// condition is a reference by number in (?(1)...), which may come before its
// group.
type condition struct{ group, at int }

// syntaxError is raised by panic within the parser, which would else be mostly
// error checks, and caught at its one entry.
type syntaxError struct {
	text string
	at   int
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at position %d", e.text, e.at) }

func (p *pyParser) fail(at int, format string, args ...any) {
	panic(&syntaxError{fmt.Sprintf(format, args...), at})
}

func (p *pyParser) parse(source string) (text string, refers bool, err error) {
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case *syntaxError:
			err = caught
		default:
			panic(caught)
		}
	}()
	p.runes = []rune(source)
	p.names = make(map[string]int)
	p.advance()
	text, _ = p.alternatives(nil)
	if p.next == ")" {
		p.fail(p.from, "unbalanced parenthesis")
	}
	for _, c := range p.conditions {
		if c.group > len(p.groups) {
			p.fail(c.at, "invalid group reference %d", c.group)
		}
	}
	return text, p.refers, nil
}

// -- tokens

func (p *pyParser) advance() {
	p.from = p.pos
	switch {
	case p.pos >= len(p.runes):
		p.next = ""
	case p.runes[p.pos] != '\\':
		p.next = string(p.runes[p.pos])
		p.pos++
	case p.pos+1 >= len(p.runes):
		p.fail(p.pos, "bad escape (end of pattern)")
	default:
		p.next = string(p.runes[p.pos : p.pos+2])
		p.pos += 2
	}
}

// get returns the next token and moves past it.
func (p *pyParser) get() string {
	token := p.next
	p.advance()
	return token
}

// accept moves past the next token if it is the given one.
func (p *pyParser) accept(token string) bool {
	if p.next != token {
		return false
	}
	p.advance()
	return true
}

// seek goes back to the token that begins at the given place.
func (p *pyParser) seek(at int) {
	p.pos = at
	p.advance()
}

// while collects up to n tokens that are in the set of characters.
func (p *pyParser) while(n int, set string) string {
	var text strings.Builder
	for ; n > 0 && p.next != "" && strings.Contains(set, p.next); n-- {
		text.WriteString(p.get())
	}
	return text.String()
}

// until collects what comes before the terminator, which it skips.
func (p *pyParser) until(terminator, what string) string {
	start := p.from
	for p.next != terminator {
		if p.next == "" {
			p.fail(start, "missing %s, unterminated name", terminator)
		}
		p.advance()
	}
	text := string(p.runes[start:p.from])
	if text == "" {
		p.fail(start, "missing %s", what)
	}
	p.advance()
	return text
}

const (
	digits    = "0123456789"
	octDigits = "01234567"
	hexDigits = "0123456789abcdefABCDEF"
)

// -- alternation and sequence

// alternatives parses a|b|c up to a closing parenthesis or the end. The flags
// are nil at the top level, where the global ones hold.
func (p *pyParser) alternatives(flags *pyFlags) (string, pyWidth) {
	p.depth++
	if p.depth > maxNesting {
		p.fail(p.from, "groups are nested too deeply")
	}
	defer func() { p.depth-- }()
	text, width := p.sequence(flags, flags == nil)
	for p.accept("|") {
		other, w := p.sequence(flags, false)
		text, width = text+"|"+other, width.or(w)
	}
	return text, width
}

// sequence parses items up to "|", ")" or the end.
func (p *pyParser) sequence(scoped *pyFlags, first bool) (string, pyWidth) {
	var items []piece
	for p.next != "" && p.next != "|" && p.next != ")" {
		flags := p.flags
		if scoped != nil {
			flags = *scoped
		}
		if flags.verbose && p.skipBlank() {
			continue
		}
		if strings.Contains("*+?{", p.next) && p.repeat(&items) {
			continue
		}
		if item, ok := p.item(flags, first && len(items) == 0); ok {
			items = append(items, item)
		}
	}
	var text strings.Builder
	var width pyWidth
	for _, item := range items {
		text.WriteString(item.text)
		width = width.plus(item.width)
	}
	return text.String(), width
}

// skipBlank moves past white space or a comment of a verbose expression.
func (p *pyParser) skipBlank() bool {
	if strings.Contains(" \t\n\r\v\f", p.next) {
		p.advance()
		return true
	}
	if p.next != "#" {
		return false
	}
	for p.next != "" && p.next != "\n" {
		p.advance()
	}
	p.accept("\n")
	return true
}

// item parses one item; ok is false for a comment or global flags. At the
// start of the expression global flags may stand.
func (p *pyParser) item(flags pyFlags, atStart bool) (item piece, ok bool) {
	at := p.from
	token := p.get()
	switch {
	case token[0] == '\\':
		return p.escape(token, at, flags), true
	case token == "[":
		return p.class(at, flags), true
	case token == "(":
		return p.group(at, flags, atStart)
	case token == "." && flags.dotAll:
		return piece{"(?s:.)", pieceAtom, pyWidth{1, 1}}, true
	case token == ".":
		return piece{".", pieceAtom, pyWidth{1, 1}}, true
	case token == "^" && flags.multiline:
		return anchor("(?m:^)"), true
	case token == "^":
		return anchor(`\A`), true
	case token == "$" && flags.multiline:
		return anchor("(?m:$)"), true
	case token == "$":
		return anchor("$"), true
	}
	r, _ := utf8.DecodeRuneInString(token)
	return literal(r, flags), true
}

func anchor(text string) piece { return piece{text: text, kind: pieceAnchor} }

func literal(r rune, flags pyFlags) piece {
	var set charSet
	set.add(r, r)
	return set.piece(false, flags)
}

// -- quantifiers

type bounds struct{ min, max uint64 }

// repeat applies the quantifier that comes next to the last item. It is false
// for a "{" that begins no quantifier and so is a literal.
func (p *pyParser) repeat(items *[]piece) bool {
	at := p.from
	b, ok := p.bounds()
	if !ok {
		p.seek(at)
		return false
	}
	if len(*items) == 0 {
		p.fail(at, "nothing to repeat")
	}
	last := &(*items)[len(*items)-1]
	switch last.kind {
	case pieceAnchor:
		p.fail(at, "nothing to repeat")
	case pieceRepeat:
		p.fail(at, "multiple repeat")
	case pieceItem:
		last.text = "(?:" + last.text + ")"
	}
	last.text += b.String()
	switch {
	case p.accept("?"):
		last.text += "?"
	case p.accept("+"):
		last.text = "(?>" + last.text + ")"
	}
	last.kind, last.width = pieceRepeat, last.width.times(b)
	return true
}

// bounds parses a quantifier: *, +, ?, {2}, {2,}, {,3}, {2,3} or {,}.
func (p *pyParser) bounds() (b bounds, ok bool) {
	at := p.from
	switch p.get() {
	case "*":
		return bounds{0, unbounded}, true
	case "+":
		return bounds{1, unbounded}, true
	case "?":
		return bounds{0, 1}, true
	}
	if p.next == "}" {
		return b, false
	}
	low := p.while(math.MaxInt, digits)
	high := low
	if p.accept(",") {
		high = p.while(math.MaxInt, digits)
	}
	if !p.accept("}") {
		return b, false
	}
	b = bounds{p.count(low, 0, at), p.count(high, unbounded, at)}
	if b.max < b.min {
		p.fail(at, "min repeat greater than max repeat")
	}
	return b, true
}

func (p *pyParser) count(text string, missing uint64, at int) uint64 {
	if text == "" {
		return missing
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n >= maxRepeat {
		p.fail(at, "the repetition number is too large")
	}
	return n
}

// String writes the quantifier for the engine, which counts in 32 bits. No
// text is so long that a greater number would matter.
func (b bounds) String() string {
	const most = math.MaxInt32 - 1
	switch {
	case b == bounds{0, unbounded}:
		return "*"
	case b == bounds{1, unbounded}:
		return "+"
	case b == bounds{0, 1}:
		return "?"
	case b.max > most:
		return fmt.Sprintf("{%d,}", min(b.min, most))
	}
	return fmt.Sprintf("{%d,%d}", b.min, b.max)
}

// -- escapes

// escape translates an escape outside a class; token is the backslash with the
// character after it.
func (p *pyParser) escape(token string, at int, flags pyFlags) piece {
	switch token {
	case `\A`:
		return anchor(`\A`)
	case `\Z`, `\z`:
		return anchor(`\z`)
	case `\b`:
		w := wordClass(flags.ascii)
		return anchor("(?:(?<=" + w.in + ")" + "(?!" + w.in + ")|(?<!" + w.in + ")(?=" + w.in + "))")
	case `\B`:
		w := wordClass(flags.ascii)
		return anchor("(?:(?<=" + w.in + ")(?=" + w.in + ")|(?<!" + w.in + ")(?!" + w.in + "))")
	}
	if c := rune(token[1]); c >= '1' && c <= '9' {
		return p.reference(c, at, flags)
	}
	var set charSet
	p.classEscape(token, at, flags, &set)
	return set.piece(false, flags)
}

// reference translates \1 to \99, or the octal escape that three digits are.
func (p *pyParser) reference(first rune, at int, flags pyFlags) piece {
	number := string(first) + p.while(1, digits)
	octal := len(number) == 2 && strings.Trim(number, octDigits) == ""
	if octal {
		if third := p.while(1, octDigits); third != "" {
			return literal(p.octal(number+third, at), flags)
		}
	}
	n, _ := strconv.Atoi(number) // at most two digits
	if n > len(p.groups) {
		p.fail(at, "invalid group reference %d", n)
	}
	return p.backReference(n, at, flags)
}

func (p *pyParser) backReference(group, at int, flags pyFlags) piece {
	p.refers = true
	p.checkOpen(group, at)
	p.checkBehind(group, at)
	text := fmt.Sprintf(`\k<%d>`, group)
	if flags.ignoreCase {
		text = "(?i:" + text + ")"
	}
	return piece{text, pieceItem, *p.groups[group-1]}
}

func (p *pyParser) checkOpen(group, at int) {
	if group > len(p.groups) || p.groups[group-1] == nil {
		p.fail(at, "cannot refer to an open group")
	}
}

// checkBehind refuses a reference from within a look-behind to a group of the
// same look-behind, which has no value yet.
func (p *pyParser) checkBehind(group, at int) {
	if p.behind == 0 {
		return
	}
	p.checkOpen(group, at)
	if group >= p.behind {
		p.fail(at, "cannot refer to group defined in the same lookbehind subpattern")
	}
}

// classEscape adds what an escape stands for, in a class or outside, to set.
// For a single character it returns that, and true.
func (p *pyParser) classEscape(token string, at int, flags pyFlags, set *charSet) (r rune, single bool) {
	c, _ := utf8.DecodeRuneInString(token[1:])
	if strings.ContainsRune("dDsSwW", c) {
		set.addCategory(c, flags.ascii)
		return 0, false
	}
	r = p.character(c, at)
	set.add(r, r)
	return r, true
}

// character returns the one character that an escape stands for.
func (p *pyParser) character(c rune, at int) rune {
	if i := strings.IndexRune("abfnrtv", c); i >= 0 {
		return rune("\a\b\f\n\r\t\v"[i])
	}
	switch {
	case c == 'x':
		return p.hex(2, at)
	case c == 'u':
		return p.hex(4, at)
	case c == 'U':
		return p.hex(8, at)
	case c == 'N':
		p.fail(at, `\N{...} is not supported here; write the character itself or \uXXXX`)
	case c >= '0' && c <= '7':
		return p.octal(string(c)+p.while(2, octDigits), at)
	case c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)):
		p.fail(at, `bad escape \%c`, c)
	}
	return c
}

func (p *pyParser) hex(n, at int) rune {
	text := p.while(n, hexDigits)
	if len(text) != n {
		p.fail(at, "incomplete escape %s", string(p.runes[at:p.from]))
	}
	value, err := strconv.ParseUint(text, 16, 32)
	if err != nil || value > unicode.MaxRune {
		p.fail(at, "bad escape %s", string(p.runes[at:p.from]))
	}
	return rune(value)
}

func (p *pyParser) octal(text string, at int) rune {
	value, err := strconv.ParseUint(text, 8, 32)
	if err != nil || value > 0o377 {
		p.fail(at, `octal escape value \%s outside of range 0-0o377`, text)
	}
	return rune(value)
}

// -- classes

// class parses what follows "[".
func (p *pyParser) class(at int, flags pyFlags) piece {
	var set charSet
	negate := p.accept("^")
	for empty := true; ; empty = false {
		if p.next == "]" && !empty {
			p.advance()
			return set.piece(negate, flags)
		}
		p.member(at, flags, &set)
	}
}

// member parses a character, an escape or a range of a class.
func (p *pyParser) member(class int, flags pyFlags, set *charSet) {
	at := p.from
	low, lowSingle := p.endpoint(class, flags, set)
	if p.next != "-" {
		return
	}
	hyphen := p.from
	p.advance()
	if p.next == "]" { // a hyphen at the end stands for itself
		p.seek(hyphen)
		return
	}
	high, highSingle := p.endpoint(class, flags, set)
	if !lowSingle || !highSingle || high < low {
		p.fail(at, "bad character range %s", quote(string(p.runes[at:p.from])))
	}
	set.add(low, high)
}

func (p *pyParser) endpoint(class int, flags pyFlags, set *charSet) (r rune, single bool) {
	at := p.from
	token := p.get()
	switch {
	case token == "":
		p.fail(class, "unterminated character set")
	case token[0] == '\\':
		return p.classEscape(token, at, flags, set)
	}
	r, _ = utf8.DecodeRuneInString(token)
	set.add(r, r)
	return r, true
}

// -- groups

// group parses what follows "(".
func (p *pyParser) group(at int, flags pyFlags, atStart bool) (item piece, ok bool) {
	if !p.accept("?") {
		return p.captureGroup("", at, flags), true
	}
	kind := p.get()
	switch kind {
	case "":
		p.fail(at, "unexpected end of pattern")
	case "P":
		return p.named(at, flags), true
	case ":":
		return p.enclosed("(?:", at, flags), true
	case ">":
		return p.enclosed("(?>", at, flags), true
	case "#":
		p.comment(at)
		return piece{}, false
	case "=", "!":
		look := p.enclosed("(?"+kind, at, flags)
		return piece{text: look.text}, true
	case "<":
		return p.lookBehind(at, flags), true
	case "(":
		return p.conditional(at, flags), true
	}
	if kind == "-" || isFlag(kind) {
		return p.flagGroup(kind, at, flags, atStart)
	}
	p.fail(at, "unknown extension %s", quote("?"+kind))
	return piece{}, false
}

// enclosed parses the rest of a group whose translation opens with open.
func (p *pyParser) enclosed(open string, at int, flags pyFlags) piece {
	text, width := p.alternatives(&flags)
	p.close(at)
	return piece{open + text + ")", pieceAtom, width}
}

func (p *pyParser) close(at int) {
	if !p.accept(")") {
		p.fail(at, "missing ), unterminated subpattern")
	}
}

func (p *pyParser) comment(at int) {
	for p.next != ")" {
		if p.next == "" {
			p.fail(at, "missing ), unterminated comment")
		}
		p.advance()
	}
	p.advance()
}

// captureGroup parses the rest of a capturing group. The engine numbers named
// groups after all others, so every group gets its number as its name.
func (p *pyParser) captureGroup(name string, at int, flags pyFlags) piece {
	p.groups = append(p.groups, nil)
	number := len(p.groups)
	if name != "" {
		if other, ok := p.names[name]; ok {
			p.fail(at, "redefinition of group name %s as group %d; was group %d", quote(name), number, other)
		}
		p.names[name] = number
	}
	open := "(?:"
	if p.capture {
		open = fmt.Sprintf("(?<%d>", number)
	}
	item := p.enclosed(open, at, flags)
	p.groups[number-1] = &item.width
	return item
}

// named parses what follows "(?P".
func (p *pyParser) named(at int, flags pyFlags) piece {
	switch kind := p.get(); kind {
	case "<":
		name := p.until(">", "group name")
		p.checkName(name, at)
		return p.captureGroup(name, at, flags)
	case "=":
		name := p.until(")", "group name")
		p.checkName(name, at)
		return p.backReference(p.groupOf(name, at), at, flags)
	default:
		p.fail(at, "unknown extension %s", quote("?P"+kind))
		return piece{}
	}
}

func (p *pyParser) checkName(name string, at int) {
	if !isIdentifier(name) {
		p.fail(at, "bad character in group name %s", quote(name))
	}
}

func isIdentifier(name string) bool {
	for i, r := range name {
		start := r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start)
		if !start && (i == 0 || !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)) {
			return false
		}
	}
	return name != ""
}

func (p *pyParser) groupOf(name string, at int) int {
	number, ok := p.names[name]
	if !ok {
		p.fail(at, "unknown group name %s", quote(name))
	}
	return number
}

// lookBehind parses what follows "(?<". Python only looks behind for a fixed
// number of characters.
func (p *pyParser) lookBehind(at int, flags pyFlags) piece {
	kind := p.get()
	if kind != "=" && kind != "!" {
		p.fail(at, "unknown extension %s", quote("?<"+kind))
	}
	outermost := p.behind == 0
	if outermost {
		p.behind = len(p.groups) + 1
	}
	look := p.enclosed("(?<"+kind, at, flags)
	if outermost {
		p.behind = 0
	}
	if look.width.min != look.width.max {
		p.fail(at, "look-behind requires fixed-width pattern")
	}
	return piece{text: look.text}
}

// conditional parses what follows "(?(": (?(1)yes|no) or (?(name)yes|no).
func (p *pyParser) conditional(at int, flags pyFlags) piece {
	p.refers = true
	group := p.conditionGroup(at)
	p.checkBehind(group, at)
	text, width := p.sequence(&flags, false)
	text = fmt.Sprintf("(?(%d)%s", group, text)
	if p.accept("|") {
		no, w := p.sequence(&flags, false)
		text, width = text+"|"+no, width.or(w)
		if p.next == "|" {
			p.fail(p.from, "conditional backref with more than two branches")
		}
	} else {
		width.min = 0
	}
	p.close(at)
	return piece{text + ")", pieceItem, width}
}

func (p *pyParser) conditionGroup(at int) int {
	name := p.until(")", "group name")
	if isIdentifier(name) {
		return p.groupOf(name, at)
	}
	number, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil || number < 0:
		p.fail(at, "bad character in group name %s", quote(name))
	case number == 0:
		p.fail(at, "bad group number")
	}
	p.conditions = append(p.conditions, condition{int(number), at})
	return int(number)
}

// -- flags

func isFlag(token string) bool { return len(token) == 1 && strings.Contains("aiLmsux", token) }

// flagGroup parses what follows "(?" and a first flag or "-": global flags,
// which are no item and must stand at the start, or a group with its own.
func (p *pyParser) flagGroup(token string, at int, flags pyFlags, atStart bool) (item piece, ok bool) {
	var on, off string
	for isFlag(token) {
		if token == "L" {
			p.fail(at, "bad inline flags: cannot use 'L' flag with a str pattern")
		}
		on += token
		token = p.get()
	}
	if strings.Contains(on, "a") && strings.Contains(on, "u") {
		p.fail(at, "bad inline flags: flags 'a', 'u' and 'L' are incompatible")
	}
	if token == ")" {
		p.setGlobal(on, at, atStart)
		return piece{}, false
	}
	if token == "-" {
		for token = p.get(); isFlag(token); token = p.get() {
			off += token
		}
		if off == "" {
			p.fail(at, "missing flag")
		}
	}
	if token != ":" {
		p.fail(at, "unknown flag or missing :")
	}
	if strings.ContainsAny(off, "auL") {
		p.fail(at, "bad inline flags: cannot turn off flags 'a', 'u' and 'L'")
	}
	if strings.ContainsAny(on, off) {
		p.fail(at, "bad inline flags: flag turned on and off")
	}
	return p.enclosed("(?:", at, flags.with(on, true).with(off, false)), true
}

func (p *pyParser) setGlobal(on string, at int, atStart bool) {
	if !atStart {
		p.fail(at, "global flags not at the start of the expression")
	}
	p.global += on
	if strings.Contains(p.global, "a") && strings.Contains(p.global, "u") {
		p.fail(at, "ASCII and UNICODE flags are incompatible")
	}
	p.flags = p.flags.with(on, true)
}

// with returns the flags with those named turned on or off.
func (f pyFlags) with(names string, value bool) pyFlags {
	for _, name := range names {
		switch name {
		case 'a':
			f.ascii = true
		case 'u':
			f.ascii = false
		case 'i':
			f.ignoreCase = value
		case 'm':
			f.multiline = value
		case 's':
			f.dotAll = value
		case 'x':
			f.verbose = value
		}
	}
	return f
}

// sortedRunes returns the members of a set in order.
func sortedRunes(set map[rune]bool) []rune {
	runes := make([]rune, 0, len(set))
	for r := range set {
		runes = append(runes, r)
	}
	slices.Sort(runes)
	return runes
}
