package execution

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/spill"
	"github.com/yieldshell/mcp-yieldshell/proc"
)

// Bounds of the specification (section Lifecycle and Compatibility).
const (
	// Grace is how long the timeout and the shutdown leave a command between
	// SIGTERM and SIGKILL, and the default for Stop.
	Grace = 10 * time.Second
	// killBound is how long the kernel may take to end what was killed.
	killBound = 5 * time.Second
	// drainBound is how long the last output may take.
	drainBound = 3 * time.Second
	// signalBound is how long the backend may take to deliver a signal.
	signalBound = 3 * time.Second
	// detachedBound is how long listing detached processes may take.
	detachedBound = time.Second
)

// RequestBound is how long a request may wait: MCP clients commonly give up on
// one after 60 s (specification, "Timing Parameters at a Glance").
const RequestBound = 55 * time.Second

// Status is the state of an execution.
type Status string

// The states of an execution. All but Running are terminal.
const (
	Running   Status = "running"
	Completed Status = "completed"
	TimedOut  Status = "timed_out"
	Stopped   Status = "stopped"
	Failed    Status = "failed"
)

// Terminal reports whether the status will never change again.
func (s Status) Terminal() bool { return s != Running }

// Execution is one command, everything that it started, and its output.
type Execution struct {
	registry *Registry
	process  proc.Process
	log      *buffer.Log
	spill    *spill.File // set by Registry.add; nil: what leaves memory is lost
	id       string      // set by Registry.add
	number   uint64      // set by Registry.add; grows with each start

	name    *string
	command string // secrets hidden
	dir     string // secrets hidden
	started time.Time

	// shellExited and done are closed once: when the shell has ended (or its
	// end will never be known), and when the execution is terminal and its
	// output is complete.
	shellExited chan struct{}
	done        chan struct{}
	// released is closed when nothing that the execution owned is left and
	// all its goroutines but the closing one have ended.
	released chan struct{}
	// treeEmpty is closed when nothing that the execution owned is left.
	treeEmpty chan struct{}
	// abandoned is closed when something that cannot be ended is left after a
	// stop, so that nobody waits for it.
	abandoned     chan struct{}
	abandonedOnce sync.Once

	stdout, stderr pump
	stdin          stdin

	expected *buffer.Watch // from the first byte on, or nil

	lastOutput atomic.Int64 // Unix nanoseconds; zero when nothing came

	subscribers subscribers // to output

	// cursor is the server-side cursor: what the last cursorless request
	// left. cursorMu is held from the choice of a page to the advance, so
	// that each byte is delivered once.
	cursorMu sync.Mutex
	cursor   uint64
	screens  *screens // what lies before the cursor; nil until somebody asks

	// endMu serialises sending a signal, with the judgement whether it was
	// what ended the command, and the choice of the terminal status.
	endMu sync.Mutex

	mu           sync.Mutex
	status       Status
	cause        Status // Stopped or TimedOut once a signal has reached something
	onlyDefault  bool   // see proc.SignalReport
	exit         *proc.Exit
	ended        time.Time
	lost         error
	lastDetached []proc.Member // as known at the end of the session
	guards       bool          // detached processes were left
	timeout      *time.Timer   // nil: none
}

func newExecution(r *Registry, req Request, p proc.Process, begun time.Time) *Execution {
	e := &Execution{
		registry:    r,
		process:     p,
		log:         buffer.NewLog(r.opts.BufferBytes),
		command:     req.Secrets.Redact(req.Command),
		dir:         req.Secrets.Redact(req.Dir),
		started:     begun,
		shellExited: make(chan struct{}),
		done:        make(chan struct{}),
		released:    make(chan struct{}),
		treeEmpty:   make(chan struct{}),
		abandoned:   make(chan struct{}),
		cursor:      1,
		status:      Running,
	}
	if req.Expect != nil { // before there is output
		e.expected = e.log.Watch(context.Background(), req.Expect, 1, buffer.Both)
	}
	if req.DisplayName != nil {
		name := req.Secrets.Redact(*req.DisplayName)
		e.name = &name
	}
	return e
}

// begin starts the goroutines. The execution has been entered in the registry.
func (e *Execution) begin(req Request) {
	e.stdin.begin(e.process.Stdin(), req.Stdin, req.CloseStdin)
	e.stdout.begin(e, e.process.Stdout(), buffer.Stdout, req.Secrets)
	e.stderr.begin(e, e.process.Stderr(), buffer.Stderr, req.Secrets)
	if req.Timeout > 0 {
		e.mu.Lock()
		e.timeout = time.AfterFunc(req.Timeout, e.expire)
		e.mu.Unlock()
	}
	go e.follow()
}

// pump carries one output pipe into the log.
type pump struct {
	out  proc.Output
	done chan struct{} // closed when the pipe has ended and all is in the log
}

