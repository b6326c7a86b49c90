package buffer

// A Page is a part of a log, with the cursor fields of the specification
// (section "Byte Cursors & Incremental Reads").
type Page struct {
	Stdout string
	Stderr string

	// Start is the position of the first byte returned, or the cursor if
	// there is none.
	Start uint64
	// Next is the position after the range that the page covers: the cursor
	// for the next page.
	Next uint64
	// Latest is the position after the newest byte of either stream.
	Latest uint64
	// Capped: the limit kept selected output out of the page.
	Capped bool
	// Evicted: the range that was asked for reaches into output that is no
	// longer kept.
	Evicted bool
	// Ending is set by PageAndEnding only.
	Ending *Ending
}

// Page returns the output of the selected streams from the position from on,
// in the order of arrival, at most limit bytes over both streams. A limit below
// 1 is 1. It cuts between characters only; if the first one alone is larger
// than the limit, it is returned whole, up to 3 bytes more than asked for.
//
// A cursor below 1 is 1, one past the end is the end, and one inside a
// character stands for the next character.
func (l *Log) Page(from uint64, limit int, sel Selection) Page {
	page, _ := l.page(from, limit, sel)
	return page
}

// page is Page. With an overflow it also returns how much is kept after the
// page.
func (l *Log) page(from uint64, limit int, sel Selection) (Page, amount) {
	l.mu.Lock()
	from = min(max(from, 1), l.next)
	limit = max(1, limit)
	if l.inMemory(from, sel) {
		defer l.mu.Unlock()
		return l.pageInMemory(from, limit, sel)
	}
	l.mu.Unlock()
	part := l.load(from, limit, sel)
	page := pageOf(part.rings, from, limit, part.end)
	page.Latest = part.latest
	page.Capped = page.Capped || part.end < part.latest
	page.Evicted = part.evicted
	return page, part.left.without(page)
}

// pageInMemory is page where the rings have all that there is. l.mu is held.
func (l *Log) pageInMemory(from uint64, limit int, sel Selection) (Page, amount) {
	rings := l.selected(sel)
	page := pageOf(rings, from, limit, l.next)
	page.Latest = l.next
	for _, r := range rings {
		page.Evicted = page.Evicted || r != nil && r.evicted >= from
	}
	if l.overflow == nil {
		return page, amount{}
	}
	left := amount{total: totalOf(rings)}
	for _, r := range rings {
		if r != nil {
			left.kept += r.total - r.seek(from)
		}
	}
	return page, left.without(page)
}

// without is the amount after a page.
func (a amount) without(page Page) amount {
	a.kept -= uint64(len(page.Stdout) + len(page.Stderr))
	return a
}

// pageOf returns the page from the position from on, of a log that ends at the
// position end. The rings are those of the selected streams.
func pageOf(rings [2]*ring, from uint64, limit int, end uint64) Page {
	page := Page{Start: from, Next: end}
	var walks [2]walk
	for s, r := range rings {
		if r != nil {
			walks[s] = r.walk(from)
		}
	}
	begin := [2]uint64{walks[Stdout].off, walks[Stderr].off}

	budget := limit
	for empty := true; ; empty = false {
		w := earlier(&walks[Stdout], &walks[Stderr])
		if w == nil {
			break
		}
		if empty {
			page.Start = w.pos()
		}
		n := w.fit(budget, empty)
		if n > 0 {
			page.Next = w.pos() + uint64(n)
			budget = max(0, budget-n)
		}
		if !w.advance(n) {
			page.Capped = true
			break
		}
	}
	if !page.Capped {
		page.Next = end
	}
	page.Stdout = rings[Stdout].text(begin[Stdout], walks[Stdout].off)
	page.Stderr = rings[Stderr].text(begin[Stderr], walks[Stderr].off)
	return page
}

// A walk goes forward through one ring, run by run. The zero walk is at its
// end.
type walk struct {
	ring *ring
	run  int
	off  uint64 // of the next byte; within the run, unless at the end
}

// walk returns a walk that starts with the first character at or after the
// position pos.
func (r *ring) walk(pos uint64) walk {
	w := walk{ring: r, off: r.seek(pos)}
	if w.off < r.total {
		w.run = r.runs.find(w.off)
	}
	return w
}

// done reports whether nothing is left.
func (w *walk) done() bool { return w.ring == nil || w.off == w.ring.total }

// pos returns the position of the next byte.
func (w *walk) pos() uint64 {
	r := w.ring.runs.at(w.run)
	return r.pos + (w.off - r.off)
}

// left returns how many bytes the run still has.
func (w *walk) left() int {
	return int(w.ring.runs.end(w.run, w.ring.total) - w.off)
}

// fit returns how many of the bytes that are left of the run make whole
// characters within budget; at least one character if atLeastOne is set.
func (w *walk) fit(budget int, atLeastOne bool) int {
	left := w.left()
	if left <= budget {
		return left
	}
	n := budget
	for n > 0 && !w.ring.isStart(w.off+uint64(n)) {
		n--
	}
	if n == 0 && atLeastOne {
		n = 1
		for n < left && !w.ring.isStart(w.off+uint64(n)) {
			n++
		}
	}
	return n
}

// advance passes n bytes and reports whether that was all that is left of the
// run.
func (w *walk) advance(n int) bool {
	whole := n == w.left()
	w.off += uint64(n)
	if whole {
		w.run++
	}
	return whole
}

// earlier returns the walk whose next byte came first, or nil if both are at
// their ends.
func earlier(a, b *walk) *walk {
	switch {
	case a.done() && b.done():
		return nil
	case b.done():
		return a
	case a.done() || b.pos() < a.pos():
		return b
	}
	return a
}
