package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestACompletedExecute(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("echo out; echo err >&2", nil)
	completed(t, r, "out\n")
	eq(t, "stderr", r.Stderr, "err\n")
	eq(t, "signal is null", r.Null("signal"), true)
	eq(t, "cursor", fmt.Sprint(r.StartSeq, r.NextSeq, r.LatestSeq, r.Capped, r.Evicted), "1 9 9 false false")
	eq(t, "has duration_ms", r.Has("duration_ms") && r.DurationMS >= 0 && r.DurationMS < 60000, true)
	if r.ExecutionID == "" || r.ProcessID <= 0 {
		t.Errorf("ids: %v", r)
	}
	// The snapshot has consumed the output; an explicit cursor brings it back.
	eq(t, "next read", s.Call("read", r.On(nil)).Stdout, "")
	eq(t, "next wait", s.Call("wait", r.On(nil)).Stdout, "")
	eq(t, "from 1", s.Call("read", r.On(args{"since_seq": 1})).Stdout, "out\n")
}

func TestABackgroundedExecute(t *testing.T) {
	t.Parallel()
	s := start(t)
	begun := time.Now()
	r := s.Execute("echo early; exec sleep 1000", args{"yield_ms": 500})
	notBefore(t, "execute", begun, 490*time.Millisecond)
	quickly(t, "execute", begun, prompt)
	eq(t, "status", r.Status, "backgrounded")
	eq(t, "isError", r.IsError, false)
	eq(t, "stdout", r.Stdout, "early\n")
	eq(t, "exit code", r.Exit(), "null")
	eq(t, "cursor", fmt.Sprint(r.StartSeq, r.NextSeq, r.LatestSeq, r.Capped, r.Evicted), "1 7 7 false false")
	contains(t, "message", r.Message, "read", "wait", "stop", "execution_id")
	if r.DurationMS < 490 || r.ProcessID <= 0 || r.ExecutionID == "" {
		t.Errorf("got %v", r)
	}
	eq(t, "process_id is alive", mcptest.Alive(r.ProcessID), true)
}

func TestAnExecuteThatIsStoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.GoExecute("echo up; exec sleep 1000", args{"yield_ms": 50000})
	var row mcptest.Row
	mcptest.Until(t, prompt, "its output", func() bool {
		rows := s.Rows()
		if len(rows) == 1 {
			row = rows[0]
		}
		return row.StdoutBytes == 3
	})
	eq(t, "stopped", s.Call("stop", args{"execution_id": row.ExecutionID}).Stopped, true)
	r := p.Result()
	eq(t, "status", r.Status, "stopped")
	eq(t, "execution_id", r.ExecutionID, row.ExecutionID)
	eq(t, "stdout", r.Stdout, "up\n")
	eq(t, "signal", r.Signal, "SIGTERM")
	eq(t, "isError", r.IsError, false)
}

func TestATimedOutExecution(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("echo x; exec sleep 1000", args{"timeout_ms": 800, "yield_ms": 50})
	eq(t, "status", r.Status, "backgrounded")
	w := s.Call("wait", r.On(nil))
	eq(t, "status of wait", w.Status, "timed_out")
	eq(t, "wait_result", w.WaitResult, "exited")
	eq(t, "signal", w.Signal, "SIGTERM")
	eq(t, "exit code", w.Exit(), "-15")
	row := s.Row(r.ExecutionID)
	eq(t, "status in ps", row.Status, "timed_out")
	if row.DurationMS < 790 || row.DurationMS > 10000 {
		t.Errorf("duration_ms is %v", row.DurationMS)
	}
	late := s.Call("stop", r.On(nil))
	eq(t, "stopped", late.Stopped, false)
	contains(t, "error", late.Error, "not running", "timed_out")
}

func TestTheHandlerOfATimeoutRuns(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("trap 'echo bye; exit 9' TERM; while :; do sleep 0.05; done", args{"timeout_ms": 500})
	eq(t, "status", r.Status, "timed_out")
	eq(t, "stdout", r.Stdout, "bye\n")
	eq(t, "exit code", r.Exit(), "9")
}

func TestAnAttachedChildIsNamedInTheAnswer(t *testing.T) {
	t.Parallel()
	s := start(t)
	begun := time.Now()
	r := s.Execute("sleep 1000 >/dev/null 2>&1 & echo started; exit 6", nil)
	// 30 s is the yield; an answer comes 5 s after the shell's end.
	notBefore(t, "execute", begun, 4*time.Second)
	quickly(t, "execute", begun, 15*time.Second)
	eq(t, "status", r.Status, "backgrounded")
	eq(t, "stdout", r.Stdout, "started\n")
	eq(t, "exit code", r.Exit(), "6")
	contains(t, "message", r.Message, "sleep")
}

