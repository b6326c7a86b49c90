package buffer

import (
	"strings"
	"testing"
)

func TestEnding(t *testing.T) {
	for _, c := range []struct {
		name        string
		say         []string
		from        uint64
		limit, size int
		sel         Selection
		want        *Ending
	}{
		{"not capped", []string{"1 a\nb\n"}, 1, 10, 10, Both, nil},
		{"off", []string{"1 a\nb\n"}, 1, 2, 0, Both, nil},
		{"last line", []string{"1 a\nbb\ncc\n"}, 1, 2, 3, Both, &Ending{Stdout: "cc\n", Start: 6, Omitted: 3}},
		{"last lines", []string{"1 a\nbb\ncc\n"}, 1, 2, 9, Both, &Ending{Stdout: "bb\ncc\n", Start: 3}},
		{"unfinished", []string{"1 a\nbb\ncc"}, 1, 2, 4, Both, &Ending{Stdout: "cc", Start: 6, Omitted: 3}},
		{"none fits", []string{"1 a\nbb\ncccc"}, 1, 2, 3, Both, nil},
		{"not the rest of a line", []string{"1 aaaa\nb\n"}, 1, 2, 9, Both, &Ending{Stdout: "b\n", Start: 6, Omitted: 3}},
		{"only the rest of a line", []string{"1 aaaa\n"}, 1, 2, 9, Both, nil},
		{"both", []string{"1 aaaa\n", "2 e1\n", "1 b\n", "2 e2\n"}, 1, 2, 8, Both, &Ending{Stdout: "b\n", Stderr: "e1\ne2\n", Start: 6, Omitted: 3}},
		{"order of ends", []string{"1 aaaa\n", "2 e1", "1 bb\n", "2 e2\n"}, 1, 2, 5, Both, &Ending{Stderr: "e1e2\n", Start: 6, Omitted: 6}},
		{"a long line ends it", []string{"1 a\nb\n", "2 a long line\n", "1 c\n"}, 1, 1, 8, Both, &Ending{Stdout: "c\n", Start: 17, Omitted: 15}},
		{"the rest of a line ends one stream only", []string{"1 aaa\nb\n", "1 c", "2 e", "1 d\n"}, 7, 1, 9, Both, &Ending{Stderr: "e", Start: 8, Omitted: 2}},
		{"one stream", []string{"1 aaaa\n", "2 e1\n", "1 b\n", "2 e2\n"}, 1, 2, 8, OnlyStdout, &Ending{Stdout: "b\n", Start: 9, Omitted: 3}},
		{"characters", []string{"1 é\n€\n😀\n"}, 1, 2, 6, Both, &Ending{Stdout: "😀\n", Start: 8, Omitted: 5}},
	} {
		l := NewLog(1000)
		say(l, c.say...)
		page := l.PageAndEnding(c.from, c.limit, c.size, c.sel)
		got := page.Ending
		page.Ending = nil
		if want := l.Page(c.from, c.limit, c.sel); page != want {
			t.Errorf("%s: the page is %+v, want %+v", c.name, page, want)
		}
		switch {
		case (got == nil) != (c.want == nil):
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		case got != nil && *got != *c.want:
			t.Errorf("%s: got %+v, want %+v", c.name, *got, *c.want)
		}
	}
}

// TestEndingAfterEviction: what is left may begin in the middle of a line.
func TestEndingAfterEviction(t *testing.T) {
	l := NewLog(8)
	say(l, "2 e\nf\n", "1 aaaaaa\nbb\n", "2 g\n")
	e := l.PageAndEnding(1, 2, 100, Both).Ending
	if e == nil || *e != (Ending{Stdout: "bb\n", Stderr: "f\ng\n", Start: 3, Omitted: 5}) {
		t.Errorf("got %+v", e)
	}
}

// FuzzEnding checks an ending against the lines of all that was said.
func FuzzEnding(f *testing.F) {
	f.Add([]byte("abc\x81def\x02\x90"), uint8(3), uint8(8), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, limit, size, selection uint8) {
		l := NewLog(1 << 16)
		type line struct {
			stream     Stream
			start, end uint64
			text       string
		}
		var lines []line
		var open [2]*line
		for _, b := range data {
			s, seq := Stream(b>>7), l.Latest()
			text := strings.Repeat("x", int(b)%5)
			if b%2 == 0 {
				text += "\n"
			}
			if text == "" {
				continue
			}
			l.Append(s, []byte(text))
			if open[s] == nil {
				open[s] = &line{stream: s, start: seq}
			}
			open[s].text += text
			open[s].end = l.Latest()
			if b%2 == 0 {
				lines = append(lines, *open[s])
				open[s] = nil
			}
		}
		for _, o := range open {
			if o != nil {
				lines = append(lines, *o)
			}
		}
		if open[0] != nil && open[1] != nil && open[0].end > open[1].end { // in the order of their ends
			n := len(lines)
			lines[n-2], lines[n-1] = lines[n-1], lines[n-2]
		}
		// An unfinished line may have ended before finished ones of the other.
		for i := len(lines) - 1; i > 0; i-- {
			for j := i; j > 0 && lines[j-1].end > lines[j].end; j-- {
				lines[j-1], lines[j] = lines[j], lines[j-1]
			}
		}
		sel := Selection(selection % 3)
		page := l.PageAndEnding(1, int(limit), int(size), sel)
		e := page.Ending
		var want [2]string
		total := 0
		for i := len(lines) - 1; i >= 0; i-- {
			o := lines[i]
			if !sel.Has(o.stream) {
				continue
			}
			if o.start < page.Next {
				if o.end <= page.Next {
					continue
				}
				if rest := restAfter(l, o.stream, page.Next, o.end); total+rest > int(size) {
					break
				}
				continue
			}
			if total += len(o.text); total > int(size) {
				break
			}
			want[o.stream] = o.text + want[o.stream]
		}
		if !page.Capped || size == 0 {
			want = [2]string{}
		}
		if e == nil {
			e = &Ending{}
		}
		if e.Stdout != want[Stdout] || e.Stderr != want[Stderr] {
			t.Fatalf("got %+v, want %q after %+v of %+v", e, want, page, lines)
		}
	})
}

// restAfter counts the bytes of a stream from one position to another.
func restAfter(l *Log, s Stream, from, to uint64) int {
	n := 0
	pieces, _, _ := l.Pieces(from, 1<<20, OnlyStdout+Selection(s))
	for _, p := range pieces {
		if p.Seq < to {
			n += min(len(p.Text), int(to-p.Seq))
		}
	}
	return n
}
