package spill

import (
	"bytes"
	"container/list"
	"encoding/binary"

	"github.com/yieldshell/mcp-yieldshell/buffer"
)

// A segment is a stretch of a File's output, of both streams, in the order in
// which it left memory. On disk it is the output, and behind that, once it is
// full, the index.
type segment struct {
	file *File
	elem *list.Element // in Store.segments
	path string
	size int64 // bytes of output that it takes

	n       int64 // bytes of output taken
	charge  int64 // bytes on disk that it stands for: n, or size if recycled
	written int64 // how many of them are on disk
	// flushing holds the bytes from written on while they are written, and
	// staged those after them.
	flushing, staged []byte

	of    [2]share
	index index
	// indexed is the length of the index on disk, 0 as long as it is in memory.
	indexed int64

	created bool // there is a file
	pins    int  // readers and writers: the file must stay
	dropped bool // it is given up, and its file goes with the last pin
}

// A share is what a segment has of one stream.
type share struct {
	n, newlines uint64
	first, last uint64 // positions
	lastByte    byte
}

// full reports whether the segment takes no more.
func (g *segment) full() bool { return g.n == g.size }

// waiting returns how many bytes are not on disk yet.
func (g *segment) waiting() int64 { return g.n - g.written }

// take adds bytes of s with consecutive positions from pos on, for which there
// is room.
func (g *segment) take(s buffer.Stream, pos uint64, p []byte) {
	share := &g.of[s]
	if share.n == 0 {
		share.first = pos
		g.index.next[s] = pos
	}
	g.index.add(s, pos, len(p))
	share.n += uint64(len(p))
	share.newlines += uint64(bytes.Count(p, []byte{'\n'}))
	share.last, share.lastByte = pos+uint64(len(p))-1, p[len(p)-1]
	g.n += int64(len(p))
	g.staged = append(g.staged, p...)
}

// An index says for each byte of a segment to which stream it belongs, and at
// which position. It is a list of runs, of two numbers each: how long the run is
// and of which stream, and how far its first position is from the end of the
// stream's last run. The last run is open: it may still grow.
type index struct {
	closed []byte // encoded
	next   [2]uint64
	open   indexRun
}

type indexRun struct {
	stream buffer.Stream
	pos    uint64
	n      int
}

func (x *index) add(s buffer.Stream, pos uint64, n int) {
	if x.open.n > 0 && x.open.stream == s && x.open.pos+uint64(x.open.n) == pos {
		x.open.n += n
		return
	}
	x.closed = x.encode(x.closed)
	if x.open.n > 0 {
		x.next[x.open.stream] = x.open.pos + uint64(x.open.n)
	}
	x.open = indexRun{s, pos, n}
}

// encode appends the open run to b.
func (x *index) encode(b []byte) []byte {
	if x.open.n == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(x.open.n)<<1|uint64(x.open.stream))
	return binary.AppendUvarint(b, x.open.pos-x.next[x.open.stream])
}

// decode calls each with the runs of an encoded index, and the place of each in
// the segment, until it returns false. first holds the streams' first positions.
// It reports whether the index was whole.
func decode(b []byte, first [2]uint64, each func(run indexRun, at int64) bool) bool {
	at := int64(0)
	for len(b) > 0 {
		head, k := binary.Uvarint(b)
		if k <= 0 {
			return false
		}
		gap, j := binary.Uvarint(b[k:])
		if j <= 0 {
			return false
		}
		b = b[k+j:]
		run := indexRun{stream: buffer.Stream(head & 1), n: int(head >> 1)}
		run.pos = first[run.stream] + gap
		first[run.stream] = run.pos + uint64(run.n)
		if !each(run, at) {
			return true
		}
		at += int64(run.n)
	}
	return true
}
