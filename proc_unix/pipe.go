//go:build unix

package procunix

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	p := &pipes{
		stdin: newInput(serverEnd(fds[0][1], "stdin")),
		child: [3]int{fds[0][0], fds[1][1], fds[2][1]},
	}
	var err error
	p.stdout, p.stderr, err = newOutputs(fds[1][0], fds[2][0])
	if err != nil {
		p.closeChild()
		_ = p.stdin.Close()
		return nil, err
	}
	return p, nil
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
	case errors.Is(err, unix.EPIPE):
		return n, fmt.Errorf("write standard input: %w", proc.ErrBrokenPipe)
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
