//go:build unix && !linux

package procunix

import "syscall"

// supervisorAttr gives the supervisor a session of its own.
func supervisorAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// children matters only where a sweep looks at this process's children.
func children() map[identity]bool { return nil }
