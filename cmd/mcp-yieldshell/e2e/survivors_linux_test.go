package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// shape is a command whose processes are hard to get hold of. Each of them has
// the marker, which %[1]s stands for, on its command line. Each command first
// writes the id of the supervisor, which is the shell's parent.
type shape struct {
	name    string
	command string
	shell   string
	count   int  // of marked processes, at least
	deaf    bool // ignores what asks it to end
	renewed bool // has new processes by the time the others are asked to end
	over    bool // completes at once and leaves a detached process
	slow    bool
	prepare func(t *testing.T, s *mcptest.Server)
}

var shapes = []shape{
	{name: "background", count: 2, command: `sleep %[1]s & exec sleep %[1]s`},
	{name: "background of an ended shell", count: 1, command: `sleep %[1]s & exit 0`},
	{name: "nohup and disown", count: 2, shell: "bash", command: `nohup sleep %[1]s >/dev/null 2>&1 & disown; exec sleep %[1]s`},
	{name: "new session", count: 2, command: `setsid sleep %[1]s & exec sleep %[1]s`},
	{name: "new session of an ended shell", count: 1, over: true, command: `setsid sleep %[1]s & sleep 0.2`},
	{name: "job control", count: 2, shell: "bash", command: `set -m; sleep %[1]s & exec sleep %[1]s`},
	{name: "double fork with an empty environment", count: 2, command: `env -i /usr/bin/setsid /bin/sh -c '/usr/bin/setsid /bin/sleep %[1]s &' ; exec sleep %[1]s`},
	{name: "stopped", count: 3, command: `sleep %[1]s & kill -STOP $!; setsid sh -c 'kill -STOP $$; : %[1]s' & exec sleep %[1]s`},
	{name: "deaf", count: 3, deaf: true, command: `trap '' TERM INT HUP; setsid sleep %[1]s & sleep %[1]s & exec sleep %[1]s`},
	{name: "fork storm", count: 201, slow: true, command: `i=0; while [ $i -lt 200 ]; do setsid sleep %[1]s & i=$((i+1)); done; exec sleep %[1]s`},
	{name: "respawning chain", count: 2, renewed: true, command: `sh chain %[1]s & exec sleep %[1]s`, prepare: script("chain", `
		setsid sh chain "$1" &
		sleep 0.03
	`)},
	{name: "tree of 500", count: 500, slow: true, command: `exec sh tree 8 %[1]s`, prepare: script("tree", `
		[ "$1" -gt 0 ] || exec sleep "$2"
		sh tree $(($1 - 1)) "$2" &
		sh tree $(($1 - 1)) "$2" &
		wait
	`)},
	{name: "subreaper", count: 3, command: `E2E_HELPER=subreaper "$HELPER" %[1]s & exec sleep %[1]s`},
	{name: "process namespace", count: 3, command: `unshare -pf sh -c 'sleep %[1]s & exec sleep %[1]s' & exec sleep %[1]s`, prepare: func(t *testing.T, _ *mcptest.Server) {
		t.Helper()
		if out, err := run("unshare", "-pf", "true"); err != nil {
			t.Skipf("process namespaces are not permitted here: %v %s", err, out)
		}
	}},
}

func script(name, text string) func(*testing.T, *mcptest.Server) {
	return func(t *testing.T, s *mcptest.Server) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// ending is a way in which an execution, or the server, comes to its end.
type ending struct {
	name       string
	patient    bool // it asks first: what is deaf gets 10 s
	limit      int  // timeout_ms of the execution
	serverEnds bool
	run        func(t *testing.T, s *mcptest.Server, r *mcptest.Result, supervisor int)
}

var endings = []ending{
	{name: "stop", run: func(t *testing.T, s *mcptest.Server, r *mcptest.Result, _ int) {
		eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 1000})).Stopped, true)
	}},
	{name: "timeout", patient: true, limit: 15000, run: func(t *testing.T, s *mcptest.Server, r *mcptest.Result, _ int) {
		eq(t, "status", s.Call("wait", r.On(args{"timeout_ms": 50000})).Status, "timed_out")
	}},
	{name: "end of stdin", patient: true, serverEnds: true, run: func(t *testing.T, s *mcptest.Server, _ *mcptest.Result, _ int) {
		eq(t, "exit status", s.Close(), 0)
	}},
	{name: "SIGTERM to the server", patient: true, serverEnds: true, run: func(t *testing.T, s *mcptest.Server, _ *mcptest.Result, _ int) {
		s.Signal(syscall.SIGTERM)
		eq(t, "exit status", s.Wait(), 0)
	}},
	{name: "server killed", serverEnds: true, run: func(_ *testing.T, s *mcptest.Server, _ *mcptest.Result, _ int) {
		s.Kill()
	}},
	{name: "supervisor killed", run: func(t *testing.T, s *mcptest.Server, r *mcptest.Result, supervisor int) {
		kill(t, supervisor)
		mcptest.Until(t, goneBound, "the execution to be given up", func() bool { return s.Row(r.ExecutionID).Status != "running" })
	}},
	{name: "server and supervisor killed", serverEnds: true, run: func(t *testing.T, s *mcptest.Server, _ *mcptest.Result, supervisor int) {
		s.Kill()
		time.Sleep(100 * time.Millisecond) // the interval is what is tested
		if mcptest.Alive(supervisor) {
			kill(t, supervisor)
		}
	}},
	{name: "supervisor and server killed", serverEnds: true, run: func(t *testing.T, s *mcptest.Server, _ *mcptest.Result, supervisor int) {
		kill(t, supervisor)
		time.Sleep(100 * time.Millisecond) // the interval is what is tested
		s.Kill()
	}},
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		t.Fatal(err)
	}
}

