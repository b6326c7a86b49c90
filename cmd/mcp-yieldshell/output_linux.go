package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen makes a pipe hold size bytes. It does not matter whether it works: f
// may be a socket or a file, or the user's pipes hold too much (pipe(7)).
func widen(f *os.File, size int) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
}
