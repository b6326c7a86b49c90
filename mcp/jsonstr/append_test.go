package jsonstr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// reference is what Append has to write.
func reference(t testing.TB, s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestAppend(t *testing.T) {
	special := []string{`"`, `\`, "\n", "\r", "\t", "\b", "\f", "\x00", "\x1f", "\x7f", "<", ">", "&", "é", "\u2028", "\u2029",
		"\uFFFD", "😀", "\xff", "\xe2\x80", "\xc0\xaf", "\xed\xa0\x80", "", "\"\"\"", "\x00\x00\x00\x00\x00\x00\x00\x00\x00"}
	for _, x := range special {
		for before := range 18 {
			for after := range 18 {
				s := strings.Repeat("a", before) + x + strings.Repeat("b", after)
				if got, want := string(Append(nil, s)), reference(t, s); got != want {
					t.Fatalf("Append(%q)\n got %s\nwant %s", s, got, want)
				}
			}
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	for spare := range 40 {
		dst := append(make([]byte, 0, 4+spare), "head"...)
		got := string(Append(dst, strings.Repeat("\x01", 30)))
		if want := "head" + reference(t, strings.Repeat("\x01", 30)); got != want {
			t.Fatalf("with room for %d: %s", spare, got)
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, s := range []string{"plain text", "a\"b\\c\n", "\u2028é\xff\xfe", strings.Repeat("x\x00", 20)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(Append(nil, s)), reference(t, s); got != want {
			t.Fatalf("Append(%q)\n got %s\nwant %s", s, got, want)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	var seq strings.Builder
	for i := 1_000_000; seq.Len() < 20000; i++ {
		fmt.Fprintln(&seq, i)
	}
	for name, s := range map[string]string{
		"seq":  seq.String()[:20000],
		"x":    strings.Repeat("x", 20000),
		"text": strings.Repeat("The quick brown fox jumps over the lazy dog, and the log goes on.\n", 400)[:20000],
		"han":  strings.Repeat("输出缓冲区保存最新的字节。\n", 600)[:20000],
		"json": strings.Repeat(`{"name":"value","n":1}`, 1000)[:20000],
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			var dst []byte
			for b.Loop() {
				dst = Append(dst[:0], s)
			}
		})
		b.Run(name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				reference(b, s)
			}
		})
	}
}
