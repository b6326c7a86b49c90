package procunix

import (
	"os"

	"golang.org/x/sys/unix"
)

// readiness tells in which order two pipes became readable: an epoll instance
// keeps a list of what is ready, first come first (epoll(7)).
type readiness struct {
	fd     int
	events [2]unix.EpollEvent
	out    [2]event
}

func (r *readiness) open(fds ...int) error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	for i, pipe := range fds {
		// Edge-triggered: a pipe is listed anew, at the end, by the first
		// write after it was last told of. Pad carries the index.
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff, Fd: int32(i)}
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, pipe, &e); err != nil {
			unix.Close(fd)
			return os.NewSyscallError("epoll_ctl", err)
		}
	}
	r.fd = fd
	return nil
}

// next returns what has become readable since it was last called. The result
// is valid until the next call.
func (r *readiness) next(bool, bool) []event {
	n, err := unix.EpollWait(r.fd, r.events[:], 0)
	for err == unix.EINTR {
		n, err = unix.EpollWait(r.fd, r.events[:], 0)
	}
	if err != nil {
		n = 0 // it fails for bad descriptors only
	}
	for i, e := range r.events[:n] {
		// A pipe without a writer gets no event for its end.
		r.out[i] = event{index: int(e.Fd), exhaust: e.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0}
	}
	return r.out[:n]
}

func (r *readiness) close() { unix.Close(r.fd) }
