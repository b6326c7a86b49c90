package buffer

import (
	"slices"
	"sort"
	"unicode/utf8"
)

// Most of what a flood says is evicted before anybody reads it. To repair noise
// takes many times longer than to carry it, so a ring keeps what is invalid as
// it came, measures how long it will be, and repairs it when it is read.

// A span is a stretch of a ring that is not repaired. Its bytes are at the end
// of its place, and zeros before them: repair makes text longer, never shorter.
// It begins and ends between characters.
type span struct {
	off  uint64 // offset of its first byte
	size int    // its length once it is repaired
	raw  int    // its length before
}

// end returns the offset after the last byte of the span.
func (s span) end() uint64 { return s.off + uint64(s.size) }

const (
	// maxSpan is the raw length of the longest span, in bytes: a span that is
	// evicted in part is measured again, and one that is read is repaired as a
	// whole.
	maxSpan = 4 << 10
	// batch is how many of the longest spans are made at once. Together, they
	// take three quarters of the capacity, at most.
	batch = 8
	// minBatch is the length from which on text is worth a span, as a part of
	// that of the longest span.
	minBatch = 16
)

// longestSpan returns the raw length of the longest span, 0 if the ring is too
// small for any.
func (r *ring) longestSpan() int {
	n := min(maxSpan, r.capacity/(4*batch))
	if n < 2*utf8.UTFMax {
		return 0
	}
	return n
}

// appendInvalid adds text that is not repaired yet and ends with a whole
// character or an invalid byte, and evicts what no longer fits. Its first byte
// gets the position pos. It returns the position after the last one.
func (r *ring) appendInvalid(p []byte, pos uint64) uint64 {
	longest := r.longestSpan()
	if longest == 0 || len(p) < longest/minBatch {
		return r.appendRepaired(p, pos)
	}
	for len(p) > 0 {
		part := head(p, batch*longest)
		pos += r.appendSpans(part, longest, pos)
		p = p[len(part):]
	}
	return pos
}

// head returns the beginning of p, at most n bytes of it, that ends with a
// whole character or an invalid byte, as p does.
func head(p []byte, n int) []byte {
	if len(p) <= n {
		return p
	}
	return whole(p[:n])
}

// appendRepaired is appendInvalid without spans.
func (r *ring) appendRepaired(p []byte, pos uint64) uint64 {
	eachRepaired(p, func(part []byte) {
		r.append(part, pos)
		pos += uint64(len(part))
	})
	return pos
}

// eachRepaired calls f with parts of what p is once it is repaired. They are
// valid until f returns.
func eachRepaired(p []byte, f func(part []byte)) {
	buf := scratch.Get().(*[scratchSize]byte)
	defer scratch.Put(buf)
	for len(p) > 0 {
		written, read := repair(buf[:], p)
		f(buf[:written])
		p = p[read:]
	}
}

// appendSpans makes spans of p, which is a batch at most, and returns how long
// they are together. It evicts for all of them at once.
func (r *ring) appendSpans(p []byte, longest int, pos uint64) uint64 {
	var made [2 * batch]struct { // of at least longest-3 bytes each, but the last
		span
		invalid bool
	}
	n := 0
	begin := r.total
	end := begin
	for rest := p; len(rest) > 0; n++ {
		raw := head(rest, longest)
		s := &made[n]
		s.off, s.size, s.raw = end, len(raw), len(raw)
		if s.invalid = !utf8.Valid(raw); s.invalid {
			s.size = measure(raw)
		}
		end = s.end()
		rest = rest[len(raw):]
	}
	r.extend(int(end-begin), pos)
	for _, s := range made[:n] {
		r.put(s.end(), p[:s.raw])
		p = p[s.raw:]
		if s.invalid {
			r.blank(s.span)
			r.spans = append(r.spans, s.span)
		}
	}
	return end - begin
}

// blank makes the unused place of a span zero, so that nothing is found there.
func (r *ring) blank(s span) {
	a, b := r.memory(s.off, s.end()-uint64(s.raw))
	clear(a)
	clear(b)
}

// settle repairs the spans that have a part in the retained bytes [from, to).
func (r *ring) settle(from, to uint64) {
	if len(r.spans) == 0 {
		return
	}
	first := sort.Search(len(r.spans), func(i int) bool { return r.spans[i].end() > from })
	last := first
	for last < len(r.spans) && r.spans[last].off < to {
		r.repair(r.spans[last])
		last++
	}
	r.spans = slices.Delete(r.spans, first, last)
}

func (r *ring) repair(s span) {
	var raw [maxSpan]byte
	buf := scratch.Get().(*[scratchSize]byte)
	defer scratch.Put(buf)
	n, _ := repair(buf[:], r.raw(&raw, s))
	r.put(s.end(), buf[:n])
}

// raw copies the bytes of a span to dst.
func (r *ring) raw(dst *[maxSpan]byte, s span) []byte {
	a, b := r.memory(s.end()-uint64(s.raw), s.end())
	n := copy(dst[:], a)
	return dst[:n+copy(dst[n:], b)]
}

// dropSpans forgets the spans that end at the offset end or before. It reports
// whether one reaches over that offset; it is then the first.
func (r *ring) dropSpans(end uint64) bool {
	n := 0
	for n < len(r.spans) && r.spans[n].end() <= end {
		n++
	}
	r.spans = r.spans[n:]
	return len(r.spans) > 0 && r.spans[0].off < end
}

// shorten takes from the first span everything before the offset end, and the
// rest of a character that this cuts. It returns where the span begins now.
func (r *ring) shorten(end uint64) uint64 {
	var buf [maxSpan]byte
	s := &r.spans[0]
	raw := r.raw(&buf, *s)
	written, read := measureTo(raw, int(end-s.off))
	r.evictedByte = raw[read-1]
	s.off += uint64(written)
	s.size -= written
	s.raw -= read
	r.blank(*s)
	begin := s.off
	if s.raw == 0 {
		r.spans = r.spans[1:]
	}
	return begin
}

// startsSpan reports whether the first span starts at the offset off.
func (r *ring) startsSpan(off uint64) bool { return len(r.spans) > 0 && r.spans[0].off == off }
