//go:build linux || freebsd || netbsd || openbsd || dragonfly

package procunix

import "golang.org/x/sys/unix"

// pipe makes a pipe that no command inherits by accident.
func pipe(p *[2]int) error { return unix.Pipe2(p[:], unix.O_CLOEXEC) }

// socketPair makes the two ends of a supervisor's socket, likewise.
func socketPair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}
