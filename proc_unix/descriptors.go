//go:build unix

package procunix

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeOnExecIn marks the descriptors that a folder lists, from first on.
func closeOnExecIn(dir string, first int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // nothing tells which there are
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}
