package procwindows

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// fakePage is a code page like the system's ones: one byte to the character,
// or two after a lead byte.
type fakePage struct {
	leads string
	chars map[string]string
}

func (p fakePage) isLead(b byte) bool { return strings.IndexByte(p.leads, b) >= 0 }

func (p fakePage) decode(char []byte) string { return p.chars[string(char)] }

var (
	page437 = fakePage{chars: map[string]string{"\x82": "é", "\x84": "ä", "\xC3": "├", "\xA9": "⌐", "\xE6": "µ", "\x97": "ù"}}
	page932 = fakePage{leads: "\x82\x83\x93\x96\xC2", chars: map[string]string{
		"\x93\xFA": "日", "\x96\x7B": "本", "\x83\x5C": "ソ", "\xB1": "ｱ", "\xC2\xB1": "双"}}
)

func wide(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

// decodeAll decodes a stream that comes in pieces.
func decodeAll(page codePage, pieces ...string) string {
	d := newTextDecoder(page)
	var b strings.Builder
	for _, p := range pieces {
		b.Write(d.decode([]byte(p)))
	}
	b.Write(d.finish())
	return b.String()
}

func TestTextDecoder(t *testing.T) {
	for _, c := range []struct {
		name     string
		page     codePage
		in, want string
	}{
		{"empty", page437, "", ""},
		{"one character", page437, "h", "h"},
		{"ASCII with line ends", page437, "a\r\nb\n\r", "a\r\nb\n\r"},
		{"UTF-8 stays", page437, "aä日€😀\n", "aä日€😀\n"},
		{"U+FFFD stays", page437, "x\uFFFDy", "x\uFFFDy"},
		{"code page", page437, "caf\x82 \x84.", "café ä."},
		{"code page between UTF-8", page437, "é\x82é", "ééé"},
		{"UTF-8 before code page", page437, "\xC3\xA9", "é"},
		{"incomplete UTF-8 is code page", page437, "\xE6\x97", "µù"},
		{"not in the code page", page437, "a\xFFb", "a\uFFFDb"},
		{"no code page", nil, "a\x82\xE6\x97b", "a\uFFFD\uFFFD\uFFFDb"},
		{"double-byte", page932, "\x93\xFA\x96\x7B\x83\x5C!\xB1", "日本ソ!ｱ"},
		{"double-byte that looks like UTF-8", page932, "\x93\xFA\xC2\xB1", "日双"},
		{"UTF-8 that looks like double-byte", page932, "\xC2\xB1", "±"},
		{"lead byte at the end", page932, "a\x93", "a\uFFFD"},
		{"lead byte before ASCII", page932, "\x93\n", "\uFFFD\n"},
		{"UTF-16 mark", page437, "\xFF\xFE" + wide("日本😀\r\n"), "日本😀\r\n"},
		{"UTF-16 mark alone", page437, "\xFF\xFE", ""},
		{"half a mark", page437, "\xFF", "\uFFFD"},
		{"UTF-16 by its start", page437, wide("the text 日本"), "the text 日本"},
		{"short UTF-16", page437, wide("hi\r\n"), "hi\r\n"},
		{"UTF-16, odd end", page437, wide("long enough") + "x", "long enough\uFFFD"},
		{"UTF-16, lone halves", page437, "\xFF\xFE\x3D\xD8a\x00\x00\xDC\x3D\xD8", "\uFFFDa\uFFFD\uFFFD"},
		{"one character and NUL", page437, "a\x00", "a\x00"},
		{"NUL-separated", page437, "a\x00b\x00cc\x00d", "a\x00b\x00cc\x00d"},
		{"NUL first", page437, "\x00a\x00a", "\x00a\x00a"},
		{"NULs", page437, "\x00\x00\x00", "\x00\x00\x00"},
	} {
		if got := decodeAll(c.page, c.in); got != c.want {
			t.Errorf("%s: %q gave %q, want %q", c.name, c.in, got, c.want)
		}
		if got := decodeAll(c.page, strings.SplitAfter(c.in, "")...); got != c.want {
			t.Errorf("%s: %q by characters gave %q, want %q", c.name, c.in, got, c.want)
		}
		for cut := range len(c.in) {
			if got := decodeAll(c.page, c.in[:cut], c.in[cut:]); got != c.want {
				t.Errorf("%s: %q cut at %d gave %q, want %q", c.name, c.in, cut, got, c.want)
			}
		}
	}
}

// TestTextDecoderPrompt: what may be a prompt is not held back.
func TestTextDecoderPrompt(t *testing.T) {
	for _, in := range []string{"?", "> ", "\x82? ", "日"} {
		d := newTextDecoder(page437)
		if got := string(d.decode([]byte(in))); len(got) == 0 || !utf8.ValidString(got) {
			t.Errorf("%q gave %q at first", in, got)
		}
	}
	d := newTextDecoder(page437)
	d.decode([]byte(wide("ok")))
	if got := string(d.settle()); got != "k" { // the "o" was given before
		t.Errorf("UTF-16 prompt: %q when the pipe was empty", got)
	}
	if got := string(d.decode([]byte(wide("é")))); got != "é" {
		t.Errorf("after it: %q", got)
	}
}

// FuzzTextDecoder checks that the cuts do not matter, that the result is
// UTF-8, and that UTF-8 stays.
func FuzzTextDecoder(f *testing.F) {
	for _, s := range []string{"a\x82é\xE6\x97\xA5", wide("hello world"), "\xFF\xFE" + wide("é😀"), "a\x00b\x00c", "\x93\xFA\xC2\xB1\xC2\xB1"} {
		f.Add([]byte(s), uint64(0x5A5A))
	}
	f.Fuzz(func(t *testing.T, in []byte, cuts uint64) {
		for _, page := range []codePage{nil, page437, page932} {
			whole := decodeAll(page, string(in))
			if !utf8.ValidString(whole) {
				t.Fatalf("%q is not UTF-8", whole)
			}
			var pieces []string
			start := 0
			for i := range in {
				if cuts>>(i%64)&1 != 0 {
					pieces = append(pieces, string(in[start:i]))
					start = i
				}
			}
			if got := decodeAll(page, append(pieces, string(in[start:]))...); got != whole {
				t.Fatalf("%q whole %q, in pieces %q", in, whole, got)
			}
			if utf8.Valid(in) && !strings.ContainsRune(string(in), 0) && whole != string(in) {
				t.Fatalf("UTF-8 %q became %q", in, whole)
			}
		}
	})
}
