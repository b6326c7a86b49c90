package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// prompt is the bound for answers that should come at once, on a machine that
// is busy with the other tests and the race detector. What it is compared with
// takes a minute or for ever.
const prompt = 8 * time.Second

// goneBound is how long anything may live after its end was asked for.
const goneBound = 5 * time.Second

func quickly(t testing.TB, what string, begun time.Time, bound time.Duration) {
	t.Helper()
	if took := time.Since(begun); took > bound {
		t.Errorf("%s took %v, more than %v", what, took.Round(time.Millisecond), bound)
	}
}

func notBefore(t testing.TB, what string, begun time.Time, least time.Duration) {
	t.Helper()
	if took := time.Since(begun); took < least {
		t.Errorf("%s took only %v, less than %v", what, took.Round(time.Millisecond), least)
	}
}

// marker returns a number of seconds to sleep that no other process sleeps.
func marker(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("7%09d.%03d", time.Now().UnixNano()%1_000_000_000, markers.Add(1)%1000)
}

func TestABackgroundChildThatHoldsThePipesDoesNotHoldTheAnswer(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	begun := time.Now()
	r := s.Execute("sleep "+m+" & echo front", args{"yield_ms": 1500})
	quickly(t, "execute", begun, 1500*time.Millisecond+prompt)
	eq(t, "status", r.Status, "backgrounded")
	eq(t, "stdout", r.Stdout, "front\n")
	eq(t, "exit code of the shell", r.Exit(), "0")
	if r.ProcessID <= 0 {
		t.Errorf("process_id %d", r.ProcessID)
	}
	eq(t, "status in ps", s.Row(r.ExecutionID).Status, "running")
	begun = time.Now()
	w := s.Call("wait", r.On(args{"timeout_ms": 600}))
	notBefore(t, "wait", begun, 550*time.Millisecond)
	eq(t, "wait_result", w.WaitResult, "deadline_reached")
	eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 500})).Stopped, true)
	mcptest.WaitUnmarked(t, 5*time.Second, m)
	eq(t, "status after stop", s.Row(r.ExecutionID).Status, "stopped")
}

func TestAChildInASessionOfItsOwnThatHoldsThePipesLeavesTheCommandCompleted(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	begun := time.Now()
	r := s.Execute("setsid sleep "+m+" & sleep 0.3; echo hi", nil)
	quickly(t, "execute", begun, prompt)
	completed(t, r, "hi\n")
	eq(t, "number of detached", len(r.Detached), 1)
	eq(t, "name of the detached", r.Detached[0].Name, "sleep")
	eq(t, "re-read", s.Call("read", r.On(args{"since_seq": 1})).Stdout, "hi\n")
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	mcptest.WaitUnmarked(t, 5*time.Second, m)
}

func TestTheTimeoutFiresWhateverHoldsThePipes(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"a forked child":      "sleep %s; true",
		"a pipeline":          "sleep %s | cat",
		"a subshell":          "(sleep %s)",
		"a background child":  "sleep %s & wait",
		"exec":                "exec sleep %s",
		"a nested shell":      "sh -c 'sleep %s; true'; true",
		"command substition":  "echo $(sleep %s)",
		"a detached child":    "setsid sleep %[1]s & sleep %[1]s",
		"an attached orphan":  "sleep %s & exit 0",
		"an ignored SIGCHLD":  "trap '' CHLD; sleep %s & wait; sleep 0.1",
		"stdin kept by a cat": "cat | sleep %s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := start(t), marker(t)
			begun := time.Now()
			r := s.Execute(fmt.Sprintf(command, m), args{"timeout_ms": 700, "yield_ms": 30000})
			quickly(t, "execute", begun, prompt)
			notBefore(t, "execute", begun, 650*time.Millisecond)
			eq(t, "status", r.Status, "timed_out")
			eq(t, "isError", r.IsError, false)
			mcptest.WaitUnmarked(t, 5*time.Second, m)
		})
	}
}

func TestOutputOfADescendantAfterTheShellCountsOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("(sleep 0.7; echo late) & echo early", nil)
	completed(t, r, "early\nlate\n")
	w := s.Call("wait", r.On(args{"timeout_ms": 5000}))
	eq(t, "wait_result", w.WaitResult, "exited")
	eq(t, "stdout of wait", w.Stdout, "")
	eq(t, "re-read", s.Call("read", r.On(args{"since_seq": 1})).Stdout, "early\nlate\n")
	if s.Row(r.ExecutionID).EndedAt == nil {
		t.Error("ended_at is null")
	}
}

func TestAFilterThatEchoesALargeStdinDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("cat", args{"stdin": strings.Repeat("x", 1<<20)})
	eq(t, "status", r.Status, "completed")
	eq(t, "exit code", r.Exit(), "0")
	eq(t, "stdin_error", r.StdinError, "")
	eq(t, "capped", r.Capped, true)
	eq(t, "evicted", r.Evicted, true)
	eq(t, "start_seq", r.StartSeq, 1<<20-262144+1)
	if r.Hint == "" {
		t.Error("no hint")
	}
	eq(t, "stdout_bytes", s.Row(r.ExecutionID).StdoutBytes, 1<<20)
}

func TestAChildThatClosedItsOutputStillKeepsTheExecutionRunning(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	r := s.Execute("exec >&- 2>&-; exec sleep "+m, args{"yield_ms": 700})
	eq(t, "status", r.Status, "backgrounded")
	w := s.Call("wait", r.On(args{"timeout_ms": 300}))
	eq(t, "wait_result", w.WaitResult, "deadline_reached")
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	mcptest.WaitUnmarked(t, 5*time.Second, m)
}

func TestAWriterWhoseReaderIsSlowIsNeverHeldUp(t *testing.T) {
	t.Parallel()
	s := start(t)
	begun := time.Now()
	// Nobody reads meanwhile: 20 MB go far beyond pipe and ring.
	r := s.Execute("head -c 20000000 /dev/zero | tr '\\0' x; echo done >&2", args{"yield_ms": 0})
	w := s.Call("wait", r.On(args{"timeout_ms": 50000, "max_output_bytes": 1}))
	quickly(t, "20 MB", begun, 40*time.Second)
	eq(t, "wait_result", w.WaitResult, "exited")
	eq(t, "latest_seq", w.LatestSeq, 20000006)
}
