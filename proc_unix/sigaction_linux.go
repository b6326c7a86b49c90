//go:build linux && !mips && !mipsle && !mips64 && !mips64le

package procunix

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// resetIgnored gives signals that the launcher had ignored their default
// disposition again. Ignoring is inherited over exec, and neither the runtime
// nor os/signal undoes it for signals that they do not handle. The kernel's
// struct begins with the handler on these architectures.
func resetIgnored() {
	const (
		sigDefault = 0
		sigIgnore  = 1
	)
	for sig := uintptr(1); sig <= 64; sig++ {
		var action [8]uintptr // larger than the kernel's struct everywhere
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if errno != 0 || action[0] != sigIgnore {
			continue
		}
		action = [8]uintptr{sigDefault}
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
}
