package buffer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// model is a log that is too simple to be wrong: a list of bytes.
type model struct {
	capacity int
	bytes    []modelByte // bytes[i] has the position i+1
}

type modelByte struct {
	stream  Stream
	b       byte
	evicted bool
}

func (m *model) append(s Stream, p []byte) {
	for _, b := range p {
		m.bytes = append(m.bytes, modelByte{stream: s, b: b})
	}
	kept := m.positions(func(b modelByte) bool { return b.stream == s && !b.evicted })
	for len(kept) > m.capacity {
		m.bytes[kept[0]-1].evicted = true
		kept = kept[1:]
		for len(kept) > 0 && !utf8.RuneStart(m.bytes[kept[0]-1].b) {
			m.bytes[kept[0]-1].evicted = true
			kept = kept[1:]
		}
	}
}

// positions lists the positions of the bytes that match.
func (m *model) positions(match func(modelByte) bool) []uint64 {
	var list []uint64
	for i, b := range m.bytes {
		if match(b) {
			list = append(list, uint64(i)+1)
		}
	}
	return list
}

// chars groups the kept bytes of the selected streams into characters.
func (m *model) chars(sel Selection) [][]uint64 {
	var chars [][]uint64
	for _, pos := range m.positions(func(b modelByte) bool { return sel.Has(b.stream) && !b.evicted }) {
		if utf8.RuneStart(m.bytes[pos-1].b) {
			chars = append(chars, nil)
		}
		chars[len(chars)-1] = append(chars[len(chars)-1], pos)
	}
	return chars
}

func (m *model) evictedFrom(from uint64, sel Selection) bool {
	for i, b := range m.bytes {
		if b.evicted && sel.Has(b.stream) && uint64(i)+1 >= from {
			return true
		}
	}
	return false
}

// fill sets the text and Start of a page.
func (m *model) fill(p *Page, chars [][]uint64) {
	var text [2]strings.Builder
	for _, char := range chars {
		for _, pos := range char {
			text[m.bytes[pos-1].stream].WriteByte(m.bytes[pos-1].b)
		}
	}
	if len(chars) > 0 {
		p.Start = chars[0][0]
	}
	p.Stdout, p.Stderr = text[Stdout].String(), text[Stderr].String()
}

func (m *model) page(from uint64, limit int, sel Selection) Page {
	end := uint64(len(m.bytes)) + 1
	from = min(max(from, 1), end)
	p := Page{Start: from, Next: end, Latest: end, Evicted: m.evictedFrom(from, sel)}
	var taken [][]uint64
	size := 0
	for _, char := range m.chars(sel) {
		if char[0] < from {
			continue
		}
		if size+len(char) > limit && size > 0 {
			p.Capped = true
			last := taken[len(taken)-1]
			p.Next = last[len(last)-1] + 1
			break
		}
		taken = append(taken, char)
		size += len(char)
	}
	m.fill(&p, taken)
	return p
}

func (m *model) tail(lines, limit int, sel Selection) Page {
	end := uint64(len(m.bytes)) + 1
	p := Page{Start: end, Next: end, Latest: end}

	// Give each character the place where its line ends.
	chars := m.chars(sel)
	ends := make([]uint64, len(chars))
	var open [2]uint64
	whole := make(map[uint64]bool)
	for i := len(chars) - 1; i >= 0; i-- {
		last := chars[i][len(chars[i])-1]
		b := m.bytes[last-1]
		if b.b == '\n' || open[b.stream] == 0 {
			open[b.stream] = last
			whole[last] = true
		}
		ends[i] = open[b.stream]
	}
	for s := range open { // lines whose beginning was evicted
		gone := m.positions(func(b modelByte) bool { return b.stream == Stream(s) && b.evicted })
		if len(gone) == 0 || !sel.Has(Stream(s)) {
			continue
		}
		p.Evicted = true
		if m.bytes[gone[len(gone)-1]-1].b != '\n' && open[s] > 0 {
			whole[open[s]] = false
		}
	}
	have := 0
	for _, w := range whole {
		if w {
			have++
		}
	}
	p.Evicted = p.Evicted && have < lines

	wanted := make(map[uint64]bool)
	for pos := end; pos > 0 && len(wanted) < lines; pos-- {
		if _, ok := whole[pos]; ok {
			wanted[pos] = true
		}
	}
	var in [][]uint64
	size := 0
	for i, char := range chars {
		if wanted[ends[i]] {
			in = append(in, char)
			size += len(char)
		}
	}
	for size > limit && len(in) > 1 {
		size -= len(in[0])
		in = in[1:]
		p.Capped = true
	}
	if size > limit {
		p.Capped = true
	}
	m.fill(&p, in)
	return p
}

