package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// sdkSession is a session that the Go SDK's client has with the server.
type sdkSession struct {
	*sdk.ClientSession
	t   *testing.T
	cmd *exec.Cmd
}

// startSDK starts a server under the SDK's client, which asks for the version.
func startSDK(t *testing.T, version string, o *sdk.ClientOptions, env map[string]string) *sdkSession {
	t.Helper()
	s := &sdkSession{t: t, cmd: exec.Command(program[0], program[1:]...)}
	s.cmd.Env = mcptest.Environ(env)
	s.cmd.Dir = t.TempDir()
	client := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, o)
	transport := &sdk.CommandTransport{Command: s.cmd, TerminateDuration: 30 * time.Second}
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	s.ClientSession = session
	eq(t, "version", s.InitializeResult().ProtocolVersion, version)
	return s
}

// use calls a tool and returns the structured content.
func (s *sdkSession) use(ctx context.Context, tool string, arguments args) (mcptest.Fields, error) {
	p := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	if ctx.Value(tokenKey{}) != nil {
		p.Meta = sdk.Meta{"progressToken": "token"}
	}
	r, err := s.CallTool(ctx, p)
	if err != nil {
		return mcptest.Fields{}, err
	}
	var f mcptest.Fields
	raw, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	return f, err
}

// tokenKey in a context makes use ask for progress.
type tokenKey struct{}

func (s *sdkSession) must(tool string, arguments args) mcptest.Fields {
	s.t.Helper()
	f, err := s.use(s.t.Context(), tool, arguments)
	if err != nil {
		s.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return f
}

func command(text string, more args) args {
	all := args{"command": text, "side_effects": []string{"NONE"}}
	for name, value := range more {
		all[name] = value
	}
	return all
}

// sleeper prints a line and stays.
func sleeper() string {
	if posixServer() {
		return "echo ready; exec sleep 1000"
	}
	return "echo ready& ping -n 1000 127.0.0.1 >nul"
}

// One story through the SDK's own client, in every protocol version.
func TestTheSDKsClient(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var told []string
			s := startSDK(t, version, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, r.Params.Message)
				},
			}, map[string]string{"YIELDSHELL_MAX_OUTPUT_BYTES": "2000000", "YIELDSHELL_MAX_BUFFER_BYTES": "4000000"})
			r := s.must("execute", command("echo hello", nil))
			eq(t, "status", r.Status, "completed")
			eq(t, "stdout", strings.TrimSpace(r.Stdout), "hello")

			r, err := s.use(context.WithValue(t.Context(), tokenKey{}, 1), "execute", command(sleeper(), args{"yield_ms": 2500}))
			if err != nil {
				t.Fatal(err)
			}
			eq(t, "status", r.Status, "backgrounded")
			mu.Lock()
			if len(told) == 0 || len(told) > 2 || posixServer() && !strings.Contains(told[0], "ready") {
				t.Errorf("reports of progress: %q", told)
			}
			mu.Unlock()
			id := args{"execution_id": r.ExecutionID}
			eq(t, "read", s.must("read", id).Stdout, "")
			eq(t, "wait", s.must("wait", args{"execution_id": r.ExecutionID, "timeout_ms": 10}).WaitResult, "deadline_reached")
			s.cancel(id)
			eq(t, "stopped", s.must("stop", id).Stopped, true)
			eq(t, "status", s.must("wait", id).Status, "stopped")
			s.largeAnswer()
			s.manyAtOnce()
			rows := len(s.must("ps", args{"limit": 1000}).Executions)
			eq(t, "removed", s.must("cleanup", args{"completed_older_than_ms": 0, "stopped_older_than_ms": 0}).Removed, rows)
			s.end()
		})
	}
}

// cancel cancels a wait, which must be over at once and harm nothing.
func (s *sdkSession) cancel(id args) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.use(ctx, "wait", id); err == nil {
		s.t.Error("the cancelled call was answered")
	}
	eq(s.t, "status after the cancelled wait", s.must("read", id).Status, "running")
}

func (s *sdkSession) largeAnswer() {
	s.t.Helper()
	if !posixServer() {
		return // cmd has nothing that prints as much in a short time
	}
	r := s.must("execute", command("head -c 1048576 /dev/zero | tr '\\0' x", nil))
	eq(s.t, "size", len(r.Stdout), 1<<20)
}

func (s *sdkSession) manyAtOnce() {
	s.t.Helper()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r, err := s.use(s.t.Context(), "execute", command(fmt.Sprintf("echo number %d", i), nil))
			if got, want := strings.TrimSpace(r.Stdout), fmt.Sprintf("number %d", i); err != nil || got != want {
				s.t.Errorf("got %q and %v, want %q", got, err, want)
			}
		})
	}
	all.Wait()
}

// end closes the session while a command runs: the server ends by itself, and
// leaves nothing.
func (s *sdkSession) end() {
	s.t.Helper()
	s.must("execute", command(sleeper(), args{"yield_ms": 0}))
	members := append(mcptest.Descendants(s.cmd.Process.Pid), s.cmd.Process.Pid)
	if err := s.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	// The SDK waits for the server, and signals it only if it takes over 5 s.
	eq(s.t, "exit status", s.cmd.ProcessState.ExitCode(), 0)
	mcptest.WaitGone(s.t, 5*time.Second, members...)
}
