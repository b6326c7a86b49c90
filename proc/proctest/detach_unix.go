//go:build unix

package proctest

import (
	"os/exec"
	"syscall"
)

// detach makes the command found a session of its own.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
