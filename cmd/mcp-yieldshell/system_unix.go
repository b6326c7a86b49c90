//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/psnap"
	procunix "github.com/yieldshell/mcp-yieldshell/proc_unix"
)

// helpIfAsked does nothing: a supervisor does not get as far as main.
func helpIfAsked() {}

func newBackend() (proc.Backend, error) {
	b, err := procunix.New()
	if err != nil {
		return nil, err
	}
	b.NameOf = psnap.Name
	return b, nil
}

// endSignals are the signals that end the server.
func endSignals() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
}

// catchBrokenPipe keeps a closed stdout from killing the process, so that the
// write fails instead and the server ends in good order. The signal is caught
// and not ignored because commands would inherit an ignored one.
func catchBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// hangUpOf returns a function that waits until nobody has the other end of f
// open any more. poll(2) reports that beside data that has not been read.
func hangUpOf(f *os.File) func() error {
	return func() error {
		fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: hangUpEvents}}
		for {
			_, err := unix.Poll(fds, -1)
			if err == nil || !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	}
}

// detachFromTerminal gives a server that call starts a session of its own, so
// that Ctrl-C reaches the call alone, which then cancels in good order.
func detachFromTerminal(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
