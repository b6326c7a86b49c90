//go:build unix

package procunix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

const (
	// readSize is what a pipe holds by default. A read takes all that a pipe
	// holds: what is left would seem to have come after the other pipe's.
	readSize = 64 << 10
	// floodSize is what the pipe holds of a command that has filled it once.
	// So it can go on while what it wrote is taken in.
	floodSize = 256 << 10
)

// chunks and floods are where the pumps of all executions get their buffers. A
// pump has one only while there is something to read, so quiet executions hold
// none.
var (
	chunks = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}
	floods = sync.Pool{New: func() any { b := make([]byte, floodSize); return &b }}
)

// outputs are the server's ends of a command's two output pipes. Each has a
// goroutine that waits for it, but whoever is woken reads both in the order in
// which the kernel says that they became readable: which goroutine runs first
// must not decide what came first.
type outputs struct {
	mu    sync.Mutex // held while reading and while a sink runs
	ready readiness
	pair  [2]*output
	queue []*output // readable, first come first
	flow  flow
}

// output implements proc.Output.
type output struct {
	all   *outputs
	f     *os.File
	fd    int
	begun chan struct{} // closed when there is a sink
	done  chan struct{} // closed when CopyTo has ended

	// Guarded by all.mu.
	sink    func([]byte)
	buffers *sync.Pool // as large as the pipe
	queued  bool
	exhaust bool // read until there is nothing: no event may come for it
	eof     bool
	closed  bool
	err     error
}

// newOutputs takes over two descriptors, also if it fails.
func newOutputs(stdout, stderr int) (*output, *output, error) {
	all := &outputs{}
	for i, fd := range []int{stdout, stderr} {
		all.pair[i] = &output{
			all: all, f: serverEnd(fd, "output"), fd: fd, buffers: &chunks,
			begun: make(chan struct{}), done: make(chan struct{}),
		}
	}
	if err := all.ready.open(stdout, stderr); err != nil {
		for _, o := range all.pair {
			_ = o.f.Close()
		}
		return nil, nil, err
	}
	return all.pair[0], all.pair[1], nil
}

func (o *output) CopyTo(sink func([]byte)) error {
	defer close(o.done)
	o.all.begin(o, sink)
	conn, err := o.f.SyscallConn()
	if err != nil {
		return proc.ErrClosed
	}
	first := true
	err = conn.Read(func(uintptr) bool {
		ended := o.all.pass(o, first)
		first = false
		return ended
	})
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	switch {
	case o.eof:
		return nil
	case o.closed:
		return proc.ErrClosed
	case o.err != nil:
		err = o.err
	}
	return fmt.Errorf("read output: %w", cause(err))
}

// startTogether is how long a CopyTo waits for the other one. Both are started
// at once, and with only one sink there the order of arrival could not be kept.
const startTogether = 50 * time.Millisecond

// begin enters the sink of o and waits a moment for the other one.
func (a *outputs) begin(o *output, sink func([]byte)) {
	a.mu.Lock()
	o.sink = sink
	a.mu.Unlock()
	close(o.begun)
	late := time.NewTimer(startTogether)
	defer late.Stop()
	for _, p := range a.pair {
		select {
		case <-p.begun:
		case <-late.C:
		}
	}
}

// pass reads until o is not readable. Its first call also reads what was found
// before there was a sink for it. It reports whether o has ended.
func (a *outputs) pass(o *output, first bool) bool {
	backlog := -1
	for {
		a.mu.Lock()
		if backlog < 0 {
			a.look(o)
			backlog = 0
			if first {
				backlog = len(a.queue)
			}
		}
		next := a.front()
		goOn := next != nil && (o.queued || backlog > 0)
		if goOn {
			a.step(next)
			backlog--
		}
		ended := o.eof || o.closed || o.err != nil
		busy := !goOn && a.flow.takeBusy(o)
		a.mu.Unlock() // between any two reads: a flood keeps nobody out
		switch {
		case ended:
			return true
		case goOn:
			backlog = max(backlog, 0)
		case busy:
			gather()
			first, backlog = false, -1
		default:
			return false
		}
	}
}

// Most programs write blocks of 4 kB, and a reader that waits for each of them
// is woken for each of them, which costs more than to read it. The time is
// taken from the writer, too. So while one pipe is busy, and the other is not,
// its reader lets some blocks gather. (Network drivers do the same, as
// interrupt moderation.)
const (
	// busyGap is the time between two chunks of a busy pipe, at most.
	busyGap = 100 * time.Microsecond
	// gatherTime is how long the reader lets the writer go on. Linux makes
	// 50 µs more of it, which is about what it takes to fill the pipe.
	gatherTime = 10 * time.Microsecond
)

