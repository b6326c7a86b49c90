package buffer

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"
)

// minRing is the first allocation of a ring, in bytes. Most commands say less.
const minRing = 512

// A ring keeps the newest bytes of one stream, at most capacity of them, and
// knows the position of each.
//
// A byte has two numbers. Its offset counts the bytes of its own stream from
// 0; its position counts the bytes of both streams from 1. Offsets without
// gaps index the memory, and a list of runs leads from one to the other.
//
// A ring holds whole characters: those it is given are whole, and eviction
// drops the rest of a character that it has cut.
//
// Some of them may still be the bytes that a command wrote, in a place that has
// room for what repair makes of them (see span). All numbers are those of the
// repaired text. It is only made when somebody reads it.
type ring struct {
	capacity int
	buf      []byte
	head     int    // index in buf of the oldest retained byte
	n        int    // number of retained bytes
	total    uint64 // bytes ever appended, so the offset after the newest
	runs     runs
	spans    []span // what is not repaired, oldest first

	// evicted is the position of the newest byte that was evicted, 0 if none
	// was, and evictedByte is that byte: Tail needs to know whether what is
	// left begins with the beginning of a line. If it was not repaired, it is
	// the byte that it would have been made of.
	evicted     uint64
	evictedByte byte

	overflow Overflow // takes what is evicted of the stream; nil: nobody does
	stream   Stream
}

// first returns the offset of the oldest retained byte; it is total when
// nothing is retained.
func (r *ring) first() uint64 { return r.total - uint64(r.n) }

// at returns the byte at a retained offset.
func (r *ring) at(off uint64) byte {
	r.settle(off, off+1)
	return r.buf[r.index(off)]
}

// index returns where the memory of a retained offset is.
func (r *ring) index(off uint64) int {
	i := r.head + int(off-r.first())
	if i >= len(r.buf) {
		i -= len(r.buf)
	}
	return i
}

// isStart reports whether a character starts at the retained offset off.
func (r *ring) isStart(off uint64) bool { return utf8.RuneStart(r.at(off)) }

// parts returns the retained bytes [from, to) as the at most two pieces of
// memory that hold them. They are valid until the next append.
func (r *ring) parts(from, to uint64) (a, b []byte) {
	r.settle(from, to)
	return r.memory(from, to)
}

// memory is parts without repair.
func (r *ring) memory(from, to uint64) (a, b []byte) {
	n := int(to - from)
	i := r.index(from)
	if i+n <= len(r.buf) {
		return r.buf[i : i+n], nil
	}
	return r.buf[i:], r.buf[:i+n-len(r.buf)]
}

// text copies the retained bytes [from, to).
func (r *ring) text(from, to uint64) string {
	if from >= to {
		return ""
	}
	a, b := r.parts(from, to)
	if len(b) == 0 {
		return string(a)
	}
	var s strings.Builder
	s.Grow(len(a) + len(b))
	s.Write(a)
	s.Write(b)
	return s.String()
}

// lineStart returns the offset after the last newline in [from, to), and
// whether there is one.
func (r *ring) lineStart(from, to uint64) (uint64, bool) {
	a, b := r.parts(from, to)
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return from + uint64(len(a)+i+1), true
	}
	if i := bytes.LastIndexByte(a, '\n'); i >= 0 {
		return from + uint64(i+1), true
	}
	return 0, false
}

// append adds p, whose first byte has the position pos, and evicts what no
// longer fits.
func (r *ring) append(p []byte, pos uint64) {
	if len(p) >= r.capacity {
		r.replace(p, pos)
		return
	}
	r.extend(len(p), pos)
	r.put(r.total, p)
}

// extend makes room for size bytes, fewer than the capacity, and counts them.
// The first one has the position pos.
func (r *ring) extend(size int, pos uint64) {
	r.grow(r.n + size)
	if over := r.n + size - len(r.buf); over > 0 {
		r.evict(over)
	}
	r.runs.add(run{pos: pos, off: r.total}, r.total)
	r.n += size
	r.total += uint64(size)
}

// put copies p to where the memory of the retained bytes before end is.
func (r *ring) put(end uint64, p []byte) {
	a, b := r.memory(end-uint64(len(p)), end)
	copy(b, p[copy(a, p):])
}

// replace is append for a p that leaves room for nothing else. It copies only
// what stays.
func (r *ring) replace(p []byte, pos uint64) {
	r.grow(r.capacity)
	cut := len(p) - r.capacity
	for cut > 0 && cut < len(p) && !utf8.RuneStart(p[cut]) {
		cut++
	}
	if r.n > 0 {
		r.evict(r.n)
	}
	if cut > 0 {
		if r.overflow != nil {
			r.overflow.Put(r.stream, pos, bytes.Clone(p[:cut])) // p itself must not escape to the heap
		}
		r.evicted, r.evictedByte = pos+uint64(cut)-1, p[cut-1]
	}
	r.runs.reset()
	r.spans = r.spans[:0]
	r.total += uint64(len(p))
	r.head, r.n = 0, copy(r.buf, p[cut:])
	if r.n > 0 {
		r.runs.add(run{pos: pos + uint64(cut), off: r.first()}, r.first())
	}
}

