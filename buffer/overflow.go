package buffer

import (
	"math"
	"unicode/utf8"
)

// An Overflow keeps what leaves the rings of one log, so that the log's cursors
// still find it there. Package buffer/spill has one that keeps it in files.
//
// The log calls Wait without its lock and everything else under it, so nothing
// but Wait may block. An Overflow keeps the bytes of each stream in the order in
// which they were put. It may lose the oldest of them at any time, and it may
// refuse everything from some moment on; what it kept before then stays.
type Overflow interface {
	// Wait waits until there is room for more, within a bound of its own.
	Wait()
	// Put takes bytes of s that leave memory. They have consecutive positions,
	// the first one pos. It does not keep p.
	Put(s Stream, pos uint64, p []byte)
	// Kept describes what is kept of s.
	Kept(s Stream) Kept
	// Forward returns bytes of s from the first at or after pos on: at least n
	// of them, unless end reports that there are no more.
	Forward(s Stream, pos uint64, n int) (x Extract, end bool)
	// Backward returns the newest bytes of s: at least n, if it has as many.
	Backward(s Stream, n int) Extract
}

// Kept is what an Overflow says of one stream.
type Kept struct {
	Bytes    uint64 // how many are kept
	Newlines uint64 // how many of them are newlines
	Last     byte   // the newest of them
	// Lost is the position of the newest byte that was lost before those kept,
	// 0 if none was, and LostByte is that byte.
	Lost     uint64
	LostByte byte
	// Refused is the position of the first byte that was refused, 0 if none was.
	// All that were put after it were refused too.
	Refused uint64
}

// An Extract is a part of one stream that is still to be read. It stays
// readable, whatever happens to its Overflow, until it is loaded, which must
// happen once. Loading may block and is done without the log's lock.
type Extract interface {
	// Load calls add with the bytes in order, those of each call at consecutive
	// positions from pos on. After an error the bytes are lost.
	Load(add func(pos uint64, p []byte)) error
	// Left returns, once they are loaded, how many bytes of the stream were kept
	// from the first of them on.
	Left() uint64
}

// SetOverflow makes the log pass on to o what leaves its rings. It must be
// called before the first Append.
func (l *Log) SetOverflow(o Overflow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overflow = o
	for s := range l.rings {
		l.rings[s].overflow, l.rings[s].stream = o, Stream(s)
	}
}

// pass hands on the bytes up to and including the offset last, which are about
// to be evicted.
func (r *ring) pass(last uint64) {
	for i := range r.runs.n {
		run := r.runs.at(i)
		if run.off > last {
			return
		}
		a, b := r.parts(run.off, min(r.runs.end(i, r.total), last+1))
		r.overflow.Put(r.stream, run.pos, a)
		if len(b) > 0 {
			r.overflow.Put(r.stream, run.pos+uint64(len(a)), b)
		}
	}
}

// margin is how much more than a page may hold is gathered for it, in bytes:
// enough to see that there is more, and where the next character begins.
const margin = 8

// mostGathered is the largest page that is gathered, so that sums stay within an
// int.
const mostGathered = 1 << 30

// A gathering is the part of a log that one page needs, from the overflow and
// from the rings. It is begun under the log's lock and loaded without it.
type gathering struct {
	latest  uint64 // position after the newest byte of the log
	horizon uint64 // position that the page must not reach; latest, or a gap
	evicted bool
	parts   [2]part
	left    amount
}

// An amount is how many bytes of the selected streams were kept from a position
// on, and how many there had ever been then.
type amount struct{ kept, total uint64 }

// since returns how many bytes are kept from that position on now, if none was
// lost since.
func (a amount) since(rings [2]*ring) uint64 {
	return a.kept + totalOf(rings) - a.total
}

func totalOf(rings [2]*ring) (n uint64) {
	for _, r := range rings {
		if r != nil {
			n += r.total
		}
	}
	return n
}

// A part is what a gathering has of one stream: what an extract holds, and what
// was copied from the ring, which comes after it.
type part struct {
	selected bool
	extract  Extract
	rest     ring
}

// inMemory reports whether a page from the position from on needs nothing but
// the rings.
func (l *Log) inMemory(from uint64, sel Selection) bool {
	if l.overflow == nil {
		return true
	}
	for _, r := range l.selected(sel) {
		if r != nil && r.evicted >= from {
			return false
		}
	}
	return true
}

// gather begins the gathering for a page. A stream that the overflow refused to
// go on with has a gap, between what it kept and what the ring keeps. No page
// leads across a gap, so that a reader sees where it is: the page before it ends
// there, and the one that begins there says that something is lost. Where the
// overflow has nothing left before the gap, there is no page before it either.
func (l *Log) gather(from uint64, limit int, sel Selection) gathering {
	g := gathering{latest: l.next, horizon: l.next}
	g.left.total = totalOf(l.selected(sel))
	need := limit + margin
	for s, r := range l.selected(sel) {
		if r == nil {
			continue
		}
		p := &g.parts[s]
		p.selected = true
		g.left.kept += r.total - r.seek(from)
		if r.evicted < from {
			r.copyFrom(from, need, &p.rest)
			continue
		}
		kept := l.overflow.Kept(Stream(s))
		gap := kept.Refused
		inGap := gap != 0 && (gap <= from || kept.Bytes == 0)
		g.evicted = g.evicted || kept.Lost >= from || inGap
		end := true
		if !inGap {
			p.extract, end = l.overflow.Forward(Stream(s), from, need)
		}
		if gap != 0 && !inGap {
			g.horizon = min(g.horizon, gap)
		} else if end {
			r.copyFrom(from, need, &p.rest)
		}
	}
	return g
}

