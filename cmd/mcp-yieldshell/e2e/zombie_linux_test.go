package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestNothingIsLeftUnreaped(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 30 {
		completed(t, s.Execute("true", nil), "")
	}
	for range 5 {
		eq(t, "status", s.Execute("sleep 1000", args{"timeout_ms": 100}).Status, "timed_out")
		r := s.Execute("sleep 1000 & wait", args{"yield_ms": 50})
		eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 500})).Stopped, true)
		completed(t, s.Execute("(setsid true &)", nil), "")
	}
	mcptest.Until(t, prompt, "the server's zombies to be reaped", func() bool { return len(zombiesBelow(s.PID())) == 0 })
}

func TestAServerThatIsTheFirstProcessReapsOrphans(t *testing.T) {
	t.Parallel()
	needProgram(t, "unshare")
	s := startUnder(t, namespace(t))
	r := s.Execute("(setsid sh -c 'sleep 0.5' &) ; true", nil)
	eq(t, "status", r.Status, "completed")
	mcptest.Until(t, prompt, "the orphan's end", func() bool { return len(s.Row(r.ExecutionID).Detached) == 0 })
	list := s.Execute("cat /proc/[0-9]*/stat 2>/dev/null | awk '{print $3}'", nil)
	if strings.Contains(list.Stdout, "Z") {
		t.Errorf("zombies in the namespace: %q", list.Stdout)
	}
	ended(t, s.Execute("exit 5", nil), "", 5)
	begun := time.Now()
	eq(t, "exit status", s.Close(), 0)
	quickly(t, "the end", begun, prompt)
}
