package spill

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yieldshell/mcp-yieldshell/buffer"
)

// model is a log that forgets nothing and is too simple to be wrong: a list of
// bytes. What is lost, it asks the File: that is for other tests to judge.
type model struct {
	capacity int
	file     *File
	bytes    []modelByte // bytes[i] has the position i+1
}

type modelByte struct {
	stream buffer.Stream
	b      byte
	left   bool // it has left memory
}

func (m *model) append(s buffer.Stream, p []byte) {
	for _, b := range p {
		m.bytes = append(m.bytes, modelByte{stream: s, b: b})
	}
	var inMemory []int
	for i, b := range m.bytes {
		if b.stream == s && !b.left {
			inMemory = append(inMemory, i)
		}
	}
	for len(inMemory) > m.capacity {
		for first := true; first || len(inMemory) > 0 && !utf8.RuneStart(m.bytes[inMemory[0]].b); first = false {
			m.bytes[inMemory[0]].left = true
			inMemory = inMemory[1:]
		}
	}
}

func selects(sel buffer.Selection, s buffer.Stream) bool {
	return sel == buffer.Both || (sel == buffer.OnlyStdout) == (s == buffer.Stdout)
}

// lost reports whether the byte at a position is not kept anywhere.
func (m *model) lost(pos int) bool {
	b := m.bytes[pos-1]
	k := m.file.Kept(b.stream)
	return b.left && (uint64(pos) <= k.Lost || k.Refused > 0 && uint64(pos) >= k.Refused)
}

// chars groups the positions from from to before end that are selected and kept
// into whole characters.
func (m *model) chars(from, end int, sel buffer.Selection) (chars [][]int) {
	var whole [2]bool
	for pos := from; pos < end; pos++ {
		b := m.bytes[pos-1]
		if !selects(sel, b.stream) || m.lost(pos) {
			whole[b.stream] = false
			continue
		}
		if utf8.RuneStart(b.b) {
			whole[b.stream] = true
			chars = append(chars, nil)
		}
		if whole[b.stream] {
			chars[len(chars)-1] = append(chars[len(chars)-1], pos)
		}
	}
	return chars
}

func (m *model) fill(p *buffer.Page, chars [][]int) {
	var text [2]strings.Builder
	for _, char := range chars {
		for _, pos := range char {
			text[m.bytes[pos-1].stream].WriteByte(m.bytes[pos-1].b)
		}
	}
	if len(chars) > 0 {
		p.Start = uint64(chars[0][0])
	}
	p.Stdout, p.Stderr = text[buffer.Stdout].String(), text[buffer.Stderr].String()
}

// gapAfter returns where the output of s is interrupted that a page from that
// position on could have, 0 if it is not.
func (m *model) gapAfter(s buffer.Stream, from int) int {
	if k := m.file.Kept(s); k.Bytes > 0 && k.Refused > uint64(from) {
		return int(k.Refused)
	}
	return 0
}

func (m *model) page(from, limit int, sel buffer.Selection) buffer.Page {
	latest := len(m.bytes) + 1
	from = min(max(from, 1), latest)
	end := latest
	for s := range buffer.Stream(2) {
		if gap := m.gapAfter(s, from); selects(sel, s) && gap > 0 {
			end = min(end, gap)
		}
	}
	p := buffer.Page{Start: uint64(from), Next: uint64(end), Latest: uint64(latest), Capped: end < latest}
	for pos := from; pos < latest; pos++ { // as far as no page will end for it
		s := m.bytes[pos-1].stream
		gap := m.gapAfter(s, from)
		ahead := gap > 0 && pos >= gap
		p.Evicted = p.Evicted || selects(sel, s) && m.lost(pos) && !ahead
	}
	var taken [][]int
	size := 0
	for _, char := range m.chars(from, end, sel) {
		if size+len(char) > limit && size > 0 {
			p.Capped = true
			last := taken[len(taken)-1]
			p.Next = uint64(last[len(last)-1]) + 1
			break
		}
		taken = append(taken, char)
		size += len(char)
	}
	m.fill(&p, taken)
	return p
}

// tail returns the newest lines as one page, and whether fewer whole ones are
// left than wanted after something was lost.
func (m *model) tail(lines, limit int, sel buffer.Selection) buffer.Page {
	end := len(m.bytes) + 1
	p := buffer.Page{Start: uint64(end), Next: uint64(end), Latest: uint64(end)}
	var chars [][]int
	whole := map[int]bool{} // by the position of a line's last byte
	lineOf := map[int]int{} // the same for each byte
	for s := range buffer.Stream(2) {
		if !selects(sel, s) {
			continue
		}
		begin, lostByte := 1, byte('\n') // what came after the last loss
		for pos := 1; pos < end; pos++ {
			if m.bytes[pos-1].stream == s && m.lost(pos) {
				begin, lostByte, p.Evicted = pos+1, m.bytes[pos-1].b, true
			}
		}
		only := buffer.OnlyStdout
		if s == buffer.Stderr {
			only = buffer.OnlyStderr
		}
		last, first := 0, 0
		for pos := end - 1; pos >= begin; pos-- {
			if m.bytes[pos-1].stream != s {
				continue
			}
			if m.bytes[pos-1].b == '\n' || last == 0 {
				last = pos
				whole[last] = true
			}
			lineOf[pos], first = last, pos
		}
		if first > 0 && lostByte != '\n' {
			whole[lineOf[first]] = false
		}
		chars = append(chars, m.chars(begin, end, only)...)
	}
	have := 0
	for _, w := range whole {
		if w {
			have++
		}
	}
	p.Evicted = p.Evicted && have < lines
	wanted := map[int]bool{}
	for pos := end; pos > 0 && len(wanted) < lines; pos-- {
		if _, ok := whole[pos]; ok {
			wanted[pos] = true
		}
	}
	var in [][]int
	size := 0
	for pos := 1; pos < end; pos++ { // in the order of positions
		for _, char := range chars {
			if char[0] == pos && wanted[lineOf[pos]] {
				in = append(in, char)
				size += len(char)
			}
		}
	}
	for size > limit && len(in) > 1 {
		size -= len(in[0])
		in, p.Capped = in[1:], true
	}
	p.Capped = p.Capped || size > limit
	m.fill(&p, in)
	return p
}

