package buffer

import (
	"bytes"
	"math"
)

// Tail returns the newest lines of the selected streams, at most limit bytes
// over both. A limit below 1 is 1.
//
// Lines are ordered by the position of their last byte. A last line without a
// newline counts; the nothing after a final newline does not. If the lines are
// larger than the limit, the page keeps the newest bytes and is Capped; it never
// splits a character, and holds at least one, as [Log.Page] does. Evicted says
// that something was evicted and fewer whole lines than asked for are left.
//
// The cost is that of what is returned: it does not depend on the capacity.
func (l *Log) Tail(lines, limit int, sel Selection) Page {
	l.mu.Lock()
	limit = max(1, limit)
	if l.inMemory(1, sel) {
		defer l.mu.Unlock()
		limit = min(limit, len(l.rings)*l.rings[Stdout].capacity)
		page := tailOf(l.selected(sel), lines, limit, l.next)
		page.Evicted = l.missesLines(lines, sel)
		return page
	}
	limit = min(limit, mostGathered)
	g := l.gatherTail(lines, limit, sel)
	l.mu.Unlock()
	rings, err := g.load()
	if err != nil {
		// The overflow has lost what it had: what is left is in memory.
		l.mu.Lock()
		g = l.gatherTail(lines, limit, sel)
		l.mu.Unlock()
		rings, err = g.load()
	}
	page := tailOf(rings, lines, limit, g.latest)
	page.Evicted = g.evicted || err != nil
	return page
}

// tailOf returns the newest lines of a log that ends at the position end. The
// rings are those of the selected streams.
func tailOf(rings [2]*ring, lines, limit int, end uint64) Page {
	var tails [2]tail
	for s, r := range rings {
		if r != nil {
			tails[s] = newTail(r, limit)
		}
	}
	for range lines {
		t := later(&tails[Stdout], &tails[Stderr])
		if t == nil {
			break
		}
		t.takeLine()
	}

	page := Page{Start: end, Next: end, Latest: end}
	if tails[Stdout].size()+tails[Stderr].size() > limit {
		page.Capped = true
		keepNewest(&tails[Stdout], &tails[Stderr], limit)
	}
	for s := range tails {
		if t := &tails[s]; t.size() > 0 {
			page.Start = min(page.Start, t.ring.position(t.off))
		}
	}
	page.Stdout = tails[Stdout].text()
	page.Stderr = tails[Stderr].text()
	return page
}

// A tail is the end of one ring, from off on. It grows line by line, down to
// floor: more than that a page would not return. The zero tail is of no ring
// and stays empty.
type tail struct {
	ring  *ring
	off   uint64
	floor uint64
}

// newTail returns an empty tail that may grow to a little more than limit bytes,
// which is enough to see that it is too large.
func newTail(r *ring, limit int) tail {
	return tail{ring: r, off: r.total, floor: r.total - uint64(min(r.n, limit+1))}
}

// full reports whether the tail cannot grow.
func (t *tail) full() bool { return t.ring == nil || t.off == t.floor }

func (t *tail) size() int {
	if t.ring == nil {
		return 0
	}
	return int(t.ring.total - t.off)
}

func (t *tail) text() string {
	if t.ring == nil {
		return ""
	}
	return t.ring.text(t.off, t.ring.total)
}

// takeLine adds the line before the tail, which must not be full.
func (t *tail) takeLine() {
	start, ok := t.ring.lineStart(t.floor, t.off-1)
	if !ok {
		start = t.floor
	}
	t.off = start
}

// later returns the tail before which the line ends that came last, or nil if
// both are full. A full tail may hide lines that came still later, and lines of
// the other are then taken in their place. They do no harm: they came before
// everything in the full tail, which fills the page.
func later(a, b *tail) *tail {
	switch {
	case a.full() && b.full():
		return nil
	case b.full():
		return a
	case a.full() || b.ring.position(b.off-1) > a.ring.position(a.off-1):
		return b
	}
	return a
}

// keepNewest shortens two tails to the newest bytes of both, at most limit,
// without splitting a character.
func keepNewest(a, b *tail, limit int) {
	lo := [2]uint64{a.off, b.off}
	tails := [2]*tail{a, b}
	for i, t := range tails {
		if t.ring != nil {
			t.off, t.floor = t.ring.total, lo[i]
		}
	}
	for budget := limit; ; {
		t := later(a, b)
		if t == nil {
			return
		}
		n, whole := t.fit(budget, budget == limit)
		t.off -= uint64(n)
		budget = max(0, budget-n)
		if !whole {
			return
		}
	}
}

// fit returns how many bytes before the tail, of the run that ends there, make
// whole characters within budget, and whether that is all of the run. It is at
// least one character if atLeastOne is set.
func (t *tail) fit(budget int, atLeastOne bool) (n int, whole bool) {
	r := t.ring
	start := max(r.runs.at(r.runs.find(t.off-1)).off, t.floor)
	left := int(t.off - start)
	n = min(left, budget)
	for n > 0 && !r.isStart(t.off-uint64(n)) {
		n--
	}
	if n == 0 && atLeastOne {
		n = 1
		for !r.isStart(t.off - uint64(n)) {
			n++
		}
	}
	return n, n == left
}

// position returns the position of the byte at a retained offset.
func (r *ring) position(off uint64) uint64 {
	run := r.runs.at(r.runs.find(off))
	return run.pos + (off - run.off)
}

// missesLines reports whether something of the selected streams is lost, and
// fewer than want whole lines are left of what came after it.
func (l *Log) missesLines(want int, sel Selection) bool {
	lost := false
	have := 0
	rings := l.selected(sel)
	for s, r := range rings {
		if r == nil || r.evicted == 0 {
			continue
		}
		at, b, any := r.evicted, r.evictedByte, r.n > 0
		if l.overflow != nil {
			if k := l.overflow.Kept(Stream(s)); k.Refused == 0 {
				at, b, any = k.Lost, k.LostByte, any || k.Bytes > 0
				have += int(min(k.Newlines, math.MaxInt32))
				if r.n == 0 && k.Bytes > 0 && k.Last != '\n' {
					have++ // an unfinished line
				}
			}
		}
		if at > 0 {
			lost = true
			if any && b != '\n' {
				have-- // the beginning of its oldest line is gone
			}
		}
	}
	if !lost {
		return false
	}
	for _, r := range rings {
		if r != nil {
			have += r.countLines(want - have)
		}
	}
	return have < want
}

// countLines counts the lines of a ring, from the newest on, and stops when it
// has found enough.
func (r *ring) countLines(enough int) int {
	if r.n == 0 {
		return 0
	}
	n := 0
	if r.at(r.total-1) != '\n' {
		n = 1
	}
	const step = 4096
	for end := r.total; end > r.first() && n < enough; {
		start := r.first() + max(end-r.first(), step) - step
		a, b := r.memory(start, end) // repair makes no newlines, and takes none
		n += bytes.Count(a, []byte{'\n'}) + bytes.Count(b, []byte{'\n'})
		end = start
	}
	return n
}
