package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

type processOf = fake.Process

// runs is the arguments of a plain execute, with more fields in JSON.
func runs(more string) string {
	if more != "" {
		more = ", " + more
	}
	return `{"command": "cmd", "side_effects": ["NONE"]` + more + `}`
}

// inBubble runs a test of tools under a clock of its own.
func inBubble(t *testing.T, f func(t *testing.T, b *bench), scripts ...func(*fake.Process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, scripts...)
		defer b.close()
		f(t, b)
	})
}

func TestExecuteCompletes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		r := b.call("execute", runs(`"name": "n", "env": {"NEW": "new", "KEPT": ""}, "shell": "bash"`))
		for field, want := range map[string]any{
			"status": "completed", "process_id": 1000, "exit_code": 3, "signal": nil, "stdout": "out\n", "stderr": "err\n",
			"start_seq": 1, "next_seq": 9, "latest_seq": 9, "capped": false, "evicted": false, "(isError)": false,
		} {
			r.want(t, field, want)
		}
		for _, absent := range []string{"error", "message", "hint", "stdin_error", "detached", "warnings"} {
			if _, there := r[absent]; there {
				t.Errorf("%s is there: %v", absent, r)
			}
		}
		spec := b.backend.Last().Spec
		if spec.Command != "cmd" || spec.Shell != "bash" || spec.Dir != b.dir || strings.Join(spec.Env, " ") != "PATH=/bin KEPT= NEW=new" {
			t.Errorf("started with %+v", spec)
		}
		if !b.backend.Last().Input().Ended() {
			t.Error("stdin is open")
		}
	}, func(p *fake.Process) {
		p.Print("out\n")
		p.PrintError("err\n")
		p.Exit(3)
	})
}

func TestExecuteIsBackgrounded(t *testing.T) {
	for _, c := range []struct {
		argument string
		max      time.Duration
		want     time.Duration
	}{
		{``, 300 * time.Second, 30 * time.Second},
		{`"yield_ms": 400`, 300 * time.Second, 400 * time.Millisecond},
		{`"yield_ms": 0`, 300 * time.Second, 0},
		{`"yield_ms": -5`, 300 * time.Second, 0},
		{`"yield_ms": 300000`, 300 * time.Second, 55 * time.Second},
		{`"yield_ms": 1e30`, 300 * time.Second, 55 * time.Second},
		{`"yield_ms": 50000`, 2 * time.Second, 2 * time.Second},
		{``, 2 * time.Second, 2 * time.Second},
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.config.MaxYield = c.max
			begun := time.Now()
			r := b.call("execute", runs(c.argument))
			if took := time.Since(begun); took != c.want {
				t.Errorf("%s: answered after %v, want %v", c.argument, took, c.want)
			}
			r.want(t, "status", "backgrounded")
			r.want(t, "duration_ms", int(c.want.Milliseconds()))
			r.want(t, "exit_code", nil)
			r.contains(t, "message", "read", "wait", "stop", r.id())
		})
	}
}

func TestExecuteTimeout(t *testing.T) {
	for _, c := range []struct {
		argument string
		want     time.Duration // of the run, zero: no end
	}{
		{`"timeout_ms": 500`, 500 * time.Millisecond},
		{`"timeout_ms": "500.0"`, 500 * time.Millisecond},
		{``, time.Hour},
		{`"timeout_ms": null`, time.Hour},
		{`"timeout_ms": 0`, 0},
		{`"timeout_ms": 1e30`, 0},
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			id := b.call("execute", runs(c.argument)).id()
			e, _ := b.config.Registry.Get(id)
			e.Wait(t.Context(), 48*time.Hour, execution.Conditions{})
			r := b.call("read", fmt.Sprintf(`{"execution_id": %q}`, id))
			if c.want == 0 {
				r.want(t, "status", "running")
				return
			}
			r.want(t, "status", "timed_out")
			r.want(t, "signal", "SIGTERM")
			if got := e.Summary(t.Context()).Duration; got != c.want {
				t.Errorf("%s: ended after %v", c.argument, got)
			}
		})
	}
}

func TestExecuteRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want []string // parts of the error
	}{
		{`{"side_effects": ["NONE"]}`, []string{"command is required"}},
		{`{"command": "x"}`, []string{"side_effects is required"}},
		{`{}`, []string{"command is required", "side_effects is required"}},
		{`[]`, []string{"arguments must be an object"}},
		{`{"command": 5, "side_effects": ["NONE"]}`, []string{"command must be a string, got 5"}},
		{`{"command": ["ls"], "side_effects": ["NONE"]}`, []string{`command must be a string, got ["ls"]`}},
		{`{"command": "", "side_effects": ["NONE"]}`, []string{"command must not be empty"}},
		{`{"command": " \n\t", "side_effects": ["NONE"]}`, []string{"command must not be empty"}},
		{`{"command": "a\u0000b", "side_effects": ["NONE"]}`, []string{"command must not contain a NUL"}},
		{`{"command": "x", "side_effects": []}`, []string{"side_effects must name at least one"}},
		{`{"command": "x", "side_effects": ["none"]}`, []string{"side_effects", "NONE"}},
		{`{"command": "x", "side_effects": ["NONE", "OTHER"]}`, []string{"side_effects", "alone"}},
		{`{"command": "x", "side_effects": "RUNS_INLINE_CODE"}`, []string{"policy", "before the process started", "RUNS_INLINE_CODE"}},
		{runs(`"shell": ""`), []string{"shell must not be empty"}},
		{runs(`"shell": "  "`), []string{"shell must not be empty"}},
		{runs(`"shell": "a\u0000"`), []string{"shell must not contain a NUL"}},
		{runs(`"cwd": "/no/such/directory"`), []string{"cwd", "such", "does not exist"}},
		{runs(fmt.Sprintf(`"cwd": %q`, file)), []string{"cwd", "file"}},
		{runs(`"cwd": "a\u0000"`), []string{"cwd must not contain a NUL"}},
		{runs(`"env": {"A=B": "c"}`), []string{"env", "A=B"}},
		{runs(`"env": {"A": "x\u0000y"}`), []string{"env", "NUL"}},
		{runs(`"env": {"": "x"}`), []string{"env", "empty"}},
		{runs(`"env": {"A": {}}`), []string{"env", `"A"`}},
		{runs(`"timeout_ms": -1`), []string{"timeout_ms must be 0 or more, got -1"}},
		{runs(`"yield_ms": "soon"`), []string{`yield_ms must be a whole number of milliseconds, got "soon"`}},
		{runs(`"yield_ms": 0.5, "close_stdin": "maybe", "cwd": 7`), []string{"yield_ms", "close_stdin", "cwd must be a string, got 7"}},
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			r := b.call("execute", c.args)
			r.want(t, "status", "failed_to_start")
			r.want(t, "(isError)", true)
			r.want(t, "next_seq", 1)
			r.contains(t, "error", c.want...)
			for _, absent := range []string{"execution_id", "process_id"} {
				if _, there := r[absent]; there {
					t.Errorf("%s has %s", c.args, absent)
				}
			}
			if n := len(b.backend.Started()); n != 0 {
				t.Errorf("%s started %d processes", c.args, n)
			}
			if rows := b.call("ps", `{}`).rows(); len(rows) != 0 {
				t.Errorf("%s left a record: %v", c.args, rows)
			}
		})
	}
}

func TestExecuteStartErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&proc.StartError{Op: "shell", Err: errors.New(`"nosh" was not found`)}, `shell: "nosh" was not found`},
		{&proc.StartError{Op: "cwd", Err: os.ErrNotExist}, "cwd: file does not exist"},
		{&proc.StartError{Op: "command", Err: proc.ErrTooLong}, "command: too long for this system"},
		{&proc.StartError{Op: "pipe", Err: errors.New("too many open files")}, "the command could not be started: pipe: too many open files"},
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.backend.Begin = func(*fake.Process) error { return c.err }
			r := b.call("execute", runs(``))
			r.want(t, "status", "failed_to_start")
			r.want(t, "error", c.want)
		})
	}
}

func TestExecuteIsRefusedAtTheLimitAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		b.config.Registry = execution.New(execution.Options{Backend: b.backend, BufferBytes: 100, MaxProcesses: 1, Retention: time.Hour, MaxRetained: 1})
		b.call("execute", runs(`"yield_ms": 0`)).want(t, "status", "backgrounded")
		r := b.call("execute", runs(``))
		r.want(t, "status", "failed_to_start")
		r.contains(t, "error", "limit", "YIELDSHELL_MAX_PROCESSES is 1")
		b.config.Registry.BeginShutdown()
		b.call("execute", runs(``)).contains(t, "error", "shutting down")
		b.config.Registry.Shutdown(nil)
	})
}

