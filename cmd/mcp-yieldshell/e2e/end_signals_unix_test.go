//go:build unix

package e2e

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestSignalsEndTheServerInGoodOrder(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s, m := start(t), marker(t)
			r := s.Execute("exec sleep "+m, args{"yield_ms": 0})
			w := s.Go("wait", r.On(nil))
			s.MustRequest("ping", nil)
			begun := time.Now()
			s.Signal(signal)
			eq(t, "exit status", s.Wait(), 0)
			quickly(t, "the end", begun, 5*time.Second)
			mcptest.WaitUnmarked(t, time.Second, m)
			eq(t, "execution_id", w.Result().ExecutionID, r.ExecutionID)
		})
	}
}

func TestASecondSignalShortensTheGraceButNotTheKill(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s, m := start(t), marker(t)
			running(t, s, ": "+m+"; "+deaf, nil)
			begun := time.Now()
			s.Signal(signal)
			// The second must not melt into the first, which the execute
			// that is refused shows to have arrived.
			mcptest.Until(t, prompt, "the shutdown to begin", func() bool {
				r := s.Execute("true", nil)
				if r.Status == "failed_to_start" {
					contains(t, "error", r.Error, "shutting down")
					return true
				}
				return false
			})
			s.Signal(signal)
			eq(t, "exit status", s.Wait(), 0)
			quickly(t, "the end", begun, 9*time.Second)
			mcptest.WaitUnmarked(t, time.Second, m)
		})
	}
}

// The client is a process of its own here, and killed: nobody closes anything
// in good order.
func TestAKilledClientEndsTheServer(t *testing.T) {
	t.Parallel()
	needPOSIX(t)
	m := marker(t)
	script := fmt.Sprintf(`mkfifo in out; "$@" <in >out & echo $! > pid; exec 3>in 4<out
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}' >&3
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"command":"sleep %[1]s","side_effects":["NONE"]}}}' >&3
echo '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute","arguments":{"command":"while :; do echo %[1]s; sleep 0.1; done","side_effects":["NONE"]}}}' >&3
read line <&4; read line <&4`, m)
	client := exec.Command("bash", append([]string{"-c", script, "bash"}, program...)...)
	client.Dir = t.TempDir()
	client.Env = mcptest.Environ(nil)
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	server := mcptest.ReadPID(t, client.Dir+"/pid")
	// The client's own command line holds the marker as well.
	mcptest.WaitMarked(t, 20*time.Second, m, 4)
	below := mcptest.Descendants(server)
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = client.Wait() // killed
	mcptest.WaitGone(t, 5*time.Second, append(below, server)...)
	mcptest.WaitUnmarked(t, 5*time.Second, m)
}

func TestTheCallCommandEndsWhatItRan(t *testing.T) {
	t.Parallel()
	needPOSIX(t)
	m := marker(t)
	out, err := run(append(program, "call", "execute", `{"command":"echo hello","side_effects":["NONE"]}`)...)
	if err != nil {
		t.Errorf("call: %v %s", err, out)
	}
	contains(t, "output", out, "hello", "completed")
	for _, c := range []struct {
		words  []string
		status int
	}{
		{[]string{"call", "read", `{"execution_id":"nope"}`}, 1},
		{[]string{"call", "execute", `{"command":"exit 3","side_effects":["NONE"]}`}, 0},
		{[]string{"call", "ps", "not json"}, 2}, {[]string{"call"}, 2}, {[]string{"nonsense"}, 2},
		{[]string{"version"}, 0}, {[]string{"help"}, 0},
	} {
		out, err := run(append(program, c.words...)...)
		status := 0
		if exit, ok := err.(*exec.ExitError); ok {
			status = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		eq(t, strings.Join(c.words, " ")+": "+strconv.Quote(out), status, c.status)
	}
	out, err = run(append(program, "call", "execute", `{"command":"sleep `+m+`","side_effects":["NONE"],"yield_ms":100}`)...)
	if err != nil {
		t.Errorf("call: %v %s", err, out)
	}
	mcptest.WaitUnmarked(t, 5*time.Second, m)
}
