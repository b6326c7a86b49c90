//go:build unix

package tree

import "syscall"

// Identity names a process for ever: its id may be used again, but not with
// the same start time.
type Identity struct {
	PID   int
	start uint64 // in the system's unit
}

// Member is one process of a tree, as it was when it was looked at.
type Member struct {
	Identity
	PGID, SID int
	Direct    bool // a child of this process: its id is ours until we reap it
	Adopted   bool // such a child that another process has forked; FreeBSD tells
	State     State
	threads   int
}

// State is what a process does, as far as signals are concerned.
type State byte

// The states.
const (
	Running State = iota // or sleeping: it acts on signals
	Stopped              // acts on signals once it is continued
	Blocked              // in the kernel, and cannot be interrupted
	Zombie
)

// hidden reports whether the system did not tell when the process was started.
func (m Member) hidden() bool { return m.start == 0 }

// Live reports whether the process has not ended.
func (m Member) Live() bool { return m.State != Zombie }

// AnyLive reports whether one of them has not ended.
func AnyLive(ms []Member) bool {
	for _, m := range ms {
		if m.Live() {
			return true
		}
	}
	return false
}

// Same reports whether two looks found the same processes, in the same
// sessions and states of life.
func Same(a, b []Member) bool {
	if len(a) != len(b) {
		return false
	}
	seen := make(map[Identity]Member, len(a))
	for _, m := range a {
		seen[m.Identity] = m
	}
	for _, m := range b {
		if was, ok := seen[m.Identity]; !ok || was.SID != m.SID || was.Live() != m.Live() {
			return false
		}
	}
	return true
}

// KillGroups kills whole process groups, which the kernel does in one step:
// none of them can fork in between, as it can while its members are killed one
// after the other. A direct child, ended or not, keeps its group's number from
// strangers.
func KillGroups(ms []Member) {
	seen := make(map[int]bool)
	for _, m := range ms {
		if m.Direct && m.PGID > 1 && !seen[m.PGID] {
			seen[m.PGID] = true
			// An error means that nobody in it may be killed, which the
			// look at each one finds out.
			_ = syscall.Kill(-m.PGID, syscall.SIGKILL)
		}
	}
}

// group stands for the shell's whole process group where the system does not
// tell its members. Its id is the negative one that kill(2) takes. It returns
// nothing once the group is empty.
func group(shell int) []Member {
	if shell == 0 || syscall.Kill(-shell, 0) == syscall.ESRCH {
		return nil
	}
	return []Member{{Identity: Identity{PID: -shell}, PGID: shell, SID: shell, Direct: true}}
}
