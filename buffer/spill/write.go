package spill

import (
	"errors"
	"os"
)

// startWriting starts the writer, unless it runs or has nothing to do.
func (f *File) startWriting() {
	if f.writing || f.store.closed {
		return
	}
	f.writing = true
	f.store.writers.Add(1) // under the lock that Close takes: none is missed
	go f.write()
}

// write is the writer: it brings to disk what waits for that, removes what was
// dropped, and ends when there is nothing left to do.
func (f *File) write() {
	defer f.store.writers.Done()
	var w writer
	for {
		f.store.mu.Lock()
		trash := f.trash
		f.trash = nil
		g := f.nextToWrite()
		if g == nil && len(trash) == 0 {
			f.store.mu.Unlock()
			err := w.close() // before the writer is said to be gone
			f.store.mu.Lock()
			if err != nil {
				f.lose(err) // some file systems tell only now that they did not write
			}
			if len(f.trash) == 0 && f.nextToWrite() == nil {
				f.writing = false
				f.gotOn()
				f.store.mu.Unlock()
				return
			}
			f.store.mu.Unlock()
			continue
		}
		if g != nil {
			g.pins++
			g.flushing, g.staged = g.staged, nil
		}
		f.store.mu.Unlock()

		for _, dropped := range trash {
			if err := w.remove(dropped); err != nil {
				f.store.opts.Warn("removing kept output failed", "execution_id", f.name, "error", err)
			}
		}
		if g != nil {
			f.flush(&w, g)
		}
	}
}

// nextToWrite returns the oldest segment that has something to write.
func (f *File) nextToWrite() *segment {
	if f.refuses() {
		return nil
	}
	for _, g := range f.segments {
		if g.waiting() > 0 || g.full() && g.indexed == 0 {
			return g
		}
	}
	return nil
}

// flush writes what a segment is flushing, and the index behind it if the
// segment is full. The segment is pinned, and the pin is given up.
func (f *File) flush(w *writer, g *segment) {
	f.store.mu.Lock()
	at, p := g.written, g.flushing
	var end []byte
	if at+int64(len(p)) == g.size {
		end = g.index.encode(g.index.closed)
	}
	f.store.mu.Unlock()

	lost := w.open(g)
	var err error
	if lost == nil {
		err = w.write(p, at)
	}
	if lost == nil && err == nil && end != nil {
		err = w.write(end, g.size)
	}

	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	g.created = g.created || w.segment == g
	switch {
	case lost != nil:
		f.lose(lost)
	case err != nil:
		f.fail(err) // what was not written stays in memory
	default:
		f.wrote(g, end)
	}
	f.unpin(g)
}

// wrote notes that what a segment was flushing is on disk, and with it the
// index, if it is not nil.
func (f *File) wrote(g *segment, end []byte) {
	n := int64(len(g.flushing))
	g.written += n
	g.flushing = lend(g.flushing)
	if !g.dropped {
		f.staged -= n
	}
	if end != nil {
		g.indexed = int64(len(end))
		g.index = index{}
	}
	f.gotOn()
}

// unpin gives up a pin.
func (f *File) unpin(g *segment) {
	g.pins--
	f.discardUnpinned(g)
}

// A writer holds the file that is written to, so that it need not be opened for
// each piece.
type writer struct {
	file    *os.File
	segment *segment
	err     error // why there is no file
}

// open makes g the segment that is written to. Its error is the last one's: what
// was written of that may be lost.
func (w *writer) open(g *segment) error {
	if w.segment == g {
		return nil
	}
	if err := w.close(); err != nil {
		return err
	}
	flags := os.O_WRONLY
	if !g.created {
		flags |= os.O_CREATE | os.O_EXCL
	}
	if w.file, w.err = os.OpenFile(g.path, flags, 0o600); w.err == nil {
		w.segment = g
	}
	return nil
}

func (w *writer) write(p []byte, at int64) error {
	if w.err != nil {
		return w.err
	}
	_, err := w.file.WriteAt(p, at)
	return err
}

// remove removes a segment's file. One that is gone already was removed by
// somebody else.
func (w *writer) remove(g *segment) error {
	var err error
	if w.segment == g {
		err = w.close() // nobody will read it: what is lost is not missed
	}
	return errors.Join(err, gone(remove(g.path)))
}

func (w *writer) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	*w = writer{}
	return err
}
