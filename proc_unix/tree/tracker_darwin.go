package tree

import "golang.org/x/sys/unix"

// macOS gives orphans to launchd and lets nobody else adopt them. The session
// survives that, so what is attached is known exactly. What has left the
// session is followed from parent to child: each member's forks and end are
// events, after which the process table is read. A process that forks twice
// and leaves the session faster than that gets away.

// Adopts reports whether orphans become children of the process that calls
// AdoptOrphans, so that its tree is empty when it has no child.
const Adopts = false

// AdoptOrphans does nothing here.
func AdoptOrphans() error { return nil }

// tracker remembers the members, so that they stay members when their parents
// end.
type tracker struct {
	known map[Identity]bool
}

func (tr *tracker) begin(t *Tree) {
	tr.known = make(map[Identity]bool)
	tr.update(t)
}

func (tr *tracker) update(t *Tree) { tr.collect(t) }

// szomb and sstop are states of <sys/proc.h>.
const (
	sstop = 4
	szomb = 5
)

func (tr *tracker) collect(t *Tree) []Member {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return group(t.shell)
	}
	all := make([]entry, 0, len(table))
	for i := range table {
		all = append(all, newEntry(&table[i]))
	}
	owned := make(map[int]bool)
	for found := true; found; { // until no process has an owned parent any more
		found = false
		for _, e := range all {
			if owned[e.PID] || !tr.owns(t, e, owned) {
				continue
			}
			owned[e.PID] = true
			found = true
		}
	}
	var ms []Member
	now := make(map[Identity]bool, len(owned))
	for _, e := range all {
		if !owned[e.PID] {
			continue
		}
		ms = append(ms, e.Member)
		now[e.Identity] = true
		if e.Live() && !tr.known[e.Identity] {
			// It fails if the process has just ended.
			_ = t.watch(e.PID, unix.EVFILT_PROC, unix.NOTE_FORK|unix.NOTE_EXIT)
		}
	}
	tr.known = now
	return ms
}

func (tr *tracker) owns(t *Tree, e entry, owned map[int]bool) bool {
	return e.SID == t.shell || tr.known[e.Identity] || owned[e.ppid]
}

// entry is one process of the process table.
type entry struct {
	Member
	ppid int
}

func newEntry(k *unix.KinfoProc) entry {
	start := k.Proc.P_starttime
	e := entry{ppid: int(k.Eproc.Ppid)}
	e.Identity = Identity{PID: int(k.Proc.P_pid), start: uint64(start.Sec)*1e6 + uint64(start.Usec)}
	e.PGID = int(k.Eproc.Pgid)
	// A zombie has no session any more, and needs none.
	e.SID, _ = unix.Getsid(e.PID)
	switch k.Proc.P_stat {
	case szomb:
		e.State = Zombie
	case sstop:
		e.State = Stopped
	}
	return e
}
