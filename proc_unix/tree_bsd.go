//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package procunix

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The supervisor sets the descriptors it receives close-on-exec itself; it
// forks from the same goroutine.
const (
	receiveFlags = 0
	sendFlags    = unix.MSG_NOSIGNAL
)

// executable is the running program. After its file has been replaced the
// next supervisor is the new one.
func executable() (string, error) { return os.Executable() }

// signalsBlocked: there is no portable way to ask, and launchers that leave
// signals blocked are rare.
func signalsBlocked() bool { return false }

func clearSignalMask() {}

// closeOnExec keeps every descriptor from first on from commands.
func closeOnExec(first int) { closeOnExecIn("/dev/fd", first) }

// tree follows the descendants of this process. A kernel queue (kqueue(2))
// tells when a child has ended, and on macOS when a member forks. What the
// members are is up to each system.
type tree struct {
	kq    int
	nudge [2]int // a pipe that ends wait
	shell int
	track tracker
}

func (t *tree) claim() error {
	var err error
	if t.kq, err = unix.Kqueue(); err != nil {
		return err
	}
	unix.CloseOnExec(t.kq)
	if err := pipe(&t.nudge); err != nil {
		return err
	}
	if err := t.watch(int(unix.SIGCHLD), unix.EVFILT_SIGNAL, 0); err != nil {
		return err
	}
	if err := t.watch(t.nudge[0], unix.EVFILT_READ, 0); err != nil {
		return err
	}
	return adoptOrphans()
}

// watch adds an event to the queue.
func (t *tree) watch(ident, filter int, notes uint32) error {
	var ev unix.Kevent_t
	unix.SetKevent(&ev, ident, filter, unix.EV_ADD|unix.EV_CLEAR)
	ev.Fflags = notes
	_, err := unix.Kevent(t.kq, []unix.Kevent_t{ev}, nil, nil)
	return err
}

// begin starts to follow a shell. It may have ended already.
func (t *tree) begin(shell int) {
	t.shell = shell
	t.track.begin(t)
	t.poke()
}

// poke ends wait, because something may have changed that makes no event.
func (t *tree) poke() {
	// It fails for bad descriptors only; one byte is enough.
	_, _ = unix.Write(t.nudge[1], []byte{0})
}

// wait blocks until something may have changed. Where orphans are not adopted
// they can end without an event once the shell has ended, so that it returns
// once a second then.
func (t *tree) wait(shellExited bool) {
	var timeout *unix.Timespec
	if shellExited && !adopts {
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

// update finds new members, where the system does not keep them.
func (t *tree) update() { t.track.update(t) }

// collect lists what is owned.
func (t *tree) collect() []member { return t.track.collect(t) }

// still reports whether m lives on in the session sid. Finding out costs as
// much as looking at everything.
func (t *tree) still(member, int) bool { return false }

// signal signals one process. The time between looking and signalling is too
// short for its id to have been used again.
func (t *tree) signal(m member, sig unix.Signal) error { return unix.Kill(m.pid, sig) }

// hasDefault: dispositions of other processes cannot be asked for.
func (t *tree) hasDefault(int, unix.Signal) bool { return false }
