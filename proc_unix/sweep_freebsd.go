//go:build freebsd && (amd64 || arm64 || riscv64)

package procunix

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
)

const (
	minSweepBackoff = 200 * time.Microsecond
	maxSweepBackoff = 20 * time.Millisecond
)

// sweep ends what a dead supervisor has left to this process: every
// descendant in its care that is neither a supervisor nor in its own session.
// Nothing of an execution can be in that session, since a process can only
// found sessions and never join one, so children that other parts of the
// program start are safe unless they get a session of their own. It returns
// the ids of those that it could not end.
func (b *Backend) sweep(int) []int {
	b.kinMu.Lock()
	defer b.kinMu.Unlock()
	session, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	deadline := time.Now().Add(keeper.KillBound)
	for backoff := minSweepBackoff; ; backoff = min(2*backoff, maxSweepBackoff) {
		left, beyond := b.sweepRound(session)
		if len(left) == beyond || time.Now().After(deadline) {
			return left
		}
		// They have been killed and take a moment to end.
		time.Sleep(backoff)
	}
}

// sweepRound kills and reaps what is there now. It returns who is left, and
// how many of them may not be killed.
func (b *Backend) sweepRound(session int) (left []int, beyond int) {
	var t tree.Tree
	for _, m := range t.Collect() {
		if b.isKin(m.PID) || m.Live() && m.SID == session {
			continue
		}
		if !m.Live() {
			if m.Adopted {
				_, _ = unix.Wait4(m.PID, nil, unix.WNOHANG, nil) // fails if it is nobody's any more
			}
			continue
		}
		left = append(left, m.PID)
		if unix.Kill(m.PID, unix.SIGKILL) == unix.EPERM {
			beyond++
		}
	}
	return left, beyond
}
