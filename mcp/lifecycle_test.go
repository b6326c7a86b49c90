package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

// of is arguments that begin with the execution_id, with more fields in JSON.
func of(id, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf(`{"execution_id": %q%s}`, id, more)
}

func TestUnknownHandles(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		r := b.call("execute", runs(`"yield_ms": 0`))
		id := r.id()
		for _, ident := range []string{"nope", "1000", "", id + " ", strings.ToUpper(id) + "x"} {
			for tool, more := range map[string]string{"read": "", "wait": "", "stop": "", "write": `"input": "x"`} {
				r := b.call(tool, of(ident, more))
				r.want(t, "(isError)", true)
				r.want(t, "execution_id", ident)
				r.want(t, "error", "Unknown execution_id: "+ident)
			}
		}
		for tool, more := range map[string]string{"read": "", "wait": "", "stop": "", "write": `, "input": "x"`} {
			r := b.call(tool, `{"execution_id": 1000`+more+`}`)
			r.want(t, "execution_id", "1000")
			r.contains(t, "error", "Unknown execution_id: 1000", "process_id")
			r = b.call(tool, `{"execution_id": null`+more+`}`)
			r.want(t, "execution_id", nil)
			r.contains(t, "error", "execution_id is required")
		}
		b.call("write", of(id, "")).contains(t, "error", "input is required")
		if len(b.backend.Last().Signals()) != 0 {
			t.Error("something was stopped")
		}
	})
}

func TestReadErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(``)).id()
		for _, tool := range []string{"read", "wait"} {
			r := b.call(tool, of(id, `"tail_lines": 1, "since_seq": 1`))
			r.contains(t, "error", "since_seq", "tail_lines", "exclude")
			for _, n := range []string{"0", "-1", `"0"`} {
				b.call(tool, of(id, `"tail_lines": `+n)).contains(t, "error", "tail_lines must be 1 or more")
			}
		}
		b.call("read", of(id, `"streams": "all"`)).contains(t, "error", `Invalid streams "all"`, "both, stdout, stderr")
	}, prints("hi\n", 0))
}

func TestReadPages(t *testing.T) {
	text := strings.Repeat("0123456789", 30)
	inBubble(t, func(t *testing.T, b *bench) {
		r := b.call("execute", runs(``))
		id, out := r.id(), r.text("stdout")
		r.want(t, "capped", true)
		r.want(t, "next_seq", 101)
		r.contains(t, "hint", "read", id, "since_seq 101")
		for r["capped"] == true {
			r = b.call("read", of(id, `"max_output_bytes": 70`))
			out += r.text("stdout")
		}
		if out != text {
			t.Errorf("read %q", out)
		}
		r = b.call("read", of(id, ``))
		r.want(t, "stdout", "")
		r.want(t, "start_seq", 301)
		for since, want := range map[string]string{"1": text[:100], "-7": text[:100], "0": text[:100], "296": "56789", "301": "", "99999": "", "1e30": ""} {
			b.call("read", of(id, `"since_seq": `+since)).want(t, "stdout", want)
		}
		for limit, want := range map[string]int{"0": 100, "-1": 100, "7": 7, "1e30": 100, `""`: 100} {
			if got := len(b.call("read", of(id, `"since_seq": 1, "max_output_bytes": `+limit)).text("stdout")); got != want {
				t.Errorf("max_output_bytes %s gave %d bytes", limit, got)
			}
		}
		r = b.call("read", of(id, `"streams": "stdout", "max_output_bytes": 5`))
		r.want(t, "stdout", "01234")
		r.contains(t, "hint", `streams "stdout"`, "since_seq 6")
		if _, there := r["stderr"]; there {
			t.Error("stderr is there")
		}
		if _, there := b.call("read", of(id, `"streams": "stderr"`))["stdout"]; there {
			t.Error("stdout is there")
		}
	}, prints(text, 0))
}

