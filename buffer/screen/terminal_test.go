package screen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func progress(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\rDownloading %d of %d", i+1, n)
	}
	return b.String()
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"plain", "one\ntwo\n", "one\ntwo\n"},
		{"no line feed at the end", "one\ntwo", "one\ntwo"},
		{"empty lines", "\n\na\n\n\nb\n\n", "\n\na\n\n\nb\n\n"},
		{"line ends of Windows", "one\r\ntwo\r\n", "one\ntwo\n"},
		{"tabs", "a\tb\n\tc", "a\tb\n\tc"},
		{"other scripts", "é€😀 输出\n", "é€😀 输出\n"},
		{"markup", "<a href='x'>&amp;</a>", "<a href='x'>&amp;</a>"},
		{"blanks at the end", "a  \nb ", "a  \nb "},
		{"blanks that erase", "abc\r   \nd", "\nd"},
		{"a progress bar", progress(5000) + "\ndone\n", "Downloading 5000 of 5000\ndone\n"},
		{"overwritten", "abcdef\rXY", "XYcdef"},
		{"backspaces", "abc\b\bX", "aXc"},
		{"erased to the end", "abcdef\rXY\x1b[K", "XY"},
		{"erased to the beginning", "abc\x1b[1Kd", "   d"},
		{"erased", "working...\r\x1b[2Kdone", "done"},
		{"erased with blanks", "working...\r          \rdone", "done"},
		{"characters erased", "abcdef\x1b[1G\x1b[3Xg", "g  def"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38;5;9mx\x1b[m\x1b[38:2::1:2:3my", "red xy"},
		{"a colour after the last line", "a\n\x1b[0m", "a\n"},
		{"lines above", "a: 1%\nb: 1%\n\x1b[2A\x1b[2Ka: 100%\n\x1b[2Kb: 100%\nend\n", "a: 100%\nb: 100%\nend\n"},
		{"cursor kept", "a\x1b7bc\x1b8X", "aXc"},
		{"cursor kept otherwise", "a\x1b[sbc\x1b[uX", "aXc"},
		{"cursor right", "a\x1b[2Cb", "a  b"},
		{"cursor to a column", "abc\x1b[2Gx", "axc"},
		{"cursor to a column otherwise", "abc\x1b[2`x", "axc"},
		{"erased below", "a\nb\nc\x1b[2A\x1b[J", "a"},
		{"erased above", "a\nb\ncd\x1b[1D\x1b[1J", "\n\n"},
		{"cleared", "old\nolder\n\x1b[2J\x1b[3J\x1b[Hnew\n", "new\n"},
		{"reset", "old\n\x1bcnew\n", "new\n"},
		{"title", "\x1b]0;a title\x07a\x1b]2;another\x1b\\b", "ab"},
		{"link", "\x1b]8;;https://example.org\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"image", "\x1b]1337;File=inline=1:AAAA\x07a", "a"},
		{"build service's own", "\x1b_bk;t=1\x07a", "a"},
		{"device control", "a\x1bP1$r0m\x1b\\b", "ab"},
		{"string cut off by a sequence", "a\x1b]0;title\x1b[31mb", "ab"},
		{"character sets", "\x1b(0a\x1b)Bb\x1b%Gc", "abc"},
		{"modes", "\x1b[?25l\x1b[?2004h\x1b=\x1b>\x1b[?1049ha\x1b[?25h\x1b[4h", "a"},
		{"questions", "\x1b[c\x1b[>c\x1b[6n\x1b[5;10r\x1b[!p\x1b[2 qa", "a"},
		{"scrolled", "a\x1b[S\x1b[Tb", "ab"},
		{"columns inserted and deleted", "abc\x1b[2D\x1b[2@\x1b[4C\x1b[3D\x1b[Px", "a xc"},
		{"lines inserted", "a\nb\nc\x1b[1A\r\x1b[Lx", "a\nx\nb\nc"},
		{"lines deleted", "a\nb\nc\x1b[1A\r\x1b[Mx", "a\nx"},
		{"up from the top", "a\n\x1bM\x1bMb", "b\na"},
		{"next lines", "a\x1bEb\x1bDc\x1b[1Fx\x1b[1Ey", "a\nx\ny"},
		{"a place", "abc\ndef\x1b[1;2Hx\x1b[2;3fy\x1b[1dz", "axcz\ndey"},
		{"a last screen", "$ top\n\x1b[?1049h\x1b[H\x1b[2Jload 1\x1b[Hload 2", "load 2"},
		{"and back", "$ top\n\x1b[?1049h\x1b[H\x1b[2Jload 1\x1b[?1049l$ ", "$ top\n$ "},
		{"no such sequence", "a\x1b[1;2;3;4;5~b\x1b[1z", "ab"},
		{"a long one", "a\x1b[" + strings.Repeat("1;", 500) + "Ab", "ab"},
		{"other characters in one", "a\x1b[é1Ab", "ab"},
		{"cancelled", "a\x1b[31\x18b", "ab"},
		{"8-bit", "a\u009b31mb\u009d0;title\u009cc\u0085d", "abc\nd"},
		{"bells and such", "a\ab\x00c\x7fd\x0ee\x0f", "abcde"},
		{"an end in a sequence", "a\x1b[3", "a"},
		{"far away", "\x1b[999999999999999999C\x1b[9999B\x1b[9999D\x1b[9999Aa", "a"},
		{"to the right", "\x1b[999Ca", strings.Repeat(" ", width-1) + "a"},
		{"a long line", strings.Repeat("abcdefghi ", 10000) + "end\nx", strings.Repeat("abcdefghi ", 10000) + "end\nx"},
		{"a huge line", strings.Repeat("0123456789", 20000) + "end\nx\n", strings.Repeat("0123456789", 20000) + "end\nx\n"},
		{"huge lines", strings.Repeat(strings.Repeat("x", longest+1)+"\n", 3), strings.Repeat(strings.Repeat("x", longest+1)+"\n", 3)},
		{"a huge line with blanks", strings.Repeat(strings.Repeat("x", longest-1)+" ", 3), strings.Repeat(strings.Repeat("x", longest-1)+" ", 3)},
		{"many lines", strings.Repeat("line\n", 3000), strings.Repeat("line\n", 3000)},
	} {
		if got := Text(tt.in); got != tt.want {
			t.Errorf("%s: got %.300q, want %.300q", tt.name, got, tt.want)
		}
	}
}

func TestPieces(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in, want []string
	}{
		{"plain", []string{"on", "e\ntw", "o\n", "", "three"}, []string{"on", "e\ntw", "o\n", "", "three"}},
		{"line feeds", []string{"a\n", "\n", "\nb", "\n"}, []string{"a\n", "\n", "\nb", "\n"}},
		{"overwritten", []string{"abcdef", "\rXY"}, []string{"abcdef", "XYcdef"}},
		{"a progress bar", []string{"one\n 1%", "\r 2%\r 3%", "\r100%\ndone\n"}, []string{"one\n 1%", " 3%", "100%\ndone\n"}},
		{"dots", []string{"..", "...", ".\n"}, []string{"..", "...", ".\n"}},
		{"a sequence that is cut", []string{"a\x1b[3", "1mb\x1b", "[0m", "c"}, []string{"a", "b", "", "c"}},
		{"a line end that is cut", []string{"a\r", "\nb\r", "\n"}, []string{"a", "\nb", "\n"}},
		{"lines above", []string{"a 1%\nb 1%\n", "\x1b[2A\x1b[2Ka 9%\n\x1b[2Kb 1%\n", "\x1b[1A\x1b[2Kb 9%\nend"}, []string{"a 1%\nb 1%\n", "a 9%\nb 1%\n", "b 9%\nend"}},
		{"blanks", []string{"a ", "b"}, []string{"a ", "b"}},
		{"only colours", []string{"a", "\x1b[0m"}, []string{"a", ""}},
		{"erased", []string{"abc", "\r\x1b[K", "d"}, []string{"abc", "", "d"}},
		{"cleared", []string{"abc\n", "d\x1b[2J\x1b[He"}, []string{"abc\n", "e"}},
	} {
		var term Terminal
		for i, in := range tt.in {
			if got := term.Write(in); got != tt.want[i] {
				t.Errorf("%s, piece %d: got %q, want %q", tt.name, i, got, tt.want[i])
			}
		}
	}
}

