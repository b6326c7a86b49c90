//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// answerBound is more than an answer may take: 55 s, a client that reads
// slowly, and a machine that is busy.
const answerBound = 80 * time.Second

// A server is a process, and the SDK's session with it.
type server struct {
	*sdk.ClientSession
	cmd    *exec.Cmd
	tally  *tally
	gate   *gate
	stdin  io.Closer
	marker string // in the environment of everything that it starts
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
}

var markers atomic.Int64

// versions are the protocol versions that the sessions speak in turn.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

func start(binary string, t *tally, name string) (*server, error) {
	n := markers.Add(1)
	s := &server{
		cmd: exec.Command(binary), tally: t, ended: make(chan struct{}),
		marker: fmt.Sprintf("SOAK_MARKER=%d-%d", os.Getpid(), n),
	}
	s.cmd.Env = append(s.environ(), "YIELDSHELL_MAX_RETAINED_PROCESSES=300", "YIELDSHELL_PROCESS_RETENTION_MS=60000",
		"YIELDSHELL_LOG_LEVEL=error") // it warns of each supervisor that is killed
	s.cmd.Stderr = os.Stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	// Not StdoutPipe, which Wait would close under the session.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdout = theirs
	err = s.cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is asked for where it matters
		close(s.ended)
	}()
	s.gate = newGate(stdout)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	client := sdk.NewClient(&sdk.Implementation{Name: "soak", Version: "1"}, nil)
	s.ClientSession, err = client.Connect(s.ctx, &sdk.IOTransport{Reader: s.gate, Writer: stdin},
		&sdk.ClientSessionOptions{ProtocolVersion: versions[n%int64(len(versions))]})
	if err != nil {
		return nil, fmt.Errorf("connecting to server %s: %w", name, err)
	}
	return s, nil
}

// environ is this process's environment without settings for the server, and
// with the marker.
func (s *server) environ() []string {
	env := []string{s.marker}
	for _, v := range os.Environ() {
		if !strings.Contains(v, "YIELDSHELL_") {
			env = append(env, v)
		}
	}
	return env
}

type args map[string]any

// result is an answer.
type result struct {
	mcptest.Fields
	isError bool
}

// call calls a tool. An error means that the call was cancelled, or that the
// server did not answer.
func (s *server) call(ctx context.Context, tool string, a args) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerBound, errors.New("not answered in time"))
	defer cancel()
	s.tally.count("calls")
	p := &sdk.CallToolParams{Name: tool, Arguments: a}
	if len(a)%2 == 0 {
		p.Meta = sdk.Meta{"progressToken": tool}
	}
	r, err := s.CallTool(ctx, p)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return result{}, fmt.Errorf("%s: %w", tool, err)
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return result{}, err
	}
	out := result{isError: r.IsError}
	return out, json.Unmarshal(raw, &out.Fields)
}

// close ends the session as clients do, and looks for what is left.
func (s *server) close() {
	s.gate.open()
	s.stdin.Close()
	s.finish("closing", 21*time.Second)
}

// finish waits for the server's end and looks for what is left of it.
func (s *server) finish(how string, bound time.Duration) {
	select {
	case <-s.ended:
	case <-time.After(bound):
		s.tally.fail("the server did not end within %v after %s", bound, how)
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	s.gate.open()
	s.cancel()
	s.Close()
	s.nothingLeft("a server that ended by " + how)
}

// leftBound is how long after the end of what started them processes may live.
const leftBound = 5 * time.Second

func (s *server) nothingLeft(what string) {
	deadline := time.Now().Add(leftBound)
	for {
		left := withVariable(s.marker)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.tally.fail("%s left %d processes: %v %q", what, len(left), left, mcptest.CommandLine(left[0]))
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
		time.Sleep(20 * time.Millisecond) // nothing announces a stranger's end
	}
}

// dawdle makes the client read slowly, and at times not at all.
func (s *server) dawdle(r *rand.Rand, stop <-chan struct{}) {
	for {
		open, shut := time.Duration(r.IntN(8000))*time.Millisecond, time.Duration(r.IntN(r.IntN(3000)+1))*time.Millisecond
		if !pause(open, stop) {
			return
		}
		s.tally.count("stalls")
		s.gate.shut()
		going := pause(shut, stop)
		s.gate.open()
		if !going {
			return
		}
	}
}

// pause reports whether all of it has passed.
func pause(d time.Duration, stop <-chan struct{}) bool {
	select {
	case <-time.After(d):
		return true
	case <-stop:
		return false
	}
}

// A gate is a reader that can be made to wait.
type gate struct {
	io.ReadCloser
	mu     sync.Mutex
	state  sync.Cond
	barred bool
}

func newGate(r io.ReadCloser) *gate {
	g := &gate{ReadCloser: r}
	g.state.L = &g.mu
	return g
}

func (g *gate) shut() { g.set(true) }
func (g *gate) open() { g.set(false) }

func (g *gate) set(barred bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.barred = barred
	g.state.Broadcast()
}

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	g.mu.Lock()
	for g.barred {
		g.state.Wait()
	}
	g.mu.Unlock()
	return g.ReadCloser.Read(p)
}
