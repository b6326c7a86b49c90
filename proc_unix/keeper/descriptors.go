//go:build unix

package keeper

import (
	"syscall"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
)

// closeOnExecIn marks the descriptors that a folder lists, from first on.
func closeOnExecIn(dir string, first int) {
	fds, err := tree.Numbers(dir)
	if err != nil {
		return // nothing tells which there are
	}
	for _, fd := range fds {
		if fd >= first {
			syscall.CloseOnExec(fd)
		}
	}
}