// compare drives a log and the model with the same operations, which data
// encodes, and fails at the first difference.
func compare(t *testing.T, capacity int, data []byte) {
	l, m := NewLog(capacity), &model{capacity: capacity}
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	alphabet := []string{"a", "é", "€", "😀", "\n", "bc", "d\n"}
	compareCounts := func(s Stream) {
		if got, want := l.Latest(), uint64(len(m.bytes))+1; got != want {
			t.Fatalf("Latest() = %d, want %d", got, want)
		}
		all := m.positions(func(b modelByte) bool { return b.stream == s })
		if got, want := l.Total(s), uint64(len(all)); got != want {
			t.Fatalf("Total(%d) = %d, want %d", s, got, want)
		}
	}
	for len(data) > 0 {
		op, arg := next(), next()
		sel := Selection(op >> 4 % 3)
		switch op % 8 {
		default:
			var text strings.Builder
			for range arg % 24 {
				text.WriteString(alphabet[next()%len(alphabet)])
			}
			s := Stream(op >> 4 % 2)
			l.Append(s, []byte(text.String()))
			m.append(s, []byte(text.String()))
			compareCounts(s)
		case 3, 4:
			text := invalid(rand.New(rand.NewPCG(uint64(next()), 7)), 3*arg)
			s := Stream(op >> 4 % 2)
			l.appendInvalid(s, text)
			m.append(s, []byte(decoded(text)))
			compareCounts(s)
		case 5, 6:
			from, limit := uint64(arg)*uint64(len(m.bytes)+4)/256, 1+next()%40
			if got, want := l.Page(from, limit, sel), m.page(from, limit, sel); got != want {
				t.Fatalf("Page(%d, %d, %d)\n got %+v\nwant %+v", from, limit, sel, got, want)
			}
		case 7:
			lines, limit := arg%12, 1+next()%60
			if got, want := l.Tail(lines, limit, sel), m.tail(lines, limit, sel); got != want {
				t.Fatalf("Tail(%d, %d, %d)\n got %+v\nwant %+v", lines, limit, sel, got, want)
			}
		}
	}
}

// invalid makes about n bytes of text and noise that end with a whole character
// or an invalid byte.
func invalid(r *rand.Rand, n int) []byte {
	parts := []string{"a", "plain text\n", "é", "€", "😀", "\xff", "\xe2", "\x82", "\xf0\x9f", "\xf0\x9f\x98", "\xed", "\xa0", "\xc3", "\xe0\x80", "\n"}
	plain := r.IntN(20)
	var text []byte
	for len(text) < n {
		if i := r.IntN(len(parts) + plain); i < len(parts) {
			text = append(text, parts[i]...)
		} else {
			text = append(text, 'x')
		}
	}
	return whole(text)
}

func FuzzLog(f *testing.F) {
	f.Add(uint16(20), []byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Add(uint16(800), []byte("\x03\xff1\x14\xf02\x05\x801\x07\x055\x03\xff4\x06\x502\x07\x112"))
	f.Fuzz(func(t *testing.T, capacity uint16, data []byte) {
		compare(t, 1+int(capacity%2000), data[:min(len(data), 500)])
	})
}

func TestLogAgainstModel(t *testing.T) {
	for seed := range uint64(3000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			data := make([]byte, 400)
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			if seed%8 > 0 {
				compare(t, 1+r.IntN(80), data)
			} else {
				compare(t, 1+r.IntN(2000), data[:200]) // large enough for spans
			}
		})
	}
}