// grow makes room for need bytes, as far as the capacity allows.
func (r *ring) grow(need int) {
	if need <= len(r.buf) || len(r.buf) == r.capacity {
		return
	}
	size := max(minRing, len(r.buf))
	for size < need {
		size *= 2
	}
	buf := make([]byte, min(size, r.capacity))
	a, b := r.memory(r.first(), r.total)
	copy(buf[copy(buf, a):], b)
	r.buf, r.head = buf, 0
}

// evict drops the k oldest bytes, and up to three more if they are the rest of
// a character.
func (r *ring) evict(k int) {
	end := r.first() + uint64(k)
	if r.dropSpans(end) {
		end = r.shorten(end)
	} else {
		for end < r.total && !r.startsSpan(end) && !r.isStart(end) {
			end++
		}
		r.evictedByte = r.buf[r.index(end-1)]
	}
	if r.overflow != nil {
		r.pass(end - 1)
	}
	r.evicted = r.runs.evict(end-1, r.total)
	k = int(end - r.first())
	if r.head += k; r.head >= len(r.buf) {
		r.head -= len(r.buf)
	}
	r.n -= k
}

// seek returns the offset of the first retained character that starts at or
// after the position pos; it is total if there is none.
func (r *ring) seek(pos uint64) uint64 {
	i := sort.Search(r.runs.n, func(i int) bool { return r.runs.last(i, r.total) >= pos })
	if i == r.runs.n {
		return r.total
	}
	run := r.runs.at(i)
	off := run.off
	if pos > run.pos {
		off += pos - run.pos
	}
	for off < r.total && !r.isStart(off) {
		off++
	}
	return off
}

// A run is a stretch of a stream that the other stream did not interrupt:
// from one byte to the next, position and offset both go up by one. It ends
// where the next run begins.
type run struct {
	pos uint64 // position of its first byte
	off uint64 // offset of its first byte
}

// runs is a queue of runs, oldest first. It is empty when its ring is; its
// first run begins with the oldest retained byte. In the worst case, streams
// that alternate byte by byte, it takes 16 bytes for each retained byte.
type runs struct {
	buf  []run
	head int
	n    int
}

func (q *runs) at(i int) *run {
	if i += q.head; i >= len(q.buf) {
		i -= len(q.buf)
	}
	return &q.buf[i]
}

// end returns the offset after the last byte of run i, in a stream of total
// bytes.
func (q *runs) end(i int, total uint64) uint64 {
	if i+1 < q.n {
		return q.at(i + 1).off
	}
	return total
}

// last returns the position of the last byte of run i.
func (q *runs) last(i int, total uint64) uint64 {
	r := q.at(i)
	return r.pos + (q.end(i, total) - r.off) - 1
}

// find returns the index of the run that holds the retained offset off.
func (q *runs) find(off uint64) int {
	return sort.Search(q.n, func(i int) bool { return q.at(i).off > off }) - 1
}

// add appends r, the run of a byte at the end of a stream of total bytes,
// unless it only goes on with the last one.
func (q *runs) add(r run, total uint64) {
	if q.n > 0 && q.last(q.n-1, total)+1 == r.pos {
		return
	}
	if q.n == len(q.buf) {
		q.resize(max(4, 2*q.n))
	}
	q.n++
	*q.at(q.n - 1) = r
}

// evict drops everything up to and including the offset last, of a stream of
// total bytes, and returns the position of that byte.
func (q *runs) evict(last, total uint64) uint64 {
	for q.end(0, total) <= last {
		q.drop()
	}
	r := q.at(0)
	pos := r.pos + (last - r.off)
	if q.end(0, total) == last+1 {
		q.drop()
	} else {
		*r = run{pos: pos + 1, off: last + 1}
	}
	return pos
}

// drop removes the oldest run. Memory that a burst of short runs needed is
// given back once three quarters of it are unused.
func (q *runs) drop() {
	if q.head++; q.head == len(q.buf) {
		q.head = 0
	}
	q.n--
	if len(q.buf) > 64 && q.n < len(q.buf)/4 {
		q.resize(len(q.buf) / 2)
	}
}

func (q *runs) reset() { q.head, q.n = 0, 0 }

func (q *runs) resize(size int) {
	buf := make([]run, size)
	for i := range q.n {
		buf[i] = *q.at(i)
	}
	q.buf, q.head = buf, 0
}
