package buffer

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
)

func regex(t testing.TB, expr string) *lazydfa.Regexp {
	t.Helper()
	re, err := lazydfa.Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	return re
}

func (w *Watch) has() bool {
	select {
	case <-w.Found():
		return true
	default:
		return false
	}
}

// say appends texts, each "1 ..." to stdout or "2 ..." to stderr.
func say(l *Log, texts ...string) {
	for _, s := range texts {
		l.Append(Stream(s[0]-'1'), []byte(s[2:]))
	}
}

func TestWatchDescribesTheMatch(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []string // appended before and after the watch begins
		expr          string
		from          uint64
		sel           Selection
		want          Match
	}{
		{
			name: "live, line in pieces", after: []string{"1 one\ntwo\nthree\nserver rea", "1 dy on 80\nnext\nlast\nx\n"}, expr: `ready`,
			want: Match{Line: "server ready on 80", Text: "ready", Before: []string{"two", "three"}, After: []string{"next", "last"}, Seq: 15, Next: 27},
		},
		{
			name: "kept", before: []string{"1 one\ntwo\nready\nnext\n"}, expr: `ready`,
			want: Match{Line: "ready", Text: "ready", Before: []string{"one", "two"}, After: []string{"next"}, Seq: 9, Next: 14},
		},
		{
			name: "unfinished", after: []string{"1 >>> "}, expr: `^>>> `,
			want: Match{Line: ">>> ", Text: ">>> ", Seq: 1, Next: 5},
		},
		{
			name: "streams apart", after: []string{"1 rea", "2 err: rea", "1 x\n", "2 dy\n"}, expr: `ready`,
			want: Match{Stream: Stderr, Line: "err: ready", Text: "ready", Seq: 4, Next: 16},
		},
		{
			name: "one stream", after: []string{"1 ready\n", "2 ready!\n"}, expr: `ready`, sel: OnlyStderr,
			want: Match{Stream: Stderr, Line: "ready!", Text: "ready", Seq: 7, Next: 12},
		},
		{
			name: "after the cursor", before: []string{"1 ready one\nready two\n"}, expr: `ready \w+`, from: 10,
			want: Match{Line: "ready two", Text: "ready two", Before: []string{"ready one"}, Seq: 11, Next: 20},
		},
		{
			name: "over lines", after: []string{"1 x\na", "1 \n", "1 b\ny\n"}, expr: `a\nb`,
			want: Match{Line: "a", Text: "a\nb", Before: []string{"x"}, After: []string{"b", "y"}, Seq: 3, Next: 6},
		},
		{
			name: "as much as has come", after: []string{"1 port 8080\n"}, expr: `port \d+`,
			want: Match{Line: "port 8080", Text: "port 8080", Seq: 1, Next: 10},
		},
		{
			name: "carriage returns", after: []string{"1 a\r\nok\r\nb\r\n"}, expr: `ok`,
			want: Match{Line: "ok", Text: "ok", Before: []string{"a"}, After: []string{"b"}, Seq: 4, Next: 6},
		},
		{
			name: "line ends of two", after: []string{"1 a\r\nok\r", "1 \nb\r\n"}, expr: `^ok$`,
			want: Match{Line: "ok", Text: "ok", Before: []string{"a"}, After: []string{"b"}, Seq: 4, Next: 7},
		},
		{
			name: "end of a line", after: []string{"1 done", "1  no\n", "1 done\n"}, expr: `done$`,
			want: Match{Line: "done", Text: "done", Before: []string{"done no"}, Seq: 9, Next: 13},
		},
		{
			name: "anything", after: []string{"1 é\n"}, expr: `.*`,
			want: Match{Line: "é", Text: "é", Seq: 1, Next: 3},
		},
		{
			name: "empty", after: []string{"1 é\n"}, expr: `x*`,
			want: Match{Line: "é", Text: "", Seq: 1, Next: 2},
		},
		{
			name: "newline first", after: []string{"1 a\nb\n"}, expr: `\nb`,
			want: Match{Line: "b", Text: "\nb", Before: []string{"a"}, Seq: 3, Next: 4},
		},
	} {
		l := NewLog(1000)
		say(l, c.before...)
		w := l.Watch(t.Context(), regex(t, c.expr), c.from, c.sel)
		say(l, c.after...)
		if !w.has() {
			t.Errorf("%s: no match", c.name)
			continue
		}
		if got := w.Match(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
		w.Stop()
		if len(l.watches) != 0 {
			t.Errorf("%s: %d watches are left", c.name, len(l.watches))
		}
	}
}