func TestReadTail(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(``)).id()
		b.call("read", of(id, `"tail_lines": 2`)).want(t, "stdout", "b\n"+strings.Repeat("c", 50)+"\n")
		r := b.call("read", of(id, `"tail_lines": 1, "max_output_bytes": 10`))
		r.want(t, "stdout", "ccccccccc\n")
		r.contains(t, "hint", "tail_lines 1", "larger max_output_bytes")
		r = b.call("wait", of(id, `"tail_lines": 9e15`))
		r.want(t, "wait_result", "exited")
		r.want(t, "stdout", "a\nb\n"+strings.Repeat("c", 50)+"\n")
	}, prints("a\nb\n"+strings.Repeat("c", 50)+"\n", 0))
}

func TestReadEvicted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.config.MaxOutputBytes = 5000
		r := b.call("execute", runs(``))
		r.want(t, "evicted", true)
		r.want(t, "start_seq", 501)
		r.contains(t, "hint", "YIELDSHELL_MAX_BUFFER_BYTES", "position 501", "since_seq 1501", r.id())
		b.call("read", of(r.id(), `"since_seq": 1400`)).want(t, "evicted", false)
	}, prints(strings.Repeat("x", 1500), 0))
}

// What one stream has lost may lie behind what the other still has.
func TestReadEvictedOfOneStream(t *testing.T) {
	var p *fake.Process
	inBubble(t, func(t *testing.T, b *bench) {
		b.config.MaxOutputBytes = 5000
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		p.Print("kept\n")
		synctest.Wait()
		p.PrintError(strings.Repeat("x", 1500))
		synctest.Wait()
		r := b.call("read", of(id, ""))
		r.want(t, "evicted", true)
		r.want(t, "start_seq", 1)
		r.contains(t, "hint", "Some output was dropped before it was read; what is left of it begins at position 1.")
		p.Exit(0)
	}, func(begun *fake.Process) { p = begun })
}

// A capped tail does not say that all output before it is gone.
func TestReadEvictedTail(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.config.MaxOutputBytes = 5000
		id := b.call("execute", runs(``)).id()
		r := b.call("read", of(id, `"tail_lines": 1000, "max_output_bytes": 10`))
		r.want(t, "evicted", true)
		r.want(t, "start_seq", 1991)
		r.contains(t, "hint", "Fewer than 1000 lines are kept", "larger max_output_bytes")
		if hint := r.text("hint"); strings.Contains(hint, "position") {
			t.Errorf("hint = %q, though output before the tail is kept", hint)
		}
		b.call("read", of(id, `"since_seq": 1991`)).want(t, "evicted", false)
		b.call("read", of(id, `"tail_lines": 1000`)).contains(t, "hint", "begins at position 1001")
	}, prints(strings.Repeat("x\n", 1000), 0))
}

func TestNoHintAtARecordThatIsGone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		r := b.call("execute", runs(``))
		e, _ := b.config.Registry.Get(r.id())
		b.config.Registry.Cleanup(0, 0)
		f := newTools(b.config).output(t.Context(), e, view{})
		if !f.Capped || strings.Contains(f.Hint, r.id()) || !strings.Contains(f.Hint, "removed") {
			t.Errorf("hint is %q", f.Hint)
		}
	}, prints(strings.Repeat("x", 300), 0))
}

func TestWait(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		b.backend.Last().Print("a")
		r := b.call("wait", of(id, `"timeout_ms": 400`))
		for field, want := range map[string]any{"wait_result": "deadline_reached", "status": "running", "max_wait_ms": 400, "waited_ms": 400, "exit_code": nil, "stdout": "a"} {
			r.want(t, field, want)
		}
		r = b.call("wait", of(id, `"timeout_ms": -1`))
		r.want(t, "max_wait_ms", 0)
		r.want(t, "wait_result", "deadline_reached")
		time.AfterFunc(3*time.Second, func() { b.backend.Last().Print("b"); b.backend.Last().Exit(0) })
		r = b.call("wait", of(id, `"timeout_ms": 999999`))
		for field, want := range map[string]any{"wait_result": "exited", "status": "completed", "max_wait_ms": 55000, "waited_ms": 3000, "exit_code": 0, "stdout": "b"} {
			r.want(t, field, want)
		}
		b.call("wait", of(id, `"timeout_ms": 0`)).want(t, "wait_result", "exited")
	})
}

func TestWaitEndsWithTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		time.AfterFunc(time.Second, b.config.Registry.BeginShutdown)
		r := b.call("wait", of(id, ``))
		r.want(t, "wait_result", "deadline_reached")
		r.want(t, "waited_ms", 1000)
	})
}

func TestWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0, "close_stdin": false`)).id()
		p := b.backend.Last()
		r := b.call("write", of(id, `"input": "one\n"`))
		for field, want := range map[string]any{"execution_id": id, "ok": true, "error": nil, "written_bytes": 4, "(isError)": false} {
			r.want(t, field, want)
		}
		b.call("write", of(id, `"input": "two", "newline": "true"`)).want(t, "written_bytes", 4)

		p.Input().Stall(3)
		begun := time.Now()
		r = b.call("write", of(id, `"input": "stalled"`))
		if took := time.Since(begun); took != 55*time.Second {
			t.Errorf("gave up after %v", took)
		}
		r.want(t, "ok", false)
		r.want(t, "written_bytes", 3)
		r.contains(t, "error", "3 of 7 bytes", "did not read its stdin for 55 s")
		p.Input().Resume()

		b.call("write", of(id, `"input": "", "close_stdin": true`)).want(t, "ok", true)
		if p.Input().Text() != "one\ntwo\nsta" || !p.Input().Ended() {
			t.Errorf("the command got %q", p.Input().Text())
		}
		r = b.call("write", of(id, `"input": "x"`))
		r.want(t, "(isError)", true)
		r.contains(t, "error", "stdin is closed")
		p.Exit(0)
		b.call("wait", of(id, ``))
		b.call("write", of(id, `"input": "x"`)).want(t, "error", "not running (status: completed)")
	})
}

func TestWriteToABrokenPipe(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0, "close_stdin": false`)).id()
		b.backend.Last().Input().Break()
		r := b.call("write", of(id, `"input": "x"`))
		r.want(t, "ok", false)
		r.contains(t, "error", "the command has closed its stdin")
	})
}

func TestStop(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		for _, c := range []struct{ argument, sent string }{
			{``, "SIGTERM"}, {`"signal": "SIGINT"`, "SIGINT"}, {`"signal": "usr1"`, "SIGUSR1"}, {`"signal": null`, "SIGTERM"},
		} {
			id := b.call("execute", runs(`"yield_ms": 0`)).id()
			r := b.call("stop", of(id, c.argument))
			for field, want := range map[string]any{"execution_id": id, "stopped": true, "signal": c.sent, "error": nil, "(isError)": false} {
				r.want(t, field, want)
			}
			b.call("read", of(id, ``)).want(t, "status", "stopped")
			r = b.call("stop", of(id, ``))
			for field, want := range map[string]any{"stopped": false, "signal": nil, "error": "not running (status: stopped)", "(isError)": true} {
				r.want(t, field, want)
			}
		}
	})
}

func TestStopRefusesSignals(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		for _, bad := range []string{`"SIGNOPE"`, `"9999"`, `"9"`, `""`, `" SIGTERM"`, `9`} {
			r := b.call("stop", of(id, `"signal": `+bad))
			r.want(t, "stopped", false)
			r.want(t, "signal", nil)
			r.want(t, "(isError)", true)
			r.contains(t, "error", "signal")
		}
		p := b.backend.Last()
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) { return proc.SignalReport{}, proc.ErrUnsupportedSignal })
		r := b.call("stop", of(id, `"signal": "SIGEMT"`))
		r.want(t, "signal", nil)
		r.contains(t, "error", "signal is not supported")
		p.OnSignal(nil)
		b.call("read", of(id, ``)).want(t, "status", "running")
	})
}

func TestStopForces(t *testing.T) {
	for _, c := range []struct {
		argument string
		want     time.Duration
	}{
		{``, 10 * time.Second}, {`"force_after_ms": 500`, 500 * time.Millisecond}, {`"force_after_ms": -1`, 0},
		{`"force_after_ms": 1e9`, execution.MaxForceAfter},
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			id := b.call("execute", runs(`"yield_ms": 0`)).id()
			begun := time.Now()
			r := b.call("stop", of(id, c.argument))
			if took := time.Since(begun); took != c.want {
				t.Errorf("%s took %v", c.argument, took)
			}
			r.want(t, "stopped", true)
			r.want(t, "forced", true)
			b.call("read", of(id, ``)).want(t, "signal", "SIGKILL")
		}, func(p *fake.Process) {
			p.OnSignal(func(proc.Signal) (proc.SignalReport, error) { return proc.SignalReport{Reached: 1}, nil })
		})
	}
}

func TestStopSaysWhatItCouldNotEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		r := b.call("stop", of(id, ``))
		r.want(t, "stopped", false)
		r.want(t, "signal", "SIGTERM")
		r.contains(t, "error", "4711")
		p := b.backend.Last()
		p.OnSignal(nil)
		p.OnKill(nil)
	}, func(p *fake.Process) {
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			return proc.SignalReport{Denied: []int{4711}}, nil
		})
		p.OnKill(func(context.Context) (proc.KillReport, error) { return proc.KillReport{Unkillable: []int{4711}}, nil })
	})
}

func TestPs(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		begun := float64(time.Now().Unix())
		b.call("execute", runs(`"name": "first"`))
		time.Sleep(2500 * time.Millisecond)
		b.call("execute", runs(`"yield_ms": 0`))
		time.Sleep(time.Second)
		rows := b.call("ps", `{}`).rows()
		if len(rows) != 2 {
			t.Fatalf("rows are %v", rows)
		}
		running, done := reply(rows[0].(map[string]any)), reply(rows[1].(map[string]any))
		for field, want := range map[string]any{
			"process_id": 1001, "name": nil, "command": "cmd", "cwd": b.dir, "status": "running", "exit_code": nil, "signal": nil,
			"started_at": begun + 2.5, "ended_at": nil, "duration_ms": 1000, "stdout_bytes": 0, "stderr_bytes": 0,
			"stdin_error": nil, "last_output_at": nil, "idle_ms": nil, "latest_seq": 1,
		} {
			running.want(t, field, want)
		}
		for field, want := range map[string]any{
			"name": "first", "status": "completed", "exit_code": 0, "started_at": begun, "ended_at": begun, "duration_ms": 0,
			"stdout_bytes": 4, "last_output_at": begun, "idle_ms": 3500, "latest_seq": 5,
		} {
			done.want(t, field, want)
		}
		for args, want := range map[string]int{
			`{"include_completed": false}`: 1, `{"include_completed": "false"}`: 1, `{"include_completed": null}`: 2,
			`{"limit": 1}`: 1, `{"limit": 0}`: 0, `{"limit": -3}`: 0, `{"limit": 1e30}`: 2, `{"limit": ""}`: 2, ``: 2,
		} {
			if n := len(b.call("ps", args).rows()); n != want {
				t.Errorf("%s gives %d rows, want %d", args, n, want)
			}
		}
		r := b.call("ps", `{"limit": 1.9}`)
		r.want(t, "(isError)", true)
		r.contains(t, "error", "limit must be a whole number, got 1.9")
	}, prints("one\n", 0))
}

func TestCleanup(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		done := b.call("execute", runs(``)).id()
		dead := b.call("execute", runs(`"yield_ms": 0`)).id()
		b.call("stop", of(dead, ``))
		live := b.call("execute", runs(`"yield_ms": 0`)).id()

		for _, bad := range []string{`{"completed_older_than_ms": -1}`, `{"stopped_older_than_ms": -1, "completed_older_than_ms": 0}`} {
			r := b.call("cleanup", bad)
			r.want(t, "removed", 0)
			r.want(t, "(isError)", true)
			r.contains(t, "error", "older_than_ms must be 0 or more, got -1")
		}
		for _, none := range []string{``, `{}`, `{"completed_older_than_ms": null, "stopped_older_than_ms": ""}`, `{"completed_older_than_ms": 1e30}`} {
			b.call("cleanup", none).want(t, "removed", 0)
		}
		b.call("cleanup", `{"completed_older_than_ms": 0}`).want(t, "removed", 1)
		b.call("read", of(done, ``)).want(t, "error", "Unknown execution_id: "+done)
		b.call("cleanup", `{"stopped_older_than_ms": 0}`).want(t, "removed", 1)
		b.call("read", of(live, ``)).want(t, "status", "running")
	}, prints("", 0))
}
