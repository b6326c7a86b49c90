//go:build unix

package mcptest

import "syscall"

const hurrySignal = syscall.SIGTERM
