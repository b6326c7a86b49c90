//go:build unix

package keeper

import (
	"syscall"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/wire"
)

// signal sends a signal to everything that the execution owns.
func (k *keeper) signal(f wire.Frame) {
	n, err := wire.Int(f.Payload)
	if err != nil {
		k.end() // as good as closed
	}
	sig := syscall.Signal(n)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.current(f) {
		return
	}
	ms, _ := k.snapshot()
	r := k.deliver(ms, sig)
	k.send(wire.KindSignaled, f.Seq, r.Append)
}

func (k *keeper) deliver(ms []tree.Member, sig syscall.Signal) wire.Signaled {
	r := wire.Signaled{OnlyDefault: k.onlyDefault(ms, sig)}
	group := k.signalGroup(ms, sig)
	for _, m := range ms {
		if !m.Live() {
			continue
		}
		s := sig
		if group && m.PGID == k.shell {
			s = 0 // it has the signal; this only asks whether it could
		}
		switch err := k.tree.Signal(m, s); err {
		case nil:
			r.Reached++
		case syscall.EPERM:
			r.Denied = append(r.Denied, m.PID)
			continue
		default:
			continue // it has ended
		}
		if m.State == tree.Stopped && wakes(sig) {
			// An error means that it ended on the first signal.
			_ = k.tree.Signal(m, syscall.SIGCONT)
		}
	}
	return r
}

// signalGroup signals the shell's process group in one go, so that no member
// sees another one end first. It does so only while the group's number
// certainly is this group's.
func (k *keeper) signalGroup(ms []tree.Member, sig syscall.Signal) bool {
	held := !k.exited
	for _, m := range ms {
		held = held || m.Direct && m.PGID == k.shell
	}
	return held && syscall.Kill(-k.shell, sig) == nil
}

// wakes reports whether stopped processes must be continued to act on sig.
func wakes(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT, syscall.SIGKILL:
		return false
	}
	return true
}

// onlyDefault reports whether only the shell lives, and the signal has its
// default effect on it.
func (k *keeper) onlyDefault(ms []tree.Member, sig syscall.Signal) bool {
	if k.exited {
		return false
	}
	for _, m := range ms {
		if m.Live() && m.PID != k.shell {
			return false
		}
	}
	return k.tree.HasDefault(k.shell, sig)
}

const (
	KillBound  = 5 * time.Second        // for all of a tree
	stuckBound = 500 * time.Millisecond // for what is left when it is beyond reach
	minBackoff = 200 * time.Microsecond
	maxBackoff = 20 * time.Millisecond
)

func (k *keeper) kill(f wire.Frame) {
	k.mu.Lock()
	ok := k.current(f)
	if ok {
		k.send(wire.KindKilling, f.Seq, func(b []byte) []byte { return b })
	}
	k.mu.Unlock()
	if !ok {
		return
	}
	left := k.killAll(KillBound)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.killing = false
	if k.running { // something is left
		k.tell(false)
	}
	k.send(wire.KindKilled, f.Seq, func(b []byte) []byte { return wire.AppendInts(b, left) })
}

// killAll kills until the kernel says that no child is left: processes that
// are being forked or re-parented can hide from any one look. It returns the
// ids of those that the supervisor cannot end.
func (k *keeper) killAll(bound time.Duration) []int {
	hit := make(map[tree.Identity]bool)
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
		k.tree.Poke()

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

func (k *keeper) killRound(hit map[tree.Identity]bool) killRound {
	if !k.exited {
		// Most of a tree is in the shell's group. It need not wait for a look
		// at the whole, which takes a while on a busy machine; the supervisor
		// may be next to be killed. An error means as much as in KillGroups.
		_ = syscall.Kill(-k.shell, syscall.SIGKILL)
	}
	ms := k.tree.Collect()
	tree.KillGroups(ms)
	var r killRound
	ended := 0
	for _, m := range ms {
		if !m.Live() {
			continue
		}
		r.left = append(r.left, m.PID)
		err := k.tree.Signal(m, syscall.SIGKILL)
		switch {
		case err == nil && !hit[m.Identity]:
			hit[m.Identity] = true
			r.fresh++
		case err == nil && m.State != tree.Blocked:
			ended++
		case err == syscall.ESRCH:
			ended++
		}
	}
	r.beyond = len(r.left) > 0 && r.fresh == 0 && ended == 0
	return r
}
