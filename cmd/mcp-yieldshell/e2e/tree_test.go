package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

const deaf = "trap '' TERM; echo up; while :; do sleep 0.1; done"

// running starts a command in the background and waits until it has said "up".
func running(t *testing.T, s *mcptest.Server, command string, extra args) *mcptest.Result {
	t.Helper()
	all := args{"yield_ms": 0}
	for k, v := range extra {
		all[k] = v
	}
	r := s.Execute(command, all)
	eq(t, "status", r.Status, "backgrounded")
	if !mcptest.Soon(20*time.Second, func() bool { return s.Row(r.ExecutionID).LatestSeq > 3 }) {
		t.Fatalf("no output of the command within 20 s: %+v; %+v; the server has %s",
			s.Row(r.ExecutionID), s.Call("read", r.On(args{"since_seq": 1})).Fields, s.Family())
	}
	return r
}

func TestStopEscalatesOnWhatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, command string }{
		{"the shell", ": %s; " + deaf},
		{"a child of an obedient shell", `sh -c ': %s; trap "" TERM; echo up; while :; do sleep 0.1; done' & wait`},
		{"a child of a shell that has ended", `sh -c ': %s; trap "" TERM; echo up; while :; do sleep 0.1; done' & exit 0`},
		{"a child in a session of its own", `setsid sh -c ': %s; trap "" TERM; echo up; while :; do sleep 0.1; done' & wait`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, m := start(t), marker(t)
			r := running(t, s, fmt.Sprintf(c.command, m), nil)
			mcptest.WaitMarked(t, prompt, m, 1)
			begun := time.Now()
			stop := s.Call("stop", r.On(args{"force_after_ms": 700}))
			notBefore(t, "stop", begun, 650*time.Millisecond)
			quickly(t, "stop", begun, prompt)
			eq(t, "stopped", stop.Stopped, true)
			mcptest.WaitUnmarked(t, 2*time.Second, m)
			eq(t, "status", s.Call("read", r.On(nil)).Status, "stopped")
		})
	}
}

func TestAKilledShellIsReportedAsKilled(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := running(t, s, deaf, nil)
	s.Call("stop", r.On(args{"force_after_ms": 200}))
	read := s.Call("read", r.On(nil))
	eq(t, "status", read.Status, "stopped")
	eq(t, "signal", read.Signal, "SIGKILL")
	eq(t, "exit code", read.Exit(), "-9")
}

func TestDisownedChildrenBelongToTheExecution(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	r := s.Execute("nohup sleep "+m+" >/dev/null 2>&1 & disown; echo bg", args{"shell": "bash", "yield_ms": 1500})
	eq(t, "status", r.Status, "backgrounded")
	eq(t, "stdout", r.Stdout, "bg\n")
	mcptest.WaitMarked(t, prompt, m, 1)
	eq(t, "status in ps", s.Row(r.ExecutionID).Status, "running")
	eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 1000})).Stopped, true)
	mcptest.WaitUnmarked(t, 2*time.Second, m)
}

func TestJobControlGroupsBelongToTheSession(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	r := s.Execute("set -m; sleep "+m+" >/dev/null 2>&1 & true", args{"shell": "bash", "yield_ms": 1000})
	eq(t, "status", r.Status, "backgrounded")
	eq(t, "detached", len(r.Detached), 0)
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	mcptest.WaitUnmarked(t, 2*time.Second, m)
}

func TestStopEndsASessionThatTheShellStarted(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	r := s.Execute(fmt.Sprintf("setsid sh -c 'sleep %[1]s; true' & sleep %[1]s", m), args{"yield_ms": 500})
	mcptest.WaitMarked(t, prompt, m, 4)
	begun := time.Now()
	eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 5000})).Stopped, true)
	quickly(t, "stop", begun, 4500*time.Millisecond)
	mcptest.WaitUnmarked(t, 2*time.Second, m)
}

