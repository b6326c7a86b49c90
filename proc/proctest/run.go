package proctest

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// Helpers is what the tests must know about the backend's system.
type Helpers struct {
	// Quote makes one word of text for the default shell.
	Quote func(string) string
	// Background is what puts a command into the background: text around it.
	Background func(command string) string
	// Alive reports whether a process is there and not a zombie.
	Alive func(pid int) bool
	// Descriptors counts the descriptors or handles of this process.
	Descriptors func() int
	// Signals: a signal ends a process that does not handle it, and its name
	// is reported.
	Signals bool
	// Unsupported is a signal that proc knows and this system does not.
	Unsupported proc.Signal
	// TooLong is a length of command that the system refuses, or 0.
	TooLong int
	// Parallel is how many commands start at once in the test of that. Wine's
	// cmd loses a child now and then when many do.
	Parallel int
	// NotAProgram is the content of a file that the system does not execute.
	NotAProgram string
}

// bound is far beyond what anything here takes, for a loaded machine.
const bound = 30 * time.Second

// suite runs one backend's tests.
type suite struct {
	Helpers
	backend proc.Backend
}

// Run tests a backend. Each part gets a backend of its own.
func Run(t *testing.T, newBackend func(testing.TB) proc.Backend, h Helpers) {
	for _, part := range []struct {
		name string
		run  func(*suite, *testing.T)
	}{
		{"Exit", (*suite).testExit},
		{"Streams", (*suite).testStreams},
		{"Surroundings", (*suite).testSurroundings},
		{"Dash", (*suite).testDash},
		{"Stdin", (*suite).testStdin},
		{"StdinBlocked", (*suite).testStdinBlocked},
		{"StdinBroken", (*suite).testStdinBroken},
		{"Volume", (*suite).testVolume},
		{"Attached", (*suite).testAttached},
		{"Detached", (*suite).testDetached},
		{"Signal", (*suite).testSignal},
		{"SignalUnsupported", (*suite).testSignalUnsupported},
		{"Stubborn", (*suite).testStubborn},
		{"KillTree", (*suite).testKillTree},
		{"Ended", (*suite).testEnded},
		{"Context", (*suite).testContext},
		{"Close", (*suite).testClose},
		{"CloseOutput", (*suite).testCloseOutput},
		{"StartErrors", (*suite).testStartErrors},
		{"Isolation", (*suite).testIsolation},
		{"Concurrent", (*suite).testConcurrent},
	} {
		t.Run(part.name, func(t *testing.T) {
			s := &suite{Helpers: h, backend: newBackend(t)}
			t.Cleanup(func() {
				if err := s.backend.Close(); err != nil {
					t.Errorf("close the backend: %v", err)
				}
			})
			part.run(s, t)
		})
	}
}

// helper is the text of a command that runs a helper.
func (s *suite) helper(args ...string) string {
	words := []string{s.Quote(os.Args[0]), helperArg}
	for _, a := range args {
		words = append(words, s.Quote(a))
	}
	return strings.Join(words, " ")
}

// run is one command under test, with its output collected.
type run struct {
	t testing.TB
	proc.Process
	stdout, stderr collector
	pumps          sync.WaitGroup
}

// collector is a buffer that can be waited for.
type collector struct {
	mu      sync.Mutex
	data    bytes.Buffer
	changed chan struct{}
	err     error
}

func (c *collector) add(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data.Write(p)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data.String()
}

// await waits until the output has n lines, and returns them.
func (c *collector) await(t testing.TB, n int) []string {
	t.Helper()
	timeout := time.After(bound)
	for {
		c.mu.Lock()
		lines := strings.Split(c.data.String(), "\n")
		changed := c.changed
		c.mu.Unlock()
		if len(lines) > n {
			return lines[:n]
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited for %d lines, got %q", n, lines)
		}
	}
}

// held returns the process ids that helpers have said with "held".
func held(t testing.TB, lines []string) []int {
	t.Helper()
	var pids []int
	for _, l := range lines {
		pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(l, "held ")))
		if err != nil {
			t.Fatalf("helper said %q", l)
		}
		pids = append(pids, pid)
	}
	return pids
}

// start starts a command in the background of the test.
func (s *suite) start(t testing.TB, spec proc.Spec) *run {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = os.TempDir()
	}
	if spec.Env == nil {
		spec.Env = os.Environ()
	}
	p, err := s.backend.Start(spec)
	if err != nil {
		t.Fatalf("start %q: %v", spec.Command, err)
	}
	r := &run{t: t, Process: p}
	r.stdout.changed, r.stderr.changed = make(chan struct{}), make(chan struct{})
	r.pumps.Go(func() { r.stdout.err = p.Stdout().CopyTo(r.stdout.add) })
	r.pumps.Go(func() { r.stderr.err = p.Stderr().CopyTo(r.stderr.add) })
	t.Cleanup(r.close)
	return r
}

func (s *suite) startHelper(t testing.TB, args ...string) *run {
	t.Helper()
	return s.start(t, proc.Spec{Command: s.helper(args...)})
}

// close gives everything back, and may be called again.
func (r *run) close() {
	for _, c := range []interface{ Close() error }{r.Process, r.Stdin(), r.Stdout(), r.Stderr()} {
		if err := c.Close(); err != nil {
			r.t.Errorf("close: %v", err)
		}
	}
	r.pumps.Wait()
}

// next returns the next event, which must be of the kind wanted.
func (r *run) next(want proc.EventKind) proc.Event {
	r.t.Helper()
	select {
	case e, ok := <-r.Events():
		if !ok {
			r.t.Fatalf("no more events, want %v", want)
		}
		if e.Kind != want {
			r.t.Fatalf("event %+v, want kind %v", e, want)
		}
		return e
	case <-time.After(bound):
		r.t.Fatalf("no event, want kind %v; stdout %q, stderr %q", want, r.stdout.String(), r.stderr.String())
	}
	panic("unreachable")
}

// ended takes the last events, and returns the shell's exit.
func (r *run) ended() proc.Exit {
	r.t.Helper()
	exit := r.next(proc.ShellExited).Exit
	r.next(proc.SessionEmpty)
	r.treeEmpty()
	return exit
}

func (r *run) treeEmpty() {
	r.t.Helper()
	r.next(proc.TreeEmpty)
	if e, ok := <-r.Events(); ok {
		r.t.Fatalf("event %+v after the last one", e)
	}
}

// quiet fails if an event comes soon.
func (r *run) quiet() {
	r.t.Helper()
	select {
	case e := <-r.Events():
		r.t.Fatalf("unexpected event %+v", e)
	case <-time.After(100 * time.Millisecond):
	}
}

// kill ends everything, and fails if something resists.
func (r *run) kill() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	report, err := r.Kill(ctx)
	if err != nil || len(report.Unkillable) > 0 {
		r.t.Fatalf("kill: %+v, %v", report, err)
	}
}

// gone fails if one of the processes lives.
func (s *suite) gone(t testing.TB, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if s.Alive(pid) {
			t.Errorf("process %d is alive", pid)
		}
	}
}

func pidsOf(ms []proc.Member) []int {
	var pids []int
	for _, m := range ms {
		pids = append(pids, m.PID)
	}
	return pids
}
