package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// helper is what the test binary does when a command under test runs it.
func helper(name string, words []string) int {
	switch name {
	case "drip":
		return drip(words)
	case "listen":
		return listen(words)
	case "windows":
		if err := onWindows(words); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	fmt.Fprintln(os.Stderr, "unknown helper", name)
	return 2
}

// Process creation flags (CreateProcess).
const (
	detachedProcess = 0x00000008
	newProcessGroup = 0x00000200
)

// onWindows does what the first word says. The last word is often a marker,
// which need only be on the command line.
func onWindows(words []string) error {
	switch verb := words[0]; verb {
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "args":
		fmt.Printf("%q\n", words[1:])
		return nil
	case "hold":
		hold()
	case "trap": // FILE: cleans up at Ctrl-C: makes the file, and says so
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		fmt.Print(upLine)
		<-c
		if err := os.WriteFile(words[1], nil, 0o644); err != nil {
			return err
		}
		fmt.Println("cleaned")
	case "deaf": // to Ctrl-C and Ctrl-Break
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		hold()
	case "spawn": // FLAGS WORDS...: starts another helper and ends
		flags, err := strconv.ParseUint(words[1], 0, 32)
		if err != nil {
			return err
		}
		return startHelper(uint32(flags), words[2:])
	case "tree": // DEPTH MARKER: starts three of less depth, and stays
		depth, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		for _, flags := range []uint32{0, detachedProcess, newProcessGroup} {
			if depth == 0 {
				break
			}
			if err := startHelper(flags, []string{"tree", strconv.Itoa(depth - 1), words[2]}); err != nil {
				return err
			}
		}
		hold()
	case "nest": // SERVER MARKER: a holder, which writes to the file up, in an execution of another server
		given, err := json.Marshal(args{"command": `"` + os.Args[0] + `" hold ` + words[2] + " >up", "side_effects": []string{"NONE"}})
		if err != nil {
			return err
		}
		return exec.Command(words[1], "call", "execute", string(given)).Run()
	default:
		return fmt.Errorf("unknown verb %q", verb)
	}
	return nil
}

// hold says so and stays until the process is ended. It sleeps, since blocking
// on a channel that nobody can send to counts as a deadlock.
func hold() {
	fmt.Print(upLine)
	for {
		time.Sleep(time.Hour)
	}
}

func startHelper(flags uint32, words []string) error {
	c := exec.Command(os.Args[0], words...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
	return c.Start()
}
