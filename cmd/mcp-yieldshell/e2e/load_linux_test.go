package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// These tests look at the figures of the whole process, so they do not run
// beside others.

// settled waits until a server that is left alone has let go of what it used,
// and returns its open descriptors.
func settled(t *testing.T, s *mcptest.Server, descriptors int) int {
	t.Helper()
	mcptest.Until(t, 15*time.Second, "at most one spare supervisor", func() bool { return len(supervisors(s.PID())) <= 1 })
	mcptest.Until(t, 15*time.Second, "no zombie", func() bool { return len(zombiesBelow(s.PID())) == 0 })
	if descriptors > 0 {
		mcptest.Until(t, 15*time.Second, fmt.Sprintf("at most %d descriptors", descriptors),
			func() bool { return entries(t, s.PID(), "fd") <= descriptors })
	}
	return entries(t, s.PID(), "fd")
}

func TestManyShortExecutionsInARow(t *testing.T) {
	s := start(t)
	count := 2000
	if testing.Short() {
		count = 300
	}
	for range 50 { // what is kept for later is there after these
		completed(t, s.Execute("echo x", nil), "x\n")
	}
	before := settled(t, s, 0)
	begun := time.Now()
	for i := range count {
		r := s.Execute("echo x", nil)
		if r.Status != "completed" || r.Stdout != "x\n" {
			t.Fatalf("execution %d: %v", i, r)
		}
	}
	t.Logf("%d executions, %v each", count, time.Since(begun)/time.Duration(count))
	settled(t, s, before+2)
	if n := entries(t, s.PID(), "task"); n > 40 {
		t.Errorf("the server has %d threads", n)
	}
	checkPeakMemory(t, s.PID(), 80<<10)
	eq(t, "rows", len(s.Rows()), 101)
}

func TestManyExecutionsAtOnce(t *testing.T) {
	s := start(t, "YIELDSHELL_MAX_PROCESSES=300")
	completed(t, s.Execute("echo x", nil), "x\n")
	before := settled(t, s, 0)
	begun := time.Now()
	for round := range 2 {
		var calls []*mcptest.Pending
		for i := range 300 {
			calls = append(calls, s.GoExecute(fmt.Sprintf("sleep 0.2; echo %d", i), args{"yield_ms": 55000}))
		}
		for i, p := range calls {
			r := p.Result()
			if r.Status != "completed" || r.Stdout != fmt.Sprintf("%d\n", i) {
				t.Errorf("round %d, execution %d: %v", round, i, r)
			}
		}
	}
	t.Logf("twice 300 executions at once: %v", time.Since(begun))
	settled(t, s, before+2)
	completed(t, s.Execute("echo x", nil), "x\n")
}

func TestQuietExecutionsCostNoProcessorTimeAndLittleMemory(t *testing.T) {
	slow(t)
	s := start(t)
	completed(t, s.Execute("echo x", nil), "x\n")
	settled(t, s, 0)
	memory := kilobytes(t, s.PID(), "smaps_rollup", "Pss:")
	const count = 50
	var waits []*mcptest.Pending
	for i := range count {
		r := s.Execute("exec sleep 1000", args{"yield_ms": 0})
		if i < 5 {
			waits = append(waits, s.Go("wait", r.On(args{"timeout_ms": 50000})))
		}
	}
	mcptest.Until(t, prompt, "one spare beside the supervisors in use", func() bool { return len(supervisors(s.PID())) <= count+1 })
	// Let what follows a start come to rest: the figure is that of idling.
	watched := append(supervisors(s.PID()), s.PID())
	quiet(t, time.Second)
	was := ticks(t, watched...)
	quiet(t, 10*time.Second)
	if spent := ticks(t, watched...) - was; spent > 1 {
		t.Errorf("%d ticks of processor time in 10 idle seconds", spent)
	}
	used := kilobytes(t, s.PID(), "smaps_rollup", "Pss:") - memory
	for _, pid := range supervisors(s.PID()) {
		used += kilobytes(t, pid, "smaps_rollup", "Pss:")
	}
	t.Logf("%d kB for each quiet execution", used/count)
	// A bare Go program has about 600 kB of its own; the rest is what the
	// packages of this one allocate before main.
	if used/count > 2500 && !raceDetector {
		t.Errorf("%d kB for each quiet execution", used/count)
	}
	for _, row := range s.Rows()[:count] {
		eq(t, "stopped", s.Call("stop", args{"execution_id": row.ExecutionID}).Stopped, true)
	}
	for _, p := range waits {
		eq(t, "wait_result", p.Result().WaitResult, "exited")
	}
	settled(t, s, 0)
}

// quiet lets time pass in which nothing is asked of the server.
func quiet(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test was ended")
	}
}
