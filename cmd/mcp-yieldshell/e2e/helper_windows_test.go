package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
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
	noWindow        = 0x08000000
)

// onWindows does what the first word says. The last word is often a marker,
// which need only be on the command line. As the shell of an execution the
// helper is given -c and the words in one.
func onWindows(words []string) error {
	if words[0] == "-c" {
		words = strings.Fields(words[1])
	}
	switch verb := words[0]; verb {
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "args":
		fmt.Printf("%q\n", words[1:])
		return nil
	case "hold":
		hold()
	case "env": // NAMES...: says the variables of these names
		for _, kv := range os.Environ() {
			for _, name := range words[1:] {
				if strings.HasPrefix(kv, name+"=") {
					fmt.Println(kv)
				}
			}
		}
	case "trap": // FILE: cleans up at Ctrl-C: makes the file, says so, and ends with 3
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		fmt.Print(upLine)
		<-c
		if err := os.WriteFile(words[1], nil, 0o644); err != nil {
			return err
		}
		fmt.Println("cleaned")
		os.Exit(3)
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
	case "client": // SERVER MARKER: a client of the server with a holder, and stays
		return client(words[1], words[2])
	case "interrupt": // FILE COMMAND...: runs it on a console of its own, with a Ctrl-C once the file exists
		return interrupt(words[1], words[2:])
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

// client is a client that ends nothing in good order.
func client(server, marker string) error {
	c := exec.Command(server)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	answers := bufio.NewReader(out)
	ask := json.NewEncoder(in)
	for i, m := range []args{
		{"method": "initialize", "params": args{"protocolVersion": "2025-06-18", "capabilities": args{}, "clientInfo": args{"name": "t", "version": "0"}}},
		{"method": "tools/call", "params": args{"name": "execute", "arguments": command(`"`+os.Args[0]+`" hold `+marker, args{"yield_until_output": "up"})}},
	} {
		m["jsonrpc"], m["id"] = "2.0", i
		if err := ask.Encode(m); err != nil {
			return err
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			return err
		}
		if i == 0 {
			err = ask.Encode(args{"jsonrpc": "2.0", "method": "notifications/initialized"})
		} else if !strings.Contains(answer, "backgrounded") {
			err = errors.New(answer)
		}
		if err != nil {
			return err
		}
	}
	hold()
	return nil
}

// interrupt runs a command and passes its exit status on. Ctrl-C goes to all
// on a console, so the command has one of its own.
func interrupt(file string, words []string) error {
	if err := call("SetConsoleCtrlHandler", 0, 0); err != nil { // should this process ignore it, the command would
		return err
	}
	c := exec.Command(words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: noWindow}
	if err := c.Start(); err != nil {
		return err
	}
	go func() {
		drip([]string{"@" + file})
		if err := press(c.Process.Pid); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := c.Wait(); c.ProcessState == nil {
		return err
	}
	os.Exit(c.ProcessState.ExitCode())
	return nil
}

// press sends Ctrl-C to the console of a process.
func press(pid int) error {
	_ = call("FreeConsole") // there need not be one
	if err := call("AttachConsole", uintptr(pid)); err != nil {
		return err
	}
	if err := call("SetConsoleCtrlHandler", 0, 1); err != nil { // it is not for this process
		return err
	}
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_C_EVENT, 0)
}

// call calls a function of the console.
func call(name string, arguments ...uintptr) error {
	if r, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc(name).Call(arguments...); r == 0 {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
