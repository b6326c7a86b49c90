//go:build unix

package mcptest

import "syscall"

const hurrySignal = syscall.SIGTERM

// transient reports whether a start that failed so is worth another try.
func transient(error) bool { return false }