func TestPage(t *testing.T) {
	euros := NewLog(262144)
	for range 6667 {
		euros.Append(Stdout, []byte("€"))
	}
	mixed := NewLog(262144)
	mixed.Append(Stdout, []byte("aa"))
	mixed.Append(Stderr, []byte("bbb"))
	mixed.Append(Stdout, []byte("cccc"))
	full, over := NewLog(262144), NewLog(262144)
	full.Append(Stdout, []byte(strings.Repeat("x", 262144)))
	over.Append(Stdout, []byte(strings.Repeat("x", 262144)))
	over.Append(Stdout, []byte("y"))

	for _, tt := range []struct {
		name  string
		log   *Log
		from  uint64
		limit int
		sel   Selection
		want  Page
	}{
		{"nothing", NewLog(10), 0, 10, Both, Page{Start: 1, Next: 1, Latest: 1}},
		{"limit inside a character", euros, 1, 20000, Both, Page{Stdout: strings.Repeat("€", 6666), Start: 1, Next: 19999, Latest: 20002, Capped: true}},
		{"the rest of it", euros, 19999, 20000, Both, Page{Stdout: "€", Start: 19999, Next: 20002, Latest: 20002}},
		{"limit below a character", euros, 1, 1, Both, Page{Stdout: "€", Start: 1, Next: 4, Latest: 20002, Capped: true}},
		{"no limit to speak of", mixed, 1, -1, Both, Page{Stdout: "a", Start: 1, Next: 2, Latest: 10, Capped: true}},
		{"cursor inside a character", euros, 19998, 1000, Both, Page{Stdout: "€", Start: 19999, Next: 20002, Latest: 20002}},
		{"one run", mixed, 3, 3, Both, Page{Stderr: "bbb", Start: 3, Next: 6, Latest: 10, Capped: true}},
		{"three runs", mixed, 2, 5, Both, Page{Stdout: "ac", Stderr: "bbb", Start: 2, Next: 7, Latest: 10, Capped: true}},
		{"exactly the limit", mixed, 1, 9, Both, Page{Stdout: "aacccc", Stderr: "bbb", Start: 1, Next: 10, Latest: 10}},
		{"one stream", mixed, 1, 3, OnlyStdout, Page{Stdout: "aac", Start: 1, Next: 7, Latest: 10, Capped: true}},
		{"the other stream", mixed, 1, 3, OnlyStderr, Page{Stderr: "bbb", Start: 3, Next: 10, Latest: 10}},
		{"nothing of a stream", mixed, 7, 3, OnlyStderr, Page{Start: 7, Next: 10, Latest: 10}},
		{"past the end", mixed, 999, 3, Both, Page{Start: 10, Next: 10, Latest: 10}},
		{"a full ring", full, 1, 1, Both, Page{Stdout: "x", Start: 1, Next: 2, Latest: 262145, Capped: true}},
		{"one byte too many", over, 1, 1, Both, Page{Stdout: "x", Start: 2, Next: 3, Latest: 262146, Capped: true, Evicted: true}},
		{"behind what was evicted", over, 2, 1, Both, Page{Stdout: "x", Start: 2, Next: 3, Latest: 262146, Capped: true}},
		{"the loud stream is not selected", over, 1, 1, OnlyStderr, Page{Start: 1, Next: 262146, Latest: 262146}},
	} {
		if got := tt.log.Page(tt.from, tt.limit, tt.sel); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	numbers := NewLog(262144)
	for i := range 100 {
		numbers.Append(Stdout, fmt.Appendln(nil, i+1))
	}
	latest := numbers.Latest()
	crlf := NewLog(262144)
	crlf.Append(Stdout, []byte("1\r\n2\r\n3"))
	crlf.Append(Stderr, []byte("e1\ne2\n"))
	evicted := NewLog(10)
	evicted.Append(Stdout, []byte("one\ntwo\nthree\n"))

	for _, tt := range []struct {
		name         string
		log          *Log
		lines, limit int
		sel          Selection
		want         Page
	}{
		{"nothing", NewLog(10), 3, 10, Both, Page{Start: 1, Next: 1, Latest: 1}},
		{"larger than the limit", numbers, 50, 8, OnlyStdout, Page{Stdout: "\n99\n100\n", Start: latest - 8, Next: latest, Latest: latest, Capped: true}},
		{"exactly the limit", numbers, 2, 7, OnlyStdout, Page{Stdout: "99\n100\n", Start: latest - 7, Next: latest, Latest: latest}},
		{"of the last stream", crlf, 1, 100, Both, Page{Stderr: "e2\n", Start: 11, Next: 14, Latest: 14}},
		{"an unfinished line", crlf, 2, 100, OnlyStdout, Page{Stdout: "2\r\n3", Start: 4, Next: 14, Latest: 14}},
		{"of both streams", crlf, 3, 100, Both, Page{Stdout: "3", Stderr: "e1\ne2\n", Start: 7, Next: 14, Latest: 14}},
		{"newest bytes", crlf, 99, 4, Both, Page{Stderr: "\ne2\n", Start: 10, Next: 14, Latest: 14, Capped: true}},
		{"more lines than there are", crlf, 99, 100, Both, Page{Stdout: "1\r\n2\r\n3", Stderr: "e1\ne2\n", Start: 1, Next: 14, Latest: 14}},
		{"lines that are kept", evicted, 2, 100, Both, Page{Stdout: "two\nthree\n", Start: 5, Next: 15, Latest: 15}},
		{"lines that were evicted", evicted, 3, 100, Both, Page{Stdout: "two\nthree\n", Start: 5, Next: 15, Latest: 15, Evicted: true}},
		{"of a stream that evicted nothing", evicted, 3, 100, OnlyStderr, Page{Start: 15, Next: 15, Latest: 15}},
	} {
		if got := tt.log.Tail(tt.lines, tt.limit, tt.sel); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestLastAppend(t *testing.T) {
	l := NewLog(10)
	l.Append(Stdout, nil)
	if got := l.LastAppend(Both); !got.IsZero() {
		t.Errorf("before any output: %v", got)
	}
	before := time.Now()
	l.Append(Stderr, []byte("x"))
	if got := l.LastAppend(Both); got.Before(before) || got.After(time.Now()) {
		t.Errorf("got %v, which is not now", got)
	}
}

// A quiet execution costs little, and no output makes the cost unbounded.
func TestMemory(t *testing.T) {
	const capacity = 64 << 10
	l := NewLog(capacity)
	l.Append(Stdout, []byte("a line of output\n"))
	if got := len(l.rings[Stdout].buf) + len(l.rings[Stderr].buf); got > minRing {
		t.Errorf("a line of output takes %d bytes", got)
	}
	for range 4 * capacity {
		l.Append(Stdout, []byte("o"))
		l.Append(Stderr, []byte("e"))
	}
	for s := range l.rings {
		r := &l.rings[s]
		if len(r.buf) != capacity || r.n != capacity {
			t.Errorf("stream %d keeps %d bytes in %d, want %d", s, r.n, len(r.buf), capacity)
		}
		if len(r.runs.buf) > capacity {
			t.Errorf("stream %d has room for %d runs", s, len(r.runs.buf))
		}
	}
	l.Append(Stdout, []byte(strings.Repeat("x", capacity/2)))
	l.Append(Stdout, []byte(strings.Repeat("x", capacity/2-1)))
	if got := len(l.rings[Stdout].runs.buf); got > 64 {
		t.Errorf("room for %d runs is left behind", got)
	}
}

func TestAllocations(t *testing.T) {
	l := NewLog(1000)
	for range 100 {
		l.Append(Stdout, []byte("standard output\n"))
		l.Append(Stderr, []byte("standard error\n"))
	}
	if got := testing.AllocsPerRun(100, func() { l.Page(0, 500, Both) }); got > 2 {
		t.Errorf("Page allocates %v times", got)
	}
	if got := testing.AllocsPerRun(100, func() { l.Tail(20, 500, Both) }); got > 2 {
		t.Errorf("Tail allocates %v times", got)
	}
	if got := testing.AllocsPerRun(100, func() { l.Append(Stdout, []byte("x")) }); got > 0 {
		t.Errorf("Append allocates %v times", got)
	}
}

// Readers that poll while both streams are written see every byte once.
func TestConcurrentPolling(t *testing.T) {
	l := NewLog(1 << 20)
	var writers sync.WaitGroup
	for _, s := range []Stream{Stdout, Stderr} {
		writers.Go(func() {
			w := NewWriter(l, s, nil)
			for i := range 2000 {
				fmt.Fprintf(w, "%d é\n", i)
			}
			w.Close()
		})
	}
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&want, "%d é\n", i)
	}
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var stdout, stderr strings.Builder
			end := uint64(2*want.Len()) + 1
			for from := uint64(1); from < end; {
				p := l.Page(from, 700, Both)
				stdout.WriteString(p.Stdout)
				stderr.WriteString(p.Stderr)
				from = p.Next
			}
			if stdout.String() != want.String() || stderr.String() != want.String() {
				t.Error("bytes were lost or repeated")
			}
		})
	}
	writers.Wait()
	readers.Wait()
}
