package procwindows

import (
	"unicode/utf16"
	"unicode/utf8"
)

// codePage is a legacy character set of one or two bytes to the character.
type codePage interface {
	// isLead reports whether b begins a character of two bytes.
	isLead(b byte) bool
	// decode returns the text of one character's bytes, or "" if there is no
	// such character.
	decode(char []byte) string
}

// textDecoder makes UTF-8 of what a program writes, a stream at a time and
// however it is cut into pieces:
//
//   - UTF-16LE is recognised by its byte order mark or, without one, by up to
//     eight characters at the start of which every one is ASCII: such text has
//     a NUL in every second byte, which other text never has;
//   - what is valid UTF-8 stays as it is, byte for byte;
//   - other bytes are characters of the console's code page;
//   - what is none of these becomes U+FFFD.
//
// Only an incomplete character, or a start that may yet turn out to be
// UTF-16, is held back, so a prompt is seen when it is written.
type textDecoder struct {
	page codePage
	kind encoding
	held []byte // undecoded bytes: an incomplete character, or the start of an unknown stream
	high rune   // the high half of a surrogate pair that waits for the low one, or 0
	// shown: the first of the held bytes has been returned already.
	shown bool
	// legacy: the last bytes were in the code page, without ASCII since.
	legacy bool
}

type encoding int

const (
	unknown encoding = iota
	bytewise
	utf16le
)

// sniffed is how many characters tell UTF-16.
const sniffed = 8

// newTextDecoder makes a decoder for one stream. A nil page has no
// characters.
func newTextDecoder(page codePage) *textDecoder { return &textDecoder{page: page} }

// decode returns the text of p, with what was held back before it. The result
// is valid until the next call, and may be p itself.
func (d *textDecoder) decode(p []byte) []byte {
	if len(d.held) > 0 {
		p = append(d.held, p...)
		d.held = nil
	}
	if d.kind == unknown {
		if d.kind = sniff(p); d.kind == unknown {
			d.hold(p)
			return d.glimpse()
		}
		return d.begin(p)
	}
	return d.convert(p)
}

// glimpse returns the first character of a stream that may yet be UTF-16. If
// it is ASCII it is the same in every encoding, so nobody has to wait for it.
func (d *textDecoder) glimpse() []byte {
	if d.shown || len(d.held) == 0 || d.held[0] >= utf8.RuneSelf {
		return nil
	}
	d.shown = true
	return d.held[:1:1]
}

// begin converts the start of a stream, once its encoding is known.
func (d *textDecoder) begin(p []byte) []byte {
	if d.kind == utf16le && p[0] == 0xFF { // the mark is no text
		p = p[2:]
	}
	out := d.convert(p)
	if d.shown {
		out = out[1:]
	}
	return out
}

func (d *textDecoder) convert(p []byte) []byte {
	if d.kind == utf16le {
		return d.fromUTF16(p)
	}
	return d.fromBytes(p)
}

// settle returns what was held back only because more could have shown that
// it is UTF-16.
func (d *textDecoder) settle() []byte {
	if d.kind != unknown || len(d.held) < 2 {
		return nil
	}
	p := d.held
	d.held = nil
	d.kind = bytewise
	if len(p) >= 4 { // two characters at least, each with its NUL
		d.kind = utf16le
	}
	return d.begin(p)
}

// finish returns the rest, at the end of the stream.
func (d *textDecoder) finish() []byte {
	out := append([]byte(nil), d.settle()...)
	if d.kind == unknown && d.shown {
		return out // the only byte of the stream has been given
	}
	if d.high != 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	rest := d.held
	d.held, d.high = nil, 0
	if d.kind == utf16le && len(rest) > 0 {
		return utf8.AppendRune(out, utf8.RuneError)
	}
	for len(rest) > 0 {
		var n int
		out, n = d.appendLegacy(out, rest, true)
		rest = rest[n:]
	}
	return out
}

func (d *textDecoder) hold(p []byte) { d.held = append([]byte(nil), p...) }

// sniff tells the encoding from the start of a stream; unknown means that it
// takes more.
func sniff(p []byte) encoding {
	switch {
	case len(p) >= 2 && p[0] == 0xFF && p[1] == 0xFE:
		return utf16le
	case len(p) == 1 && p[0] == 0xFF:
		return unknown
	}
	for i, b := range p[:min(len(p), 2*sniffed)] {
		if high := i%2 == 1; high != (b == 0) || b >= utf8.RuneSelf {
			return bytewise
		}
	}
	if len(p) < 2*sniffed {
		return unknown
	}
	return utf16le
}

func (d *textDecoder) fromUTF16(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for ; len(p) >= 2; p = p[2:] {
		r := rune(p[0]) | rune(p[1])<<8
		if d.high != 0 {
			pair := utf16.DecodeRune(d.high, r)
			d.high = 0
			out = utf8.AppendRune(out, pair) // U+FFFD for a wrong half
			if pair != utf8.RuneError {
				continue
			}
		}
		if utf16.IsSurrogate(r) && r < 0xDC00 {
			d.high = r
			continue
		}
		out = utf8.AppendRune(out, r) // U+FFFD for a lone half
	}
	d.hold(p)
	return out
}

func (d *textDecoder) fromBytes(p []byte) []byte {
	if !d.legacy && utf8.Valid(p) {
		return p
	}
	out := make([]byte, 0, len(p)+len(p)/2)
	for len(p) > 0 {
		if p[0] < utf8.RuneSelf {
			out = append(out, p[0])
			d.legacy = false
			p = p[1:]
			continue
		}
		r, size := utf8.DecodeRune(p)
		switch {
		case d.legacy && size == 2 && d.page.isLead(p[0]):
			// Inside text of a double-byte code page, two bytes that happen
			// to be UTF-8 are far more likely one more such character.
			out = d.appendPage(out, p[:2])
		case r != utf8.RuneError || size > 1:
			out = append(out, p[:size]...)
			d.legacy = false
		case !utf8.FullRune(p):
			d.hold(p)
			return out
		default:
			var n int
			if out, n = d.appendLegacy(out, p, false); n == 0 {
				d.hold(p)
				return out
			}
			size = n
		}
		p = p[size:]
	}
	return out
}

// appendLegacy appends the character of the code page that p begins with, and
// says how many bytes it has: none if it is incomplete, unless the stream has
// ended.
func (d *textDecoder) appendLegacy(out, p []byte, ended bool) ([]byte, int) {
	if d.page == nil {
		return utf8.AppendRune(out, utf8.RuneError), 1
	}
	d.legacy = true
	size := 1
	if d.page.isLead(p[0]) {
		size = 2
	}
	if len(p) < size {
		if !ended {
			return out, 0
		}
		return utf8.AppendRune(out, utf8.RuneError), len(p)
	}
	if size == 2 && d.page.decode(p[:2]) == "" {
		size = 1 // a lead byte without its second half eats nothing
	}
	return d.appendPage(out, p[:size]), size
}

func (d *textDecoder) appendPage(out, char []byte) []byte {
	if text := d.page.decode(char); text != "" {
		return append(out, text...)
	}
	return utf8.AppendRune(out, utf8.RuneError)
}
