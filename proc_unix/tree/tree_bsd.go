//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package tree

import (
	"time"

	"golang.org/x/sys/unix"
)

// Tree follows the descendants of this process. A kernel queue (kqueue(2))
// tells when a child has ended, and on macOS when a member forks. What the
// members are is up to each system.
type Tree struct {
	kq    int
	nudge [2]int // a pipe that ends wait
	shell int
	track tracker
}

// Claim makes the calling process the one whose descendants are followed.
func (t *Tree) Claim() error {
	var err error
	if t.kq, err = unix.Kqueue(); err != nil {
		return err
	}
	unix.CloseOnExec(t.kq)
	if err := unix.Pipe(t.nudge[:]); err != nil {
		return err
	}
	unix.CloseOnExec(t.nudge[0]) // nothing has been forked yet
	unix.CloseOnExec(t.nudge[1])
	if err := t.watch(int(unix.SIGCHLD), unix.EVFILT_SIGNAL, 0); err != nil {
		return err
	}
	if err := t.watch(t.nudge[0], unix.EVFILT_READ, 0); err != nil {
		return err
	}
	return AdoptOrphans()
}

// watch adds an event to the queue.
func (t *Tree) watch(ident, filter int, notes uint32) error {
	var ev unix.Kevent_t
	unix.SetKevent(&ev, ident, filter, unix.EV_ADD|unix.EV_CLEAR)
	ev.Fflags = notes
	_, err := unix.Kevent(t.kq, []unix.Kevent_t{ev}, nil, nil)
	return err
}

// Begin starts to follow a shell. It may have ended already.
func (t *Tree) Begin(shell int) {
	t.shell = shell
	t.track.begin(t)
	t.Poke()
}

// Poke ends wait, because something may have changed that makes no event.
func (t *Tree) Poke() {
	// It fails for bad descriptors only; one byte is enough.
	_, _ = unix.Write(t.nudge[1], []byte{0})
}

// Wait blocks until something may have changed. Where orphans are not adopted
// they can end without an event once the shell has ended, so that it returns
// once a second then.
func (t *Tree) Wait(shellExited bool) {
	var timeout *unix.Timespec
	if shellExited && !Adopts {
		second := unix.NsecToTimespec(int64(time.Second))
		timeout = &second
	}
	var evs [8]unix.Kevent_t
	n, err := unix.Kevent(t.kq, nil, evs[:], timeout)
	if err != nil {
		return // EINTR, which is a reason to look as well
	}
	for _, ev := range evs[:n] {
		if int(ev.Ident) == t.nudge[0] && int(ev.Filter) == unix.EVFILT_READ {
			var drop [64]byte
			_, _ = unix.Read(t.nudge[0], drop[:])
		}
	}
}

// Update finds new members, where the system does not keep them.
func (t *Tree) Update() { t.track.update(t) }

// Collect lists what is owned.
func (t *Tree) Collect() []Member { return t.track.collect(t) }

// Still reports whether m lives on in the session sid. Finding out costs as
// much as looking at everything.
func (t *Tree) Still(Member, int) bool { return false }

// Signal signals one process. The time between looking and signalling is too
// short for its id to have been used again.
func (t *Tree) Signal(m Member, sig unix.Signal) error { return unix.Kill(m.PID, sig) }

// HasDefault returns false: dispositions of other processes cannot be asked for.
func (t *Tree) HasDefault(int, unix.Signal) bool { return false }
