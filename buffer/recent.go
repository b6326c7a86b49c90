package buffer

import (
	"sort"
	"unicode/utf8"
)

// recentSize is how much of a stream a watch keeps for the line of a match and
// the lines before it, in bytes.
const recentSize = 4 << 10

// A recent is the newest text of one stream, with the positions of its bytes.
// Offsets count bytes from where it began.
type recent struct {
	text  []byte
	total uint64 // offset after the newest byte
	runs  []run
}

// first returns the offset of the oldest byte.
func (r *recent) first() uint64 { return r.total - uint64(len(r.text)) }

// add adds p, whose first byte has the position seq.
func (r *recent) add(seq uint64, p []byte) {
	if cut := len(p) - recentSize; cut > 0 {
		cut = charAfter(p, cut)
		r.total += uint64(cut)
		r.text, r.runs = r.text[:0], r.runs[:0]
		seq += uint64(cut)
		p = p[cut:]
	}
	if len(p) == 0 {
		return
	}
	if n := len(r.runs); n == 0 || r.runs[n-1].pos+(r.total-r.runs[n-1].off) != seq {
		r.runs = append(r.runs, run{pos: seq, off: r.total})
	}
	r.text = append(r.text, p...)
	r.total += uint64(len(p))
	if len(r.text) > 3*recentSize { // not each time: what is left is moved
		r.trim(recentSize)
	}
}

// trim drops all but the newest bytes.
func (r *recent) trim(keep int) {
	cut := charAfter(r.text, len(r.text)-keep)
	r.text = r.text[:copy(r.text, r.text[cut:])]
	i := r.find(r.first())
	r.runs = r.runs[:copy(r.runs, r.runs[i:])]
}

// find returns the index of the run that holds the offset off.
func (r *recent) find(off uint64) int {
	return max(0, sort.Search(len(r.runs), func(i int) bool { return r.runs[i].off > off })-1)
}

// seq returns the position of the byte at the index i of the text.
func (r *recent) seq(i int) uint64 {
	off := r.first() + uint64(i)
	run := r.runs[r.find(off)]
	return run.pos + (off - run.off)
}

// charAfter returns the first index from i on where a character of p begins,
// or its end.
func charAfter(p []byte, i int) int {
	for i < len(p) && !utf8.RuneStart(p[i]) {
		i++
	}
	return i
}

// charBefore returns the last index up to i where a character of p begins, or
// its end.
func charBefore(p []byte, i int) int {
	for i > 0 && i < len(p) && !utf8.RuneStart(p[i]) {
		i--
	}
	return i
}
