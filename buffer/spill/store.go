package spill

import (
	"container/list"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Options configure a Store. They do not change after Open.
type Options struct {
	// Dir is the folder that servers share. It is made if it is not there.
	Dir string
	// PerFile and Total are the most bytes of output that each File, and all of
	// them, may keep: at least 1. The index takes a few bytes more, for each
	// time that the streams take turns.
	PerFile, Total int64
	// Warn takes messages for the operator, as in slog. It may be nil.
	Warn func(text string, keyvals ...any)
}

// Bounds of what waits for the disk.
const (
	// stallBound is how long output waits for a disk that does not keep up,
	// before it is given up.
	stallBound = 2 * time.Second
	// closeBound is how long Close waits for the disk.
	closeBound = 3 * time.Second
)

// mostSegments is into how many segments a File's limit is divided, at least: a
// limit that is reached costs one of them.
const mostSegments = 16

// maxSegment is the most output in one segment, in bytes.
const maxSegment = 4 << 20

// A Store keeps the Files of one server. One lock guards it and all its Files,
// since each may have to give up something for another. It is held for
// bookkeeping and for copying memory, never while the disk works.
type Store struct {
	opts    Options
	segment int64 // bytes of output in a segment
	folder  string
	lock    *flock.Flock
	err     error // why there is no folder: the disk was full

	mu       sync.Mutex
	used     int64      // bytes on disk, without indexes
	segments *list.List // of all Files, oldest first
	closed   bool
	writers  sync.WaitGroup
}

// Open removes what servers that did not live to do so have left in the folder,
// and makes one for this server in it. A full disk is no error: then every File
// refuses all that is put into it.
func Open(opts Options) (*Store, error) {
	if opts.Warn == nil {
		opts.Warn = func(string, ...any) {}
	}
	opts.PerFile = max(1, min(opts.PerFile, opts.Total))
	opts.Total = max(1, opts.Total)
	s := &Store{
		opts:     opts,
		segment:  min((opts.PerFile+mostSegments-1)/mostSegments, maxSegment),
		segments: list.New(),
	}
	if err := s.open(); err != nil {
		if !diskFull(err) {
			return nil, err
		}
		s.err = err
		opts.Warn("output that leaves memory is lost, since the disk is full", "error", err)
	}
	return s, nil
}

func (s *Store) open() error {
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return err
	}
	if err := sweep(s.opts.Dir); err != nil {
		s.opts.Warn("what an earlier server has left could not be removed", "error", err)
	}
	var err error
	s.folder, s.lock, err = own(s.opts.Dir, lockOwner)
	return err
}

// Close removes everything that the Store has kept, and its folder. It returns
// within a bound, even if the disk hangs.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	removed := make(chan error, 1)
	go func() {
		s.writers.Wait()
		removed <- empty(s.folder, s.lock)
	}()
	bound := time.NewTimer(closeBound)
	defer bound.Stop()
	select {
	case err := <-removed:
		return err
	case <-bound.C:
		return fmt.Errorf("removing %s: not within %v", s.folder, closeBound)
	}
}
