//go:build freebsd && (amd64 || arm64 || riscv64)

package procunix

import (
	"time"

	"golang.org/x/sys/unix"
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
	deadline := time.Now().Add(killBound)
	for backoff := minBackoff; ; backoff = min(2*backoff, maxBackoff) {
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
	for _, i := range descendants() {
		m, ok := i.member()
		if !ok || b.isKin(m.pid) || m.live() && m.sid == session {
			continue
		}
		if !m.live() {
			if m.direct && i.flags&infoZombie != 0 && m.pid != int(i.subtree) {
				_, _ = unix.Wait4(m.pid, nil, unix.WNOHANG, nil) // fails if it is nobody's any more
			}
			continue
		}
		left = append(left, m.pid)
		if unix.Kill(m.pid, unix.SIGKILL) == unix.EPERM {
			beyond++
		}
	}
	return left, beyond
}
