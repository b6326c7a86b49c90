//go:build darwin || dragonfly || netbsd || openbsd || (freebsd && !amd64 && !arm64 && !riscv64)

package procunix

import "golang.org/x/sys/unix"

// sweep ends what a dead supervisor has left. Its orphans are init's, so that
// only the shell's group can be found, while its shell is not known to have
// ended. The shell is 0 otherwise.
func (b *Backend) sweep(shell int) []int {
	if shell != 0 && unix.Kill(-shell, unix.SIGKILL) == unix.EPERM {
		return []int{shell}
	}
	return nil
}
