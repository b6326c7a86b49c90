package keeper

import "syscall"

// shellAttr gives the shell a session of its own, and ties it to the
// supervisor.
func shellAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
