package procwindows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

const (
	// controlCExit is the exit code of a process that Ctrl-C ended
	// (STATUS_CONTROL_C_EXIT).
	controlCExit = 0xC000013A
	// promptTime is how long after Ctrl-C a cmd that is alone counts as
	// waiting at "Terminate batch job (Y/N)?".
	promptTime = 500 * time.Millisecond
	// breakTime is when Ctrl-Break follows Ctrl-C: half of the grace that the
	// specification gives between SIGTERM and SIGKILL.
	breakTime = 5 * time.Second
)

// Signal implements proc.Process. Windows has no signals; SIGKILL ends the
// job, and every other one is Ctrl-C on the consoles of the job's processes,
// followed by the steps of press.
func (p *process) Signal(ctx context.Context, s proc.Signal) (proc.SignalReport, error) {
	if _, err := proc.ParseSignal(string(s)); err != nil {
		return proc.SignalReport{}, proc.ErrUnsupportedSignal
	}
	if ctx.Err() != nil {
		return proc.SignalReport{}, context.Cause(ctx)
	}
	if p.isEmpty() {
		return proc.SignalReport{}, proc.ErrGone
	}
	pids, err := p.commandPIDs()
	if err != nil {
		return proc.SignalReport{}, err
	}
	if len(pids) == 0 {
		return proc.SignalReport{}, proc.ErrGone
	}
	if s == proc.SIGKILL {
		return proc.SignalReport{Reached: len(pids)}, p.job.terminate(1)
	}
	r, err := p.send(ctx, windows.CTRL_C_EVENT, pids)
	if err != nil {
		return proc.SignalReport{}, err
	}
	if len(r.Reached) == 0 {
		p.endEach(r.None)
	}
	p.startPressing()
	return proc.SignalReport{Reached: len(pids)}, nil
}

// startPressing starts press, once, unless it is too late.
func (p *process) startPressing() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.pressing && !p.closed {
		p.pressing = true
		p.goroutines.Go(p.press)
	}
}

// commandPIDs lists the live processes without the hosts of consoles.
func (p *process) commandPIDs() ([]int, error) {
	pids, err := p.job.pids()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pids, func(pid int) bool { return identify(pid).where == host }), nil
}

func (p *process) send(ctx context.Context, event uint32, pids []int) (reply, error) {
	return p.backend.visitConsoles(ctx, request{Send: true, Event: event, Title: p.title, Shell: p.pid, PIDs: pids})
}

// press follows Ctrl-C up:
//
//   - A cmd that runs a batch file answers Ctrl-C with a question on its
//     stdin that nobody will answer. Once nothing else is left, it is ended.
//   - After breakTime Ctrl-Break is sent, for those that ignore Ctrl-C, and
//     processes without a console, which no event can reach, are ended.
//
// What lives on is left to Kill.
func (p *process) press() {
	prompt, brk := time.NewTimer(promptTime), time.NewTimer(breakTime)
	defer prompt.Stop()
	defer brk.Stop()
	asked := false
	for {
		select {
		case <-prompt.C:
			asked = true
		case <-p.pressed:
		case <-brk.C:
			p.sendBreak()
		case <-p.empty:
			return
		case <-p.alive.Done():
			return
		}
		if asked && p.onlyCmdLeft() {
			if err := p.job.terminate(controlCExit); err != nil {
				return // Kill will report it
			}
		}
	}
}

func (p *process) sendBreak() {
	pids, err := p.commandPIDs()
	if err != nil || len(pids) == 0 {
		return
	}
	if r, err := p.send(p.alive, windows.CTRL_BREAK_EVENT, pids); err == nil {
		p.endEach(r.None)
	}
}

// onlyCmdLeft reports whether every live process is cmd.
func (p *process) onlyCmdLeft() bool {
	pids, err := p.commandPIDs()
	return err == nil && len(pids) > 0 &&
		!slices.ContainsFunc(pids, func(pid int) bool { return !strings.EqualFold(identify(pid).name, "cmd.exe") })
}

// endEach ends processes that are still in the job.
func (p *process) endEach(pids []int) {
	for _, pid := range pids {
		// Failing means that it has ended, or is left to Kill.
		_ = p.endOne(pid)
	}
}

func (p *process) endOne(pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_INFORMATION, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("OpenProcess: %w", err)
	}
	defer windows.CloseHandle(h)
	// The id may have gone to another process meanwhile.
	if in, err := p.job.holds(h); err != nil || !in {
		return err
	}
	return windows.TerminateProcess(h, controlCExit)
}
