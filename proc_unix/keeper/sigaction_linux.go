//go:build linux && !mips && !mipsle && !mips64 && !mips64le

package keeper

import (
	"syscall"
	"unsafe"
)

// shield keeps the supervisor alive when a command signals its parent, and
// gives signals that the launcher had ignored their default disposition again.
//
// Signals that the runtime handles it gives back their default disposition
// between fork and exec, so that ignoring them here does not reach commands,
// and takes no thread, as os/signal would. Those that the launcher had ignored
// the runtime leaves alone, so the server sees to it that it ignores neither
// SIGHUP nor SIGINT. Stop signals from the terminal have no effect on a session
// without one.
func shield() {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTERM:
			setDisposition(sig, sigIgnore)
		default:
			if disposition(sig) == sigIgnore {
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

func disposition(sig syscall.Signal) uintptr {
	var a action
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&a)), sigsetSize, 0, 0)
	if errno != 0 {
		return sigDefault
	}
	return a[0]
}

func setDisposition(sig syscall.Signal, handler uintptr) {
	a := action{handler}
	// It fails for SIGKILL and SIGSTOP only.
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, sigsetSize, 0, 0)
}