func TestATimeoutAgainstATreeThatIgnoresSIGTERM(t *testing.T) {
	slow(t)
	t.Parallel()
	s, m := start(t), marker(t)
	begun := time.Now()
	p := s.GoExecute(fmt.Sprintf("trap '' TERM; (trap '' TERM; sleep %[1]s) & sleep %[1]s; sleep %[1]s", m),
		args{"timeout_ms": 500, "yield_ms": 40000})
	mcptest.WaitMarked(t, prompt, m, 3)
	mcptest.Until(t, prompt, "the timeout", func() bool { return time.Since(begun) > time.Second })
	asked := time.Now()
	eq(t, "status during the grace", s.Rows()[0].Status, "running")
	quickly(t, "ps during the grace", asked, 3*time.Second)
	r := p.Result()
	notBefore(t, "timeout and grace", begun, 10400*time.Millisecond)
	quickly(t, "timeout and grace", begun, 17*time.Second)
	eq(t, "status", r.Status, "timed_out")
	eq(t, "signal", r.Signal, "SIGKILL")
	mcptest.WaitUnmarked(t, 2*time.Second, m)
}

func TestStopEndsStoppedProcesses(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"the shell":       "echo up; kill -STOP $$; echo resumed",
		"a child":         "sleep 1000 & kill -STOP $!; echo up; wait",
		"one that traps":  "trap 'exit 3' TERM; echo up; kill -STOP $$; echo resumed",
		"a deaf one":      "trap '' TERM; echo up; kill -STOP $$; while :; do sleep 0.1; done",
		"another session": "setsid sh -c 'kill -STOP $$; sleep 1000' & sleep 0.2; echo up; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			r := running(t, s, command, nil)
			below := mcptest.Descendants(mcptest.Parent(r.ProcessID))
			begun := time.Now()
			eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 1000})).Stopped, true)
			quickly(t, "stop", begun, prompt)
			mcptest.WaitGone(t, 2*time.Second, below...)
			eq(t, "status", s.Row(r.ExecutionID).Status, "stopped")
		})
	}
}

func TestExecReplacesTheShellAndKeepsItsID(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	r := s.Execute("exec sleep "+m, args{"yield_ms": 200})
	mcptest.WaitMarked(t, prompt, m, 1)
	mcptest.Until(t, prompt, "exec", func() bool { return mcptest.CommandLine(r.ProcessID) == "sleep "+m })
	begun := time.Now()
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	quickly(t, "stop", begun, prompt)
	read := s.Call("read", r.On(nil))
	eq(t, "signal", read.Signal, "SIGTERM")
	eq(t, "exit code", read.Exit(), "-15")
	eq(t, "process_id", s.Row(r.ExecutionID).ProcessID, r.ProcessID)
}

func TestAGroupOfZombiesIsGone(t *testing.T) {
	t.Parallel()
	needProgram(t, "unshare")
	// A container's first process often reaps nothing but its own child.
	s := startUnder(t, append(namespace(t), "env", "E2E_HELPER=init", self(t)))
	r := s.Execute("sleep 0.5 & true", args{"yield_ms": 100})
	begun := time.Now()
	w := s.Call("wait", r.On(args{"timeout_ms": 20000}))
	quickly(t, "wait", begun, prompt)
	eq(t, "wait_result", w.WaitResult, "exited")
	eq(t, "status", w.Status, "completed")
	eq(t, "exit code", w.Exit(), "0")

	r = s.Execute("sleep 1000 & wait", args{"yield_ms": 200})
	begun = time.Now()
	eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 20000})).Stopped, true)
	quickly(t, "stop", begun, prompt)

	begun = time.Now()
	r = s.Execute("sleep 1000 & wait", args{"timeout_ms": 400})
	quickly(t, "timeout", begun, prompt)
	eq(t, "status", r.Status, "timed_out")
	eq(t, "running", len(s.Call("ps", args{"include_completed": false}).Executions), 0)
}

