package proctest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

// helperArg makes the test program a helper.
const helperArg = "proctest-helper"

// HelperMain runs a helper and exits, if this process was started as one.
// TestMain calls it first.
func HelperMain() {
	if len(os.Args) < 3 || os.Args[1] != helperArg {
		// Under the race detector each helper would end a second late.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
		return
	}
	verb, args := os.Args[2], os.Args[3:]
	run, ok := verbs[verb]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such helper:", verb)
		os.Exit(99)
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, verb+":", err)
		os.Exit(98)
	}
	os.Exit(0)
}

// verbs are what a helper can do.
var verbs = map[string]func(args []string) error{
	// exit CODE
	"exit": func(args []string) error {
		code, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		os.Exit(code)
		return nil
	},
	// say OUT ERR
	"say": func(args []string) error {
		fmt.Fprint(os.Stdout, args[0])
		fmt.Fprint(os.Stderr, args[1])
		return nil
	},
	// cat
	"cat": func([]string) error {
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	},
	// fill COUNT writes lines of numbers, COUNT of them.
	"fill": func(args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(os.Stdout, 32<<10)
		for i := range n {
			fmt.Fprintf(w, "%09d\n", i)
		}
		return w.Flush()
	},
	// pwd
	"pwd": func([]string) error {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		_, err = fmt.Println(dir)
		return err
	},
	// environ
	"environ": func([]string) error {
		_, err := fmt.Println(strings.Join(os.Environ(), "\n"))
		return err
	},
	// hold says its process id and stays.
	"hold": func([]string) error {
		fmt.Printf("held %d\n", os.Getpid())
		stay()
		return nil
	},
	// stubborn is hold that no signal but SIGKILL ends.
	"stubborn": func([]string) error {
		signal.Notify(make(chan os.Signal, 1))
		fmt.Printf("held %d\n", os.Getpid())
		stay()
		return nil
	},
	// spawn VERB ARGS… starts another helper beside it and ends.
	"spawn": func(args []string) error { return helperCommand(args).Start() },
	// detach is spawn into a session of its own.
	"detach": func(args []string) error {
		cmd := helperCommand(args)
		detach(cmd)
		return cmd.Start()
	},
	// fan COUNT starts COUNT helpers that hold, and holds as well.
	"fan": func(args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		for range n {
			if err := helperCommand([]string{"hold"}).Start(); err != nil {
				return err
			}
		}
		fmt.Printf("held %d\n", os.Getpid())
		stay()
		return nil
	},
}

// stay blocks until the process is ended. It sleeps, since blocking on a
// channel that nobody can send to counts as a deadlock.
func stay() {
	for {
		time.Sleep(time.Hour)
	}
}

// helperCommand is a helper that shares this one's standard streams.
func helperCommand(args []string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{helperArg}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}
