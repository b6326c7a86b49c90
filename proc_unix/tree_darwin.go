package procunix

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// macOS gives orphans to launchd and lets nobody else adopt them. The session
// survives that, so what is attached is known exactly. What has left the
// session is followed from parent to child: each member's forks and end are
// events, after which the process table is read. A process that forks twice
// and leaves the session faster than that gets away.

const adopts = false

func adoptOrphans() error { return nil }

func guarantees() proc.Guarantees {
	return proc.Guarantees{Tree: false, SurvivesServerKill: true}
}

func shellAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// tracker remembers the members, so that they stay members when their parents
// end.
type tracker struct {
	known map[identity]bool
}

func (tr *tracker) begin(t *tree) {
	tr.known = make(map[identity]bool)
	tr.update(t)
}

func (tr *tracker) update(t *tree) { tr.collect(t) }

// szomb and sstop are states of <sys/proc.h>.
const (
	sstop = 4
	szomb = 5
)

func (tr *tracker) collect(t *tree) []member {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return groupMember(t.shell)
	}
	all := make([]entry, 0, len(table))
	for i := range table {
		all = append(all, newEntry(&table[i]))
	}
	owned := make(map[int]bool)
	for found := true; found; { // until no process has an owned parent any more
		found = false
		for _, e := range all {
			if owned[e.pid] || !tr.owns(t, e, owned) {
				continue
			}
			owned[e.pid] = true
			found = true
		}
	}
	var ms []member
	now := make(map[identity]bool, len(owned))
	for _, e := range all {
		if !owned[e.pid] {
			continue
		}
		ms = append(ms, e.member)
		now[e.identity] = true
		if e.live() && !tr.known[e.identity] {
			// It fails if the process has just ended.
			_ = t.watch(e.pid, unix.EVFILT_PROC, unix.NOTE_FORK|unix.NOTE_EXIT)
		}
	}
	tr.known = now
	return ms
}

func (tr *tracker) owns(t *tree, e entry, owned map[int]bool) bool {
	return e.sid == t.shell || tr.known[e.identity] || owned[e.ppid]
}

// entry is one process of the process table.
type entry struct {
	member
	ppid int
}

func newEntry(k *unix.KinfoProc) entry {
	start := k.Proc.P_starttime
	e := entry{ppid: int(k.Eproc.Ppid)}
	e.identity = identity{pid: int(k.Proc.P_pid), start: uint64(start.Sec)*1e6 + uint64(start.Usec)}
	e.pgid = int(k.Eproc.Pgid)
	// A zombie has no session any more, and needs none.
	e.sid, _ = unix.Getsid(e.pid)
	switch k.Proc.P_stat {
	case szomb:
		e.state = stateZombie
	case sstop:
		e.state = stateStopped
	}
	return e
}
