package selftest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"
)

// HelpCommand is the argument by which the program is asked to be a process of
// a test. It is for this package only.
const HelpCommand = "selftest-process"

// The variables that tell a command of the test where things are.
const (
	programVariable = "YS_SELFTEST_PROGRAM"
	addressVariable = "YS_SELFTEST_ADDRESS"
)

// Help does the work of a test's process, given the arguments after
// HelpCommand, and returns the exit status.
func Help(args []string) int {
	var err error
	switch {
	case len(args) == 1 && args[0] == "flood":
		err = flood(os.Stdout, os.Stderr)
	case len(args) == 2:
		err = live(args[0], args[1])
	default:
		err = errors.New("this is not for people")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mcp-yieldshell %s: %v\n", HelpCommand, err)
		return 1
	}
	return 0
}

// flood writes text for as long as floodTime, and then, to count, how many
// bytes that were.
func flood(w, count io.Writer) error {
	const line = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n" // 64 bytes
	block := bytes.Repeat([]byte(line), 1024)
	written := 0
	for begun := time.Now(); time.Since(begun) < floodTime; written += len(block) {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(count, written)
	return err
}

// live holds a connection to the test for as long as the process lives, or
// until the test lets go of it.
func live(role, address string) error {
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s %d\n", role, os.Getpid()); err != nil {
		return err
	}
	if role == roleParent {
		if err := startChildren(address); err != nil {
			return err
		}
	}
	_, _ = io.Copy(io.Discard, conn) // however it ends, the process does
	return nil
}

func startChildren(address string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, HelpCommand, roleChild, address)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		return err
	}
	escaped := exec.Command(self, HelpCommand, roleEscaped, address)
	escaped.Env = bareEnvironment()
	leaveSession(escaped)
	return escaped.Start()
}
