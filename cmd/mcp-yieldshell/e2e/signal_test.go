package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestTheLastWordsOfAHandlerAreCaptured(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := running(t, s, "trap 'echo bye; echo err >&2; exit 7' TERM; echo up; while :; do sleep 0.05; done", nil)
	stop := s.Call("stop", r.On(nil))
	eq(t, "stopped", stop.Stopped, true)
	eq(t, "signal of stop", stop.Signal, "SIGTERM")
	eq(t, "error is null", stop.Null("error"), true)
	read := s.Call("read", r.On(args{"since_seq": 1}))
	eq(t, "stdout", read.Stdout, "up\nbye\n")
	contains(t, "stderr", read.Stderr, "err\n")
	eq(t, "exit code", read.Exit(), "7")
	eq(t, "signal is null", read.Null("signal"), true)
	eq(t, "status", read.Status, "stopped")
}

func TestAnInvalidSignalStopsNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("sleep 1000", args{"yield_ms": 0})
	for _, name := range []string{"SIGFOO", "", " ", "SIG", "9", "-9", "15", "TERM; touch pwned", "SIGTERM ", "SIGTERMX", "SIGSIGTERM", "0", "SIGRTMIN+99"} {
		stop := s.Call("stop", r.On(args{"signal": name}))
		if stop.Stopped || !stop.IsError {
			t.Errorf("signal %q: %v", name, stop)
		}
		contains(t, fmt.Sprintf("error for %q", name), stop.Error, "signal")
		eq(t, "status", s.Row(r.ExecutionID).Status, "running")
	}
	if _, err := os.Stat(s.Dir + "/pwned"); err == nil {
		t.Error("a signal name was executed")
	}
	eq(t, "stopped", s.Call("stop", r.On(args{"signal": "term"})).Stopped, true)
}

func TestANamedSignalIsTheOneThatArrives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, arrives string }{
		{"SIGINT", "INT"}, {"INT", "INT"}, {"usr1", "USR1"}, {"SigHup", "HUP"}, {"SIGQUIT", "QUIT"}, {"SIGUSR2", "USR2"},
	} {
		t.Run(c.given, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			r := running(t, s, fmt.Sprintf("trap 'echo got %[1]s; exit 0' %[1]s; echo up; while :; do sleep 0.05; done", c.arrives), nil)
			stop := s.Call("stop", r.On(args{"signal": c.given}))
			eq(t, "stopped", stop.Stopped, true)
			eq(t, "signal", stop.Signal, "SIG"+c.arrives)
			contains(t, "stdout", s.Call("read", r.On(nil)).Stdout, "got "+c.arrives)
		})
	}
}

func TestTheGraceOfStopHasSensibleEdges(t *testing.T) {
	t.Parallel()
	for _, grace := range []any{0, -5, "0", -1e15} {
		t.Run(fmt.Sprint(grace), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			r := running(t, s, deaf, nil)
			begun := time.Now()
			eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": grace})).Stopped, true)
			quickly(t, "stop", begun, prompt)
			eq(t, "signal", s.Call("read", r.On(nil)).Signal, "SIGKILL")
		})
	}
	for _, grace := range []any{int64(999999999999), 1e300} {
		t.Run(fmt.Sprint(grace), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			r := s.Execute("sleep 1000", args{"yield_ms": 0})
			begun := time.Now()
			eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": grace})).Stopped, true)
			quickly(t, "stop of an obedient command", begun, prompt)
		})
	}
}

func TestAHugeGraceStaysBelowARequest(t *testing.T) {
	slow(t)
	t.Parallel()
	s := start(t)
	r := running(t, s, deaf, nil)
	begun := time.Now()
	eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 9999999})).Stopped, true)
	quickly(t, "stop", begun, time.Minute)
	notBefore(t, "stop", begun, 30*time.Second)
}

