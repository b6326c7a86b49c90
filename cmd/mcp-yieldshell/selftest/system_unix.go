//go:build unix

package selftest

import (
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
)

// What the shell runs.
const (
	floodCommand = `exec "$` + programVariable + `" ` + HelpCommand + ` flood`
	treeCommand  = `"$` + programVariable + `" ` + HelpCommand + ` ` + roleParent + ` "$` + addressVariable + `"`
)

const network = "unix"

// listen opens what the processes of a tree connect to.
func listen(dir string) (net.Listener, error) {
	return net.Listen(network, filepath.Join(dir, "s"))
}

// leaveSession makes a command found a session of its own.
func leaveSession(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// bareEnvironment is what a program needs to start at all.
func bareEnvironment() []string { return []string{} }

// gone says nothing: the kernel closes a process's connections with it, and so
// one that is still open has the last word.
func gone(int) bool { return false }
