package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how deeply a message may be nested. The SDK refuses params that
// are nested deeper than this, and encoding/json gives up at ten times as
// much.
const maxDepth = 1000

var errTooDeep = fmt.Errorf("nested deeper than %d levels", maxDepth)

// A syntaxError says where a text stops being JSON (RFC 8259).
type syntaxError struct {
	offset int // bytes from the beginning of the line
	reason string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.reason, e.offset)
}

// An envelope is the top level of a message: the raw text of the members that
// JSON-RPC defines, nil where absent. Of a repeated key the last one counts,
// as in encoding/json.
type envelope struct {
	version, id, method, params, result, failure []byte
	// miscased is a key that is one of those above but for its case.
	miscased string
}

// field returns the place of the member with the given name, or nil.
func (e *envelope) field(name []byte) *[]byte {
	switch string(name) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.failure
	}
	return nil
}

// set stores a member. The key is the raw string.
func (e *envelope) set(key, value []byte) {
	name := key[1 : len(key)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		text, _ := unquote(key) // the scanner has checked it
		name = []byte(text)
	}
	if f := e.field(name); f != nil {
		*f = value
	} else if len(name) <= len("jsonrpc") && e.field(bytes.ToLower(name)) != nil {
		e.miscased = string(name)
	}
}

// A scanner checks that a text is JSON and takes a message apart in one pass,
// without copying. encoding/json would need two passes and a copy of each
// member, and matches the keys of a struct regardless of case.
//
// It changes the text in one way: the escape of a lone surrogate becomes that
// of U+FFFD, which is as long. Nothing behind the scanner can then pass one
// on to a client that would choke on it.
type scanner struct {
	data  []byte
	pos   int
	depth int
	stack [maxDepth]byte // the closing brackets that are due
}

func (s *scanner) reset(data []byte) {
	s.data, s.pos, s.depth = data, 0, 0
}

// peek returns the next byte, or 0, which no token begins with, at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// unexpected describes what is at the current position in place of want.
func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.data) {
		return &syntaxError{s.pos, "the line ends where " + want + " should be"}
	}
	r, _ := utf8.DecodeRune(s.data[s.pos:])
	return &syntaxError{s.pos, fmt.Sprintf("unexpected %q in place of %s", r, want)}
}

// end checks that nothing follows.
func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.data) {
		return s.unexpected("the end of the line (one message to a line)")
	}
	return nil
}

// object scans an object, whose brace is next, and fills in env. What env
// holds after an error came before it.
func (s *scanner) object(env *envelope) error {
	s.pos++
	s.space()
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		s.space()
		start := s.pos
		if err := s.skip(); err != nil {
			return err
		}
		env.set(key, s.data[start:s.pos:s.pos])
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return nil
		default:
			return s.unexpected("',' or '}'")
		}
	}
}

// key scans a key and the colon after it.
func (s *scanner) key() ([]byte, error) {
	s.space()
	if s.peek() != '"' {
		return nil, s.unexpected("a key in double quotes")
	}
	start := s.pos
	if err := s.str(); err != nil {
		return nil, err
	}
	key := s.data[start:s.pos]
	s.space()
	if s.peek() != ':' {
		return nil, s.unexpected("':'")
	}
	s.pos++
	return key, nil
}

// skip scans one value of any kind. It keeps its own stack: a hostile line
// must not decide how deep ours gets.
func (s *scanner) skip() error {
	base := s.depth
	for {
		opened, err := s.begin()
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		more, err := s.finish(base)
		if err != nil || !more {
			return err
		}
	}
}

// begin scans a scalar or an empty container whole, or the beginning of a
// container up to its first value. It reports whether it opened one.
func (s *scanner) begin() (opened bool, err error) {
	s.space()
	switch c := s.peek(); c {
	case '{', '[':
		closing := c + 2 // in ASCII, both brackets are two apart
		s.pos++
		s.space()
		if s.peek() == closing {
			s.pos++
			return false, nil
		}
		if s.depth == maxDepth {
			return false, errTooDeep
		}
		s.stack[s.depth] = closing
		s.depth++
		if c == '{' {
			_, err = s.key()
		}
		return true, err
	case '"':
		return false, s.str()
	case 't':
		return false, s.literal("true")
	case 'f':
		return false, s.literal("false")
	case 'n':
		return false, s.literal("null")
	default:
		return false, s.number()
	}
}

// finish scans what follows a value: the ends of containers, down to the
// given depth, or a comma. It reports whether another value is due.
func (s *scanner) finish(base int) (more bool, err error) {
	for s.depth > base {
		s.space()
		closing := s.stack[s.depth-1]
		switch s.peek() {
		case closing:
			s.pos++
			s.depth--
		case ',':
			s.pos++
			if closing == '}' {
				_, err = s.key()
			}
			return true, err
		default:
			return false, s.unexpected("',' or '" + string(rune(closing)) + "'")
		}
	}
	return false, nil
}

func (s *scanner) literal(want string) error {
	for i := range len(want) {
		if s.peek() != want[i] {
			return s.unexpected("the rest of " + want)
		}
		s.pos++
	}
	return nil
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	switch c := s.peek(); {
	case c == '0':
		s.pos++
	case '1' <= c && c <= '9':
		s.digits()
	default:
		return s.unexpected("a value")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	return nil
}

// digits scans any number of digits and reports whether there was one.
func (s *scanner) digits() bool {
	start := s.pos
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}

// str scans a string, whose opening quote is next.
func (s *scanner) str() error {
	s.pos++
	for {
		i := s.pos
		for i < len(s.data) && s.data[i] >= ' ' && s.data[i] != '"' && s.data[i] != '\\' {
			i++
		}
		s.pos = i
		switch s.peek() {
		case '"':
			s.pos++
			return nil
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			return s.unexpected("the rest of a string")
		}
	}
}

// escape scans an escape sequence, whose backslash is next, and repairs it if
// it stands for a lone surrogate.
func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
	default:
		return s.unexpected("an escape character")
	}
	start := s.pos + 1
	unit, ok := hex4(s.data, start)
	if !ok {
		return s.unexpected("'u' and four hexadecimal digits")
	}
	s.pos = start + 4
	if unit < 0xD800 || unit > 0xDFFF {
		return nil
	}
	if unit < 0xDC00 && s.peek() == '\\' && s.pos+1 < len(s.data) && s.data[s.pos+1] == 'u' {
		if low, ok := hex4(s.data, s.pos+2); ok && low >= 0xDC00 && low <= 0xDFFF {
			s.pos += 6
			return nil
		}
	}
	copy(s.data[start:], "fffd")
	return nil
}

// hex4 reads the four hexadecimal digits at data[at:].
func hex4(data []byte, at int) (unit int, ok bool) {
	if at+4 > len(data) {
		return 0, false
	}
	for _, c := range data[at : at+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | int(c)
	}
	return unit, true
}

// validUTF8 returns data with every byte that is not part of a valid
// character replaced by U+FFFD, as encoding/json does in strings. It copies
// only if there is one.
func validUTF8(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data)+16)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		out = utf8.AppendRune(out, r)
		data = data[n:]
	}
	return out
}

// unquote decodes a value that the scanner has passed. It is an error if that
// is not a string.
func unquote(raw []byte) (string, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", errors.New("not a string")
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}
