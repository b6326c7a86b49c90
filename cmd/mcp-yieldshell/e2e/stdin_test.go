package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestCommandsThatReadStdinEndByThemselves(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		command string
		extra   args
		stdout  string
		code    int64
	}{
		{"cat; echo done", nil, "done\n", 0},
		{"cat; echo done", args{"stdin": ""}, "done\n", 0},
		{"cat; echo done", args{"stdin": nil, "close_stdin": nil}, "done\n", 0},
		{"cat; echo done", args{"close_stdin": true}, "done\n", 0},
		{"read x; echo rc=$?", nil, "rc=1\n", 0},
		{"grep foo", nil, "", 1},
		{"head -n 1", args{"stdin": "a\nb\n"}, "a\n", 0},
		{"cat", args{"stdin": "no newline"}, "no newline", 0},
		{"cat", args{"stdin": "héllo\r\n\x00x"}, "héllo\r\n\x00x", 0},
		{"cat | cat | cat", args{"stdin": "through"}, "through", 0},
	} {
		begun := time.Now()
		ended(t, s.Execute(c.command, c.extra), c.stdout, c.code)
		quickly(t, c.command, begun, prompt)
	}
}

func TestASessionByWrites(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(`read a; echo "got:$a"; read b; echo "got:$b"`, args{"close_stdin": false, "yield_ms": 200})
	eq(t, "status", r.Status, "backgrounded")
	first := s.Call("write", r.On(args{"input": "one", "newline": true}))
	eq(t, "ok", first.OK, true)
	eq(t, "execution_id", first.ExecutionID, r.ExecutionID)
	eq(t, "error is null", first.Null("error"), true)
	eq(t, "ok", s.Call("write", r.On(args{"input": "two\n"})).OK, true)
	w := s.Call("wait", r.On(args{"timeout_ms": 20000}))
	eq(t, "stdout", w.Stdout, "got:one\ngot:two\n")
	eq(t, "exit code", w.Exit(), "0")
	late := s.Call("write", r.On(args{"input": "late", "newline": true}))
	eq(t, "ok of a late write", late.OK, false)
	eq(t, "isError of a late write", late.IsError, true)
	contains(t, "error of a late write", late.Error, "not running", "completed")
}

func TestTheFirstInputComesBeforeTheWrites(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("cat", args{"stdin": "first ", "close_stdin": false, "yield_ms": 0})
	eq(t, "ok", s.Call("write", r.On(args{"input": "second "})).OK, true)
	eq(t, "ok", s.Call("write", r.On(args{"input": "third", "newline": true, "close_stdin": true})).OK, true)
	w := s.Call("wait", r.On(args{"since_seq": 1}))
	eq(t, "stdout", w.Stdout, "first second third\n")
	closed := s.Call("write", r.On(args{"input": "x"}))
	eq(t, "ok after the end", closed.OK, false)
}

func TestAnEmptyWriteCanCloseStdin(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("sort", args{"close_stdin": false, "yield_ms": 100})
	eq(t, "ok", s.Call("write", r.On(args{"input": "b\na\n"})).OK, true)
	eq(t, "ok", s.Call("write", r.On(args{"input": "", "close_stdin": true})).OK, true)
	w := s.Call("wait", r.On(args{"timeout_ms": 20000}))
	eq(t, "stdout", w.Stdout, "a\nb\n")
	eq(t, "wait_result", w.WaitResult, "exited")
}

func TestAWriteToAClosedStdinIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("sleep 1000", args{"yield_ms": 0})
	closed := s.Call("write", r.On(args{"input": "x"}))
	eq(t, "ok", closed.OK, false)
	eq(t, "isError", closed.IsError, true)
	contains(t, "error", closed.Error, "closed")
	eq(t, "status", s.Row(r.ExecutionID).Status, "running")
}

func TestInputThatNobodyReadsDelaysNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	begun := time.Now()
	r := s.Execute("sleep 1000", args{"stdin": strings.Repeat("x", 1<<20), "close_stdin": false, "yield_ms": 300})
	quickly(t, "execute", begun, 300*time.Millisecond+prompt)
	eq(t, "status", r.Status, "backgrounded")
	begun = time.Now()
	eq(t, "rows", len(s.Rows()), 1)
	quickly(t, "ps", begun, prompt)
	begun = time.Now()
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	quickly(t, "stop", begun, prompt)
}

