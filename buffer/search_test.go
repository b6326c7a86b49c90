package buffer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// shown is findings in short: 1 for stdout, the position, the line, and the
// lines around it.
func shown(f Findings) string {
	var lines []string
	for _, l := range f.Lines {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d@%d %s %s", l.Stream+1, l.Seq, l.Line, strings.Trim(strings.Join(l.Before, ",")+"|"+strings.Join(l.After, ","), "|"))))
	}
	return fmt.Sprintf("%d of %d: %s", len(f.Lines), f.Total, strings.Join(lines, "; "))
}

func TestSearch(t *testing.T) {
	l := NewLog(1000)
	say(l, "1 one\ntwo\n", "2 err one\n", "1 thr", "2 err two\n", "1 ee\none more\r\n", "1 last one")
	for _, c := range []struct {
		name  string
		query Query
		expr  string
		want  string
	}{
		{"all", Query{}, `one`, "4 of 4: 1@1 one; 2@9 err one; 1@31 one more; 1@41 last one"},
		{"none", Query{}, `bird`, "0 of 0: "},
		{"newest first", Query{Newest: true, Limit: 2}, `one`, "2 of 4: 1@41 last one; 1@31 one more"},
		{"oldest first", Query{Limit: 2}, `one`, "2 of 4: 1@1 one; 2@9 err one"},
		{"by where they begin", Query{}, `t(hree|wo)`, "3 of 3: 1@5 two; 1@17 three; 2@20 err two"},
		{"the first of those", Query{Limit: 2}, `t(hree|wo)`, "2 of 3: 1@5 two; 1@17 three"},
		{"one stream", Query{Streams: OnlyStderr}, `one`, "1 of 1: 2@9 err one"},
		{"around", Query{Before: 2, After: 1}, `three`, "1 of 1: 1@17 three one,two|one more"},
		{"around at the ends", Query{Before: 1, After: 1}, `^(one|last one)$`, "2 of 2: 1@1 one two; 1@41 last one one more"},
		{"anchors", Query{}, `^one( more)?$`, "2 of 2: 1@1 one; 1@31 one more"},
		{"no newline to match", Query{}, `one\ntwo`, "0 of 0: "},
		{"from a line", Query{From: 9}, `one`, "3 of 3: 2@9 err one; 1@31 one more; 1@41 last one"},
		{"from within a line", Query{From: 2}, `one|ne`, "3 of 3: 2@9 err one; 1@31 one more; 1@41 last one"},
		{"until", Query{Until: 31}, `one`, "2 of 2: 1@1 one; 2@9 err one"},
		{"few bytes", Query{Bytes: 9}, `one`, "1 of 4: 1@1 one"},
		{"enough bytes", Query{Bytes: 10}, `one`, "2 of 4: 1@1 one; 2@9 err one"},
		{"at least one", Query{Bytes: 1, Newest: true}, `one`, "1 of 4: 1@41 last one"},
	} {
		c.query.Re = regex(t, c.expr)
		if c.query.Limit == 0 {
			c.query.Limit = 100
		}
		if c.query.Bytes == 0 {
			c.query.Bytes = 1000
		}
		got, err := l.Search(t.Context(), c.query)
		if err != nil || shown(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, shown(got), err, c.want)
		}
	}
}

func TestSearchAfterEviction(t *testing.T) {
	l := NewLog(10)
	say(l, "1 aaaa one\nbb one\n", "2 e\n")
	q := Query{Re: regex(t, `e`), Limit: 9, Bytes: 99}
	got, _ := l.Search(t.Context(), q)
	if s := shown(got); s != "3 of 3: 1@7 ne; 1@10 bb one; 2@17 e" || !got.Evicted || got.Start != 7 || got.Latest != 19 {
		t.Errorf("got %s, %+v", s, got)
	}
	q.From = 9
	got, _ = l.Search(t.Context(), q)
	if s := shown(got); s != "2 of 2: 1@10 bb one; 2@17 e" || got.Evicted {
		t.Errorf("got %s, %+v", s, got)
	}
}