func TestWatchGoesOnAfterItsMatch(t *testing.T) {
	l := NewLog(1000)
	say(l, "1 port 1\nport 2\n", "2 port 3\n", "1 port 4")
	re := regex(t, `port \d+`)
	var got []string
	for from := uint64(1); ; {
		w := l.Watch(t.Context(), re, from, Both)
		if !w.has() {
			break
		}
		m := w.Match()
		got = append(got, m.Text)
		from = m.Next
	}
	if s := fmt.Sprint(got); s != "[port 1 port 2 port 3 port 4]" {
		t.Error(s)
	}
}

func TestWatchSeesWhatIsEvicted(t *testing.T) {
	l := NewLog(16)
	w := l.Watch(t.Context(), regex(t, `needle \d+`), 1, Both)
	hay := strings.Repeat("hay\n", 3000)
	l.Append(Stdout, []byte(hay+"need"))
	l.Append(Stdout, []byte("le 7\nlast\n"+hay))
	if !w.has() {
		t.Fatal("no match")
	}
	got := w.Match()
	want := Match{
		Line: "needle 7", Text: "needle 7", Before: []string{"hay", "hay"}, After: []string{"last", "hay"},
		Seq: uint64(len(hay)) + 1, Next: uint64(len(hay)) + 9,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestWatchCutsLongLines(t *testing.T) {
	l := NewLog(1 << 20)
	w := l.Watch(t.Context(), regex(t, `needle`), 1, Both)
	long := strings.Repeat("é", 5000)
	for range 20 {
		l.Append(Stdout, []byte(long))
	}
	say(l, "1 needle")
	l.Append(Stdout, []byte(long+"\n"+long+"\nc\n"+long))
	m := w.Match()
	if len(m.Line) > maxLine || !strings.Contains(m.Line, "éneedleé") || m.Text != "needle" || len(m.After) != 0 {
		t.Errorf("%+v", m)
	}
	if p := l.Page(m.Seq, len(m.Line), Both); p.Stdout != m.Line {
		t.Errorf("at %d there is %.60q, not %.60q", m.Seq, p.Stdout, m.Line)
	}
	if p := l.Page(m.Next-6, 6, Both); p.Stdout != "needle" {
		t.Errorf("before next there is %q", p.Stdout)
	}
}

// TestEndOfALineThatMayGrow: what a $ means at the end of an unfinished line
// is known once nothing has followed for a while.
func TestEndOfALineThatMayGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLog(1000)
		w := l.Watch(t.Context(), regex(t, `>>> $`), 1, Both)
		say(l, "1 >>> ")
		time.Sleep(settleTime - 1)
		say(l, "1 x\n>>> ", "2 noise")
		time.Sleep(settleTime - 1)
		say(l, "2 more noise")
		if w.has() {
			t.Fatal("a match while the line may still grow")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !w.has() || w.Match().Next != 11 || len(w.Match().Before) != 1 {
			t.Error("no match once it was quiet")
		}
		w.Stop()

		w = l.Watch(t.Context(), regex(t, `noise$`), 1, Both) // it is kept, and quiet
		if w.has() {
			t.Error("a match at once")
		}
		time.Sleep(settleTime)
		synctest.Wait()
		if !w.has() || w.Match().Line != "noisemore noise" {
			t.Error("no match in what is kept")
		}
		w.Stop()

		w = l.Watch(t.Context(), regex(t, `noise\b`), 1, OnlyStderr)
		if !w.End() || !w.has() {
			t.Error("no match at the end")
		}
		w.Stop()
		w = l.Watch(t.Context(), regex(t, `noise$`), 1, Both)
		w.Stop()
		time.Sleep(time.Second)
		synctest.Wait()
		if w.has() || l.Watch(t.Context(), regex(t, `bird`), 1, Both).End() {
			t.Error("a match after the stop, or of nothing")
		}
	})
}