func TestAWriteDuringTheFirstInputIsAnswered(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("sleep 1000", args{"stdin": strings.Repeat("x", 1<<20), "close_stdin": false, "yield_ms": 0})
	w := s.Go("write", r.On(args{"input": "more"}))
	eq(t, "ps while the write waits", len(s.Rows()), 1)
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	result := w.Result()
	eq(t, "ok", result.OK, false)
	if result.Error == "" {
		t.Error("no error")
	}
}

// TestAWriteComesAfterALongFirstInput: however late the command reads.
func TestAWriteComesAfterALongFirstInput(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := strings.Repeat("x", 1<<20)
	r := s.Execute("sleep 1; cat", args{"stdin": first, "close_stdin": false, "yield_ms": 0})
	w := s.Call("write", r.On(args{"input": "more", "close_stdin": true}))
	eq(t, "ok", w.OK, true)
	eq(t, "wait_result", s.Call("wait", r.On(args{"timeout_ms": 20000})).WaitResult, "exited")
	eq(t, "stdout", s.Call("read", r.On(args{"tail_lines": 1})).Stdout, strings.Repeat("x", 19996)+"more")
}

func TestAWriteAfterTheOnlyInputIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("sleep 1000", args{"stdin": strings.Repeat("x", 1<<20), "yield_ms": 0})
	begun := time.Now()
	w := s.Call("write", r.On(args{"input": "more"}))
	quickly(t, "write", begun, prompt)
	eq(t, "ok", w.OK, false)
	contains(t, "error", w.Error, "will be after its initial input", "close_stdin=false")
}

func TestABackpressuredWriteEndsBelowTheCeiling(t *testing.T) {
	slow(t)
	t.Parallel()
	s := start(t)
	r := s.Execute("sleep 1000", args{"close_stdin": false, "yield_ms": 0})
	begun := time.Now()
	w := s.Call("write", r.On(args{"input": strings.Repeat("x", 1<<20)}))
	quickly(t, "write", begun, time.Minute)
	eq(t, "ok", w.OK, false)
	eq(t, "isError", w.IsError, true)
	if w.Error == "" {
		t.Error("no error")
	}
	eq(t, "status", s.Row(r.ExecutionID).Status, "running")
}

func TestLargeInputArrivesWhole(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("wc -c | tr -d ' '", args{"stdin": strings.Repeat("z", 5_000_000)})
	completed(t, r, "5000000\n")
	eq(t, "has stdin_error", r.StdinError, "")
	r = s.Execute("wc -c | tr -d ' '", args{"close_stdin": false, "yield_ms": 0})
	for range 5 {
		eq(t, "ok", s.Call("write", r.On(args{"input": strings.Repeat("z", 400_000)})).OK, true)
	}
	eq(t, "ok", s.Call("write", r.On(args{"input": "", "close_stdin": true})).OK, true)
	eq(t, "stdout", s.Call("wait", r.On(nil)).Stdout, "2000000\n")
}

func TestAFailedDeliveryIsReportedEverywhere(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("exec 0<&-; echo up; sleep 0.5; echo done", args{"stdin": strings.Repeat("x", 1_000_000)})
	completed(t, r, "up\ndone\n")
	for what, got := range map[string]string{
		"execute": r.StdinError,
		"read":    s.Call("read", r.On(nil)).StdinError,
		"wait":    s.Call("wait", r.On(nil)).StdinError,
	} {
		if got == "" {
			t.Errorf("%s has no stdin_error", what)
		}
	}
	if row := s.Row(r.ExecutionID); row.StdinError == nil || *row.StdinError == "" {
		t.Error("ps has no stdin_error")
	}
}

func TestWritesAtTheSameTimeDoNotMix(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("sort | uniq -c | awk '{print $1, length($2)}'", args{"close_stdin": false, "yield_ms": 0})
	var writes []*mcptest.Pending
	for _, letter := range "abcdefgh" {
		writes = append(writes, s.Go("write", r.On(args{"input": strings.Repeat(string(letter), 9000), "newline": true})))
	}
	for _, p := range writes {
		eq(t, "ok", p.Result().OK, true)
	}
	s.Call("write", r.On(args{"input": "", "close_stdin": true}))
	eq(t, "lines", s.Call("wait", r.On(nil)).Stdout, strings.Repeat("1 9000\n", 8))
}