func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	for _, sh := range shapes {
		for _, end := range endings {
			if sh.over && end.limit > 0 {
				continue // the timeout does not count for what a completed command left
			}
			t.Run(sh.name+"/"+end.name, func(t *testing.T) {
				if sh.deaf && end.patient || sh.slow || end.limit > 0 {
					slow(t)
				}
				t.Parallel()
				survive(t, sh, end)
			})
		}
	}
}

func survive(t *testing.T, sh shape, end ending) {
	s, m := start(t), marker(t)
	if sh.prepare != nil {
		sh.prepare(t, s)
	}
	given := args{"yield_ms": 0, "env": args{"HELPER": self(t)}}
	if sh.shell != "" {
		given["shell"] = sh.shell
	}
	if end.limit > 0 {
		given["timeout_ms"] = end.limit
	}
	r := s.Execute("echo $PPID > supervisor; "+fmt.Sprintf(sh.command, m), given)
	supervisor := mcptest.ReadPID(t, s.Dir+"/supervisor")
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", supervisor)); err != nil || string(name) != "yieldshell-supe\n" {
		t.Errorf("top shows it as %q, %v", name, err)
	}
	if line := mcptest.CommandLine(supervisor); !strings.HasPrefix(line, "yieldshell-supervisor") {
		t.Fatalf("the shell's parent is %q", line)
	}
	mcptest.WaitMarked(t, 30*time.Second, m, sh.count)
	if sh.over {
		eq(t, "wait_result", s.Call("wait", r.On(nil)).WaitResult, "exited")
		if len(s.Row(r.ExecutionID).Detached) != 1 {
			t.Errorf("detached: %v", s.Row(r.ExecutionID).Detached)
		}
	}
	end.run(t, s, r, supervisor)
	if end.serverEnds {
		mcptest.WaitUnmarked(t, goneBound, m)
		mcptest.WaitGone(t, goneBound, supervisor)
		return
	}
	// The kernel's word first: one look at all processes can miss a chain.
	bound := goneBound
	if sh.renewed && end.patient {
		bound += 10 * time.Second // what was not asked has the grace of what does not listen
	}
	var row mcptest.Row
	mcptest.Until(t, bound, "nothing of the execution to be left", func() bool {
		row = s.Row(r.ExecutionID)
		return row.Status != "running" && len(row.Detached) == 0
	})
	mcptest.WaitUnmarked(t, bound, m)
	if end.name == "supervisor killed" && !sh.over {
		eq(t, "status", row.Status, "failed")
		contains(t, "error", s.Call("read", r.On(nil)).Error, "supervisor")
	}
	completed(t, s.Execute("echo next", nil), "next\n")
}

// With the server and the supervisor gone at the same instant nobody is left
// to follow the tree, but the shell itself must end. The server is held while
// the supervisor dies, so that it has no time to act.
func TestTheShellEndsEvenWithNobodyLeft(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	r := s.Execute("exec sleep "+m, args{"yield_ms": 0})
	mcptest.WaitMarked(t, prompt, m, 1)
	supervisor := mcptest.Parent(r.ProcessID)
	s.Signal(syscall.SIGSTOP)
	if !mcptest.Alive(r.ProcessID) {
		t.Error("the shell was gone before its supervisor")
	}
	kill(t, supervisor)
	s.Kill()
	mcptest.WaitGone(t, goneBound, supervisor, r.ProcessID)
}