// TestWatchCatchesUpWhileOutputComes: no byte is missed or seen twice between
// what is kept and what comes.
func TestWatchCatchesUpWhileOutputComes(t *testing.T) {
	for range 20 {
		l := NewLog(1 << 20)
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for i := range 2000 {
				l.Append(Stream(i%2), fmt.Appendf(nil, "line %d.\n", i))
			}
		}()
		w := l.Watch(t.Context(), regex(t, `(?s)line 0\..*line 2\..*line 1998\.`), 1, OnlyStdout)
		<-stop
		if !w.has() {
			t.Fatal("no match")
		}
		w.Stop()
	}
}

func FuzzWatch(f *testing.F) {
	f.Add(uint8(0), uint8(20), []byte("abracadabra"))
	f.Add(uint8(3), uint8(1), []byte("\x01a\x41b\x82c\xf0\x00\x11abcabcabc"))
	f.Add(uint8(5), uint8(7), []byte("aaaa\x0ab\x9c\x0a\x0a\x0aab"))
	exprs := []string{`a`, `ab`, `a.b`, `b\na`, `(?s)a.*b`, `a+b+`, `[^a]b`, `é`, `\n\n`, `(ab|ba)a`}
	alphabet := []string{"a", "b", "\n", "é", "ab\n", "c"}
	f.Fuzz(func(t *testing.T, e, start uint8, data []byte) {
		if len(data) > 200 {
			t.Skip()
		}
		expr := exprs[int(e)%len(exprs)]
		re, std := regex(t, expr), regexp.MustCompile("(?m:"+expr+")")
		l := NewLog(1 + int(e)/16*8)
		type char struct {
			stream Stream
			seq    uint64
			text   string
		}
		var chars []char // those that count
		var w *Watch
		var sel Selection
		expected := func() (s Stream, end uint64, ok bool) {
			var text [2]string
			for _, c := range chars {
				text[c.stream] += c.text
				if std.MatchString(text[c.stream]) {
					return c.stream, c.seq + uint64(len(c.text)), true
				}
			}
			return 0, 0, false
		}
		for i, b := range data {
			if w == nil && i >= int(start) {
				sel = Selection(b % 3)
				from := uint64(b)
				pieces, _, _ := l.Pieces(from, 1<<20, sel)
				for _, p := range pieces {
					seq := p.Seq
					for _, r := range string(p.Text) {
						chars = append(chars, char{p.Stream, seq, string(r)})
						seq += uint64(len(string(r)))
					}
				}
				w = l.Watch(t.Context(), re, from, sel)
			}
			s, seq := Stream(b>>7), l.Latest()
			text := strings.Repeat(alphabet[int(b)%len(alphabet)], 1+int(b>>4)%4)
			l.Append(s, []byte(text))
			if w == nil {
				continue
			}
			if sel.Has(s) {
				for _, r := range text {
					chars = append(chars, char{s, seq, string(r)})
					seq += uint64(len(string(r)))
				}
			}
			stream, end, want := expected()
			if got := w.has(); got != want {
				t.Fatalf("%s: found %v, want %v in %v", expr, got, want, chars)
			}
			if !want {
				continue
			}
			m := w.Match()
			if m.Stream != stream || m.Next < end || !std.MatchString(m.Text) || m.Seq > m.Next {
				t.Fatalf("%s: %+v, want stream %d and an end of %d or later in %v", expr, m, stream, end, chars)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	chunk := []byte(strings.Repeat("2026-12-02 10:00:00.123 compiled module 1234 of 9876\n", 1200))
	for _, watched := range []bool{false, true} {
		b.Run(fmt.Sprintf("watched=%v", watched), func(b *testing.B) {
			l := NewLog(256 << 10)
			if watched {
				defer l.Watch(b.Context(), regex(b, `error: \w+`), 1, Both).Stop()
			}
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				l.Append(Stdout, chunk)
			}
		})
	}
}

// A watch sees noise as it will be read, and each match in it.
func TestWatchSeesRepairedOutput(t *testing.T) {
	l := NewLog(64 << 10)
	w := NewWriter(l, Stdout, nil)
	noise := strings.Repeat("\xff\xfe a \x80", 4000)
	w.Write([]byte(noise)) // kept as it came
	watch := l.Watch(t.Context(), regex(t, `\x{FFFD}ready\x{FFFD}`), 1, Both)
	defer watch.Stop()
	w.Write([]byte(noise))
	if watch.has() {
		t.Fatal("found before it came")
	}
	w.Write([]byte(noise + "\xffready\xff\n" + noise))
	if !watch.has() {
		t.Fatal("not found")
	}
	m := watch.Match()
	if m.Text != "\uFFFDready\uFFFD" {
		t.Errorf("%+v", m)
	}
	if p := l.Page(m.Next-uint64(len(m.Text)), len(m.Text), Both); p.Stdout != m.Text {
		t.Errorf("at its position is %q", p.Stdout)
	}
}

// TestWatchOnALineThatWasRead: what was read of an unfinished line counts, but a
// match ends after it.
func TestWatchOnALineThatWasRead(t *testing.T) {
	for _, c := range []struct{ expr, read, come, want string }{ // what matches; - for nothing
		{`listening on \d+`, "one\nserver lis", "tening on 80\n", "listening on 80"},
		{`^server`, "one\nser", "ver\n", "server"},
		{`ready`, "is ready", " on 80\n", "-"},
		{`ready`, "is ready", ", ready\n", "ready"},
		{`ready$`, "is ready", "\n", "-"},
		{`80$`, "port 8", "0\n", "80"},
		{`^>>> `, ">>> ", ">>> ", ">>> "},
		{`a\nb`, "x\na", "\nb\n", "a\nb"},
		{`\d+`, "port 30", "00\n", "3000"},
		{`one`, "one\n", "two\n", "-"},
	} {
		l := NewLog(1000)
		say(l, "1 "+c.read, "2 noise")
		w := l.WatchOn(t.Context(), regex(t, c.expr), l.Latest(), Both)
		say(l, "2 more noise", "1 "+c.come)
		got := "-"
		if w.has() {
			got = w.Match().Text
		}
		if got != c.want {
			t.Errorf("%s after %q in %q: %q, want %q", c.expr, c.read, c.come, got, c.want)
		}
		w.Stop()
	}
	l := NewLog(1000)
	say(l, "1 the en")
	w := l.WatchOn(t.Context(), regex(t, `end$`), l.Latest(), Both)
	say(l, "1 d")
	if !w.End() || w.Match().Text != "end" || w.Match().Line != "the end" {
		t.Errorf("at the end: %+v", w.Match())
	}
}

// countdown is a context that ends when Err was called some times.
type countdown struct {
	context.Context
	left int
	each func()
}

func (c *countdown) Err() error {
	if c.each != nil {
		c.each()
	}
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// What comes between any two steps of the catch-up does not keep the watch from
// going live.
func TestWatchGoesLiveWhateverComes(t *testing.T) {
	for _, capacity := range []int{1000, 64 << 10, 1 << 20} {
		l := NewLog(capacity)
		text := []byte(strings.Repeat("noise\n", 30_000))
		l.Append(Stdout, text)
		ctx := &countdown{Context: t.Context(), left: 1000}
		ctx.each = func() {
			if l.mu.TryLock() { // the log does not wait for the watch
				l.mu.Unlock()
				l.Append(Stdout, text)
			}
		}
		w := l.Watch(ctx, regex(t, `needle`), 1, Both)
		if !w.live {
			t.Errorf("capacity %d: the watch is not live after 1000 steps", capacity)
		}
		l.Append(Stderr, []byte("needle"))
		if !w.has() {
			t.Errorf("capacity %d: no match", capacity)
		}
		w.Stop()
	}
}

// A watch whose context ends before it has caught up finds nothing more, not
// even at the end of the output.
func TestWatchThatMustEnd(t *testing.T) {
	l := NewLog(1 << 20)
	l.Append(Stdout, []byte(strings.Repeat("noise\n", 100_000)))
	for _, left := range []int{0, 2, 4} {
		w := l.Watch(&countdown{Context: t.Context(), left: left}, regex(t, `needle|s$`), 1, Both)
		if w.live || w.has() || w.End() {
			t.Errorf("%d steps: live is %v, has is %v", left, w.live, w.has())
		}
		say(l, "2 needle")
		if w.has() || w.End() {
			t.Errorf("%d steps: it sees what comes", left)
		}
		w.Stop()
	}
}
