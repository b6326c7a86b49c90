package buffer

import "slices"

// A Piece is a stretch of one stream that the other did not interrupt: its
// bytes have one position after the other.
type Piece struct {
	Stream Stream
	// Seq is the position of the first byte.
	Seq  uint64
	Text []byte
}

// Pieces returns the kept output of the selected streams from the position
// from on, in the order of arrival: at most limit bytes, but at least one
// character if there is one. It cuts where Page does.
//
// It also returns the position after them, to go on from, and whether output
// was evicted that should have been among them.
func (l *Log) Pieces(from uint64, limit int, sel Selection) (pieces []Piece, next uint64, evicted bool) {
	limit = max(1, limit)
	for {
		l.mu.Lock()
		from = min(max(from, 1), l.next)
		if l.inMemory(from, sel) {
			defer l.mu.Unlock()
			rings := l.selected(sel)
			for _, r := range rings {
				evicted = evicted || r != nil && r.evicted >= from
			}
			pieces, next = piecesOf(rings, from, limit, l.next)
			return pieces, next, evicted
		}
		l.mu.Unlock()
		part := l.load(from, limit, sel)
		pieces, next = piecesOf(part.rings, from, limit, part.end)
		evicted = evicted || part.evicted
		if len(pieces) > 0 || next == part.latest {
			return pieces, next, evicted
		}
		from = next // there is a gap
	}
}

// piecesOf returns the pieces of rings, nil for streams that are not selected,
// whose log ends at the position end.
func piecesOf(rings [2]*ring, from uint64, budget int, end uint64) (pieces []Piece, next uint64) {
	var walks [2]walk
	for s, r := range rings {
		if r != nil {
			walks[s] = r.walk(from)
		}
	}
	for {
		w := earlier(&walks[Stdout], &walks[Stderr])
		if w == nil {
			return pieces, end
		}
		n := w.fit(budget, len(pieces) == 0)
		if n > 0 {
			a, b := w.ring.parts(w.off, w.off+uint64(n))
			p := Piece{Stream: Stdout, Seq: w.pos(), Text: slices.Concat(a, b)}
			if w == &walks[Stderr] {
				p.Stream = Stderr
			}
			pieces = append(pieces, p)
			next = p.Seq + uint64(n)
			budget = max(0, budget-n)
		}
		if !w.advance(n) {
			return pieces, next
		}
	}
}
