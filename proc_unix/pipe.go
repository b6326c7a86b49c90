//go:build unix

package procunix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// pipes are the three pipes of an execution that is being started.
type pipes struct {
	stdin  *input
	stdout *output
	stderr *output
	child  [3]int // the command's ends
}

func newPipes() (*pipes, error) {
	var fds [3][2]int
	for i := range fds {
		if err := pipe(&fds[i]); err != nil {
			for _, p := range fds[:i] {
				unix.Close(p[0])
				unix.Close(p[1])
			}
			return nil, err
		}
	}
	return &pipes{
		stdin:  newInput(serverEnd(fds[0][1], "stdin")),
		stdout: newOutput(serverEnd(fds[1][0], "stdout")),
		stderr: newOutput(serverEnd(fds[2][0], "stderr")),
		child:  [3]int{fds[0][0], fds[1][1], fds[2][1]},
	}, nil
}

// serverEnd makes a file that waits in the runtime's poller. The command's
// end stays blocking: that is a property of each end.
func serverEnd(fd int, name string) *os.File {
	// It fails for bad descriptors only; the file would still work, at the
	// price of a thread.
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}

func (p *pipes) closeChild() {
	for _, fd := range p.child {
		unix.Close(fd)
	}
}

// closeServer closes ends that nobody else has seen, so that errors tell
// nothing.
func (p *pipes) closeServer() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

// aLongTimeAgo is a deadline that ends an operation at once.
var aLongTimeAgo = time.Unix(1, 0)

// input implements proc.Input.
type input struct {
	f    *os.File
	turn chan struct{} // held while writing
}

func newInput(f *os.File) *input {
	return &input{f: f, turn: make(chan struct{}, 1)}
}

func (in *input) Write(ctx context.Context, p []byte) (int, error) {
	select {
	case in.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-in.turn }()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = in.f.SetWriteDeadline(aLongTimeAgo) // fails on a closed file, which ends the write as well
	})
	n, err := in.f.Write(p)
	if !stop() {
		<-interrupted
		_ = in.f.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, ctx.Err()
	case errors.Is(err, os.ErrClosed):
		return n, fmt.Errorf("write standard input: %w", proc.ErrClosed)
	}
	return n, fmt.Errorf("write standard input: %w", cause(err))
}

func (in *input) Close() error { return closeOnce(in.f) }

// closeOnce closes a file, and is content when it is closed already.
func closeOnce(f *os.File) error {
	if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// readSize is what a pipe holds by default: larger reads gain nothing.
const readSize = 64 << 10

// chunks is where the pumps of all executions get their buffers. A pump has
// one only while there is something to read, so quiet executions hold none.
var chunks = sync.Pool{New: func() any { return new([readSize]byte) }}

// output implements proc.Output.
type output struct {
	f    *os.File
	done chan struct{} // closed when CopyTo has ended

	mu     sync.Mutex
	eof    bool
	closed bool
	drains []chan struct{} // closed when what they wait for has been passed on
}

func newOutput(f *os.File) *output {
	return &output{f: f, done: make(chan struct{})}
}

func (o *output) CopyTo(sink func([]byte)) error {
	defer close(o.done)
	conn, err := o.f.SyscallConn()
	if err != nil {
		return proc.ErrClosed
	}
	p := pump{conn: conn, sink: sink}
	for {
		drains := o.takeDrains()
		if len(drains) > 0 {
			err = p.flush()
		} else {
			_, err = p.once(true)
		}
		if err == errEOF {
			o.mu.Lock()
			o.eof = true
			o.mu.Unlock()
			return nil // which ends the drains, too
		}
		for _, d := range drains {
			close(d)
		}
		switch {
		case err == nil || err == errWouldBlock:
		case errors.Is(err, os.ErrDeadlineExceeded): // a drain is asked for
		case o.isClosed():
			return proc.ErrClosed
		default:
			return fmt.Errorf("read output: %w", cause(err))
		}
	}
}

// takeDrains returns the drains asked for so far, and lets reads wait again.
func (o *output) takeDrains() []chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	drains := o.drains
	if len(drains) > 0 {
		o.drains = nil
		_ = o.f.SetReadDeadline(time.Time{}) // fails on a closed file, which ends the next read as well
	}
	return drains
}

func (o *output) Drain(ctx context.Context) (bool, error) {
	passed := make(chan struct{})
	o.mu.Lock()
	o.drains = append(o.drains, passed)
	// It wakes the pump, and fails on a closed file, which ends the pump.
	_ = o.f.SetReadDeadline(aLongTimeAgo)
	o.mu.Unlock()
	select {
	case <-passed:
	case <-o.done:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.eof, nil
}

func (o *output) Close() error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	return closeOnce(o.f)
}

func (o *output) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

var (
	errEOF        = errors.New("end of file")
	errWouldBlock = errors.New("nothing to read")
)

// pump passes what arrives in one pipe to a sink.
type pump struct {
	conn syscall.RawConn
	sink func([]byte)
}

// flush passes on what the pipe holds now, and sees whether that was the end.
// A writer that goes on writing does not prolong it.
func (p *pump) flush() error {
	held, err := p.held()
	for passed := 0; err == nil && passed <= held; {
		var n int
		n, err = p.once(false)
		passed += n
	}
	return err
}

// held returns how many bytes the pipe holds.
func (p *pump) held() (n int, err error) {
	ctlErr := p.conn.Control(func(fd uintptr) {
		n, err = unix.IoctlGetInt(int(fd), readable)
	})
	if ctlErr != nil {
		return 0, ctlErr
	}
	return n, err
}

// once passes one chunk on, and returns its size. Without wait it returns
// errWouldBlock when there is none.
func (p *pump) once(wait bool) (int, error) {
	var (
		chunk *[readSize]byte
		n     int
		err   error
	)
	waitErr := p.conn.Read(func(fd uintptr) bool {
		chunk = chunks.Get().(*[readSize]byte)
		n, err = unix.Read(int(fd), chunk[:])
		for err == unix.EINTR {
			n, err = unix.Read(int(fd), chunk[:])
		}
		if err != unix.EAGAIN {
			return true
		}
		chunks.Put(chunk)
		chunk = nil
		return !wait
	})
	if chunk != nil {
		defer chunks.Put(chunk)
	}
	switch {
	case waitErr != nil:
		return 0, waitErr
	case chunk == nil:
		return 0, errWouldBlock
	case err != nil:
		return 0, err
	case n == 0:
		return 0, errEOF
	}
	p.sink(chunk[:n])
	return n, nil
}
