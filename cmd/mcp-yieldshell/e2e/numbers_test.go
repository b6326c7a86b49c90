package e2e

import (
	"fmt"
	"testing"
	"time"
)

func TestNumbersAndBooleansInText(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	read := "cat; echo eof"
	if !posixServer() {
		read = "set /p x=& echo eof"
	}
	r := s.Execute(sleeper(), args{"yield_ms": "200", "timeout_ms": "60000", "max_output_bytes": "100"})
	eq(t, "status", r.Status, "backgrounded")
	eq(t, "max_wait_ms", s.Call("wait", r.On(args{"timeout_ms": "50"})).MaxWaitMS, 50)
	eof := s.Execute(read, args{"close_stdin": "true"})
	eq(t, "status", eof.Status, "completed")
	eq(t, "stdout", eof.Stdout, echoed("eof"))
	eq(t, "rows", len(s.Call("ps", args{"include_completed": "false", "limit": "5"}).Executions), 1)
	eq(t, "rows", len(s.Call("ps", args{"include_completed": "true", "limit": "1"}).Executions), 1)
	echo := s.Execute("echo x", nil)
	eq(t, "stdout", s.Call("read", echo.On(args{"since_seq": "1"})).Stdout, echoed("x"))
	eq(t, "stdout", s.Call("read", echo.On(args{"tail_lines": "1"})).Stdout, echoed("x"))
	eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": "500"})).Stopped, true)
	eq(t, "removed", s.Call("cleanup", args{"completed_older_than_ms": "3600000"}).Removed, 0)
}

func TestWholeNumbersWrittenAsFractions(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	p := s.Expect("900")
	s.SendRaw([]byte(`{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"execute","arguments":{"command":"echo x","side_effects":["NONE"],"yield_ms":2e3,"timeout_ms":60000.0}}}` + "\n"))
	if m := p.Answer(); m.Error != nil {
		t.Errorf("2e3 is refused: %v", m.Error)
	} else {
		contains(t, "result", string(m.Result), "completed")
	}
	completed(t, s.Execute("echo x", args{"yield_ms": 2000.0}), echoed("x"))
	refused(t, s.Execute("echo x", args{"yield_ms": 0.5}), "yield_ms")
	r := s.Call("ps", args{"limit": 1.9})
	eq(t, "isError", r.IsError, true)
	contains(t, "error", r.Text, "limit")
}

func TestNumbersThatAreNoneAreRefusedByName(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	echo := s.Execute("echo x", nil)
	for _, bad := range []any{"soon", "1s", "0x10", "1.5", true, []int{1}, args{}, "NaN"} {
		for _, name := range []string{"yield_ms", "timeout_ms", "max_output_bytes"} {
			refused(t, s.Execute("echo x > ran", args{name: bad}), name)
		}
		for tool, names := range map[string][]string{
			"read": {"since_seq", "max_output_bytes", "tail_lines"}, "wait": {"timeout_ms", "since_seq", "tail_lines", "max_output_bytes"},
			"stop": {"force_after_ms"}, "ps": {"limit"}, "cleanup": {"completed_older_than_ms", "stopped_older_than_ms"},
		} {
			for _, name := range names {
				r := s.Call(tool, echo.On(args{name: bad}))
				if !r.IsError {
					t.Errorf("%s takes %s=%v: %v", tool, name, bad, r)
				}
				contains(t, fmt.Sprintf("error of %s with %s=%v", tool, name, bad), r.Error, name)
			}
		}
	}
}

func TestHugeNumbersAreClamped(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, huge := range []any{int64(1) << 53, int64(1)<<62 + 1, 1e18, 1e300, "99999999999999999999999999"} {
		completed(t, s.Execute("echo x", args{"yield_ms": huge, "timeout_ms": huge, "max_output_bytes": huge}), echoed("x"))
		r := s.Execute("echo x", nil)
		eq(t, "since_seq", s.Call("read", r.On(args{"since_seq": huge})).Stdout, "")
		eq(t, "tail_lines", s.Call("read", r.On(args{"tail_lines": huge})).Stdout, echoed("x"))
		eq(t, "max_wait_ms", s.Call("wait", r.On(args{"timeout_ms": huge})).MaxWaitMS, 55000)
		eq(t, "limit", len(s.Call("ps", args{"limit": huge}).Executions) > 0, true)
		eq(t, "removed", s.Call("cleanup", args{"completed_older_than_ms": huge}).Removed, 0)
	}
}