// gather lets a busy pipe fill. It does not use a timer of the runtime: those
// may take a millisecond.
func gather() {
	t := unix.NsecToTimeval(int64(gatherTime))
	_, _ = unix.Select(0, nil, nil, nil, &t) // a signal may end it early
}

// flow tells whether a pipe is busy.
type flow struct {
	from *output // where the last chunk came from
	at   time.Time
	busy bool
}

// arrived takes note of a chunk. A pipe that was full needs no time to fill.
func (f *flow) arrived(o *output, full bool) {
	now := time.Now()
	f.busy = o == f.from && !full && now.Sub(f.at) < busyGap
	f.from, f.at = o, now
}

// takeBusy reports whether o is busy. It is not until the next chunk.
func (f *flow) takeBusy(o *output) bool {
	busy := f.busy && f.from == o
	f.busy = false
	return busy
}

// look enters what has become readable at the end of the queue. The caller
// holds mu.
func (a *outputs) look(woken *output) {
	if a.pair[0].closed && a.pair[1].closed {
		return // the readiness is closed, too, and its number may be another's
	}
	for _, r := range a.ready.next(a.pair[0] == woken, a.pair[1] == woken) {
		o := a.pair[r.index]
		if o.closed || o.eof || o.err != nil {
			continue
		}
		o.exhaust = o.exhaust || r.exhaust
		if !o.queued {
			o.queued = true
			a.queue = append(a.queue, o)
		}
	}
}

// front returns the first pipe in the queue that has a sink, nil if there is
// none. The caller holds mu.
func (a *outputs) front() *output {
	for _, o := range a.queue {
		if o.sink != nil {
			return o
		}
	}
	return nil
}

// step reads once from a pipe in the queue, passes it on, and returns how much
// it was. The caller holds mu.
func (a *outputs) step(o *output) int {
	buffers := o.buffers
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	chunk := *buffer
	n, err := unix.Read(o.fd, chunk)
	for err == unix.EINTR {
		n, err = unix.Read(o.fd, chunk)
	}
	full := n == len(chunk)
	a.unqueue(o)
	switch {
	case err == unix.EAGAIN:
		o.exhaust = false
	case err != nil:
		o.err = err
		o.wake()
	case n == 0:
		o.eof = true
		o.wake()
	default:
		a.flow.arrived(o, full)
		if full && buffers == &chunks && widen(o.fd, floodSize) {
			o.buffers = &floods
		}
		o.sink(chunk[:n])
		if o.exhaust || full {
			a.look(nil) // what the other pipe got in the meantime comes first
			o.queued = true
			a.queue = append(a.queue, o)
		}
		return n
	}
	return 0
}

// wake ends CopyTo, which may have used up its own event before its turn came.
func (o *output) wake() {
	_ = o.f.SetReadDeadline(aLongTimeAgo) // fails on a closed file, which ends CopyTo as well
}

// Drain passes on, here and now, what the pipe holds, and what came before it
// in the other one. A writer that goes on writing does not prolong it.
func (o *output) Drain(ctx context.Context) (bool, error) {
	a := o.all
	select {
	case <-o.begun:
	case <-o.done:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.look(o)
	left, err := o.held()
	for err == nil && o.queued && left >= 0 {
		next := a.front()
		if n := a.step(next); next == o {
			left -= max(n, 1)
		}
	}
	return o.eof, err
}

func (a *outputs) unqueue(o *output) {
	a.queue = slices.DeleteFunc(a.queue, func(q *output) bool { return q == o })
	o.queued = false
}

// held returns how many bytes the pipe holds.
func (o *output) held() (int, error) {
	if o.closed || o.eof {
		return 0, nil
	}
	return unix.IoctlGetInt(o.fd, readable)
}

func (o *output) Close() error {
	a := o.all
	a.mu.Lock()
	if !o.closed {
		o.closed = true
		a.unqueue(o)
		if a.pair[0].closed && a.pair[1].closed {
			a.ready.close()
		}
	}
	a.mu.Unlock()
	err := o.f.Close() // the descriptor lives until CopyTo lets go of it
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// event says that a pipe has become readable.
type event struct {
	index   int  // 0: stdout, 1: stderr
	exhaust bool // see output
}