// A loaded part of a log is what a gathering has got. Its rings are like a log's
// that ends at the position end.
type loaded struct {
	rings   [2]*ring
	end     uint64
	latest  uint64
	evicted bool
	left    amount
}

// load gathers and loads output from the position from on. l.mu is not held.
func (l *Log) load(from uint64, limit int, sel Selection) loaded {
	limit = min(limit, mostGathered)
	for again := false; ; again = true {
		l.mu.Lock()
		g := l.gather(from, limit, sel)
		l.mu.Unlock()
		rings, err := g.load()
		if err != nil && !again {
			continue // the overflow has lost what it had: what is left is in memory
		}
		return loaded{rings, g.horizon, g.latest, g.evicted || err != nil, g.left}
	}
}

// around calls look with rings that have the output of the selected streams on
// both sides of a position, as far as it is kept: at least recentSize before it.
func (l *Log) around(from uint64, sel Selection, look func(Stream, *ring)) {
	l.mu.Lock()
	rings := l.selected(sel)
	if l.inMemory(from, sel) {
		defer l.mu.Unlock()
	} else {
		l.mu.Unlock()
		rings = l.load(from-min(from-1, recentSize), 2*recentSize, sel).rings
	}
	for s, r := range rings {
		if r != nil {
			look(Stream(s), r)
		}
	}
}

// gatherTail begins the gathering for the newest bytes.
func (l *Log) gatherTail(lines, limit int, sel Selection) gathering {
	g := gathering{latest: l.next, horizon: l.next}
	need := limit + margin
	for s, r := range l.selected(sel) {
		if r == nil {
			continue
		}
		p := &g.parts[s]
		p.selected = true
		r.copyFrom(r.positionBefore(need), need+margin, &p.rest)
		if r.evicted > 0 && r.n < need && l.overflow.Kept(Stream(s)).Refused == 0 {
			p.extract = l.overflow.Backward(Stream(s), need-r.n)
		}
	}
	g.evicted = l.missesLines(lines, sel)
	return g
}

// copyFrom copies about n retained bytes from the position pos on.
func (r *ring) copyFrom(pos uint64, n int, to *ring) {
	off := r.seek(pos)
	end := min(r.total, off+uint64(n))
	if off >= end {
		return
	}
	to.capacity = int(end-off) + 1
	for i := r.runs.find(off); i < r.runs.n && off < end; i++ {
		run := r.runs.at(i)
		stop := min(r.runs.end(i, r.total), end)
		a, b := r.parts(off, stop)
		pos := run.pos + (off - run.off)
		to.append(a, pos)
		if len(b) > 0 {
			to.append(b, pos+uint64(len(a)))
		}
		off = stop
	}
}

// positionBefore returns the position of the character that holds the nth
// retained byte from the end, or of the oldest if there are fewer.
func (r *ring) positionBefore(n int) uint64 {
	if r.n == 0 {
		return r.evicted + 1
	}
	off := r.total - uint64(min(n, r.n))
	for !r.isStart(off) {
		off--
	}
	return r.position(off)
}

// load returns rings that hold what was gathered, without what lies beyond the
// horizon.
func (g *gathering) load() (rings [2]*ring, err error) {
	for s := range g.parts {
		p := &g.parts[s]
		if !p.selected {
			continue
		}
		r := &ring{capacity: math.MaxInt} // it evicts nothing
		rings[s] = r
		add := func(pos uint64, text []byte) {
			if pos < g.horizon {
				r.appendWhole(text[:min(uint64(len(text)), g.horizon-pos)], pos)
			}
		}
		if p.extract != nil {
			if loadErr := p.extract.Load(add); loadErr != nil {
				err = loadErr
			}
			g.left.kept += p.extract.Left()
		}
		for i := range p.rest.runs.n {
			run := p.rest.runs.at(i)
			a, b := p.rest.parts(run.off, p.rest.runs.end(i, p.rest.total))
			add(run.pos, a)
			add(run.pos+uint64(len(a)), b)
		}
	}
	return rings, err
}

// appendWhole appends p without the rest of a character whose beginning is not
// there.
func (r *ring) appendWhole(p []byte, pos uint64) {
	if r.n == 0 {
		k := 0
		for k < len(p) && !utf8.RuneStart(p[k]) {
			k++
		}
		p, pos = p[k:], pos+uint64(k)
	}
	if len(p) > 0 {
		r.append(p, pos)
	}
}
