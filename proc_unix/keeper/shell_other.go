//go:build unix && !linux && !freebsd

package keeper

import "syscall"

// shellAttr gives the shell a session of its own.
func shellAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
