package execution

import (
	"context"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
)

// descendantWait is how much longer execute waits for attached processes once
// the shell has ended.
const descendantWait = 5 * time.Second

// Ports tells of TCP ports on this machine's loopback addresses.
type Ports interface {
	// Open reports whether the port accepts connections now. It takes 200 ms
	// at most.
	Open(port int) bool
	// Await returns nil once the port accepts connections, or the context's
	// error.
	Await(ctx context.Context, port int) error
}

// PortOpen reports whether a TCP port on loopback accepts connections now.
func (r *Registry) PortOpen(port int) bool { return r.opts.Ports.Open(port) }

// Conditions are what ends a wait besides the end of the execution. The zero
// value has none.
type Conditions struct {
	// Output is a watch for output that matches; nil for none. The caller
	// stops it.
	Output *buffer.Watch
	// Idle is how long no output must come, from the beginning of the wait
	// on; zero for none. Streams says whose output counts.
	Idle    time.Duration
	Streams buffer.Selection
	// Port is a TCP port that must accept connections; zero for none.
	Port int
}

// Reason says why a wait is over.
type Reason int

// The reasons. The wait gave up if the time was used up, the call was
// cancelled or the server begins to end.
const (
	GaveUp Reason = iota
	Exited
	OutputMatched
	IdleReached
	PortOpen
)

// Watch begins to look for output of the execution that matches, from the
// position from on, or from the server-side cursor if that is zero: then a
// match may begin in a line that was delivered before it was complete. The
// caller stops the watch.
//
// Kept output is looked at before it returns. If the context ends meanwhile, or
// the server begins to, the watch ends with it.
func (e *Execution) Watch(ctx context.Context, re *lazydfa.Regexp, from uint64, sel buffer.Selection) *buffer.Watch {
	ctx, cancel := e.registry.untilClosing(ctx)
	defer cancel()
	if from > 0 {
		return e.log.Watch(ctx, re, from, sel)
	}
	e.cursorMu.Lock()
	cursor := e.cursor
	e.cursorMu.Unlock()
	return e.log.WatchOn(ctx, re, cursor, sel)
}

// Expected hands over the watch that the request to start asked for; nil if
// it asked for none. Only the caller of Start calls it, once, and stops the
// watch.
func (e *Execution) Expected() *buffer.Watch {
	w := e.expected
	e.expected = nil
	return w
}

// Wait blocks until the execution is terminal and its output complete, a
// condition holds, the budget is used up, the server begins to end, or the
// context ends. Only the last is an error.
//
// If several things have happened, it reports the one that must have been
// first: what was put out before the end comes before the end.
func (e *Execution) Wait(ctx context.Context, budget time.Duration, c Conditions) (Reason, error) {
	return e.wait(ctx, budget, c, nil)
}

// WaitInline is the foreground part of execute: Wait, but once the shell has
// ended it waits at most 5 s more for what the shell left in its session.
func (e *Execution) WaitInline(ctx context.Context, yield time.Duration, c Conditions) (Reason, error) {
	return e.wait(ctx, yield, c, e.shellExited)
}

func (e *Execution) wait(ctx context.Context, budget time.Duration, c Conditions, shellExited <-chan struct{}) (Reason, error) {
	select {
	case <-e.done: // also with no budget: what has ended has ended
		return c.atEnd(), nil
	default:
	}
	open, stop := e.awaitPort(ctx, c.Port)
	defer stop()
	idle := e.newIdle(c)
	defer idle.stop()
	reason, err := e.first(ctx, budget, c, shellExited, open, idle)
	// Of several events that are there at once, first takes any.
	switch {
	case closed(c.found()):
		reason = OutputMatched
	case reason == GaveUp && closed(open):
		reason = PortOpen
	}
	return reason, err
}

// first waits for the first event.
func (e *Execution) first(ctx context.Context, budget time.Duration, c Conditions, shellExited, open <-chan struct{}, idle *idleTimer) (Reason, error) {
	deadline := time.Now().Add(budget)
	t := time.NewTimer(budget)
	defer t.Stop()
	for {
		select {
		case <-e.done:
			return c.atEnd(), nil
		case <-c.found():
			return OutputMatched, nil
		case <-open:
			return PortOpen, nil
		case <-idle.fired():
			if idle.reached() {
				return IdleReached, nil
			}
		case <-t.C:
			return GaveUp, nil
		case <-shellExited:
			shellExited = nil
			t.Reset(min(time.Until(deadline), descendantWait))
		case <-e.registry.closing:
			return GaveUp, nil
		case <-ctx.Done():
			return GaveUp, context.Cause(ctx)
		}
	}
}

// found is closed when output matches; nil if none is looked for.
func (c Conditions) found() <-chan struct{} {
	if c.Output == nil {
		return nil
	}
	return c.Output.Found()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// atEnd is the reason when the execution has ended: the end of its last line
// may be what was waited for.
func (c Conditions) atEnd() Reason {
	if c.Output != nil && c.Output.End() {
		return OutputMatched
	}
	return Exited
}

// awaitPort returns a channel that is closed when the port is open, at once if
// it is already, and a function that ends the waiting for it. Without a port
// the channel is nil.
func (e *Execution) awaitPort(ctx context.Context, port int) (open <-chan struct{}, stop func()) {
	if port == 0 {
		return nil, func() {}
	}
	c := make(chan struct{})
	if e.registry.opts.Ports.Open(port) {
		close(c)
		return c, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if e.registry.opts.Ports.Await(ctx, port) == nil {
			close(c)
		}
	}()
	return c, func() {
		cancel()
		<-ended
	}
}

// An idleTimer fires when no output may have come for long enough. It is set
// anew only when it fires, so that it costs output nothing.
type idleTimer struct {
	e     *Execution
	c     Conditions
	since time.Time
	timer *time.Timer // nil: none
}

func (e *Execution) newIdle(c Conditions) *idleTimer {
	i := &idleTimer{e: e, c: c, since: time.Now()}
	if c.Idle > 0 {
		i.timer = time.NewTimer(c.Idle)
	}
	return i
}

func (i *idleTimer) fired() <-chan time.Time {
	if i.timer == nil {
		return nil
	}
	return i.timer.C
}

// reached reports whether no output has come for long enough, and sets the
// timer anew if some has.
func (i *idleTimer) reached() bool {
	if last := i.e.log.LastAppend(i.c.Streams); last.After(i.since) {
		i.since = last
	}
	left := i.c.Idle - time.Since(i.since)
	if left <= 0 {
		return true
	}
	i.timer.Reset(left)
	return false
}

func (i *idleTimer) stop() {
	if i.timer != nil {
		i.timer.Stop()
	}
}
