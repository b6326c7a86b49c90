package procwindows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

const bound = 30 * time.Second

// testHelperArg makes the test program a helper of this package's tests.
const testHelperArg = "windows-test-helper"

// testHelperMain runs a helper and exits, if this process is one.
func testHelperMain() {
	if len(os.Args) < 3 || os.Args[1] != testHelperArg {
		return
	}
	args := os.Args[3:]
	switch os.Args[2] {
	case "args": // says what arguments arrived
		fmt.Printf("%q\n", args)
	case "env": // says the variables that begin with a prefix
		for _, kv := range os.Environ() {
			if strings.HasPrefix(strings.ToLower(kv), args[0]) {
				fmt.Println(kv)
			}
		}
	case "exit": // ends with a 32-bit code
		var code uint32
		fmt.Sscan(args[0], &code)
		windows.ExitProcess(code)
	case "console": // says whether there is a console
		_, err := consoleProcesses()
		fmt.Println("console", err == nil)
	case "hold":
		fmt.Printf("held %d\n", os.Getpid())
		time.Sleep(time.Hour)
	case "spawn": // FLAGS: a holder started with these creation flags
		var flags uint32
		fmt.Sscan(args[0], &flags)
		c := exec.Command(os.Args[0], testHelperArg, "hold")
		c.Stdout = os.Stdout
		c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
		if err := c.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "touch": // FILE
		if err := os.WriteFile(args[0], nil, 0o644); err != nil {
			fmt.Println(err)
		}
	case "selfsignal": // sends Ctrl-C to the console that this process is on
		if err := signalSelf(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "stopping": // COMMAND: runs a backend with it, and stops it when stdin ends
		if err := stopForTest(args[0]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "server": // COMMANDS...: runs a backend with these, until it is killed
		if err := serveForTest(args); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

func serveForTest(commands []string) error {
	b, err := New()
	if err != nil {
		return err
	}
	// One that is in no execution, as the backend's helpers are.
	plain := exec.Command(os.Args[0], testHelperArg, "hold")
	plain.Stdout = os.Stdout
	plain.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW}
	plain.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW}
	if err := plain.Start(); err != nil {
		return err
	}
	for _, command := range commands {
		p, err := b.Start(proc.Spec{Command: command, Dir: os.TempDir(), Env: os.Environ()})
		if err != nil {
			return err
		}
		go p.Stdout().CopyTo(func(b []byte) { os.Stdout.Write(b) })
	}
	time.Sleep(time.Hour)
	return nil
}

// stopForTest is a server that runs one command.
func stopForTest(text string) error {
	b, err := New()
	if err != nil {
		return err
	}
	p, err := b.Start(proc.Spec{Command: text, Dir: os.TempDir(), Env: os.Environ()})
	if err != nil {
		return err
	}
	var pumps sync.WaitGroup
	for _, o := range []proc.Output{p.Stdout(), p.Stderr()} {
		pumps.Go(func() { o.CopyTo(func(b []byte) { os.Stdout.Write(b) }) })
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if _, err := p.Signal(ctx, proc.SIGTERM); err != nil {
		return err
	}
	for e := range p.Events() {
		if e.Kind == proc.TreeEmpty {
			pumps.Wait()
			return errors.Join(p.Close(), b.Close())
		}
	}
	return errors.New("the events ended before the tree was empty")
}

// signalSelf lets a helper visit the console of this process, and says whom it
// reached.
func signalSelf() error {
	nb, err := New()
	if err != nil {
		return err
	}
	b := nb.(*backend)
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	r, err := b.visitConsoles(ctx, request{
		Send: true, Event: windows.CTRL_C_EVENT, Title: "none", PIDs: []int{os.Getpid()},
	})
	if err != nil {
		return err
	}
	fmt.Printf("console %v, reached %v\n", append(r.Attached, r.Detached...), r.Reached)
	return b.Close()
}

// tool is the text of a command that runs a helper.
func tool(args ...string) string {
	words := []string{`"` + os.Args[0] + `"`, testHelperArg}
	return strings.Join(append(words, args...), " ")
}

// command is one started command with its output.
type command struct {
	proc.Process
	t      testing.TB
	pumps  sync.WaitGroup
	mu     sync.Mutex
	out    [2]strings.Builder
	arrive chan struct{} // output has come
}

func start(t testing.TB, b proc.Backend, spec proc.Spec) *command {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = os.TempDir()
	}
	if spec.Env == nil {
		spec.Env = os.Environ()
	}
	p, err := b.Start(spec)
	if err != nil {
		t.Fatalf("start %.80q: %v", spec.Command, err)
	}
	c := &command{Process: p, t: t, arrive: make(chan struct{}, 1)}
	for i, o := range []proc.Output{p.Stdout(), p.Stderr()} {
		c.pumps.Go(func() {
			o.CopyTo(func(b []byte) {
				c.mu.Lock()
				c.out[i].Write(b)
				c.mu.Unlock()
				select {
				case c.arrive <- struct{}{}:
				default:
				}
			})
		})
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		p.Stdin().Close()
		p.Stdout().Close()
		p.Stderr().Close()
		c.pumps.Wait()
	})
	return c
}

func (c *command) output(i int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out[i].String()
}

// awaitOutput waits until stdout holds the text n times.
func (c *command) awaitOutput(text string, n int) {
	c.t.Helper()
	timeout := time.After(bound)
	for strings.Count(c.output(0), text) < n {
		select {
		case <-c.arrive:
		case <-timeout:
			c.t.Fatalf("no %q; stdout %q, stderr %q", text, c.output(0), c.output(1))
		}
	}
}

// await takes events until one of the kind, and returns it.
func (c *command) await(kind proc.EventKind) proc.Event {
	c.t.Helper()
	timeout := time.After(bound)
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				c.t.Fatalf("no event %d", kind)
			}
			if e.Kind == kind {
				return e
			}
		case <-timeout:
			c.t.Fatalf("no event %d in time; stdout %q, stderr %q", kind, c.output(0), c.output(1))
		}
	}
}

// finish closes stdin and waits for the end of everything.
func (c *command) finish() (code int64, stdout, stderr string) {
	c.t.Helper()
	c.Stdin().Close()
	code = c.await(proc.ShellExited).Exit.Code
	c.await(proc.TreeEmpty)
	c.pumps.Wait()
	return code, c.output(0), c.output(1)
}

func backendFor(t testing.TB) *backend {
	t.Helper()
	b := newTestBackend(t).(*backend)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close the backend: %v", err)
		}
	})
	return b
}

// heldPIDs reads what holders have said.
func heldPIDs(t testing.TB, stdout string) []int {
	t.Helper()
	var pids []int
	for line := range strings.Lines(stdout) {
		var pid int
		if _, err := fmt.Sscanf(line, "held %d", &pid); err != nil {
			t.Fatalf("holder said %q", line)
		}
		pids = append(pids, pid)
	}
	return pids
}

// awaitGone waits for processes to end, and fails if one does not.
func awaitGone(t testing.TB, pids []int, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for _, pid := range pids {
		h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
		if err != nil {
			continue // gone
		}
		left := max(0, time.Until(deadline).Milliseconds())
		event, err := windows.WaitForSingleObject(h, uint32(left))
		windows.CloseHandle(h)
		if err != nil || event != windows.WAIT_OBJECT_0 {
			t.Errorf("process %d is alive", pid)
		}
	}
}

func limited(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
