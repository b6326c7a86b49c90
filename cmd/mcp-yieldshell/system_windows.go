package main

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/yieldshell/mcp-yieldshell/proc"
	procwindows "github.com/yieldshell/mcp-yieldshell/proc_windows"
)

// helpIfAsked does the work of a helper process if the backend started
// this one for that, and then does not return.
func helpIfAsked() {
	if procwindows.IsHelper() {
		procwindows.Help()
	}
}

func newBackend() (proc.Backend, error) { return procwindows.New() }

// endSignals are the console events that end the server.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// catchBrokenPipe does nothing: there is no SIGPIPE.
func catchBrokenPipe() {}

// detachFromTerminal keeps Ctrl-C from a server that call starts, so that it
// reaches the call alone, which then cancels in good order.
func detachFromTerminal(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// hangUpOf returns nil: a pipe does not tell of its other end before all of it
// has been read.
func hangUpOf(*os.File) func() error { return nil }
