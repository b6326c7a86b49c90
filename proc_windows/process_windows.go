package procwindows

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

const (
	// settleTime is how long after the shell's end nobody asks who is left:
	// mostly it is the console's host and children that are ending.
	settleTime = 50 * time.Millisecond
	// recheck is the interval of the check for lost messages while the shell
	// has ended and attached processes live on.
	recheck = time.Second
	// killRecheck is the same while something is being ended.
	killRecheck = 100 * time.Millisecond
	// closeBound is how long Close waits for what it has killed.
	closeBound = 5 * time.Second
)

// process implements proc.Process. Its job's processes are the execution's.
type process struct {
	backend *backend
	key     uintptr // of the job's messages
	job     *job
	pipes   *pipes
	script  string // path of a batch file, or empty
	title   string // original title of the console

	pid    int
	handle windows.Handle // of the shell, whose id it keeps from being reused

	events chan proc.Event
	// changed and pressed each hold a hint that the job may have changed,
	// for watch and for press.
	changed, pressed chan struct{}
	shell            chan proc.Exit // how the shell ended
	empty            chan struct{}  // closed with TreeEmpty or Lost
	quit             context.CancelFunc
	alive            context.Context // ended by quit
	goroutines       sync.WaitGroup
	closing          sync.Once
	closeErr         error

	mu       sync.Mutex
	pressing bool // press runs, or has run
	closed   bool // no more goroutines may start

	members members
}

var _ proc.Process = (*process)(nil)

func newProcess(b *backend, j *job, pp *pipes, script string) *process {
	p := &process{
		backend: b, job: j, pipes: pp, script: script,
		title:   "yieldshell-" + rand.Text(),
		events:  make(chan proc.Event, 4), // one of each kind: sending never blocks
		changed: make(chan struct{}, 1),
		pressed: make(chan struct{}, 1),
		shell:   make(chan proc.Exit, 1),
		empty:   make(chan struct{}),
	}
	p.alive, p.quit = context.WithCancel(context.Background())
	p.members = newMembers(p)
	return p
}

// run starts the shell. After an error no process is left; the job and the
// pipes are the caller's.
func (p *process) run(o order) error {
	l := launch{
		program: o.program, line: o.line, dir: o.dir, env: o.env, title: p.title,
		stdin: p.pipes.far[0], stdout: p.pipes.far[1], stderr: p.pipes.far[2], job: p.job,
	}
	var s started
	err := p.backend.hear(func() (err error) {
		s, err = l.create()
		return err
	})
	if err != nil {
		p.quit()
		return err
	}
	p.pid, p.handle = s.pid, s.process
	if err := s.resume(); err != nil {
		p.quit()
		return err
	}
	p.goroutines.Go(p.awaitShell)
	p.goroutines.Go(p.watch)
	return nil
}

// PID implements proc.Process.
func (p *process) PID() int { return p.pid }

// Stdin implements proc.Process.
func (p *process) Stdin() proc.Input { return p.pipes.in }

// Stdout implements proc.Process.
func (p *process) Stdout() proc.Output { return p.pipes.out }

// Stderr implements proc.Process.
func (p *process) Stderr() proc.Output { return p.pipes.err }

// Events implements proc.Process.
func (p *process) Events() <-chan proc.Event { return p.events }

