package fake

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// change is a condition that can be waited for with a context: every change
// closes the channel and makes a new one.
type change chan struct{}

func (c *change) broadcast() {
	close(*c)
	*c = make(change)
}

// Output is a fake output pipe. It holds any amount.
type Output struct {
	mu      sync.Mutex
	changed change
	held    [][]byte
	written int  // pieces ever written
	passed  int  // pieces that the sink has taken
	ended   bool // nobody holds the writing end
	closed  bool // the server closed the reading end
	done    bool // CopyTo has returned
}

func newOutput() *Output { return &Output{changed: make(change)} }

func (o *Output) write(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		panic("fake: output after the end of the pipe")
	}
	o.held = append(o.held, []byte(text))
	o.written++
	o.changed.broadcast()
}

func (o *Output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.changed.broadcast()
}

// CopyTo implements proc.Output.
func (o *Output) CopyTo(sink func([]byte)) error {
	defer func() {
		o.mu.Lock()
		o.done = true
		o.changed.broadcast()
		o.mu.Unlock()
	}()
	for {
		piece, err := o.next()
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
		sink(piece)
		o.mu.Lock()
		o.passed++
		o.changed.broadcast()
		o.mu.Unlock()
	}
}

// next waits for a piece of output.
func (o *Output) next() ([]byte, error) {
	for {
		o.mu.Lock()
		switch {
		case o.closed:
			o.mu.Unlock()
			return nil, proc.ErrClosed
		case len(o.held) > 0:
			piece := o.held[0]
			o.held = o.held[1:]
			o.mu.Unlock()
			return piece, nil
		case o.ended:
			o.mu.Unlock()
			return nil, io.EOF
		}
		changed := o.changed
		o.mu.Unlock()
		<-changed
	}
}

// Drain implements proc.Output.
func (o *Output) Drain(ctx context.Context) (eof bool, err error) {
	o.mu.Lock()
	target := o.written
	for o.passed < target && !o.done {
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		o.mu.Lock()
	}
	defer o.mu.Unlock()
	return o.ended, nil
}

// Close implements proc.Output.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.changed.broadcast()
	}
	return nil
}

// Closed reports whether the server has closed its end.
func (o *Output) Closed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// Input is a fake standard input. The command reads at once, unless Stall was
// called.
type Input struct {
	mu      sync.Mutex
	changed change
	taken   bytes.Buffer
	room    int // bytes that a write may still pass while stalled
	stalled bool
	broken  bool
	closed  bool
}

func newInput() *Input { return &Input{changed: make(change)} }

// Stall makes the command stop reading once it has taken n more bytes.
func (i *Input) Stall(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stalled, i.room = true, n
	i.changed.broadcast()
}

// Resume makes the command read again.
func (i *Input) Resume() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stalled = false
	i.changed.broadcast()
}

// Break makes the command close its end.
func (i *Input) Break() { i.breakPipe() }

func (i *Input) breakPipe() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.broken = true
	i.changed.broadcast()
}

// Text returns what the command has read.
func (i *Input) Text() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.taken.String()
}

// Ended reports whether the command sees the end of its input.
func (i *Input) Ended() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.closed
}

// Write implements proc.Input.
func (i *Input) Write(ctx context.Context, p []byte) (n int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for {
		switch {
		case i.closed:
			return n, proc.ErrClosed
		case i.broken:
			return n, proc.ErrBrokenPipe
		case ctx.Err() != nil:
			return n, ctx.Err()
		}
		take := len(p) - n
		if i.stalled {
			take = min(take, i.room)
			i.room -= take
		}
		i.taken.Write(p[n : n+take])
		n += take
		if n == len(p) {
			return n, nil
		}
		changed := i.changed
		i.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		i.mu.Lock()
	}
}

// Close implements proc.Input.
func (i *Input) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.closed {
		i.closed = true
		i.changed.broadcast()
	}
	return nil
}
