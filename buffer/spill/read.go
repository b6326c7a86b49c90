package spill

import (
	"errors"
	"os"

	"github.com/yieldshell/mcp-yieldshell/buffer"
)

// errIndex is why a segment could not be read whose file was tampered with.
var errIndex = errors.New("the index of kept output is damaged")

// Forward implements buffer.Overflow.
func (f *File) Forward(s buffer.Stream, pos uint64, n int) (buffer.Extract, bool) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	x := &extract{file: f, stream: s, from: pos, most: n}
	for _, g := range f.segments {
		if g.of[s].n > 0 && g.of[s].last >= pos {
			x.left += g.of[s].n
		}
	}
	have := 0 // without the first segment, of which we cannot tell
	for _, g := range f.segments {
		if g.of[s].n == 0 || g.of[s].last < pos {
			continue
		}
		if len(x.parts) > 0 {
			have += int(g.of[s].n)
		}
		x.pin(g)
		if have >= n {
			return x, false
		}
	}
	return x, true
}

// Backward implements buffer.Overflow.
func (f *File) Backward(s buffer.Stream, n int) buffer.Extract {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	x := &extract{file: f, stream: s, most: n}
	have := 0
	first := len(f.segments)
	for first > 0 && have < n {
		first--
		have += int(f.segments[first].of[s].n)
	}
	x.skip = max(0, have-n)
	for _, g := range f.segments[first:] {
		if g.of[s].n > 0 {
			x.pin(g)
		}
	}
	return x
}

// An extract is a part of one stream, pinned so that it stays readable.
type extract struct {
	file   *File
	stream buffer.Stream
	from   uint64 // position
	skip   int    // bytes to leave out from there on
	most   int    // bytes that are enough
	parts  []pinned
	left   uint64 // bytes of the stream that are kept from from on
}

// A pinned segment is what was known of it when it was pinned. What was written
// by then can be read from its file without a lock, as it never changes.
type pinned struct {
	segment *segment
	written int64
	memory  []byte // the bytes after those
	first   [2]uint64
	index   []byte // nil if it is on disk
	indexed int64
}

// pin adds a segment. The store's lock is held.
func (x *extract) pin(g *segment) {
	g.pins++
	p := pinned{
		segment: g,
		written: g.written,
		first:   [2]uint64{g.of[buffer.Stdout].first, g.of[buffer.Stderr].first},
		indexed: g.indexed,
	}
	p.memory = append(append(p.memory, g.flushing...), g.staged...)
	if g.indexed == 0 {
		p.index = g.index.encode(append([]byte(nil), g.index.closed...))
	}
	x.parts = append(x.parts, p)
}

// Load implements buffer.Extract.
func (x *extract) Load(add func(pos uint64, p []byte)) error {
	defer x.release()
	for i := range x.parts {
		if x.most <= 0 {
			return nil
		}
		if err := x.load(&x.parts[i], add); err != nil {
			x.file.store.mu.Lock()
			x.file.lose(err)
			x.file.store.mu.Unlock()
			return err
		}
	}
	return nil
}

// Left implements buffer.Extract.
func (x *extract) Left() uint64 { return x.left }

func (x *extract) release() {
	x.file.store.mu.Lock()
	defer x.file.store.mu.Unlock()
	for _, p := range x.parts {
		x.file.unpin(p.segment)
	}
	x.parts = nil
}

// load reads one segment.
func (x *extract) load(p *pinned, add func(pos uint64, b []byte)) error {
	from := source{pinned: p}
	defer from.close()
	index := p.index
	if index == nil {
		index = make([]byte, p.indexed)
		if err := from.readAt(index, p.segment.size); err != nil {
			return err
		}
	}
	var err error
	whole := decode(index, p.first, func(run indexRun, at int64) bool {
		err = x.loadRun(&from, run, at, add)
		return err == nil && x.most > 0
	})
	if err == nil && !whole {
		return errIndex
	}
	return err
}

// loadRun reads what is wanted of a run, which is at a place of its segment.
func (x *extract) loadRun(from *source, run indexRun, at int64, add func(pos uint64, b []byte)) error {
	if run.stream != x.stream {
		return nil
	}
	cut := 0
	if run.pos < x.from {
		cut = int(min(x.from-run.pos, uint64(run.n)))
		x.left -= uint64(cut)
	}
	if leave := min(x.skip, run.n-cut); leave > 0 {
		cut += leave
		x.skip -= leave
	}
	for n := min(run.n-cut, x.most); n > 0; {
		b, err := from.at(at+int64(cut), n)
		if err != nil {
			return err
		}
		add(run.pos+uint64(cut), b)
		cut, n, x.most = cut+len(b), n-len(b), x.most-len(b)
	}
	return nil
}

// A source reads a pinned segment, through a window onto its file, since output
// of two streams that take turns is wanted in small pieces.
type source struct {
	*pinned
	file   *os.File
	window []byte
	begin  int64 // place of the window
}

// windowSize is how much is read at once, in bytes.
const windowSize = 32 << 10

// at returns at most n bytes from a place on, and at least one. They are valid
// until the next call.
func (s *source) at(place int64, n int) ([]byte, error) {
	if place >= s.written {
		b := s.memory[place-s.written:]
		return b[:min(len(b), n)], nil
	}
	if place < s.begin || place >= s.begin+int64(len(s.window)) {
		if s.window == nil {
			s.window = make([]byte, windowSize)
		}
		s.window = s.window[:min(windowSize, s.written-place)]
		if err := s.readAt(s.window, place); err != nil {
			return nil, err
		}
		s.begin = place
	}
	b := s.window[place-s.begin:]
	return b[:min(len(b), n)], nil
}

func (s *source) readAt(b []byte, place int64) (err error) {
	if s.file == nil {
		if s.file, err = os.Open(s.segment.path); err != nil {
			return err
		}
	}
	_, err = s.file.ReadAt(b, place)
	return err
}

func (s *source) close() {
	if s.file != nil {
		s.file.Close() // it was only read
	}
}
