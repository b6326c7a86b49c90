package lazydfa

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"
)

func mustCompile(t testing.TB, expr string) *Regexp {
	t.Helper()
	re, err := Compile(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return re
}

// feed feeds pieces and returns the end of the match in all of the text, or -1.
func feed(m *Matcher, pieces ...string) int {
	before := 0
	for _, p := range pieces {
		if end, ok := m.Feed([]byte(p)); ok {
			return before + end
		}
		before += len(p)
	}
	return -1
}

func TestFirstMatch(t *testing.T) {
	for _, c := range []struct {
		expr   string
		pieces string // separated by |
		want   int    // -1: none that is certain
	}{
		{`ready`, "ready", 5},
		{`ready`, "re|a|dy!", 5},
		{`ready`, "not re|ad", -1},
		{`listening on port \d+`, "x\nlistening on |port 80|80\n", 21},
		{`^ready`, "not ready\nrea|dy", 15},
		{`ready$`, "ready| \nready|\n", 12},
		{`ready$`, "ready", -1},
		{`\bok\b`, "took ok|ay o|k", -1},
		{`\bok\b`, "took ok|ay ok|.", 12},
		{`(?s)begin.*end`, "begin\n1\n2|\nend", 13},
		{`begin.*end`, "begin\n1\n2|\nend", -1},
		{`a\nb`, "a|\n|b", 3},
		{`(?i)straße`, "STRA|ßE", 7},
		{`é+€`, "é|é|€", 7},
		{`.*`, "|x", 0},
		{`x*`, "|", -1},
		{`\Ab`, "ab\nb", -1},
		{`a|b`, "xb", 2},
		{`[^a]`, "aaa|\U0001F600", 7},
		{`\z`, "abc", -1},
		{`ready$`, "ready\r|x\nready\r\n", 14},
		{`^ready$`, "ready\r|\n", 6},
		{`(ready$|x)y`, "ready\r\ny", -1},
		{`(?-m)^b`, "a\nb", -1},
		{`(?-m)^a`, "a\nb", 1},
	} {
		pieces := strings.Split(c.pieces, "|")
		if got := feed(mustCompile(t, c.expr).Start(), pieces...); got != c.want {
			t.Errorf("%s in %q ends at %d, want %d", c.expr, pieces, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	var problem *syntax.Error
	for _, expr := range []string{`(`, `(?=a)`, `(a)\1`, `[`, `a**`, `\`, "\xff", `a{2000}`} {
		if _, err := Compile(expr); !errors.As(err, &problem) {
			t.Errorf("%q: %v", expr, err)
		}
	}
	if _, err := Compile(strings.Repeat("a", MaxLength+1)); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
	for _, expr := range []string{`(abcdefghij){1000}`, `(?:\pL\d\w\s\pN\pZ){1000}`} {
		if _, err := Compile(expr); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", expr, err)
		}
	}
	mustCompile(t, strings.Repeat("a", MaxLength))
}

// TestMemoryIsBounded feeds an expression whose automaton has a million states
// with text that reaches most of them.
func TestMemoryIsBounded(t *testing.T) {
	m := mustCompile(t, `a[ab]{20}c`).Start()
	seed := uint32(1)
	text := make([]byte, 200_000)
	for i := range text {
		seed = seed*1664525 + 1013904223
		text[i] = 'a' + byte(seed>>31)
	}
	if end, ok := m.Feed(text); ok {
		t.Fatalf("matched at %d", end)
	}
	if len(m.states) > 10_000 || m.size > 2*cacheSize {
		t.Errorf("%d states of %d bytes", len(m.states), m.size)
	}
	if end, ok := m.Feed([]byte(strings.Repeat("a", 21) + "c")); !ok || end != 22 {
		t.Errorf("matched at %d, %v", end, ok)
	}
}

// model checks a matcher against the regexp package, which sees all of the
// text each time.
func model(t *testing.T, expr, text string, cuts uint64) {
	re, err := Compile(expr)
	if err != nil {
		t.Skip()
	}
	std, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		t.Fatalf("%q compiles here only: %v", expr, err)
	}
	if got, want := re.Find([]byte(text)) != nil, std.MatchString(text); got != want {
		t.Fatalf("%q in %q: found %v, want %v", expr, text, got, want)
	}
	// Rune by rune: what is known of each prefix.
	m := re.Start()
	end := -1
	for i, r := range text {
		prefix := text[:i+utf8.RuneLen(r)]
		if n, ok := m.Feed([]byte(prefix[i:])); ok {
			end = i + n
			if !re.atEnds && end != len(prefix) && end != 0 {
				t.Fatalf("%q matches %q, but ends at %d", expr, prefix, end)
			}
			// Whatever follows.
			for _, more := range []string{"", "\n", "a", " ", "é"} {
				if !std.MatchString(prefix + more) {
					t.Fatalf("%q: certain after %q, but no match in %q", expr, prefix, prefix+more)
				}
			}
			break
		}
		if got, want := m.AtEnd(), std.MatchString(prefix); got != want {
			t.Fatalf("%q after %q: matches at the end %v, want %v", expr, prefix, got, want)
		}
		if m.AtEnd() && !re.atEnds {
			t.Fatalf("%q after %q: uncertain, but does not depend on the end", expr, prefix)
		}
	}
	// Cut anywhere: the same end.
	var pieces []string
	start := 0
	for i := range text {
		if i > 0 && cuts>>(i%64)&1 == 1 {
			pieces = append(pieces, text[start:i])
			start = i
		}
	}
	pieces = append(pieces, text[start:])
	if got := feed(re.Start(), pieces...); got != end {
		t.Fatalf("%q in %q ends at %d, want %d", expr, pieces, got, end)
	}
}

var expressions = []string{
	`a`, `ab`, `a+b`, `a*`, `(a|b)*c`, `a.b`, `(?s)a.b`, `(?s)a.*b`, `^a`, `a$`, `^$`, `^a.*b$`, `\ba`, `a\b`, `a\B`, `\Ba`,
	`\Aa`, `a\z`, `[^a]`, `[^a]b`, `(?i)AB`, `é`, `[é-€]+a`, `a\n`, `a\nb`, `\na`, `(a|ab)(c|bcd)`, `a{2,3}`, `(?:a|b|\n){3}c`,
	`a??b`, `a*?b`, `\bab\b`, `^(a|b)+$`, `(^a|b$)`, `\b`, `\B`, `$a`, `a^`, `(?-m)a$`, `\pL{2}`, `k`, `(?i)k`, `x|`,
	`aab`, `ab+c`, `€a`, `éé`, `aba[bc]`,
}

var texts = []string{
	"", "a", "ab", "aab", "b\na", "a\n", "\n", "\n\n", "ab\nab\n", "xaxbx", "éa", "€€a", "a\nb", "cab", "abcd", "aaa", "ba b a", "K", "\u212a", "a.b c_b", "bab", "\nab\n",
}

func TestAgainstRegexp(t *testing.T) {
	for _, expr := range expressions {
		for i, text := range texts {
			model(t, expr, text, uint64(i)*0x9e3779b97f4a7c15)
		}
	}
}

func FuzzAgainstRegexp(f *testing.F) {
	for i, expr := range expressions {
		f.Add(expr, texts[i%len(texts)], uint64(i))
	}
	f.Fuzz(func(t *testing.T, expr, text string, cuts uint64) {
		if len(expr) > 60 || len(text) > 60 || !utf8.ValidString(text) || strings.Contains(text, "\r") { // $ knows it, and regexp does not
			t.Skip()
		}
		model(t, expr, text, cuts)
	})
}

func BenchmarkFeed(b *testing.B) {
	line := "2026-12-02 10:00:00.123 [info] compiled module 1234 of 9876 in 12 ms\n"
	text := []byte(strings.Repeat(line, 64<<10/len(line)))
	for _, expr := range []string{`ready`, `(?i)listening on port \d+`, `\berror\b|^FAIL`, `[a-z]+ready in \d+ ms`} {
		b.Run(fmt.Sprintf("%q", expr), func(b *testing.B) {
			m := mustCompile(b, expr).Start()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, ok := m.Feed(text); ok {
					b.Fatal("matched")
				}
			}
		})
	}
}

// TestPrime tries all places where a match that ends after what came before may
// begin and end.
func TestPrime(t *testing.T) {
	for _, expr := range expressions {
		re := mustCompile(t, expr)
		if re.asserts {
			continue
		}
		exact := regexp.MustCompile(`\A(?:(?m:` + expr + `))\z`)
		for _, text := range texts {
			for cut := range text {
				want := -1
				for end := cut + 1; end <= len(text) && want < 0; end++ {
					for begin := 0; begin <= end; begin++ {
						if utf8.ValidString(text[begin:end]) && utf8.ValidString(text[end:]) && exact.MatchString(text[begin:end]) {
							want = end - cut
							break
						}
					}
				}
				m := re.Start()
				m.Prime([]byte(text[:cut]))
				if got := feed(m, text[cut:]); got != want {
					t.Errorf("%q in %q after %q ends at %d, want %d", expr, text[cut:], text[:cut], got, want)
				}
			}
		}
	}
}
