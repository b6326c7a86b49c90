package jsonstr

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

const (
	word    = 8  // bytes that are looked at together
	slack   = 16 // room for a word and an escape
	stretch = 4  // how many words are rough from one with a special byte on
)

// Append appends s as a JSON string (RFC 8259, section 7), byte for byte as
// encoding/json does without EscapeHTML: what is not valid UTF-8 becomes
// U+FFFD, and U+2028 and U+2029 are escaped, which JavaScript once took for
// ends of lines.
func Append(dst []byte, s string) []byte {
	dst = slices.Grow(dst, len(s)+len(s)/8+slack)
	dst = append(dst, '"')
	for rough := 0; len(s) > word; {
		if cap(dst)-len(dst) < slack {
			dst = slices.Grow(dst, len(s)+slack)
		}
		// All eight are copied, because how many of them count cannot be
		// predicted. What follows overwrites the rest.
		w := load(s)
		n := bits.TrailingZeros64(special(w)) / 8
		end := len(dst)
		binary.LittleEndian.PutUint64(dst[end:end+word], w)
		if rough == 0 {
			if n == word {
				dst = dst[:end+word]
				s = s[word:]
				continue
			}
			rough = stretch
		}
		// Where there was one, there are more: the next byte is written by
		// itself whatever it is, so that nothing has to be predicted.
		rough--
		end += n
		c := s[n]
		if c >= utf8.RuneSelf {
			dst, s = appendWide(dst[:end], s[n:])
			continue
		}
		written, size := escape(c)
		binary.LittleEndian.PutUint64(dst[end:end+word], written)
		dst = dst[:end+size]
		s = s[n+1:]
	}
	for len(s) > 0 {
		c := s[0]
		if c >= utf8.RuneSelf {
			dst, s = appendWide(dst, s)
			continue
		}
		var written [word]byte
		w, n := escape(c)
		binary.LittleEndian.PutUint64(written[:], w)
		dst = append(dst, written[:n]...)
		s = s[1:]
	}
	return append(dst, '"')
}

// load returns the first eight bytes of s as a little-endian word. The compiler
// makes one load of it.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special returns a mask whose lowest set bit is in the first byte of w that
// cannot be copied as it is. The bits above it mean nothing: a subtraction
// borrows from the bytes that follow.
func special(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quotes := w ^ ones*'"'
	slashes := w ^ ones*'\\'
	return (w | (w-ones*' ')&^w | (quotes-ones)&^quotes | (slashes-ones)&^slashes) & tops
}

// letters has, for each control character, what follows the backslash that
// stands for it.
const letters = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"

// backslashed has a 1 for each printable character that a backslash goes before.
var backslashed = [utf8.RuneSelf]uint8{'"': 1, '\\': 1}

// escape returns what is written for an ASCII character, as a little-endian
// word, and its length. It does without branches for the printable ones: in
// JSON, which is half quotes, they would often be wrong.
func escape(c byte) (w uint64, n int) {
	const digits = "0123456789abcdef"
	if c >= ' ' {
		k := backslashed[c&0x7F]
		return uint64(c)<<(8*k) | '\\'*uint64(k), 1 + int(k)
	}
	if letter := letters[c]; letter != 'u' {
		return '\\' | uint64(letter)<<8, 2
	}
	return '\\' | 'u'<<8 | '0'<<16 | '0'<<24 | uint64(digits[c>>4])<<32 | uint64(digits[c&15])<<40, 6
}

// appendWide appends the characters that s begins with, up to the next ASCII
// one, and returns the rest of s.
func appendWide(dst []byte, s string) ([]byte, string) {
	done, i := 0, 0
	for i < len(s) && s[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRuneInString(s[i:])
		escaped := ""
		switch {
		case r == utf8.RuneError && n == 1:
			escaped = `\ufffd`
		case r == '\u2028':
			escaped = `\u2028`
		case r == '\u2029':
			escaped = `\u2029`
		}
		if i += n; escaped != "" {
			dst = append(append(dst, s[done:i-n]...), escaped...)
			done = i
		}
	}
	return append(dst, s[done:i]...), s[i:]
}
