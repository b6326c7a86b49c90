package tree

import (
	"syscall"
	"unsafe"
)

// openRaw opens without copying the path, which ends in a NUL: a look at a
// large tree opens thousands of files.
func openRaw(path []byte) (int, error) {
	at := -100 // AT_FDCWD
	for {
		fd, _, errno := syscall.Syscall6(syscall.SYS_OPENAT, uintptr(at),
			uintptr(unsafe.Pointer(&path[0])), syscall.O_RDONLY|syscall.O_CLOEXEC, 0, 0, 0)
		switch errno {
		case 0:
			return int(fd), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
