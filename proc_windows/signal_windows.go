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
	told, err := p.interrupt(ctx, pids)
	if err != nil {
		return proc.SignalReport{}, err
	}
	p.startPressing(told)
	return proc.SignalReport{Reached: len(pids)}, nil
}

// startPressing starts press, once, unless it is too late.
func (p *process) startPressing(told []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.pressing && !p.closed {
		p.pressing = true
		p.goroutines.Go(func() { p.press(told) })
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

// interrupt sends Ctrl-C to the processes, and returns those that it reached.
// If there are none, it ends those that no event can reach; otherwise the ones
// that it reached may be about to end the others in good order.
func (p *process) interrupt(ctx context.Context, pids []int) (reached []int, err error) {
	r, err := p.send(ctx, windows.CTRL_C_EVENT, pids)
	if err != nil {
		return nil, err
	}
	if len(r.Reached) == 0 {
		p.endEach(r.None)
	}
	return r.Reached, nil
}

// press follows Ctrl-C, which was sent to the processes in told, up:
//
//   - Once all of these have ended, what they have started meanwhile gets
//     Ctrl-C as well, and what has no console is ended. Before that it is not:
//     it may be part of their end.
//   - A cmd that runs a batch file answers Ctrl-C with a question on its
//     stdin that nobody will answer. Once nothing else is left, it is ended.
//   - Ctrl-Break is sent after breakTime, or once all that is left of these
//     does not listen to Ctrl-C at all, and processes without a console, which
//     no event can reach, are ended.
//
// What lives on is left to Kill.
func (p *process) press(told []int) {
	settled, brk := time.NewTimer(p.backend.promptTime), time.NewTimer(p.backend.breakTime)
	defer settled.Stop()
	defer brk.Stop()
	due, broken := false, false
	for {
		select {
		case <-settled.C:
			due = true
		case <-p.pressed:
		case <-brk.C:
			p.sendBreak()
			broken = true
		case <-p.empty:
			return
		case <-p.alive.Done():
			return
		}
		if due {
			var deaf bool
			told, deaf = p.pressOn(told)
			if deaf && !broken {
				p.sendBreak()
				broken = true
			}
		}
	}
}

// pressOn does the next step of press, if there is one, and returns who has
// been told to end by now, and whether those of them that are left do not
// listen. What fails here is left to Kill.
func (p *process) pressOn(told []int) (now []int, deaf bool) {
	pids, err := p.commandPIDs()
	if err != nil || len(pids) == 0 {
		return told, false
	}
	if onlyCmd(pids) {
		_ = p.job.terminate(controlCExit)
		return told, false
	}
	left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !slices.Contains(told, pid) })
	if len(left) > 0 {
		return told, !slices.ContainsFunc(left, func(pid int) bool { return !isDeaf(uint32(pid)) })
	}
	reached, err := p.interrupt(p.alive, pids)
	if err != nil {
		return told, false
	}
	return append(told, reached...), false
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

// onlyCmd reports whether every one of the processes is cmd.
func onlyCmd(pids []int) bool {
	return !slices.ContainsFunc(pids, func(pid int) bool { return !strings.EqualFold(identify(pid).name, "cmd.exe") })
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