// poke hints that the job may have changed. It never blocks.
func (p *process) poke() {
	for _, c := range []chan struct{}{p.changed, p.pressed} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// awaitShell waits for the end of the shell. It blocks a thread: waiting on a
// handle through the completion port is possible only with calls that older
// systems lack.
func (p *process) awaitShell() {
	if _, err := windows.WaitForSingleObject(p.handle, windows.INFINITE); err != nil {
		return // the handle is ours and open
	}
	var code uint32
	if err := windows.GetExitCodeProcess(p.handle, &code); err != nil {
		return
	}
	p.shell <- proc.Exit{Code: int64(code)}
}

// watch delivers the events. It is the only sender.
func (p *process) watch() {
	defer close(p.events)
	defer close(p.empty)
	select {
	case exit := <-p.shell:
		p.events <- proc.Event{Kind: proc.ShellExited, Exit: exit}
	case <-p.alive.Done():
		return
	}
	p.removeScript()
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	settled, sessionEmpty := false, false
	for {
		n, err := p.job.active()
		if err != nil {
			p.events <- proc.Event{Kind: proc.Lost, Err: errors.Join(err, p.job.terminate(1))}
			return
		}
		if n == 0 {
			if !sessionEmpty {
				p.events <- proc.Event{Kind: proc.SessionEmpty}
			}
			p.events <- proc.Event{Kind: proc.TreeEmpty}
			return
		}
		if settled && !sessionEmpty {
			if attached, detached := p.members.list(p.alive); len(attached) == 0 && len(detached) > 0 {
				p.events <- proc.Event{Kind: proc.SessionEmpty, Detached: detached}
				sessionEmpty = true
			} else {
				timer.Reset(recheck)
			}
		}
		select {
		case <-p.changed:
		case <-timer.C:
			settled = true
		case <-p.alive.Done():
			return
		}
	}
}

// removeScript deletes the batch file, if there is one and nobody has it open.
func (p *process) removeScript() error {
	if p.script == "" {
		return nil
	}
	return p.backend.scripts.remove(p.script)
}

// isEmpty reports whether nothing is left.
func (p *process) isEmpty() bool {
	select {
	case <-p.empty:
		return true
	default:
		return false
	}
}

// Kill implements proc.Process.
func (p *process) Kill(ctx context.Context) (proc.KillReport, error) {
	if ctx.Err() != nil {
		return proc.KillReport{}, context.Cause(ctx)
	}
	if p.isEmpty() {
		return proc.KillReport{}, nil
	}
	if err := p.job.terminate(1); err != nil {
		return proc.KillReport{}, err
	}
	if p.emptied(ctx) {
		return proc.KillReport{}, nil
	}
	left, err := p.job.pids() // stuck in a driver, most likely
	return proc.KillReport{Unkillable: left}, errors.Join(context.Cause(ctx), err)
}

// emptied waits until nothing is left of what was terminated, and reports whether
// it came to that. A process that was just being created may have escaped the
// first time.
func (p *process) emptied(ctx context.Context) bool {
	lost := time.NewTicker(killRecheck) // a message may be
	defer lost.Stop()
	for {
		select {
		case <-p.empty:
			return true
		case <-ctx.Done():
			return false
		case <-lost.C:
			_ = p.job.terminate(1) // as before
			p.poke()
		}
	}
}

// Detached implements proc.Process.
func (p *process) Detached(ctx context.Context) ([]proc.Member, error) {
	_, detached, err := p.listed(ctx)
	return detached, err
}

// Attached implements proc.Process.
func (p *process) Attached(ctx context.Context) ([]proc.Member, error) {
	attached, _, err := p.listed(ctx)
	return attached, err
}

func (p *process) listed(ctx context.Context) (attached, detached []proc.Member, err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if p.isEmpty() {
		return nil, nil, nil
	}
	p.poke() // should a message have been lost
	attached, detached = p.members.list(ctx)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return attached, detached, nil
}

// Close implements proc.Process.
func (p *process) Close() error {
	p.closing.Do(func() { p.closeErr = p.close() })
	return p.closeErr
}

func (p *process) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	_, err := p.Kill(ctx)
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.quit()
	p.backend.forget(p)
	if err != nil {
		// Something is stuck in the system. Closing the job's handle ends it
		// when that is over; awaitShell goes on waiting for it.
		go p.letGo()
		return errors.Join(fmt.Errorf("ending the execution: %w", err), p.removeScript(), p.job.close())
	}
	return errors.Join(p.letGo(), p.removeScript(), p.job.close())
}

// letGo waits for the goroutines, the only users of the shell's handle, and
// closes it.
func (p *process) letGo() error {
	p.goroutines.Wait()
	return windows.CloseHandle(p.handle)
}