// compare drives a log that spills and the model with the same operations, which
// data encodes, and fails at the first difference.
func compare(t *testing.T, capacity int, limit int64, data []byte) {
	st, err := Open(Options{Dir: t.TempDir(), PerFile: limit, Total: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	f := st.File("x")
	l, m := buffer.NewLog(capacity), &model{capacity: capacity, file: f}
	l.SetOverflow(f)
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	alphabet := []string{"a", "é", "€", "😀", "\n", "bc", "d\n"}
	for len(data) > 0 {
		op, arg := next(), next()
		sel := buffer.Selection(op >> 4 % 3)
		switch op % 8 {
		default:
			var text strings.Builder
			for range arg % 24 {
				text.WriteString(alphabet[next()%len(alphabet)])
			}
			s := buffer.Stream(op >> 4 % 2)
			l.Append(s, []byte(text.String()))
			m.append(s, []byte(text.String()))
			m.checkLosses(t, limit)
		case 4:
			if arg < 24 { // the disk fails
				os.RemoveAll(st.folder)
			}
		case 5, 6:
			from, size := arg*(len(m.bytes)+4)/256, 1+next()%40
			want := m.page(from, size, sel)
			got := l.Page(uint64(from), size, sel)
			// The disk may fail while the page is read. Then it is lost by now.
			if again := m.page(from, size, sel); got != want && got != again {
				t.Fatalf("Page(%d, %d, %d)\n got %+v\nwant %+v", from, size, sel, got, want)
			}
			m.checkPieces(t, l, got, uint64(from), size, sel)
			m.checkEnding(t, l, uint64(from), size, sel)
		case 7:
			lines, size := arg%12, 1+next()%60
			if got, want := l.Tail(lines, size, sel), m.tail(lines, size, sel); got != want {
				t.Fatalf("Tail(%d, %d, %d)\n got %+v\nwant %+v", lines, size, sel, got, want)
			}
		}
	}
}

// checkPieces checks that the same output in pieces is the same.
func (m *model) checkPieces(t *testing.T, l *buffer.Log, want buffer.Page, from uint64, size int, sel buffer.Selection) {
	t.Helper()
	pieces, next, evicted := l.Pieces(from, size, sel)
	var text [2]strings.Builder
	for _, p := range pieces {
		text[p.Stream].Write(p.Text)
	}
	if want.Stdout+want.Stderr == "" || evicted && !want.Evicted {
		return // it looks beyond gaps
	}
	if text[buffer.Stdout].String() != want.Stdout || text[buffer.Stderr].String() != want.Stderr || next != want.Next || pieces[0].Seq != want.Start {
		t.Fatalf("Pieces(%d, %d, %d) = %v, %d\nwant %+v", from, size, sel, pieces, next, want)
	}
}

// checkEnding checks how much an ending says that it omits.
func (m *model) checkEnding(t *testing.T, l *buffer.Log, from uint64, size int, sel buffer.Selection) {
	t.Helper()
	p := l.PageAndEnding(from, size, 50, sel)
	if p.Ending == nil {
		return
	}
	kept := uint64(0)
	for pos := int(p.Next); pos <= len(m.bytes); pos++ {
		if selects(sel, m.bytes[pos-1].stream) && !m.lost(pos) {
			kept++
		}
	}
	// The rest of a character whose beginning is lost counts in one of the two.
	got := p.Ending.Omitted + uint64(len(p.Ending.Stdout)+len(p.Ending.Stderr))
	if got < kept || got > kept+6 {
		t.Fatalf("PageAndEnding(%d, %d, %d) accounts for %d bytes of %d: %+v %+v", from, size, sel, got, kept, p, p.Ending)
	}
}

// checkLosses checks that nothing is lost that could have been kept.
func (m *model) checkLosses(t *testing.T, limit int64) {
	t.Helper()
	m.file.store.mu.Lock()
	failed := m.file.err != nil
	m.file.store.mu.Unlock()
	if failed {
		return
	}
	left, kept := int64(0), int64(0)
	for _, b := range m.bytes {
		if b.left {
			left++
		}
	}
	for s := range buffer.Stream(2) {
		kept += int64(m.file.Kept(s).Bytes)
	}
	switch {
	case kept > limit:
		t.Fatalf("%d bytes are kept, the limit is %d", kept, limit)
	case left <= limit && kept != left:
		t.Fatalf("%d bytes left memory and %d are kept, below the limit of %d", left, kept, limit)
	case left > limit && kept < limit-(limit+mostSegments-1)/mostSegments:
		t.Fatalf("only %d bytes are kept, the limit is %d", kept, limit)
	}
}

func FuzzSpill(f *testing.F) {
	f.Add(uint8(20), uint16(100), []byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, capacity uint8, limit uint16, data []byte) {
		compare(t, 1+int(capacity), 1+int64(limit)%700, data[:min(len(data), 600)])
	})
}

func TestSpillAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			data := make([]byte, 400)
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			compare(t, 1+r.IntN(60), 1+r.Int64N(400), data)
		})
	}
}
