package procunix

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
)

// sweep ends what a dead supervisor has left to this process: every child
// that is neither a supervisor, nor older than the backend, nor in this
// process's own session. Nothing of
// an execution can be in that session, since a process can only found
// sessions and never join one, so children that other parts of the program
// start are safe unless they get a session of their own. It returns the ids
// of those that it could not end; a later sweep reaps them.
func (b *Backend) sweep(int) []int {
	b.kinMu.Lock()
	defer b.kinMu.Unlock()
	s := sweeper{isKin: b.isKin, earlier: b.earlier, deadline: time.Now().Add(keeper.KillBound)}
	s.tree.Open()
	var err error
	if s.session, err = unix.Getsid(0); err != nil || !s.tree.Ours() {
		return nil
	}
	for {
		// What was forked meanwhile, and the children of those that end
		// here, are the next round's.
		left, ended := s.round()
		if ended == 0 {
			return left
		}
	}
}

// children returns the children that this process has now.
func children() map[tree.Identity]bool {
	var t tree.Tree
	t.Open()
	ids := make(map[tree.Identity]bool)
	if t.Ours() {
		for _, m := range t.Children() {
			ids[m.Identity] = true
		}
	}
	return ids
}

type sweeper struct {
	tree     tree.Tree
	session  int
	isKin    func(int) bool
	earlier  map[tree.Identity]bool // safe as long as they live
	deadline time.Time
}

// round kills and reaps the children that are there now.
func (s *sweeper) round() (left []int, ended int) {
	strangers := s.strangers()
	tree.KillGroups(strangers) // at once, for the server may be next to be killed
	owned := strangers
	if !s.tree.Scans() {
		owned = s.tree.Descend(slices.Clone(strangers))
	}
	for _, m := range owned {
		// An error means that it will not end, which the wait finds out.
		_ = s.tree.Signal(m, unix.SIGKILL)
	}
	for _, m := range strangers {
		if s.reap(m) {
			ended++
		} else {
			left = append(left, m.PID)
		}
	}
	return left, ended
}

func (s *sweeper) strangers() []tree.Member {
	var ms []tree.Member
	for _, m := range s.tree.Children() {
		safe := m.SID == s.session || s.isKin(m.PID) || m.Live() && s.earlier[m.Identity]
		if !safe {
			ms = append(ms, m)
		}
	}
	return ms
}

// reap waits for a child's end, which needs no time unless the child may not
// be killed or hangs in the kernel.
func (s *sweeper) reap(m tree.Member) bool {
	if unix.Kill(m.PID, 0) != unix.EPERM {
		s.awaitEnd(m.PID)
	}
	for {
		pid, err := unix.Wait4(m.PID, nil, unix.WNOHANG, nil)
		if err != unix.EINTR {
			return pid == m.PID || err == unix.ECHILD
		}
	}
}

// awaitEnd returns when the process has ended, or at the deadline.
func (s *sweeper) awaitEnd(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ENOSYS { // before Linux 5.3
		s.watchForEnd(pid)
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for {
		ms := int(time.Until(s.deadline).Milliseconds())
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, max(ms, 0))
		if n != 0 || ms <= 0 || err != unix.EINTR {
			return
		}
	}
}

// watchForEnd is awaitEnd where the system cannot wait with a bound.
func (s *sweeper) watchForEnd(pid int) {
	const longestPause = 50 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		var end unix.Siginfo // its signal stays zero as long as the child lives
		err := unix.Waitid(unix.P_PID, pid, &end, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if err == nil && end.Signo != 0 || err != nil && err != unix.EINTR {
			return
		}
		left := time.Until(s.deadline)
		if left <= 0 {
			return
		}
		time.Sleep(min(pause, left))
	}
}
