package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// interruptible starts a server, and returns what sends it Ctrl-C: on Wine,
// from Linux, that is SIGINT.
func interruptible(t *testing.T) (s *mcptest.Server, interrupt func()) {
	t.Helper()
	needWindows(t)
	if posix {
		s := startAny(t)
		return s, func() { s.Signal(os.Interrupt) }
	}
	file := filepath.Join(t.TempDir(), "now")
	s = mcptest.Start(t, mcptest.Options{
		Command: program,
		Wrapper: []string{self(t), "interrupt", file},
		Env:     map[string]string{"E2E_HELPER": "windows"},
	})
	return s, func() {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCtrlCEndsTheServerOnWindows(t *testing.T) {
	t.Parallel()
	m := marker(t)
	s, interrupt := interruptible(t)
	r := running(t, s, windowsHelper(t, "hold "+m), args{"env": asHelper()})
	w := s.Go("wait", r.On(nil))
	s.MustRequest("ping", nil) // after it the wait has begun
	begun := time.Now()
	interrupt()
	eq(t, "exit status", s.Wait(), 0)
	quickly(t, "the end", begun, prompt)
	mcptest.WaitUnmarked(t, goneBound, m)
	eq(t, "execution_id", w.Result().ExecutionID, r.ExecutionID)
}

// The client is a process of its own here, and killed: nobody closes anything
// in good order.
func TestAKilledClientEndsTheServerOnWindows(t *testing.T) {
	t.Parallel()
	needWindows(t)
	m := marker(t)
	last := len(program) - 1
	words := append([]string{}, program[:last]...) // of Wine
	words = append(words, strings.Trim(windowsHelper(t, ""), `" `), "client", serverPath(program[last]), m)
	client := exec.Command(words[0], words[1:]...)
	client.Dir = t.TempDir()
	client.Env = mcptest.Environ(map[string]string{"E2E_HELPER": "windows"})
	stdout, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := client.StderrPipe() // which is the server's, too
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		said, _ := io.ReadAll(stderr) // up to the end of both
		ended <- string(said)
	}()
	up, err := bufio.NewReader(stdout).ReadString('\n')
	if killErr := client.Process.Kill(); killErr != nil {
		t.Error(killErr)
	}
	_, _ = client.Process.Wait() // killed
	if up != upLine {
		t.Fatalf("the client said %q, %v; %s", up, err, <-ended)
	}
	select {
	case <-ended:
	case <-time.After(goneBound):
		t.Error("the server goes on without a client")
	}
	mcptest.WaitUnmarked(t, goneBound, m)
}
