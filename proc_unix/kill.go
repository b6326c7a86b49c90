//go:build unix

package procunix

import (
	"time"

	"golang.org/x/sys/unix"
)

// identity names a process for ever: its id may be used again, but not with
// the same start time.
type identity struct {
	pid   int
	start uint64 // in the system's unit
}

// member is one process that the execution owns.
type member struct {
	identity
	pgid, sid int
	direct    bool // a child of the supervisor: its id is ours until we reap it
	threads   int
	state     state
}

type state byte

const (
	stateRunning state = iota // or sleeping: it acts on signals
	stateStopped              // acts on signals once it is continued
	stateBlocked              // in the kernel, and cannot be interrupted
	stateZombie
)

func (m member) live() bool { return m.state != stateZombie }

// signal sends a signal to everything that the execution owns.
func (k *keeper) signal(f frame) {
	d := decoder{rest: string(f.payload)}
	sig := unix.Signal(d.int())
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.current(f) {
		return
	}
	ms, _ := k.snapshot()
	r := k.deliver(ms, sig)
	k.send(kindSignaled, f.seq, r.append)
}

func (k *keeper) deliver(ms []member, sig unix.Signal) signaled {
	r := signaled{onlyDefault: k.onlyDefault(ms, sig)}
	group := k.signalGroup(ms, sig)
	for _, m := range ms {
		if !m.live() {
			continue
		}
		s := sig
		if group && m.pgid == k.shell {
			s = 0 // it has the signal; this only asks whether it could
		}
		switch err := k.tree.signal(m, s); err {
		case nil:
			r.reached++
		case unix.EPERM:
			r.denied = append(r.denied, m.pid)
			continue
		default:
			continue // it has ended
		}
		if m.state == stateStopped && wakes(sig) {
			// An error means that it ended on the first signal.
			_ = k.tree.signal(m, unix.SIGCONT)
		}
	}
	return r
}

// signalGroup signals the shell's process group in one go, so that no member
// sees another one end first. It does so only while the group's number
// certainly is this group's.
func (k *keeper) signalGroup(ms []member, sig unix.Signal) bool {
	held := !k.exited
	for _, m := range ms {
		held = held || m.direct && m.pgid == k.shell
	}
	return held && unix.Kill(-k.shell, sig) == nil
}

// wakes reports whether stopped processes must be continued to act on sig.
func wakes(sig unix.Signal) bool {
	switch sig {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT, unix.SIGKILL:
		return false
	}
	return true
}

// onlyDefault reports whether only the shell lives, and the signal has its
// default effect on it.
func (k *keeper) onlyDefault(ms []member, sig unix.Signal) bool {
	if k.exited {
		return false
	}
	for _, m := range ms {
		if m.live() && m.pid != k.shell {
			return false
		}
	}
	return k.tree.hasDefault(k.shell, sig)
}

const (
	killBound  = 5 * time.Second        // for all of a tree
	stuckBound = 500 * time.Millisecond // for what is left when it is beyond reach
	minBackoff = 200 * time.Microsecond
	maxBackoff = 20 * time.Millisecond
)

func (k *keeper) kill(f frame) {
	k.mu.Lock()
	ok := k.current(f)
	if ok {
		k.send(kindKilling, f.seq, func(b []byte) []byte { return b })
	}
	k.mu.Unlock()
	if !ok {
		return
	}
	left := k.killAll(killBound)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.killing = false
	if k.running { // something is left
		k.tell(false)
	}
	k.send(kindKilled, f.seq, func(b []byte) []byte { return appendInts(b, left) })
}

// killAll kills until the kernel says that no child is left: processes that
// are being forked or re-parented can hide from any one look. It returns the
// ids of those that the supervisor cannot end.
func (k *keeper) killAll(bound time.Duration) []int {
	hit := make(map[identity]bool)
	deadline := time.Now().Add(bound)
	backoff := minBackoff
	var stuck time.Time // since when nothing but the unreachable is left
	for {
		k.mu.Lock()
		if !k.running {
			k.mu.Unlock()
			return nil
		}
		k.killing = true
		round := k.killRound(hit)
		k.mu.Unlock()
		k.tree.poke()

		now := time.Now()
		switch {
		case !round.beyond:
			stuck = time.Time{}
		case stuck.IsZero():
			stuck = now
		case now.Sub(stuck) > stuckBound:
			return round.left
		}
		if now.After(deadline) {
			return round.left
		}
		if round.fresh > 0 {
			backoff = minBackoff
			continue // where there was one there may be more
		}
		if !k.exitWithin(backoff) {
			backoff = min(2*backoff, maxBackoff)
		}
	}
}

// exitWithin waits for a child to be reaped, and reports whether one was.
func (k *keeper) exitWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-k.exits:
		return true
	case <-t.C:
		return false
	}
}

// killRound is the outcome of one look at the tree.
type killRound struct {
	fresh  int   // killed for the first time
	left   []int // live
	beyond bool  // some live, and none of them can be ended now
}

// killGroups kills whole process groups, which the kernel does in one step:
// none of them can fork in between, as it can while its members are killed one
// after the other. A direct child, ended or not, keeps its group's number from
// strangers.
func killGroups(ms []member) {
	seen := make(map[int]bool)
	for _, m := range ms {
		if m.direct && m.pgid > 1 && !seen[m.pgid] {
			seen[m.pgid] = true
			// An error means that nobody in it may be killed, which the
			// look at each one finds out.
			_ = unix.Kill(-m.pgid, unix.SIGKILL)
		}
	}
}

func (k *keeper) killRound(hit map[identity]bool) killRound {
	if !k.exited {
		// Most of a tree is in the shell's group. It need not wait for a look
		// at the whole, which takes a while on a busy machine; the supervisor
		// may be next to be killed. An error means as much as in killGroups.
		_ = unix.Kill(-k.shell, unix.SIGKILL)
	}
	ms := k.tree.collect()
	killGroups(ms)
	var r killRound
	ended := 0
	for _, m := range ms {
		if !m.live() {
			continue
		}
		r.left = append(r.left, m.pid)
		err := k.tree.signal(m, unix.SIGKILL)
		switch {
		case err == nil && !hit[m.identity]:
			hit[m.identity] = true
			r.fresh++
		case err == nil && m.state != stateBlocked:
			ended++
		case err == unix.ESRCH:
			ended++
		}
	}
	r.beyond = len(r.left) > 0 && r.fresh == 0 && ended == 0
	return r
}
