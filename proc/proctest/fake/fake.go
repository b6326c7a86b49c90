package fake

import (
	"context"
	"sync"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

var (
	_ proc.Backend = (*Backend)(nil)
	_ proc.Process = (*Process)(nil)
	_ proc.Input   = (*Input)(nil)
	_ proc.Output  = (*Output)(nil)
)

// Backend starts fake processes. The zero value is ready.
type Backend struct {
	// Begin, if set, is called with each new process before Start returns. It
	// may script the process. With an error nothing is started.
	Begin func(*Process) error

	mu      sync.Mutex
	started []*Process
	warmed  int
}

// Start implements proc.Backend.
func (b *Backend) Start(spec proc.Spec) (proc.Process, error) {
	b.mu.Lock()
	p := newProcess(1000+len(b.started), spec)
	b.mu.Unlock()
	if b.Begin != nil {
		if err := b.Begin(p); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	b.started = append(b.started, p)
	b.mu.Unlock()
	return p, nil
}

// Warm implements proc.Backend.
func (b *Backend) Warm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.warmed++
}

// Guarantees implements proc.Backend.
func (b *Backend) Guarantees() proc.Guarantees {
	return proc.Guarantees{Tree: true, SurvivesServerKill: true}
}

// Close implements proc.Backend.
func (b *Backend) Close() error { return nil }

// Started returns the processes in the order in which they were started.
func (b *Backend) Started() []*Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*Process(nil), b.started...)
}

// Last returns the process that was started last.
func (b *Backend) Last() *Process {
	all := b.Started()
	return all[len(all)-1]
}

// Warmed returns how often Warm was called.
func (b *Backend) Warmed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.warmed
}

// Process is one fake command. Its methods may be called from any goroutine.
type Process struct {
	// Spec is what the process was started with.
	Spec proc.Spec

	pid            int
	stdin          *Input
	stdout, stderr *Output
	events         chan proc.Event

	mu       sync.Mutex
	attached []proc.Member
	detached []proc.Member
	signals  []proc.Signal
	kills    int
	closes   int
	exited   bool // ShellExited was sent
	empty    bool // SessionEmpty was sent
	over     bool // the last event was sent
	onSignal func(proc.Signal) (proc.SignalReport, error)
	onKill   func(context.Context) (proc.KillReport, error)
	failing  error // what Attached and Detached answer
}

func newProcess(pid int, spec proc.Spec) *Process {
	return &Process{
		Spec: spec, pid: pid,
		stdin:  newInput(),
		stdout: newOutput(), stderr: newOutput(),
		events: make(chan proc.Event, 4), // all that there can be: no sender waits
	}
}

// OnSignal sets what a signal does. Nil is the default: it ends everything, and
// the shell had no handler.
func (p *Process) OnSignal(do func(proc.Signal) (proc.SignalReport, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onSignal = do
}

// OnKill sets what Kill does. Nil is the default: it ends everything.
func (p *Process) OnKill(do func(context.Context) (proc.KillReport, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onKill = do
}

// Fail makes Attached and Detached fail, or with nil succeed again.
func (p *Process) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = err
}

// Print lets the command write to its standard output.
func (p *Process) Print(text string) { p.stdout.write(text) }

// PrintError lets the command write to its standard error.
func (p *Process) PrintError(text string) { p.stderr.write(text) }

// ShellEnds lets the shell end, and the attached processes live on.
func (p *Process) ShellEnds(exit proc.Exit, attached ...proc.Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited || p.over {
		return
	}
	p.exited, p.attached = true, attached
	p.events <- proc.Event{Kind: proc.ShellExited, Exit: exit}
}

// SessionEnds lets the last attached process end, and the detached ones live
// on. The pipes stay open if there are any.
func (p *Process) SessionEnds(detached ...proc.Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.empty || p.over {
		return
	}
	p.empty, p.attached, p.detached = true, nil, detached
	p.events <- proc.Event{Kind: proc.SessionEmpty, Detached: detached}
}

// TreeEnds lets everything that is left end, and with it the pipes.
func (p *Process) TreeEnds() {
	p.stdout.end()
	p.stderr.end()
	p.stdin.breakPipe()
	p.finish(proc.Event{Kind: proc.TreeEmpty})
}

// TreeEndsButPipes is TreeEnds when a stranger holds the output pipes.
func (p *Process) TreeEndsButPipes() { p.finish(proc.Event{Kind: proc.TreeEmpty}) }

// Lose lets the backend lose hold of the process.
func (p *Process) Lose(err error) {
	p.stdout.end()
	p.stderr.end()
	p.finish(proc.Event{Kind: proc.Lost, Err: err})
}

// Exit lets the shell end with this code, and nothing live on.
func (p *Process) Exit(code int64) { p.end(proc.Exit{Code: code}) }

// Die lets a signal end the shell, and nothing live on.
func (p *Process) Die(code int64, signal proc.Signal) { p.end(proc.Exit{Code: code, Signal: signal}) }

func (p *Process) end(exit proc.Exit) {
	p.ShellEnds(exit)
	p.SessionEnds()
	p.TreeEnds()
}

func (p *Process) finish(last proc.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over, p.attached, p.detached = true, nil, nil
	p.events <- last
	close(p.events)
}

// Detach lets a process leave the session while the shell runs.
func (p *Process) Detach(m ...proc.Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.detached = m
}

// Signals returns the signals that were sent.
func (p *Process) Signals() []proc.Signal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]proc.Signal(nil), p.signals...)
}

// Kills returns how often Kill was called.
func (p *Process) Kills() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kills
}

// Closes returns how often Close was called.
func (p *Process) Closes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closes
}

// Input returns the command's end of standard input.
func (p *Process) Input() *Input { return p.stdin }

// PID implements proc.Process.
func (p *Process) PID() int { return p.pid }

// Stdin implements proc.Process.
func (p *Process) Stdin() proc.Input { return p.stdin }

// Stdout implements proc.Process.
func (p *Process) Stdout() proc.Output { return p.stdout }

// Stderr implements proc.Process.
func (p *Process) Stderr() proc.Output { return p.stderr }

// Events implements proc.Process.
func (p *Process) Events() <-chan proc.Event { return p.events }

// Signal implements proc.Process.
func (p *Process) Signal(_ context.Context, s proc.Signal) (proc.SignalReport, error) {
	p.mu.Lock()
	over, do := p.over, p.onSignal
	alone := !p.exited && len(p.attached)+len(p.detached) == 0
	if !over {
		p.signals = append(p.signals, s)
	}
	p.mu.Unlock()
	switch {
	case over:
		return proc.SignalReport{}, nil
	case do != nil:
		return do(s)
	}
	p.Die(-15, s)
	return proc.SignalReport{Reached: 1, OnlyDefault: alone}, nil
}

// Kill implements proc.Process.
func (p *Process) Kill(ctx context.Context) (proc.KillReport, error) {
	p.mu.Lock()
	p.kills++
	do := p.onKill
	p.mu.Unlock()
	if do != nil {
		return do(ctx)
	}
	p.Die(-9, proc.SIGKILL)
	return proc.KillReport{}, nil
}

// Detached implements proc.Process.
func (p *Process) Detached(context.Context) ([]proc.Member, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]proc.Member(nil), p.detached...), p.failing
}

// Attached implements proc.Process.
func (p *Process) Attached(context.Context) ([]proc.Member, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]proc.Member(nil), p.attached...), p.failing
}

// Close implements proc.Process.
func (p *Process) Close() error {
	p.mu.Lock()
	p.closes++
	p.mu.Unlock()
	p.Die(-9, proc.SIGKILL)
	return nil
}
