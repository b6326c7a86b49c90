package keeper

import (
	"syscall"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/sys"
)

const (
	receiveFlags = syscall.MSG_CMSG_CLOEXEC
	sendFlags    = syscall.MSG_NOSIGNAL
)

// shellAttr gives the shell a session of its own, and ties it to the thread
// that forks it.
func shellAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// showName has ps and top show what this process is, which they would call "exe"
// after the link that it was started through.
func showName() {
	_ = sys.SetName(Name) // cut to 15 bytes; nothing depends on it
}

func signalsBlocked() bool { return sys.SignalsBlocked() }

func clearSignalMask() { sys.UnblockSignals() }

// CloseOnExec keeps every descriptor from first on from commands.
func CloseOnExec(first int) {
	if sys.CloseRangeOnExec(first) != nil { // before Linux 5.11
		closeOnExecIn("/proc/self/fd", first)
	}
}
