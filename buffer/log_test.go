package buffer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
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
	for _, pos := range m.positions(func(b modelByte) bool { return sel.has(b.stream) && !b.evicted }) {
		if utf8.RuneStart(m.bytes[pos-1].b) {
			chars = append(chars, nil)
		}
		chars[len(chars)-1] = append(chars[len(chars)-1], pos)
	}
	return chars
}

func (m *model) evictedFrom(from uint64, sel Selection) bool {
	for i, b := range m.bytes {
		if b.evicted && sel.has(b.stream) && uint64(i)+1 >= from {
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
		if len(gone) == 0 || !sel.has(Stream(s)) {
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
			if got, want := l.Latest(), uint64(len(m.bytes))+1; got != want {
				t.Fatalf("Latest() = %d, want %d", got, want)
			}
			all := m.positions(func(b modelByte) bool { return b.stream == s })
			if got, want := l.Total(s), uint64(len(all)); got != want {
				t.Fatalf("Total(%d) = %d, want %d", s, got, want)
			}
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

func FuzzLog(f *testing.F) {
	f.Add(uint8(20), []byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, capacity uint8, data []byte) {
		compare(t, 1+int(capacity), data[:min(len(data), 2000)])
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
			compare(t, 1+r.IntN(80), data)
		})
	}
}