func TestExecutePolicyComesInOrder(t *testing.T) {
	b := newBench(t) // not in a bubble: the expression engine keeps a clock of its own
	b.config.Commands = must(policy.NewCommands("rm|zsh", "^[a-z ]+$"))
	b.config.Dirs.Roots = []string{b.dir}
	for _, c := range []struct{ args, want string }{
		{`{"command": "rm", "side_effects": ["RUNS_INLINE_CODE"], "cwd": "/", "env": {"=": ""}}`, "RUNS_INLINE_CODE"},
		{`{"command": "rm", "side_effects": ["NONE"], "shell": "zsh", "cwd": "/", "env": {"=": ""}}`, "command denied by policy"},
		{`{"command": "LS", "side_effects": ["NONE"]}`, "command not allowed by policy"},
		{`{"command": "ls", "side_effects": ["NONE"], "shell": "zsh", "cwd": "/", "env": {"=": ""}}`, "Shell rejected by policy"},
		{`{"command": "ls", "side_effects": ["NONE"], "cwd": "/", "env": {"=": ""}}`, "allowed"},
		{`{"command": "ls", "side_effects": ["NONE"], "env": {"=": ""}}`, "env"},
	} {
		r := b.call("execute", c.args)
		r.want(t, "status", "failed_to_start")
		r.contains(t, "error", c.want)
	}
}

func TestExecuteSecrets(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.config.Secrets = secretsOf("MY_TOKEN", "supersecretvalue")
		b.config.Sensitive = func(name string) bool { return strings.Contains(name, "TOKEN") }
		r := b.call("execute", `{"command": "echo supersecretvalue", "side_effects": ["NONE"], "name": "n overlaysecret",
			"env": {"EXTRA_TOKEN": "overlaysecret", "PLAIN": "plainvalue"}}`)
		r.want(t, "stdout", "[REDACTED:MY_TOKEN] [REDACTED:EXTRA_TOKEN] plainvalue\n")
		row := b.call("ps", `{}`).rows()[0].(map[string]any)
		if row["name"] != "n [REDACTED:EXTRA_TOKEN]" || row["command"] != "echo [REDACTED:MY_TOKEN]" {
			t.Errorf("ps shows %v", row)
		}
		r = b.call("execute", runs(`"cwd": "/overlaysecret", "env": {"EXTRA_TOKEN": "overlaysecret"}`))
		if strings.Contains(r.text("error"), "overlaysecret") {
			t.Errorf("error is %q", r.text("error"))
		}
		b.call("execute", runs(`"env": {"EXTRA_TOKEN": {"overlaysecret": 1}}`)).contains(t, "error", "EXTRA_TOKEN")
	}, prints("supersecretvalue overlaysecret plainvalue\n", 0))
}

func TestExecuteStdin(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.call("execute", runs(`"stdin": "héllo", "yield_ms": 1`))
		if in := b.backend.Last().Input(); in.Text() != "héllo" || !in.Ended() {
			t.Errorf("stdin is %q, ended %v", in.Text(), in.Ended())
		}
		b.call("execute", runs(`"close_stdin": false, "yield_ms": 1`))
		if b.backend.Last().Input().Ended() {
			t.Error("stdin is closed")
		}
		r := b.call("execute", runs(`"stdin": "never read", "yield_ms": 10`))
		r.contains(t, "stdin_error", "0 of 10 bytes")
		row := b.call("ps", `{"limit": 1}`).rows()[0].(map[string]any)
		if row["stdin_error"] != r["stdin_error"] {
			t.Errorf("ps shows %v", row)
		}
	}, func(*fake.Process) {}, func(*fake.Process) {}, func(p *fake.Process) { p.Input().Break() })
}

// What a timeout is ending has not been left running.
func TestATimeoutNamesWhatIsNotGoneYet(t *testing.T) {
	server := proc.Member{PID: 42, Name: "server"}
	inBubble(t, func(t *testing.T, b *bench) {
		r := b.call("execute", runs(`"timeout_ms": 1000`))
		r.want(t, "status", "timed_out")
		r.want(t, "message", "Told to end, but not gone yet: server (process 42).")
	}, func(p *fake.Process) {
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			p.ShellEnds(proc.Exit{Code: 143, Signal: "SIGTERM"})
			p.SessionEnds(server)
			return proc.SignalReport{Reached: 2}, nil
		})
	})
}