func TestAWaitForAnAttachedChild(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("(while [ ! -e go ]; do sleep 0.02; done; echo late) & exit 6", args{"yield_ms": 200})
	eq(t, "status", r.Status, "backgrounded")
	w := s.Call("wait", r.On(args{"timeout_ms": 100}))
	eq(t, "wait_result", w.WaitResult, "deadline_reached")
	eq(t, "status", w.Status, "running")
	eq(t, "exit code while it runs", w.Exit(), "6")
	release(t, s, "go")
	w = s.Call("wait", r.On(nil))
	eq(t, "wait_result", w.WaitResult, "exited")
	eq(t, "status", w.Status, "completed")
	eq(t, "exit code", w.Exit(), "6")
	eq(t, "stdout", w.Stdout, "late\n")
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	named := s.Execute("echo x", args{"name": "my build"})
	plain := s.Execute("echo x", nil)
	if row := s.Row(named.ExecutionID); row.Name == nil || *row.Name != "my build" {
		t.Errorf("name: %+v", row)
	}
	if row := s.Row(plain.ExecutionID); row.Name != nil && *row.Name != "" {
		t.Errorf("name: %+v", row)
	}
	if named.ExecutionID == plain.ExecutionID {
		t.Error("two executions have one id")
	}
}

func TestWaitSaysHowLongAndWhy(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("exec sleep 1000", args{"yield_ms": 0})
	w := s.Call("wait", r.On(args{"timeout_ms": 400}))
	eq(t, "wait_result", w.WaitResult, "deadline_reached")
	eq(t, "status", w.Status, "running")
	eq(t, "max_wait_ms", w.MaxWaitMS, 400)
	eq(t, "exit code", w.Exit(), "null")
	if w.WaitedMS < 390 || w.WaitedMS > 8000 {
		t.Errorf("waited_ms is %v", w.WaitedMS)
	}
	short := s.Execute("sleep 0.2", args{"yield_ms": 0})
	w = s.Call("wait", short.On(args{"timeout_ms": 999999}))
	eq(t, "wait_result", w.WaitResult, "exited")
	eq(t, "max_wait_ms", w.MaxWaitMS, 55000)
	eq(t, "status", w.Status, "completed")
	eq(t, "exit code", w.Exit(), "0")
	again := s.Call("wait", short.On(nil))
	eq(t, "wait_result of what has ended", again.WaitResult, "exited")
	if again.WaitedMS > 2000 {
		t.Errorf("waited_ms for what has ended: %v", again.WaitedMS)
	}
}

func TestWaitBringsAllOutputBeforeTheExit(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 10 {
		// It writes once the answer to execute is here, which would carry the
		// output otherwise.
		r := s.Execute("read go; seq 1 3000", args{"yield_ms": 0, "close_stdin": false})
		eq(t, "ok", s.Call("write", r.On(args{"input": "\n"})).OK, true)
		eq(t, "stdout", s.Call("wait", r.On(nil)).Stdout, numbers(3000))
	}
}

func TestRowsOfPs(t *testing.T) {
	t.Parallel()
	s := start(t)
	eq(t, "rows", len(s.Rows()), 0)
	done := s.Execute("echo one; echo two >&2", args{"name": "first"})
	live := s.Execute("exec sleep 1000", args{"yield_ms": 0, "name": "second"})
	rows := s.Rows()
	eq(t, "newest first", rows[0].ExecutionID, live.ExecutionID)
	run, end := rows[0], rows[1]
	eq(t, "running", fmt.Sprintln(run.Status, run.Exit(), run.Signal == nil, run.EndedAt == nil, run.LastOutputAt == nil, run.IdleMS == nil, run.StdinError == nil),
		"running null true true true true true\n")
	eq(t, "process_id", run.ProcessID, live.ProcessID)
	eq(t, "completed", fmt.Sprintln(end.Status, end.Exit(), end.Signal == nil, end.StdoutBytes, end.StderrBytes, end.LatestSeq), "completed 0 true 4 4 9\n")
	eq(t, "command", end.Command, "echo one; echo two >&2")
	eq(t, "execution_id", end.ExecutionID, done.ExecutionID)
	now := float64(time.Now().UnixMilli()) / 1000
	if end.StartedAt < now-120 || end.StartedAt > now+1 || end.EndedAt == nil || *end.EndedAt < end.StartedAt {
		t.Errorf("times: %+v at %f", end, now)
	}
	if run.DurationMS > s.Row(live.ExecutionID).DurationMS {
		t.Error("duration_ms of a running execution goes back")
	}
	eq(t, "duration of an ended one", s.Row(done.ExecutionID).DurationMS, end.DurationMS)
	eq(t, "running only", len(s.Call("ps", args{"include_completed": false}).Executions), 1)
	eq(t, "limit", s.Call("ps", args{"limit": 1}).Executions[0].ExecutionID, live.ExecutionID)
	text := s.Call("ps", nil).String()
	for _, field := range strings.Fields("execution_id process_id name command cwd status exit_code signal started_at ended_at duration_ms stdout_bytes stderr_bytes stdin_error last_output_at idle_ms latest_seq") {
		eq(t, "rows with "+field, strings.Count(text, `"`+field+`":`), 2)
	}
}

func TestPsShowsFiftyByDefault(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 53 {
		s.Execute(":", nil)
	}
	eq(t, "rows", len(s.Call("ps", nil).Executions), 50)
	eq(t, "rows with a limit", len(s.Call("ps", args{"limit": 53}).Executions), 53)
}
