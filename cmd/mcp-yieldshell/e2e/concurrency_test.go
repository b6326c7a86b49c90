package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestALongWaitHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	r := s.Execute(sleeper(), args{"yield_ms": 0})
	w := s.Go("wait", r.On(args{"timeout_ms": 50000}))
	begun := time.Now()
	s.MustRequest("ping", nil)
	s.Rows()
	completed(t, s.Execute("echo quick", nil), echoed("quick"))
	s.Tools()
	quickly(t, "four requests beside a wait", begun, prompt)
	select {
	case <-w.Done():
		t.Fatal("the wait came back early")
	default:
	}
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	result := w.Result()
	eq(t, "wait_result", result.WaitResult, "exited")
	eq(t, "status", result.Status, "stopped")
	quickly(t, "the wait", begun, 2*prompt)
}

func TestExecutesRunSideBySide(t *testing.T) {
	t.Parallel()
	s := start(t)
	begun := time.Now()
	var calls []*mcptest.Pending
	for i := range 20 {
		calls = append(calls, s.GoExecute(fmt.Sprintf("sleep 1; echo %d", i), nil))
	}
	ids := make(map[string]bool)
	for i, p := range calls {
		r := p.Result()
		completed(t, r, fmt.Sprintf("%d\n", i))
		ids[r.ExecutionID] = true
	}
	quickly(t, "20 times one second", begun, 10*time.Second)
	eq(t, "ids", len(ids), 20)
}

func TestOutputsNeverCross(t *testing.T) {
	t.Parallel()
	s := start(t)
	var calls []*mcptest.Pending
	for i := range 10 {
		calls = append(calls, s.GoExecute(fmt.Sprintf("i=0; while [ $i -lt 400 ]; do echo tok%02[1]d; echo err%02[1]d >&2; i=$((i+1)); done", i), nil))
	}
	for i, p := range calls {
		r := p.Result()
		eq(t, "stdout", r.Stdout, strings.Repeat(fmt.Sprintf("tok%02d\n", i), 400))
		eq(t, "stderr", r.Stderr, strings.Repeat(fmt.Sprintf("err%02d\n", i), 400))
	}
}

func TestAllWaitersAreReleased(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("while [ ! -e go ]; do sleep 0.02; done; exit 4", args{"yield_ms": 0})
	var waits []*mcptest.Pending
	for range 8 {
		waits = append(waits, s.Go("wait", r.On(nil)))
	}
	release(t, s, "go")
	for _, p := range waits {
		result := p.Result()
		eq(t, "wait_result", result.WaitResult, "exited")
		eq(t, "exit code", result.Exit(), "4")
	}
}

func TestManyToolsAtOnceOnOneExecution(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("i=0; while :; do i=$((i+1)); echo $i; sleep 0.005; done", args{"yield_ms": 0})
	var calls []*mcptest.Pending
	for i := range 60 {
		switch i % 6 {
		case 0:
			calls = append(calls, s.Go("read", r.On(nil)))
		case 1:
			calls = append(calls, s.Go("wait", r.On(args{"timeout_ms": 100})))
		case 2:
			calls = append(calls, s.Go("ps", nil))
		case 3:
			calls = append(calls, s.Go("read", r.On(args{"tail_lines": 3})))
		case 4:
			calls = append(calls, s.Go("write", r.On(args{"input": "x"})))
		case 5:
			calls = append(calls, s.Go("cleanup", args{"completed_older_than_ms": 0}))
		}
	}
	for _, p := range calls {
		p.Result()
	}
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
}

func TestASiblingHoldsNoPipeOfAnother(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 8 {
		long := s.GoExecute("exec sleep 1000", args{"yield_ms": 20})
		begun := time.Now()
		completed(t, s.Execute("sort", args{"stdin": "b\na\n"}), "a\nb\n")
		quickly(t, "sort", begun, prompt)
		r := long.Result()
		eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	}
}
