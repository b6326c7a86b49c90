package execution

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// WriteBound is how long a write may wait for the command to read
// (specification, section write).
const WriteBound = RequestBound

// ErrStdinClosed refuses a write.
var ErrStdinClosed = errors.New("stdin is closed, or will be after its initial input; start the command with close_stdin=false to write to it later")

// stdin owns the server's end of the command's standard input.
type stdin struct {
	in proc.Input
	// turn is a lock that can be waited for with a context; whoever holds it
	// writes. The initial input has the first turn.
	turn chan struct{}
	// delivered is closed when the initial input has been written, or failed.
	delivered chan struct{}
	cancel    context.CancelFunc

	mu     sync.Mutex
	last   bool // closed, or to be closed after the initial input
	closed bool
	err    error // of the initial delivery
}

// begin delivers the initial input in the background, so that a command that
// does not read it delays nobody.
func (s *stdin) begin(in proc.Input, initial string, closeAfter bool) {
	s.in = in
	s.last = closeAfter
	s.turn = make(chan struct{}, 1)
	s.delivered = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	if initial == "" {
		if closeAfter {
			s.close()
		}
		close(s.delivered)
		return
	}
	s.turn <- struct{}{}
	go func() {
		defer close(s.delivered)
		defer func() { <-s.turn }()
		n, err := s.in.Write(ctx, []byte(initial))
		if err != nil {
			s.mu.Lock()
			s.err = fmt.Errorf("%d of %d bytes of stdin were delivered: %w", n, len(initial), err)
			s.mu.Unlock()
		}
		if closeAfter || err != nil {
			s.close()
		}
	}()
}

func (s *stdin) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.last, s.closed = true, true
	return s.in.Close()
}

// refusal says why nothing more can be written, or is nil.
func (s *stdin) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case s.last:
		return ErrStdinClosed
	}
	return nil
}

// failure is the error of the initial delivery, or nil.
func (s *stdin) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// finish ends a delivery that nobody will read any more. With the reading end
// closed the pipe breaks by itself, which gives the truer error; only if some
// stranger holds that end is the delivery cut short.
func (s *stdin) finish() {
	t := time.AfterFunc(time.Second, s.cancel)
	<-s.delivered
	t.Stop()
	s.cancel()
	s.close()
}

// Write writes to the command's standard input, after what others are writing
// to it, and closes it afterwards if asked to. It returns how many bytes the
// command's pipe has taken, also with an error: *NotRunningError,
// ErrStdinClosed, a broken pipe (also that of the initial input), or the
// context's when nobody read.
func (e *Execution) Write(ctx context.Context, p []byte, closeAfter bool) (int, error) {
	if s := e.Status(); s.Terminal() {
		return 0, &NotRunningError{s}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, WriteBound,
		fmt.Errorf("the command did not read its stdin for %d s", WriteBound/time.Second))
	defer cancel()
	n, err := e.stdin.write(ctx, p, closeAfter)
	if err != nil && n == 0 {
		if e.gone() { // whatever the pipe says, the end is the reason
			return 0, e.tooLate()
		}
		if s := e.Status(); s.Terminal() {
			return 0, &NotRunningError{s}
		}
	}
	return n, err
}

func (s *stdin) write(ctx context.Context, p []byte, closeAfter bool) (int, error) {
	if err := s.refusal(); err != nil { // which need not wait
		return 0, err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if err := s.refusal(); err != nil {
		return 0, err
	}
	n := 0
	if len(p) > 0 {
		var err error
		if n, err = s.in.Write(ctx, p); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return n, err
		}
	}
	if closeAfter {
		return n, s.close()
	}
	return n, nil
}
