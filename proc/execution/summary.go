package execution

import (
	"context"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/proc"
)

// Summary is what can be said of an execution at one moment.
type Summary struct {
	ID         string
	PID        int
	Name       *string
	Command    string
	Dir        string
	Status     Status
	Ending     Status     // while it is being ended: Stopped or TimedOut
	Closing    bool       // the server is shutting down
	Exit       *proc.Exit // nil while the shell runs, or if its end is unknown
	Started    time.Time
	Ended      time.Time // zero while it runs
	Duration   time.Duration
	Stdout     uint64 // bytes ever captured
	Stderr     uint64
	StdinErr   error
	Lost       error     // why the status is Failed
	SpillErr   error     // why output that left memory was not kept on disk
	LastOutput time.Time // zero if none came
	LatestSeq  uint64
	Detached   []proc.Member
}

// Summary describes the execution, detached processes included.
func (e *Execution) Summary(ctx context.Context) Summary {
	s := e.summary()
	if e.mayHaveDetached() {
		s.Detached = e.Detached(ctx)
	}
	return s
}

func (e *Execution) summary() Summary {
	s := Summary{
		ID:        e.id,
		PID:       e.process.PID(),
		Name:      e.name,
		Started:   e.started,
		Command:   e.command,
		Dir:       e.dir,
		Stdout:    e.log.Total(buffer.Stdout),
		Stderr:    e.log.Total(buffer.Stderr),
		LatestSeq: e.log.Latest(),
		StdinErr:  e.stdin.failure(),
		SpillErr:  e.SpillErr(),
	}
	if at := e.lastOutput.Load(); at != 0 {
		s.LastOutput = time.Unix(0, at)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.Status, s.Exit, s.Ended, s.Lost = e.status, e.exit, e.ended, e.lost
	if !s.Status.Terminal() {
		s.Ending, s.Closing = e.cause, e.registry.isClosing()
	}
	end := e.ended
	if end.IsZero() {
		end = time.Now()
	}
	s.Duration = end.Sub(e.started)
	return s
}

// SpillErr returns why output that left memory was not kept on disk, nil if it
// was or was not meant to be.
func (e *Execution) SpillErr() error {
	if e.spill == nil {
		return nil
	}
	return e.spill.Err()
}

// Activity returns how long the execution has been running, or did, and how
// many bytes of output it has made.
func (e *Execution) Activity() (running time.Duration, output uint64) {
	e.mu.Lock()
	end := e.ended
	e.mu.Unlock()
	if end.IsZero() {
		end = time.Now()
	}
	return end.Sub(e.started), e.log.Latest() - 1
}

// mayHaveDetached reports whether it is worth asking the backend.
func (e *Execution) mayHaveDetached() bool {
	if e.gone() {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.status.Terminal() || e.guards
}

// Detached lists the owned processes that have left the shell's session. If
// the backend cannot tell in time, it is what was known last.
func (e *Execution) Detached(ctx context.Context) []proc.Member {
	ctx, cancel := context.WithTimeout(ctx, detachedBound)
	defer cancel()
	members, err := e.process.Detached(ctx)
	if err == nil {
		return members
	}
	if e.gone() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastDetached
}

// Attached lists the owned processes in the shell's session, without the
// shell, for messages that say who still runs. It is empty if the backend
// cannot tell in time.
func (e *Execution) Attached(ctx context.Context) []proc.Member {
	ctx, cancel := context.WithTimeout(ctx, detachedBound)
	defer cancel()
	members, err := e.process.Attached(ctx)
	if err != nil {
		return nil
	}
	return members
}