// namespace returns the words that run a command as the first process of a
// process namespace, or skips the test.
func namespace(t *testing.T) []string {
	t.Helper()
	words := []string{"unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if out, err := run(append(words, "true")...); err != nil {
		t.Skipf("namespaces are not permitted here: %v %s", err, out)
	}
	return words
}

const daemon = `env -i /usr/bin/setsid /bin/sh -c '/usr/bin/setsid /bin/sh -c "echo \$\$ > pid; exec /bin/sleep 1000" & '; while [ ! -s pid ]; do sleep 0.02; done; echo up`

func TestADaemonIsNamedOwnedAndStopped(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_MAX_PROCESSES=1", "YIELDSHELL_MAX_RETAINED_PROCESSES=0")
	begun := time.Now()
	r := s.Execute(daemon, nil)
	quickly(t, "execute", begun, prompt)
	completed(t, r, "up\n")
	pid := mcptest.ReadPID(t, filepath.Join(s.Dir, "pid"))
	named := func(what string, detached []mcptest.Process) {
		t.Helper()
		if len(detached) != 1 || detached[0] != (mcptest.Process{PID: pid, Name: "sleep"}) {
			t.Errorf("%s: detached is %v, want process %d", what, detached, pid)
		}
	}
	named("execute", r.Detached)
	contains(t, "message or hint", r.Message+r.Hint, "sleep")
	// It takes no slot, and its record outlives every limit.
	completed(t, s.Execute("echo next", nil), "next\n")
	s.Call("cleanup", args{"completed_older_than_ms": 0, "stopped_older_than_ms": 0})
	named("ps", s.Row(r.ExecutionID).Detached)
	named("read", s.Call("read", r.On(nil)).Detached)
	w := s.Call("wait", r.On(args{"timeout_ms": 20000}))
	eq(t, "wait_result", w.WaitResult, "exited")
	named("wait", w.Detached)
	if !mcptest.Alive(pid) {
		t.Error("the daemon ended with its command")
	}
	before := s.Row(r.ExecutionID)
	stop := s.Call("stop", r.On(nil))
	eq(t, "stopped", stop.Stopped, true)
	eq(t, "isError of stop", stop.IsError, false)
	mcptest.WaitGone(t, 2*time.Second, pid)
	after := s.Row(r.ExecutionID)
	eq(t, "status", after.Status, "completed")
	eq(t, "exit code", after.Exit(), "0")
	eq(t, "ended_at", *after.EndedAt, *before.EndedAt)
	eq(t, "detached", len(after.Detached), 0)
	again := s.Call("stop", r.On(nil))
	eq(t, "second stop", again.Stopped, false)
	contains(t, "error of the second stop", again.Error, "not running")
}

func TestTheOutputOfADaemonIsCapturedAndHurtsNobody(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("setsid sh -c 'echo $$ > pid; while :; do echo tick; sleep 0.05; done' & while [ ! -s pid ]; do sleep 0.02; done", nil)
	eq(t, "status", r.Status, "completed")
	pid := mcptest.ReadPID(t, filepath.Join(s.Dir, "pid"))
	for range 3 {
		was := s.Row(r.ExecutionID).StdoutBytes
		mcptest.Until(t, prompt, "more of the daemon's output", func() bool { return s.Row(r.ExecutionID).StdoutBytes > was })
	}
	if !mcptest.Alive(pid) {
		t.Error("the daemon died of a closed pipe")
	}
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	mcptest.WaitGone(t, 2*time.Second, pid)
}

func TestTheTimeoutStopsCountingWhenTheCommandIsOver(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(daemon, args{"timeout_ms": 1500})
	completed(t, r, "up\n")
	pid := mcptest.ReadPID(t, filepath.Join(s.Dir, "pid"))
	begun := time.Now()
	mcptest.Until(t, prompt, "the time of the timeout", func() bool { return time.Since(begun) > 2500*time.Millisecond })
	if !mcptest.Alive(pid) {
		t.Error("the timeout ended a daemon of a completed execution")
	}
	eq(t, "status", s.Row(r.ExecutionID).Status, "completed")
}