func TestSmallAndNegativeNumbers(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("printf abc", args{"max_output_bytes": 0})
	completed(t, r, "abc")
	completed(t, s.Execute("printf abc", args{"max_output_bytes": -7}), "abc")
	for _, seq := range []any{0, -1, -1e18} {
		read := s.Call("read", r.On(args{"since_seq": seq}))
		eq(t, "stdout", read.Stdout, "abc")
		eq(t, "start_seq", read.StartSeq, 1)
	}
	for _, n := range []any{0, -1} {
		for _, tool := range []string{"read", "wait"} {
			tail := s.Call(tool, r.On(args{"tail_lines": n}))
			eq(t, "isError", tail.IsError, true)
			contains(t, "error", tail.Error, "tail_lines")
		}
		eq(t, "rows", len(s.Call("ps", args{"limit": n}).Executions), 0)
	}
	for _, y := range []any{0, -5, -1e300} {
		begun := time.Now()
		eq(t, "status", s.Execute("sleep 1000", args{"yield_ms": y}).Status, "backgrounded")
		quickly(t, "execute", begun, prompt)
	}
	refused(t, s.Execute("echo x", args{"timeout_ms": -1}), "timeout_ms")
	long := s.Execute("sleep 1000", args{"yield_ms": 0})
	w := s.Call("wait", long.On(args{"timeout_ms": -20}))
	eq(t, "wait_result", w.WaitResult, "deadline_reached")
	eq(t, "max_wait_ms", w.MaxWaitMS, 0)
}

func TestNullAndEmptyTextAreLeftOut(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, nothing := range []any{nil, ""} {
		r := s.Execute("cat; echo eof", args{"cwd": nothing, "env": nothing, "yield_ms": nothing, "timeout_ms": nothing,
			"max_output_bytes": nothing, "close_stdin": nothing, "stdin": nothing, "name": nothing})
		completed(t, r, "eof\n")
		read := s.Call("read", r.On(args{"since_seq": nothing, "max_output_bytes": nothing, "tail_lines": nothing}))
		eq(t, "read", read.Stdout, "")
		eq(t, "isError", read.IsError, false)
		w := s.Call("wait", r.On(args{"timeout_ms": nothing, "since_seq": nothing, "tail_lines": nothing, "max_output_bytes": nothing}))
		eq(t, "max_wait_ms", w.MaxWaitMS, 55000)
		if rows := s.Call("ps", args{"include_completed": nothing, "limit": nothing}).Executions; len(rows) == 0 {
			t.Error("ps shows nothing")
		}
		eq(t, "removed", s.Call("cleanup", args{"completed_older_than_ms": nothing, "stopped_older_than_ms": nothing}).Removed, 0)
		long := s.Execute("cat", args{"close_stdin": false, "yield_ms": 0})
		eq(t, "ok", s.Call("write", long.On(args{"input": "x", "newline": nothing, "close_stdin": nothing})).OK, true)
		eq(t, "stopped", s.Call("stop", long.On(args{"force_after_ms": nothing})).Stopped, true)
	}
	completed(t, s.Execute("echo x", args{"shell": nil}), "x\n")
	r := s.Execute("echo x", nil)
	eq(t, "stdout", s.Call("read", r.On(args{"streams": nil, "since_seq": 1})).Stdout, "x\n")
	long := s.Execute("sleep 1000", args{"yield_ms": 0})
	eq(t, "signal", s.Call("stop", long.On(args{"signal": nil})).Signal, "SIGTERM")
}

func TestSideEffectsInText(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, good := range []any{`["NONE"]`, "NONE", `["DELETES_FILES", "OTHER"]`, "OTHER"} {
		eq(t, fmt.Sprint(good), s.Execute("echo x", args{"side_effects": good}).Status, "completed")
	}
	for _, bad := range []any{`["NONE"`, "none", "NONE,OTHER", "", nil, 5, args{}, []any{}, []any{nil}, []any{5}, []any{"NONE", "OTHER"}, []any{"NONE", "none"}, []any{" NONE"}} {
		refused(t, s.Execute("echo x", args{"side_effects": bad}), "side_effects")
	}
}