func TestExitStatusesPassThrough(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		command string
		code    int64
	}{
		{"exit 0", 0}, {"exit 1", 1}, {"exit 2", 2}, {"exit 42", 42}, {"exit 126", 126}, {"exit 128", 128}, {"exit 137", 137},
		{"exit 255", 255}, {"exit 256", 0}, {"false | true", 0}, {"true | false", 1}, {"sh -c 'kill -9 $$'", 137}, {"(exit 3)", 3},
	} {
		r := s.Execute(c.command, nil)
		eq(t, c.command+": status", r.Status, "completed")
		eq(t, c.command+": exit code", r.Exit(), fmt.Sprint(c.code))
		eq(t, c.command+": signal is null", r.Null("signal"), true)
		eq(t, c.command+": isError", r.IsError, false)
	}
	for command, code := range map[string]int64{"nosuchcommand_xyz": 127, "/etc/passwd": 126} {
		r := s.Execute(command, nil)
		ended(t, r, "", code)
		if r.Stderr == "" {
			t.Errorf("%s: the shell's message is missing", command)
		}
	}
}

func TestASignalThatEndsTheShellIsNamed(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, number := range map[string]int{"SIGHUP": 1, "SIGINT": 2, "SIGKILL": 9, "SIGUSR1": 10, "SIGSEGV": 11, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15} {
		r := s.Execute(fmt.Sprintf("kill -%d $$; sleep 5", number), nil)
		eq(t, name+": status", r.Status, "completed")
		eq(t, name+": signal", r.Signal, name)
		eq(t, name+": exit code", r.Exit(), fmt.Sprint(-number))
		eq(t, name+": isError", r.IsError, false)
	}
}

func TestCommandsStartWithDefaultDispositions(t *testing.T) {
	t.Parallel()
	for name, wrapper := range map[string][]string{
		"started normally":      nil,
		"SIGPIPE ignored":       {"sh", "-c", `trap '' PIPE; exec "$@"`, "sh"},
		"most signals ignored":  {"sh", "-c", `trap '' PIPE INT QUIT USR1 TSTP TTIN TTOU; exec "$@"`, "sh"},
		"started under nohup":   {"nohup"},
		"started in background": {"sh", "-c", `exec 3<&0; "$@" <&3 3<&- & exec 3<&-; wait`, "sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startUnder(t, wrapper)
			r := s.Execute("yes | head -n 1", nil)
			completed(t, r, "y\n")
			eq(t, "stderr", r.Stderr, "")
			r = s.Execute("sh -c 'while echo y; do :; done' | head -n 1; echo end", nil)
			completed(t, r, "y\nend\n")
			eq(t, "stderr", r.Stderr, "")
			r = s.Execute("grep -E '^Sig(Ign|Blk)' /proc/self/status", nil)
			completed(t, r, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n")
			// What could be ignored must be able to end a command.
			// dash catches SIGINT, and forgets it if it comes right before exec.
			m := marker(t)
			long := s.Execute("exec sleep "+m, args{"yield_ms": 0})
			mcptest.Until(t, prompt, "exec", func() bool { return mcptest.CommandLine(long.ProcessID) == "sleep "+m })
			begun := time.Now()
			eq(t, "stopped", s.Call("stop", long.On(args{"signal": "SIGINT", "force_after_ms": 20000})).Stopped, true)
			quickly(t, "stop by SIGINT", begun, prompt)
			eq(t, "signal", s.Call("read", long.On(nil)).Signal, "SIGINT")
		})
	}
}

func TestSignalsReachEveryProcessOfTheExecution(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(`for w in "" setsid; do $w sh -c 'trap "echo bye >> said; exit 0" USR1; echo up >> ready; while :; do sleep 0.05; done' & done; wait`, args{"yield_ms": 0})
	mcptest.Until(t, prompt, "both children", func() bool {
		text, _ := os.ReadFile(s.Dir + "/ready")
		return string(text) == "up\nup\n"
	})
	eq(t, "stopped", s.Call("stop", r.On(args{"signal": "SIGUSR1"})).Stopped, true)
	text, err := os.ReadFile(s.Dir + "/said")
	if err != nil {
		t.Fatal(err)
	}
	eq(t, "handlers that ran", string(text), "bye\nbye\n")
}
