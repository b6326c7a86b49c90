package buffer

// An Ending is the newest lines of a log, beside a page that does not reach
// them.
type Ending struct {
	Stdout string
	Stderr string
	// Start is the position of the first byte.
	Start uint64
	// Omitted is how many bytes of the selected streams lie between the page
	// and the ending, or among its lines, and are in neither.
	Omitted uint64
}

// PageAndEnding is Page and, if that is capped, the newest lines after it: as
// many whole lines as fit into size bytes over both streams, counted back in
// the order in which they ended. An unfinished last line counts. There is no
// ending if not one line fits.
func (l *Log) PageAndEnding(from uint64, limit, size int, sel Selection) Page {
	page, left := l.page(from, limit, sel)
	if !page.Capped || size < 1 {
		return page
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	page.Latest = l.next // the ending may be newer than the page
	page.Ending = l.ending(page.Next, size, sel)
	if e := page.Ending; e != nil && l.overflow != nil {
		e.Omitted = left.since(l.selected(sel)) - uint64(len(e.Stdout)+len(e.Stderr))
	}
	return page
}

// ending returns the newest lines that begin at the position after or later.
func (l *Log) ending(after uint64, size int, sel Selection) *Ending {
	var tails [2]tail
	left := uint64(0) // bytes after the page
	for s, r := range l.selected(sel) {
		if r != nil {
			begin := r.seek(after)
			left += r.total - begin
			tails[s] = tail{ring: r, off: r.total, floor: max(begin, r.total-uint64(min(r.n, size+1)))}
		}
	}
	for taken := 0; ; {
		t := later(&tails[Stdout], &tails[Stderr])
		if t == nil {
			break
		}
		start, ok := t.ring.lineStart(t.floor, t.off-1)
		if !ok {
			start = t.floor
		}
		n := int(t.off - start)
		if taken+n > size {
			break
		}
		if !ok && !t.ring.beginsLine(start) { // the page has its beginning
			t.floor = t.off
			continue
		}
		t.off = start
		taken += n
	}
	e := &Ending{Start: l.next, Omitted: left}
	for s := range tails {
		if t := &tails[s]; t.size() > 0 {
			e.Start = min(e.Start, t.ring.position(t.off))
			e.Omitted -= uint64(t.size())
		}
	}
	e.Stdout, e.Stderr = tails[Stdout].text(), tails[Stderr].text()
	if e.Start == l.next {
		return nil
	}
	return e
}

// beginsLine reports whether a line begins at the retained offset off.
func (r *ring) beginsLine(off uint64) bool {
	if off > r.first() {
		return r.at(off-1) == '\n'
	}
	return r.evicted == 0 || r.evictedByte == '\n'
}
