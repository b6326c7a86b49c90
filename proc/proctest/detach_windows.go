package proctest

import (
	"os/exec"
	"syscall"
)

// detachedProcess is DETACHED_PROCESS (CreateProcess, process creation flags).
const detachedProcess = 0x00000008

// detach makes the command run without its parent's console.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess}
}
