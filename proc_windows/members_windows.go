package procwindows

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// surveyAge is how long it is believed that a process is on a console. It can
// leave it, but hardly any does.
const surveyAge = 10 * time.Second

// members knows the processes of one execution and tells attached from
// detached ones.
type members struct {
	p *process
	// turn is a lock that can be waited for with a context.
	turn     chan struct{}
	known    map[int]place
	surveyed time.Time
}

// place is what is known of one process.
type place struct {
	name string
	where
}

type where int

const (
	unsure   where = iota // counts as attached
	attached              // on the execution's console
	detached              // on another one, or on none
	host                  // is the console's host: the system's, not the command's
)

func newMembers(p *process) members {
	return members{p: p, turn: make(chan struct{}, 1), known: make(map[int]place)}
}

// list returns the processes on the shell's console, without the shell, and
// the others. It returns early, with what is known, when ctx ends. Where it
// cannot be told, a process is attached.
func (m *members) list(ctx context.Context) (on, off []proc.Member) {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil
	}
	defer func() { <-m.turn }()
	pids := m.refresh()
	if m.mustSurvey(pids) {
		m.survey(ctx, pids)
	}
	for _, pid := range pids {
		k := m.known[pid]
		switch {
		case k.where == detached:
			off = append(off, proc.Member{PID: pid, Name: k.name})
		case k.where != host && pid != m.p.pid:
			on = append(on, proc.Member{PID: pid, Name: k.name})
		}
	}
	return on, off
}

// refresh takes in who came and went, and returns the present ids.
func (m *members) refresh() []int {
	pids, err := m.p.job.pids()
	if err != nil {
		return nil // the next check of the job reports it
	}
	next := make(map[int]place, len(pids))
	for _, pid := range pids {
		k := m.known[pid]
		if k.name == "" { // new, or was just being created
			found := identify(pid)
			k.name = found.name
			if found.where == host {
				k.where = host
			}
		}
		next[pid] = k
	}
	m.known = next
	return pids
}

// identify finds the name of a process.
func identify(pid int) place {
	path, err := imagePath(pid)
	if err != nil {
		return place{} // it is beginning or ending
	}
	k := place{name: filepath.Base(path)}
	if strings.EqualFold(k.name, "conhost.exe") {
		k.where = host
	}
	return k
}

func imagePath(pid int) (string, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", err
	}
	defer windows.CloseHandle(h)
	buf := make([]uint16, windows.MAX_LONG_PATH)
	n := uint32(len(buf))
	if err := windows.QueryFullProcessImageName(h, 0, &buf[0], &n); err != nil {
		return "", err
	}
	return windows.UTF16ToString(buf[:n]), nil
}

// mustSurvey reports whether a helper has to look. The shell alone is
// attached by definition.
func (m *members) mustSurvey(pids []int) bool {
	stale := time.Since(m.surveyed) > surveyAge
	for _, pid := range pids {
		if pid == m.p.pid {
			continue
		}
		if w := m.known[pid].where; w == unsure || w == attached && stale {
			return true
		}
	}
	return false
}

// survey asks a helper who is on which console.
func (m *members) survey(ctx context.Context, pids []int) {
	var ask []int
	for _, pid := range pids {
		if w := m.known[pid].where; w != host && w != detached {
			ask = append(ask, pid)
		}
	}
	r, err := m.p.backend.visitConsoles(ctx, request{Title: m.p.title, Shell: m.p.pid, PIDs: ask})
	if err != nil {
		return // all count as attached, and are asked again
	}
	m.surveyed = time.Now()
	m.note(r.Attached, attached)
	m.note(r.Detached, detached)
	m.note(slices.DeleteFunc(r.None, awaitsConsole), detached)
}

// youth is how old a process must be to have no console, if it was not created
// that way.
const youth = 3 * time.Second

// awaitsConsole reports whether a process on no console may still come to its
// own: a process that is being created gets on it by itself, which takes some
// time on a busy machine.
func awaitsConsole(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return true // it is ending
	}
	defer windows.CloseHandle(h)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return true
	}
	if time.Since(time.Unix(0, created.Nanoseconds())) > youth {
		return false
	}
	console, err := consoleParameter(uint32(pid))
	return err != nil || console != 0 && console != consoleNone
}

func (m *members) note(pids []int, w where) {
	for _, pid := range pids {
		if k, ok := m.known[pid]; ok && pid != m.p.pid {
			k.where = w
			m.known[pid] = k
		}
	}
}
