//go:build unix && !linux

package procunix

import "golang.org/x/sys/unix"

// maxString: there is no limit on a single string, only on their sum.
const maxString = 0

// readable asks for the number of bytes in a pipe.
const readable = unix.FIONREAD
