package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
)

// maxStaged is how many bytes of a File may wait for the disk before its output
// does.
const maxStaged = 256 << 10

// stages lends memory for what waits for the disk, so that a File that is quiet
// has none.
var stages = sync.Pool{New: func() any { b := make([]byte, 0, maxStaged+64<<10); return &b }}

// errStalled is why a File was given up whose disk hangs.
var errStalled = fmt.Errorf("the disk did not keep up for %v", stallBound)

// A File keeps what left the memory of one execution. It is a buffer.Overflow.
// Until something is put into it, it costs nothing.
type File struct {
	store *Store
	name  string

	// Guarded by store.mu:

	segments []*segment // oldest first; all but the last are full
	count    int        // segments ever begun
	used     int64      // bytes on disk, without indexes
	staged   int64      // bytes of output that are not on disk yet
	kept     [2]buffer.Kept
	err      error // why nothing more is taken
	failed   bool  // something was refused for it
	gone     bool  // discarded
	writing  bool  // the writer runs
	// progress is closed, and forgotten, whenever the writer has got on. It is
	// nil as long as nobody waits for that.
	progress chan struct{}
	trash    []*segment // dropped, and their files not yet removed
}

var _ buffer.Overflow = (*File)(nil)

// File returns an empty File. Its name, which must be unique in the Store, goes
// into the names of its segments.
func (s *Store) File(name string) *File {
	return &File{store: s, name: name, err: s.err}
}

// Err returns why output of this File was not kept that could have been, nil if
// it was.
func (f *File) Err() error {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if !f.failed {
		return nil
	}
	return plain(f.err)
}

// plain is an error of the file system without the path.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	return err
}

// refuses reports whether nothing more is taken.
func (f *File) refuses() bool { return f.err != nil || f.gone || f.store.closed }

// Put implements buffer.Overflow.
func (f *File) Put(s buffer.Stream, pos uint64, p []byte) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if f.refuses() {
		f.failed = f.failed || f.err != nil
		if f.kept[s].Refused == 0 {
			f.kept[s].Refused = pos
		}
		return
	}
	for len(p) > 0 {
		g, room := f.room()
		n := min(int64(len(p)), room)
		f.take(g, s, pos, p[:n])
		p, pos = p[n:], pos+uint64(n)
	}
	f.startWriting()
}

// room returns the segment that takes the next bytes, and how many. It gives up
// the oldest segments for that: of this File if its own limit is reached, of any
// if that of all is.
func (f *File) room() (*segment, int64) {
	st := f.store
	for {
		var g *segment
		if n := len(f.segments); n > 0 && !f.segments[n-1].full() {
			g = f.segments[n-1]
		} else {
			g = f.begin()
		}
		budget := min(st.opts.PerFile-f.used, st.opts.Total-st.used)
		free := min(g.size-g.n, g.charge-g.n+budget)
		switch {
		case free > 0:
			return g, free
		case f.used >= st.opts.PerFile:
			f.recycle(f.dropOldest(), g)
		default:
			oldest := st.segments.Front().Value.(*segment).file
			oldest.discardUnpinned(oldest.dropOldest())
		}
	}
}

// recycle gives a new segment the file of a dropped one, if it can: what is
// written over is in the system's cache already, and costs half as much.
func (f *File) recycle(old, g *segment) {
	if g.n > 0 || g.created || old == g || old.pins > 0 || old.indexed == 0 {
		f.discardUnpinned(old)
		return
	}
	g.path, g.created, old.created = old.path, true, false
	f.charge(g, g.size)
}

// charge notes that a segment takes n bytes on disk, if that is more than it
// did.
func (f *File) charge(g *segment, n int64) {
	if more := n - g.charge; more > 0 {
		g.charge += more
		f.used += more
		f.store.used += more
	}
}

func (f *File) begin() *segment {
	f.count++
	g := &segment{
		file: f,
		path: filepath.Join(f.store.folder, fmt.Sprintf("%s.%d", f.name, f.count)),
		size: f.store.segment,
	}
	g.elem = f.store.segments.PushBack(g)
	f.segments = append(f.segments, g)
	return g
}

