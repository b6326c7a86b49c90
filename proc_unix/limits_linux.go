package procunix

import "golang.org/x/sys/unix"

// maxString is the limit on each argument and environment string, its NUL
// included (execve(2), MAX_ARG_STRLEN).
var maxString = 32 * unix.Getpagesize()

// readable asks for the number of bytes in a pipe (FIONREAD).
const readable = unix.TIOCINQ
