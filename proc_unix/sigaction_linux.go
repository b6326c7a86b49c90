//go:build linux && !mips && !mipsle && !mips64 && !mips64le

package procunix

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shield keeps the supervisor alive when a command signals its parent, and
// gives signals that the launcher had ignored their default disposition again.
//
// Signals that the runtime handles it gives back their default disposition
// between fork and exec, so that ignoring them here does not reach commands,
// and takes no thread, as os/signal would. Those that the launcher had
// ignored the runtime leaves alone; os/signal makes it handle them. Stop
// signals from the terminal have no effect on a session without one.
func shield() {
	for sig := unix.Signal(1); sig <= 64; sig++ {
		ignored := disposition(sig) == sigIgnore
		switch sig {
		case unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGTERM:
			if ignored {
				signal.Notify(make(chan os.Signal, 1), sig)
			} else {
				setDisposition(sig, sigIgnore)
			}
		default:
			if ignored {
				setDisposition(sig, sigDefault)
			}
		}
	}
}

// Dispositions as the kernel takes them (rt_sigaction(2)).
const (
	sigDefault = 0
	sigIgnore  = 1
)

// action is larger than the kernel's struct, which begins with the handler on
// these architectures.
type action [8]uintptr

const sigsetSize = 8

func disposition(sig unix.Signal) uintptr {
	var a action
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&a)), sigsetSize, 0, 0)
	if errno != 0 {
		return sigDefault
	}
	return a[0]
}

func setDisposition(sig unix.Signal, handler uintptr) {
	a := action{handler}
	// It fails for SIGKILL and SIGSTOP only.
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, sigsetSize, 0, 0)
}