// While an execution is being ended its status is still running, and only a
// message tells.
func TestWhatIsBeingEndedSaysSo(t *testing.T) {
	deaf := func(p *fake.Process) {
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) { return proc.SignalReport{Reached: 1}, nil })
	}
	inBubble(t, func(t *testing.T, b *bench) {
		r := b.call("execute", runs(`"timeout_ms": 300, "yield_ms": 600`))
		r.want(t, "status", "backgrounded")
		r.contains(t, "message", "timeout_ms has passed")
		b.call("read", of(r.id(), ``)).contains(t, "message", "timeout_ms has passed")

		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		if text := b.call("read", of(id, ``)).text("message"); text != "" {
			t.Errorf("nobody has told it to end: %s", text)
		}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			b.call("stop", of(id, `"force_after_ms": 5000`)).want(t, "stopped", true)
		}()
		synctest.Wait()
		b.call("wait", of(id, `"timeout_ms": 0`)).contains(t, "message", "A stop of this execution is under way")
		<-stopped
		if text := b.call("read", of(id, ``)).text("message"); text != "" {
			t.Errorf("it has ended: %s", text)
		}

		id = b.call("execute", runs(`"yield_ms": 0`)).id()
		b.config.Registry.BeginShutdown()
		b.call("wait", of(id, ``)).contains(t, "message", "The server is shutting down")
	}, deaf, deaf, deaf)
}

func TestExecuteNamesWhatRunsOn(t *testing.T) {
	server := proc.Member{PID: 42, Name: "server"}
	inBubble(t, func(t *testing.T, b *bench) {
		begun := time.Now()
		r := b.call("execute", runs(``))
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("waited %v for attached processes", took)
		}
		r.want(t, "status", "backgrounded")
		r.want(t, "exit_code", 0)
		r.contains(t, "message", "shell has ended", "server (process 42)", r.id())

		r = b.call("execute", runs(``))
		r.want(t, "status", "completed")
		r.contains(t, "message", "server (process 42)", "stop", r.id())
		if d := fmt.Sprint(r["detached"]); d != "[map[name:server process_id:42]]" {
			t.Errorf("detached is %s", d)
		}
		r = b.call("read", fmt.Sprintf(`{"execution_id": %q}`, r.id()))
		r.contains(t, "message", "server (process 42)")
		row := b.call("ps", `{"limit": 1}`).rows()[0].(map[string]any)
		if d := fmt.Sprint(row["detached"]); d != "[map[name:server process_id:42]]" {
			t.Errorf("detached in ps is %s", d)
		}
	}, func(p *fake.Process) { p.ShellEnds(proc.Exit{}, server) },
		func(p *fake.Process) { p.ShellEnds(proc.Exit{}); p.SessionEnds(server) })
}

func TestExecuteLost(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		r := b.call("execute", runs(``))
		r.want(t, "status", "failed")
		r.want(t, "exit_code", nil)
		r.contains(t, "error", "lost hold", "the supervisor died")
	}, func(p *fake.Process) { p.Lose(errors.New("the supervisor died")) })
}

func TestCancelledCallsConsumeNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		id := b.callContext(ctx, "execute", runs(``)).id()
		for _, tool := range []string{"wait", "read"} {
			b.callContext(ctx, tool, fmt.Sprintf(`{"execution_id": %q}`, id))
		}
		r := b.call("read", fmt.Sprintf(`{"execution_id": %q}`, id))
		r.want(t, "status", "running")
		r.want(t, "stdout", "early")
	}, func(p *fake.Process) { p.Print("early") })
}

// A call that is cancelled while it waits to be worked on starts nothing.
func TestCancelledBeforeTheStart(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := b.callContext(ctx, "execute", runs(""))
		r.want(t, "status", failedToStart)
		r.contains(t, "error", "cancelled before")
		if n := len(b.backend.Started()); n != 0 {
			t.Errorf("%d processes were started", n)
		}
	})
}

// An answer that nobody waits for is made small, and moves no cursor; one that
// is waited for takes its turn first.
func TestTurnBeforeOutput(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 1, "max_output_bytes": 1`)).id()
		turns := 0
		b.config.Turn = func(context.Context) error {
			turns++
			return context.Canceled
		}
		if r := b.call("read", of(id, "")); len(r.text("stdout")) > 1 {
			t.Errorf("nobody waits for %v", r)
		}
		b.call("wait", of(id, `"timeout_ms": 0, "since_seq": 1`)).want(t, "stdout", "0")
		if r := b.call("ps", "{}"); len(r.rows()) != 0 {
			t.Errorf("nobody waits for %v", r)
		}
		b.call("stop", of(id, ""))
		if turns != 3 {
			t.Errorf("%d turns were taken", turns)
		}
		b.config.Turn = nil
		b.call("read", of(id, "")).want(t, "stdout", "123456789")
	}, func(p *fake.Process) { p.Print("0123456789") })
}
