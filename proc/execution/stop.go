package execution

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// MaxForceAfter is the longest grace that a stop may give, so that its answer
// comes within RequestBound, with the signal before it and the kill and the
// last output after it.
const MaxForceAfter = RequestBound - signalBound - killBound - drainBound - 2*time.Second

// NotRunningError says that the call came too late.
type NotRunningError struct{ Status Status }

func (e *NotRunningError) Error() string { return fmt.Sprintf("not running (status: %s)", e.Status) }

// LeftError lists processes that a stop could not end.
type LeftError struct{ PIDs []int }

func (e *LeftError) Error() string {
	ids := make([]string, len(e.PIDs))
	for i, p := range e.PIDs {
		ids[i] = fmt.Sprint(p)
	}
	return "these processes may not be signalled by this user, or did not end: " + strings.Join(ids, ", ")
}

// StopReport is what a stop did.
type StopReport struct {
	Signal proc.Signal // sent first
	Forced bool        // SIGKILL was needed
}

// Stop sends sig to everything that the execution owns, waits up to grace for
// it to end and kills what is left. It returns when the execution is terminal,
// its output complete and nothing that it owned alive, all within the bounds
// of the specification, and after RequestBound at the latest. Detached
// processes of a terminal execution are ended too; that leaves its status as it
// is.
//
// Errors: *NotRunningError, *LeftError, proc.ErrUnsupportedSignal, and ctx's or
// that of the bound, with which the stop goes on in the background.
func (e *Execution) Stop(ctx context.Context, sig proc.Signal, grace time.Duration) (StopReport, error) {
	type result struct {
		report StopReport
		err    error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, RequestBound,
		fmt.Errorf("not over after %d s; the stop goes on", RequestBound/time.Second))
	defer cancel()
	ended := make(chan result, 1)
	go func() {
		report, err := e.terminate(Stopped, sig, min(max(grace, 0), MaxForceAfter), nil)
		ended <- result{report, err}
	}()
	select {
	case r := <-ended:
		return r.report, r.err
	case <-ctx.Done():
		return StopReport{Signal: sig}, context.Cause(ctx)
	}
}

// expire is the runtime timeout.
func (e *Execution) expire() { e.end(TimedOut, nil, "ending an execution at its timeout") }

// end is a terminate whose result no caller waits for, so what it could not end
// is told to the operator, in a warning that begins with text.
func (e *Execution) end(cause Status, hurry <-chan struct{}, text string) {
	_, err := e.terminate(cause, proc.SIGTERM, Grace, hurry)
	var late *NotRunningError
	if err != nil && !errors.As(err, &late) {
		e.registry.opts.Warn(text, "execution_id", e.id, "error", err)
	}
}

// terminate ends everything that the execution owns, for the reason given in
// cause. A receive from hurry cuts the grace short.
func (e *Execution) terminate(cause Status, sig proc.Signal, grace time.Duration, hurry <-chan struct{}) (StopReport, error) {
	report := StopReport{Signal: sig}
	if sig == proc.SIGKILL {
		grace = 0
	}
	reach, err := e.signal(cause, sig)
	switch {
	case errors.Is(err, proc.ErrUnsupportedSignal):
		return report, err
	case errors.Is(err, proc.ErrGone):
		return report, e.tooLate()
	}
	var shellExited <-chan struct{}
	switch reach { // those that may not be signalled are not waited for
	case someDenied:
		shellExited = e.shellExited
	case allDenied:
		grace = 0
	}
	if err == nil && e.endsWithin(grace, hurry, shellExited) {
		return report, e.concluded(nil)
	}
	report.Forced = sig != proc.SIGKILL
	return report, e.concluded(e.kill())
}

// reach says whom a signal has reached.
type reach int

const (
	everyone   reach = iota
	someDenied       // there are processes that the server may not signal
	allDenied        // there are no others
)

// signal sends sig and judges, in one step as seen by settle, whether it
// reached anything. proc.ErrGone means that there was nothing.
func (e *Execution) signal(cause Status, sig proc.Signal) (reach, error) {
	e.endMu.Lock()
	defer e.endMu.Unlock()
	if e.gone() || cause == TimedOut && e.Status().Terminal() {
		// A timeout that fires while the execution ends must not reach what the
		// execution leaves behind.
		return everyone, proc.ErrGone
	}
	ctx, cancel := context.WithTimeout(context.Background(), signalBound)
	defer cancel()
	r, err := e.process.Signal(ctx, sig)
	if errors.Is(err, proc.ErrUnsupportedSignal) || errors.Is(err, proc.ErrGone) {
		return everyone, err
	}
	if err == nil && r.Reached == 0 && len(r.Denied) == 0 {
		return everyone, proc.ErrGone
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause == "" && !e.status.Terminal() {
		e.cause, e.onlyDefault = cause, r.OnlyDefault
	}
	switch {
	case len(r.Denied) == 0:
		return everyone, err
	case r.Reached == 0:
		return allDenied, err
	}
	return someDenied, err
}

// gone reports whether nothing is left to end.
func (e *Execution) gone() bool {
	select {
	case <-e.treeEmpty:
		return true
	default:
		return false
	}
}

// tooLate waits for an end that was already under way and says how it came.
func (e *Execution) tooLate() error {
	e.await(e.done, killBound+drainBound)
	return &NotRunningError{e.Status()}
}

// endsWithin waits for everything that is owned to end. A receive from either
// channel cuts the wait short.
func (e *Execution) endsWithin(grace time.Duration, hurry, enough <-chan struct{}) bool {
	if grace <= 0 {
		return e.gone()
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-e.treeEmpty:
		return true
	case <-t.C:
	case <-hurry:
	case <-enough:
	}
	return false
}

// kill ends everything by force.
func (e *Execution) kill() error {
	ctx, cancel := context.WithTimeout(context.Background(), killBound)
	defer cancel()
	r, err := e.process.Kill(ctx)
	if len(r.Unkillable) > 0 {
		e.abandonedOnce.Do(func() { close(e.abandoned) })
		return &LeftError{r.Unkillable}
	}
	if err != nil && !errors.Is(err, proc.ErrGone) {
		e.abandonedOnce.Do(func() { close(e.abandoned) })
		return fmt.Errorf("ending the execution: %w", err)
	}
	return nil
}

// concluded waits, within bounds, until the execution is terminal and its
// output complete, and passes err on. A command that turns out to have ended
// by itself was not stopped.
func (e *Execution) concluded(err error) error {
	if err == nil {
		e.await(e.released, killBound+drainBound)
	}
	e.await(e.done, drainBound)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && e.onlyDefault && e.status == Completed {
		return &NotRunningError{e.status}
	}
	return err
}

// await waits for c, at most for the bound.
func (e *Execution) await(c <-chan struct{}, bound time.Duration) {
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	}
}
