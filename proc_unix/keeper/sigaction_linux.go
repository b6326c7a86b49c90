//go:build linux && !mips && !mipsle && !mips64 && !mips64le

package keeper

import (
	"syscall"
	"unsafe"
)

// The signals that the runtime leaves to the C library. kill -RTMIN sends the
// last one.
const (
	firstOfLibc = 32
	lastOfLibc  = 34
)

// shield keeps the supervisor alive when a command signals its parent, and
// gives signals that the launcher had ignored their default disposition again.
//
// Signals that the runtime handles it gives back their default disposition
// between fork and exec, so that ignoring them here does not reach commands,
// and takes no thread, as os/signal would. Those that the launcher had ignored
// the runtime leaves alone, so the server sees to it that it ignores neither
// SIGHUP nor SIGINT. Stop signals from the terminal have no effect on a session
// without one. A fault of the supervisor's own ends it also when its signal is
// ignored.
func shield() {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTERM,
			syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV,
			syscall.SIGSTKFLT, syscall.SIGSYS:
			setDisposition(sig, sigIgnore)
		default:
			d := disposition(sig)
			switch {
			case firstOfLibc <= sig && sig <= lastOfLibc && d <= sigIgnore:
				setNoEffect(sig)
			case d == sigIgnore:
				setDisposition(sig, sigDefault)
			}
		}
	}
}

// Dispositions as the kernel takes them (rt_sigaction(2)). Others are
// addresses.
const (
	sigDefault = 0
	sigIgnore  = 1
)

// sigaction is larger than the kernel's struct, which begins with the handler
// on these architectures.
type sigaction [8]uintptr

const sigsetSize = 8

// action returns what is done on a signal. The zero value, the default, stands
// for an error.
func action(sig syscall.Signal) sigaction {
	var a sigaction
	// It fails for signals that there are not.
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&a)), sigsetSize, 0, 0)
	return a
}

func setAction(sig syscall.Signal, a *sigaction) {
	// It fails for SIGKILL and SIGSTOP only.
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(a)), 0, sigsetSize, 0, 0)
}

func disposition(sig syscall.Signal) uintptr { return action(sig)[0] }

func setDisposition(sig syscall.Signal, handler uintptr) { setAction(sig, &sigaction{handler}) }