func (f *File) take(g *segment, s buffer.Stream, pos uint64, p []byte) {
	if g.staged == nil {
		g.staged = *stages.Get().(*[]byte)
	}
	before := g.of[s].newlines
	g.take(s, pos, p)
	k := &f.kept[s]
	k.Bytes += uint64(len(p))
	k.Newlines += g.of[s].newlines - before
	k.Last = p[len(p)-1]
	f.charge(g, g.n)
	f.staged += int64(len(p))
}

// dropOldest gives up the oldest segment and returns it. Its file is still there.
func (f *File) dropOldest() *segment {
	g := f.segments[0]
	f.segments = slices.Delete(f.segments, 0, 1)
	f.store.segments.Remove(g.elem)
	f.used -= g.charge
	f.staged -= g.waiting()
	f.store.used -= g.charge
	for s := range g.of {
		if share := &g.of[s]; share.n > 0 {
			k := &f.kept[s]
			k.Bytes -= share.n
			k.Newlines -= share.newlines
			k.Lost, k.LostByte = share.last, share.lastByte
		}
	}
	g.dropped = true
	g.staged = lend(g.staged)
	return g
}

// lend gives memory back for the next one that needs it. It returns nil.
func lend(b []byte) []byte {
	if b != nil && cap(b) < 4*maxStaged {
		b = b[:0]
		stages.Put(&b)
	}
	return nil
}

// discardUnpinned has the file of a dropped segment removed, if nobody uses it.
func (f *File) discardUnpinned(g *segment) {
	if g.dropped && g.pins == 0 && g.created {
		f.trash = append(f.trash, g)
		f.startWriting()
	}
}

// Kept implements buffer.Overflow.
func (f *File) Kept(s buffer.Stream) buffer.Kept {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return f.kept[s]
}

// Wait implements buffer.Overflow. A disk that does not get on for long is given
// up, since a command must not hang with it. One that does is only slow, even if
// others take the room that it makes.
func (f *File) Wait() {
	progress := f.backlog()
	if progress == nil {
		return
	}
	late := time.NewTimer(stallBound)
	defer late.Stop()
	for progress != nil {
		select {
		case <-progress:
			late.Reset(stallBound)
		case <-late.C:
			f.giveUp(progress)
		}
		progress = f.backlog()
	}
}

// giveUp turns the File off, unless the writer has got on in the last moment.
func (f *File) giveUp(progress <-chan struct{}) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if f.progress == progress {
		f.fail(errStalled)
	}
}

// backlog returns a channel that is closed when the writer has got on, or nil if
// there is room.
func (f *File) backlog() <-chan struct{} {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if f.staged < maxStaged || f.refuses() {
		return nil
	}
	return f.awaitProgress()
}

func (f *File) awaitProgress() <-chan struct{} {
	if f.progress == nil {
		f.progress = make(chan struct{})
	}
	return f.progress
}

func (f *File) gotOn() {
	if f.progress != nil {
		close(f.progress)
		f.progress = nil
	}
}

// fail turns the File off for a reason. What it has stays readable, what could
// not be written from memory.
func (f *File) fail(err error) {
	if f.err == nil && !f.refuses() {
		f.err, f.failed = err, true
		f.store.opts.Warn("keeping output on disk failed", "execution_id", f.name, "error", err)
	}
	f.gotOn()
}

// lose turns the File off because what it has cannot be read.
func (f *File) lose(err error) {
	f.fail(err)
	f.dropAll()
}

func (f *File) dropAll() {
	for len(f.segments) > 0 {
		f.discardUnpinned(f.dropOldest())
	}
}

// Discard removes Files and returns when that is done, or after a bound, however
// many they are. They take nothing more.
func Discard(files ...*File) {
	for _, f := range files {
		f.discard()
	}
	bound := time.NewTimer(stallBound)
	defer bound.Stop()
	for _, f := range files {
		for progress := f.untilWritten(); progress != nil; progress = f.untilWritten() {
			select {
			case <-progress:
			case <-bound.C:
				return
			}
		}
	}
}

// discard begins to remove the File.
func (f *File) discard() {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.gone = true
	f.dropAll()
	f.gotOn()
}

// untilWritten returns a channel that is closed when the writer has got on, or
// nil if there is none.
func (f *File) untilWritten() <-chan struct{} {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if !f.writing {
		return nil
	}
	return f.awaitProgress()
}
