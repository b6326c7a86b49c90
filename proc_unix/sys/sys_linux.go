package sys

import (
	"math"
	"syscall"
	"unsafe"
)

func toError(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

const (
	prSetName           = 15 // PR_SET_NAME
	prSetChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
)

// SetName names the calling thread, and with the first one the process, as ps
// and top show it: at most 15 bytes (prctl(2)).
func SetName(name string) error {
	var buf [16]byte
	copy(buf[:15], name)
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&buf)), 0, 0, 0, 0)
	return toError(errno)
}

// SetChildSubreaper makes this process the parent of descendants whose own
// parent has ended (prctl(2)).
func SetChildSubreaper() error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0)
	return toError(errno)
}

// AwaitChild blocks until a child has ended, without reaping it (waitid(2)).
// The error is ECHILD when there is none.
func AwaitChild() error {
	const pAll = 0 // P_ALL
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pAll, 0, 0, syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return toError(errno)
		}
	}
}

// Getsid returns the session of a process (getsid(2)).
func Getsid(pid int) (int, error) {
	sid, _, errno := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	return int(sid), toError(errno)
}

// PidfdOpen returns a descriptor of a process, close-on-exec (pidfd_open(2)).
// The error is ENOSYS before Linux 5.3.
func PidfdOpen(pid int) (int, error) {
	fd, _, errno := syscall.Syscall(numPidfdOpen, uintptr(pid), 0, 0)
	return int(fd), toError(errno)
}

// PidfdSendSignal signals a process by its descriptor (pidfd_send_signal(2)).
func PidfdSendSignal(fd int, sig syscall.Signal) error {
	_, _, errno := syscall.Syscall6(numPidfdSendSignal, uintptr(fd), uintptr(sig), 0, 0, 0, 0)
	return toError(errno)
}

// CloseRangeOnExec marks every descriptor from first on close-on-exec
// (close_range(2)). It fails before Linux 5.11.
func CloseRangeOnExec(first int) error {
	const cloexec = 1 << 2 // CLOSE_RANGE_CLOEXEC
	_, _, errno := syscall.RawSyscall(numCloseRange, uintptr(first), math.MaxUint32, cloexec)
	return toError(errno)
}

// mask is a signal mask. The kernel takes the part of it that sigsetSize says.
type mask [2]uint64

const sigSetMask = sigBlock + 2 // SIG_SETMASK

// SignalsBlocked reports whether the calling thread blocks signals
// (rt_sigprocmask(2)).
func SignalsBlocked() bool {
	var m mask
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetMask, 0, uintptr(unsafe.Pointer(&m)), sigsetSize, 0, 0)
	return errno == 0 && m != mask{}
}

// UnblockSignals empties the calling thread's signal mask, which a child that
// it forks inherits.
func UnblockSignals() {
	var none mask
	// It fails for bad arguments only.
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&none)), 0, sigsetSize, 0, 0)
}
