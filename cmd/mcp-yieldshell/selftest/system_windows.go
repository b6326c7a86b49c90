package selftest

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// What the shell runs.
const (
	floodCommand = `"%` + programVariable + `%" ` + HelpCommand + ` flood`
	treeCommand  = `"%` + programVariable + `%" ` + HelpCommand + ` ` + roleParent + ` %` + addressVariable + `%`
)

const network = "tcp"

// listen opens what the processes of a tree connect to, on this machine only.
func listen(string) (net.Listener, error) { return net.Listen(network, "127.0.0.1:0") }

// detachedProcess is DETACHED_PROCESS (CreateProcess, process creation flags).
const detachedProcess = 0x00000008

// leaveSession makes a command run without its parent's console.
func leaveSession(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess} }

// bareEnvironment is what a program needs to start at all: sockets do not work
// without SystemRoot.
func bareEnvironment() []string { return []string{"SystemRoot=" + os.Getenv("SystemRoot")} }

// gone asks whether a process has ended whose connection still seems open:
// under Wine the end of one can get lost.
func gone(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_INVALID_PARAMETER) // there is no such process
	}
	defer func() { _ = windows.CloseHandle(process) }()
	event, err := windows.WaitForSingleObject(process, 0)
	return err == nil && event == windows.WAIT_OBJECT_0
}