func TestSearchLongLines(t *testing.T) {
	l := NewLog(4 << 20)
	long := strings.Repeat("é", 700_000)
	l.Append(Stdout, []byte(long+"needle"+long+"\nneedle\n"))
	got, _ := l.Search(t.Context(), Query{Re: regex(t, `needle`), Limit: 9, Bytes: 9999})
	if len(got.Lines) != 2 || len(got.Lines[0].Line) > maxLine || !strings.Contains(got.Lines[0].Line, "éneedleé") || got.Lines[1].Seq != 2_800_008 {
		t.Errorf("%.300s", shown(got))
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewLog(1).Search(ctx, Query{Re: regex(t, `a`)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What comes while a search goes on is not searched, so that a flood does not
// keep it going.
func TestSearchEndsWhereItsLogEnded(t *testing.T) {
	for _, capacity := range []int{1 << 20, 8 << 20} { // with and without eviction
		l := NewLog(capacity)
		noise := []byte(strings.Repeat("noise\n", 100_000))
		l.Append(Stdout, []byte("needle 1\n"))
		l.Append(Stdout, noise)
		l.Append(Stdout, []byte("needle 2\nunfinished nee"))
		end := l.Latest()
		ctx := &countdown{Context: context.Background(), left: 1000}
		ctx.each = func() { l.Append(Stdout, []byte("dle 3\nneedle 4\n")); l.Append(Stdout, noise) }
		got, err := l.Search(ctx, Query{Re: regex(t, `needle`), Limit: 9, Bytes: 99})
		if err != nil || got.Latest != end || got.Evicted != (capacity == 1<<20) {
			t.Errorf("capacity %d: %v, Latest is %d, not %d, Evicted is %v", capacity, err, got.Latest, end, got.Evicted)
		}
		if want := fmt.Sprintf("2 of 2: 1@1 needle 1; 1@%d needle 2", 10+len(noise)); capacity > 1<<20 && shown(got) != want {
			t.Errorf("got %s, want %s", shown(got), want)
		}
	}
}

// Behind Until, only what belongs to a finding before it is looked at.
func TestSearchStopsAfterUntil(t *testing.T) {
	l := NewLog(16 << 20)
	say(l, "1 one needle\ntwo nee", "2 needle\n", "1 dle\nthree\n")
	until := l.Latest()
	for range 10 {
		l.Append(Stdout, []byte(strings.Repeat("needle\n", 100_000)))
	}
	for after, want := range []string{
		"3 of 3: 1@1 one needle; 1@12 two needle; 2@19 needle",
		"3 of 3: 1@1 one needle two needle; 1@12 two needle three; 2@19 needle",
	} {
		ctx := &countdown{Context: context.Background(), left: 1000}
		steps := 0
		ctx.each = func() { steps++ }
		q := Query{Re: regex(t, `needle`), Until: until, After: after, Limit: 9, Bytes: 999}
		got, err := l.Search(ctx, q)
		if err != nil || shown(got) != want {
			t.Errorf("got %s, %v, want %s", shown(got), err, want)
		}
		if after == 0 && steps > 3 {
			t.Errorf("it took %d steps", steps)
		}
	}
	// A line that has begun before Until is read to its end.
	l = NewLog(1 << 20)
	l.Append(Stdout, []byte(strings.Repeat("x", 300_000)))
	until = l.Latest()
	l.Append(Stdout, []byte(strings.Repeat("x", 300_000)+" needle\nneedle\n"))
	got, err := l.Search(t.Context(), Query{Re: regex(t, `needle`), Until: until, Limit: 9, Bytes: 999})
	if err != nil || got.Total != 1 {
		t.Errorf("%d findings, %v", got.Total, err)
	}
}

func FuzzSearch(f *testing.F) {
	for i := range uint8(8) {
		f.Add([]byte("abc\x81\x82def\n\x90\x05\x0aabba\x85ab"), i<<4|3, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, limit uint8, newest bool) {
		if len(data) > 200 {
			t.Skip() // lines that are cut
		}
		exprs := []string{`ab`, `a$`, `^b`, `^$`, `c*`, `[^a]b`, `\bc`, `b\b`}
		expr := exprs[int(limit>>4)%len(exprs)]
		std := regexp.MustCompile(expr)
		l := NewLog(1 << 16)
		type line struct {
			stream Stream
			seq    uint64
			text   string
		}
		var lines []line // by where they begin
		open := [2]int{-1, -1}
		for _, b := range data {
			s, seq := Stream(b>>7), l.Latest()
			c := string(rune('a' + b%3))
			if b%5 == 0 {
				c = "\n"
			}
			l.Append(s, []byte(c))
			if open[s] < 0 {
				lines = append(lines, line{s, seq, ""})
				open[s] = len(lines) - 1
			}
			if c == "\n" {
				open[s] = -1
				continue
			}
			lines[open[s]].text += c
		}
		var want []line
		for _, o := range lines {
			if std.MatchString(o.text) {
				want = append(want, o)
			}
		}
		total := len(want)
		n := min(total, 1+int(limit)%5)
		if newest {
			for i, j := 0, total-1; i < j; i, j = i+1, j-1 {
				want[i], want[j] = want[j], want[i]
			}
		}
		got, err := l.Search(t.Context(), Query{Re: regex(t, expr), Limit: 1 + int(limit)%5, Bytes: 1 << 20, Newest: newest})
		if err != nil || got.Total != total || len(got.Lines) != n {
			t.Fatalf("%s, %v, want %d of %d", shown(got), err, n, total)
		}
		for i, o := range got.Lines {
			if (line{o.Stream, o.Seq, o.Line}) != want[i] {
				t.Fatalf("%s, want %v", shown(got), want)
			}
		}
	})
}
