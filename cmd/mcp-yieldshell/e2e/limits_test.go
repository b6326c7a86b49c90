package e2e

import (
	"fmt"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestTheLimitCountsDescendantsOfEndedShells(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_MAX_PROCESSES=2")
	a := s.Execute("sleep 1000 >/dev/null 2>&1 & true", args{"yield_ms": 300})
	eq(t, "status", a.Status, "backgrounded")
	eq(t, "status", s.Execute("sleep 1000", args{"yield_ms": 0}).Status, "backgrounded")
	refused(t, s.Execute("echo third", nil), "YIELDSHELL_MAX_PROCESSES", "2")
	eq(t, "stopped", s.Call("stop", a.On(nil)).Stopped, true)
	completed(t, s.Execute("echo fourth", nil), "fourth\n")
}

func TestEndedExecutionsTakeNoSlot(t *testing.T) {
	t.Parallel()
	s := startAny(t, "YIELDSHELL_MAX_PROCESSES=1")
	for range 30 {
		eq(t, "status", s.Execute("echo n", nil).Status, "completed")
	}
	for range 5 { // nor do refused ones
		refused(t, s.Execute("echo n", args{"cwd": "missing"}))
	}
	eq(t, "status", s.Execute("echo n", nil).Status, "completed")
}

func TestTheLimitHoldsInABurst(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_MAX_PROCESSES=3")
	var calls []*mcptest.Pending
	for range 20 {
		calls = append(calls, s.GoExecute("sleep 1000", args{"yield_ms": 0}))
	}
	accepted := 0
	for _, p := range calls {
		if r := p.Result(); r.Status == "backgrounded" {
			accepted++
		} else {
			refused(t, r, "limit")
		}
	}
	eq(t, "accepted", accepted, 3)
	eq(t, "running", len(s.Rows()), 3)
}

func TestRunningOutOfDescriptors(t *testing.T) {
	t.Parallel()
	s := startUnder(t, []string{"sh", "-c", `ulimit -n 48; exec "$@"`, "sh"})
	var calls []*mcptest.Pending
	for range 40 {
		calls = append(calls, s.GoExecute("sleep 1000", args{"yield_ms": 0}))
	}
	var got []*mcptest.Result
	for _, p := range calls {
		if r := p.Result(); r.Status == "backgrounded" {
			got = append(got, r)
		} else {
			refused(t, r)
			contains(t, "error", r.Error, "too many open files")
		}
	}
	if len(got) == 0 || len(got) == 40 {
		t.Errorf("%d of 40 started with 48 descriptors", len(got))
	}
	eq(t, "rows", len(s.Rows()), len(got))
	for _, r := range got {
		eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	}
	completed(t, s.Execute("echo recovered", nil), "recovered\n")
}

func TestRetentionByCount(t *testing.T) {
	t.Parallel()
	s := startAny(t, "YIELDSHELL_MAX_RETAINED_PROCESSES=3")
	var results []*mcptest.Result
	for i := range 6 {
		results = append(results, s.Execute(fmt.Sprintf("echo %d", i), nil))
	}
	rows := s.Rows()
	eq(t, "rows", len(rows), 4) // three, and the one that ended since
	for i, row := range rows {
		eq(t, "newest first", row.ExecutionID, results[5-i].ExecutionID)
	}
	gone := results[0]
	unknown(t, s.Call("read", gone.On(nil)), gone.ExecutionID)
	unknown(t, s.Call("wait", gone.On(nil)), gone.ExecutionID)
	write := s.Call("write", gone.On(args{"input": "x"}))
	unknown(t, write, gone.ExecutionID)
	eq(t, "ok", write.Has("ok") && !write.OK, true)
	stop := s.Call("stop", gone.On(nil))
	unknown(t, stop, gone.ExecutionID)
	eq(t, "stopped", stop.Has("stopped") && !stop.Stopped, true)
}

func TestRetentionOfNothing(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"YIELDSHELL_MAX_RETAINED_PROCESSES=0", "YIELDSHELL_PROCESS_RETENTION_MS=0"} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			s := start(t, env)
			live := s.Execute("sleep 1000", args{"yield_ms": 0})
			for i := range 3 {
				r := s.Execute(fmt.Sprintf("echo %d", i), nil)
				rows := s.Rows()
				eq(t, "rows", len(rows), 2)
				eq(t, "newest", rows[0].ExecutionID, r.ExecutionID)
				eq(t, "running", rows[1].ExecutionID, live.ExecutionID)
			}
		})
	}
}

func TestRefusedCommandsReapNothing(t *testing.T) {
	t.Parallel()
	s := startAny(t, "YIELDSHELL_MAX_RETAINED_PROCESSES=0")
	r := s.Execute("echo kept", nil)
	refused(t, s.Execute("", nil))
	refused(t, s.Execute("echo", args{"cwd": "missing"}))
	refused(t, s.Execute("echo", args{"side_effects": []string{"RUNS_INLINE_CODE"}}))
	eq(t, "status", s.Call("read", r.On(nil)).Status, "completed")
}

func TestCleanupSparesLiveWork(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.Execute("sleep 1000 >/dev/null 2>&1 & true", args{"yield_ms": 300})
	b := s.Execute("echo done", nil)
	c := s.Execute("sleep 1000", args{"yield_ms": 0})
	s.Call("stop", c.On(nil))
	d := s.Execute("sleep 1000", args{"timeout_ms": 50})
	eq(t, "status", d.Status, "timed_out")
	eq(t, "removed by age", s.Call("cleanup", nil).Removed, 0)
	eq(t, "completed removed", s.Call("cleanup", args{"completed_older_than_ms": 0}).Removed, 1)
	unknown(t, s.Call("read", b.On(nil)), b.ExecutionID)
	eq(t, "others removed", s.Call("cleanup", args{"stopped_older_than_ms": 0}).Removed, 2)
	unknown(t, s.Call("read", c.On(nil)), c.ExecutionID)
	for _, bad := range []args{{"completed_older_than_ms": -1}, {"stopped_older_than_ms": -1}, {"completed_older_than_ms": 0, "stopped_older_than_ms": -1}} {
		r := s.Call("cleanup", bad)
		eq(t, "isError", r.IsError, true)
		eq(t, "removed", r.Removed, 0)
		if r.Error == "" {
			t.Error("no error")
		}
	}
	eq(t, "status", s.Row(a.ExecutionID).Status, "running")
	eq(t, "stopped", s.Call("stop", a.On(nil)).Stopped, true)
}

func TestBadNumbersInTheConfigurationAreTheDefault(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"0", "-1", "abc", "", "1.5", " "} {
		t.Run(bad, func(t *testing.T) {
			t.Parallel()
			s := start(t, "YIELDSHELL_MAX_OUTPUT_BYTES="+bad, "YIELDSHELL_MAX_BUFFER_BYTES="+bad, "YIELDSHELL_MAX_PROCESSES="+bad)
			r := s.Execute("head -c 300000 /dev/zero | tr '\\0' a", nil)
			eq(t, "bytes", len(r.Stdout), 20000)
			eq(t, "start_seq", r.StartSeq, 300000-262144+1)
		})
	}
	s := start(t, "YIELDSHELL_PROCESS_RETENTION_MS=-1", "YIELDSHELL_MAX_RETAINED_PROCESSES=-1")
	for range 5 {
		s.Execute("true", nil)
	}
	eq(t, "rows", len(s.Rows()), 5)
}