func (p *pump) begin(e *Execution, out proc.Output, s buffer.Stream, secrets *buffer.Secrets) {
	p.out = out
	p.done = make(chan struct{})
	w := buffer.NewWriter(e.log, s, secrets)
	go func() {
		defer close(p.done)
		err := out.CopyTo(func(b []byte) {
			e.lastOutput.Store(time.Now().UnixNano())
			w.Write(b) // cannot fail: the log is in memory
			e.subscribers.tell(s)
		})
		w.Close()
		if err != nil && !errors.Is(err, proc.ErrClosed) {
			e.registry.opts.Warn("reading output failed", "execution_id", e.id, "error", err)
		}
	}()
}

// settle waits until what the pipe holds now is in the log.
func (p *pump) settle(ctx context.Context) {
	eof, err := p.out.Drain(ctx)
	if err != nil || !eof {
		return
	}
	select {
	case <-p.done:
	case <-ctx.Done():
	}
}

// finish waits for the end of the pipe, and closes it if that takes too long.
func (p *pump) finish(ctx context.Context) {
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	p.out.Close()
	<-p.done
}

// both runs one step for the two pumps side by side.
func (e *Execution) both(bound time.Duration, step func(*pump, context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { step(&e.stdout, ctx) })
	step(&e.stderr, ctx)
	wg.Wait()
}

// follow handles the events of the process until nothing is left of it. It is
// the only goroutine that makes the execution terminal.
func (e *Execution) follow() {
	events, abandoned := e.process.Events(), e.abandoned
	for {
		select {
		case ev, ok := <-events:
			if !ok || e.handle(ev) {
				e.release()
				return
			}
		case <-abandoned:
			abandoned = nil
			e.both(drainBound, (*pump).settle)
			e.settle(true)
		}
	}
}

// handle acts on one event and reports whether it was the last.
func (e *Execution) handle(ev proc.Event) (last bool) {
	switch ev.Kind {
	case proc.ShellExited:
		e.mu.Lock()
		e.exit = &ev.Exit
		e.mu.Unlock()
		closeOnce(e.shellExited)
	case proc.SessionEmpty:
		if len(ev.Detached) == 0 {
			break // TreeEmpty is on its way and brings the end of the pipes
		}
		e.mu.Lock()
		e.guards, e.lastDetached = true, ev.Detached
		e.mu.Unlock()
		e.both(drainBound, (*pump).settle)
		e.settle(true)
	case proc.TreeEmpty:
		return true
	case proc.Lost:
		e.mu.Lock()
		e.lost = ev.Err
		e.mu.Unlock()
		return true
	}
	return false
}

// closeOnce closes a channel that one goroutine alone closes.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// settle makes the execution terminal, unless it is already.
func (e *Execution) settle(guarded bool) {
	e.endMu.Lock()
	defer e.endMu.Unlock()
	e.mu.Lock()
	if e.status.Terminal() {
		e.mu.Unlock()
		return
	}
	status := e.outcome()
	e.mu.Unlock()
	e.registry.settle(e, status, guarded)
	closeOnce(e.shellExited)
	close(e.done)
}

// outcome says what the terminal status is. e.mu and e.endMu are held.
func (e *Execution) outcome() Status {
	switch {
	case e.lost != nil:
		return Failed
	case e.cause == "":
		return Completed
	case e.onlyDefault && e.exit != nil && e.exit.Signal == "":
		// The signal came when the shell was already ending by itself.
		return Completed
	}
	return e.cause
}

// setTerminal is called by Registry.settle.
func (e *Execution) setTerminal(s Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = s
	e.ended = time.Now()
	if e.timeout != nil {
		e.timeout.Stop() // it belongs to the execution, not to what it leaves behind
	}
	if s == Failed {
		e.exit = nil
	}
}

// release gives everything back once nothing that was owned is left.
func (e *Execution) release() {
	close(e.treeEmpty)
	e.stdin.finish()
	e.both(drainBound, (*pump).finish)
	e.settle(false)
	e.mu.Lock()
	e.guards = false
	lost := e.lost
	e.mu.Unlock()
	if lost != nil {
		e.registry.opts.Warn("lost hold of an execution", "execution_id", e.id, "error", lost)
	}
	if err := e.process.Close(); err != nil {
		e.registry.opts.Warn("closing an execution failed", "execution_id", e.id, "error", err)
	}
	e.registry.release(e)
	close(e.released) // last: whoever waited for it finds the record like any other
}

// ID is the opaque handle.
func (e *Execution) ID() string { return e.id }

// PID is the id of the initial shell.
func (e *Execution) PID() int { return e.process.PID() }

// Done is closed when the execution is terminal and its output is complete,
// as far as the bounds of the specification allow to wait for it.
func (e *Execution) Done() <-chan struct{} { return e.done }

// Status returns the current status.
func (e *Execution) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *Execution) endedAt() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}