// A plain text in pieces is what it is as a whole, however long.
func TestPlainPieces(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 5))
		var text, got strings.Builder
		var term Terminal
		for range r.IntN(200) {
			piece := strings.Repeat("x", r.IntN(3000)) + strings.Repeat("\n", r.IntN(3))
			text.WriteString(piece)
			got.WriteString(term.Write(piece))
		}
		if got.String() != text.String() {
			t.Errorf("seed %d: %d bytes became %d", seed, text.Len(), got.Len())
		}
	}
}

// model is a terminal without limits that is too simple to be wrong.
type model struct {
	cells [][]rune
	x, y  int
}

func (s *model) put(r rune) {
	for len(s.cells) <= s.y {
		s.cells = append(s.cells, nil)
	}
	for len(s.cells[s.y]) <= s.x {
		s.cells[s.y] = append(s.cells[s.y], ' ')
	}
	s.cells[s.y][s.x] = r
	s.x++
}

func (s *model) String() string {
	var lines []string
	for _, row := range s.cells {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	for len(lines) <= s.y {
		lines = append(lines, "")
	}
	return strings.Join(lines, "\n")
}

// FuzzTerminal draws in pieces on a terminal and on the model, within the reach
// of a cursor, and compares what they show in the end.
func FuzzTerminal(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 300)]
		var s model
		var whole strings.Builder
		var term Terminal
		for _, op := range data {
			arg := int(op >> 4)
			piece := ""
			switch op % 8 {
			case 0, 1, 2:
				piece = "word é"[:1+arg%4]
				for _, r := range piece {
					s.put(r)
				}
			case 3:
				if s.y < height-2 {
					piece = "\n"
					s.x, s.y = 0, s.y+1
				}
			case 4:
				piece = "\r"
				s.x = 0
			case 5:
				n := min(1+arg, s.y)
				if n > 0 {
					piece = fmt.Sprintf("\x1b[%dA", n)
					s.y -= n
				}
			case 6:
				piece = "\x1b[K"
				if s.y < len(s.cells) && s.x < len(s.cells[s.y]) {
					s.cells[s.y] = s.cells[s.y][:s.x]
				}
			case 7:
				piece = "\x1b[1;31m"
			}
			if s.x > width-10 {
				return
			}
			whole.WriteString(piece)
			for i := range piece { // cut everywhere
				term.Write(piece[i : i+1])
			}
		}
		want := strings.TrimRight(s.String(), "\n")
		if got := strings.TrimRight(Text(whole.String()), "\n"); got != want {
			t.Errorf("%q as a whole shows\n%q, want\n%q", whole.String(), got, want)
		}
		if got := strings.TrimRight(strings.Join(term.shown, "\n"), "\n"); got != want {
			t.Errorf("%q in pieces shows\n%q, want\n%q", whole.String(), got, want)
		}
	})
}

// FuzzParser looks for text that makes the terminal panic, or that brings a
// control character to the reader.
func FuzzParser(f *testing.F) {
	for _, s := range []string{"\x1b[2J\x1b[1;1H", "\x1b]0;t\x07", "\x1b[999999999999A\x1b[3Xa\x1b[u", "a\x1bM\x1b8\n\x1b[J"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		var term Terminal
		half := strings.ToValidUTF8(s[:len(s)/2], "")
		for _, text := range []string{Text(s), term.Write(half), term.Write(s[len(half):])} {
			if i := strings.IndexFunc(text, func(r rune) bool {
				return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f
			}); i >= 0 {
				t.Errorf("%q shows a control character: %q", s, text)
			}
		}
	})
}

func TestNewest(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abc", 2, "bc"}, {"a€", 3, "€"}, {"a€", 2, ""}, {"abc", 0, ""}, {"abc", -1, ""}} {
		if got := Newest(tt.text, tt.n); got != tt.want {
			t.Errorf("Newest(%q, %d) = %q", tt.text, tt.n, got)
		}
	}
}

func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"plain":    strings.Repeat("a line of output, which is not very long\n", 480),
		"progress": progress(1000)[:20000],
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Text(text)
			}
		})
	}
}
