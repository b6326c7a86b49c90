package procunix

import "golang.org/x/sys/unix"

// maxString is the limit on each argument and environment string, its NUL
// included (execve(2), MAX_ARG_STRLEN).
var maxString = 32 * unix.Getpagesize()

// readable asks for the number of bytes in a pipe (FIONREAD).
const readable = unix.TIOCINQ

// widen makes a pipe hold size bytes, and reports whether it does. It does not
// where the user's pipes together hold too much (pipe(7), pipe-user-pages-soft).
func widen(fd, size int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size)
	return err == nil
}
