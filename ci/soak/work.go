//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// A worker does one thing after the other.
type worker struct {
	server *server
	tally  *tally
	r      *rand.Rand
	serial int
}

func (w *worker) work(stop <-chan struct{}) {
	kinds := []struct {
		name   string
		weight int
		do     func() error
	}{
		{"short commands", 30, w.short},
		{"counted outputs", 12, w.counted},
		{"floods", 4, w.flood},
		{"conversations", 10, w.converse},
		{"stops", 12, w.stop},
		{"killed shells", 8, w.killShell},
		{"killed supervisors", 4, w.killSupervisor},
		{"timeouts", 6, w.timeout},
		{"daemons", 6, w.daemon},
		{"cancelled calls", 10, w.cancel},
		{"refusals", 8, w.refuse},
		{"cleanups", 2, w.cleanup},
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	for {
		select {
		case <-stop:
			return
		case <-w.server.ended:
			return
		default:
		}
		n := w.r.IntN(total)
		i := 0
		for ; n >= kinds[i].weight; i++ {
			n -= kinds[i].weight
		}
		w.tally.count(kinds[i].name)
		if err := kinds[i].do(); err != nil {
			w.tally.fail("%s: %v", kinds[i].name, err)
		}
	}
}

func (w *worker) call(tool string, a args) (result, error) {
	return w.server.call(w.server.ctx, tool, a)
}

// execute runs a command that must at least start.
func (w *worker) execute(command string, more args) (result, error) {
	a := args{"command": command, "side_effects": []string{"NONE"}}
	for name, value := range more {
		a[name] = value
	}
	r, err := w.call("execute", a)
	if err == nil && r.isError {
		err = fmt.Errorf("execute %.100q: %s", command, r.Error)
	}
	return r, err
}

// gone fails if a process lives on.
func gone(pids ...int) error {
	if left := mcptest.Survivors(leftBound, pids...); len(left) > 0 {
		return fmt.Errorf("processes are left: %v %.100q", left, mcptest.CommandLine(left[0]))
	}
	return nil
}

// finished waits for an execution's end, and checks how it ended.
func (w *worker) finished(id string, statuses ...string) (result, error) {
	r, err := w.call("wait", args{"execution_id": id})
	if err != nil {
		return r, err
	}
	if !slices.Contains(statuses, r.Status) {
		return r, fmt.Errorf("status %q (%s), want one of %v", r.Status, r.Error, statuses)
	}
	return r, gone(r.ProcessID)
}

func (w *worker) short() error {
	w.serial++
	want := fmt.Sprintf("%d %d ü\n", w.serial, w.r.Uint32())
	r, err := w.execute("printf %s "+quote(want), nil)
	if err != nil {
		return err
	}
	if r.Status != "completed" {
		if r, err = w.finished(r.ExecutionID, "completed"); err != nil {
			return err
		}
	}
	w.tally.output(len(r.Stdout))
	if r.Stdout != want {
		return fmt.Errorf("got %q, want %q", r.Stdout, want)
	}
	return nil
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// counted reads the output of a command in pieces, by the server's cursor and
// then by its own: each byte must come once, in order.
func (w *worker) counted() error {
	n := 1 + w.r.IntN(4000)
	var want [2]strings.Builder
	for i := range n {
		fmt.Fprintf(&want[0], "line %d of the output\n", i)
		if i%3 == 0 {
			fmt.Fprintf(&want[1], "error %d\n", i)
		}
	}
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "line $i of the output"; [ $((i %% 3)) = 0 ] && echo "error $i" >&2; i=$((i+1)); [ $((i %% 500)) = 0 ] && sleep 0.02; done; :`, n)
	r, err := w.execute(script, args{"yield_ms": w.r.IntN(50)})
	if err != nil {
		return err
	}
	id := r.ExecutionID
	var got [2]strings.Builder
	for {
		got[0].WriteString(r.Stdout)
		got[1].WriteString(r.Stderr)
		if r.Evicted {
			return errors.New("output was evicted")
		}
		if !r.Capped && r.Status != "running" && r.Status != "backgrounded" {
			break
		}
		tool, a := "read", args{"execution_id": id, "max_output_bytes": 1 + w.r.IntN(20_000)}
		if w.r.IntN(2) == 0 {
			tool = "wait"
			a["timeout_ms"] = w.r.IntN(500)
		}
		if r, err = w.call(tool, a); err != nil {
			return err
		}
	}
	var again [2]strings.Builder
	for since, capped := int64(1), true; capped; {
		if r, err = w.call("read", args{"execution_id": id, "since_seq": since}); err != nil {
			return err
		}
		again[0].WriteString(r.Stdout)
		again[1].WriteString(r.Stderr)
		since, capped = r.NextSeq, r.Capped
	}
	for s := range want {
		w.tally.output(want[s].Len() * 2)
		if got[s].String() != want[s].String() || again[s].String() != want[s].String() {
			return fmt.Errorf("stream %d of %d lines: %d bytes came by the cursor, %d by since_seq, and %d were printed",
				s, n, got[s].Len(), again[s].Len(), want[s].Len())
		}
	}
	return nil
}

// flood prints more than is kept.
func (w *worker) flood() error {
	size := 1_000_000 + w.r.IntN(4_000_000)
	r, err := w.execute(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", size), nil)
	if err != nil {
		return err
	}
	if r.Status != "completed" {
		if r, err = w.finished(r.ExecutionID, "completed"); err != nil {
			return err
		}
	}
	if r.LatestSeq != int64(size)+1 {
		return fmt.Errorf("latest_seq is %d after %d bytes", r.LatestSeq, size)
	}
	return nil
}

// converse writes to a command and reads what it answers.
func (w *worker) converse() error {
	r, err := w.execute("cat", args{"close_stdin": false, "yield_ms": 0})
	if err != nil {
		return err
	}
	id := args{"execution_id": r.ExecutionID}
	got, want := r.Stdout, ""
	for i := range 1 + w.r.IntN(5) {
		line := fmt.Sprintf("%d %s", i, strings.Repeat("z", w.r.IntN(3000)))
		want += line + "\n"
		answer, err := w.call("write", args{"execution_id": r.ExecutionID, "input": line, "newline": true})
		if err != nil || !answer.OK {
			return fmt.Errorf("write: %s, %w", answer.Error, err)
		}
	}
	if _, err := w.call("write", args{"execution_id": r.ExecutionID, "input": "", "close_stdin": true}); err != nil {
		return err
	}
	for {
		answer, err := w.call("wait", id)
		if err != nil {
			return err
		}
		got += answer.Stdout
		if !answer.Capped && answer.WaitResult == "exited" {
			break
		}
	}
	w.tally.output(len(got))
	if got != want {
		return fmt.Errorf("got %d bytes, want %d", len(got), len(want))
	}
	return nil
}

// tree is a command with processes in its group, in one of their own and in
// sessions of their own.
func (w *worker) tree() string {
	return []string{
		"exec sleep 1000",
		"sleep 1001 & sleep 1002; :",
		"set -m; sleep 1003 & sleep 1004; :",
		"setsid sleep 1005 & exec sleep 1006",
		"trap '' TERM; sleep 1007; sleep 1008; :",
		"(setsid sh -c 'sleep 1009 & sleep 1010; :' &); sleep 1011; :",
		"yes & exec yes >&2",
	}[w.r.IntN(7)]
}

// startTree starts one, and lists its processes.
func (w *worker) startTree(more args) (id string, pid int, members []int, err error) {
	a := args{"yield_ms": w.r.IntN(100)}
	for name, value := range more {
		a[name] = value
	}
	r, err := w.execute(w.tree(), a)
	if err != nil {
		return "", 0, nil, err
	}
	return r.ExecutionID, r.ProcessID, append(mcptest.Descendants(r.ProcessID), r.ProcessID), nil
}

func (w *worker) stop() error {
	id, _, members, err := w.startTree(nil)
	if err != nil {
		return err
	}
	signal := []string{"SIGTERM", "SIGINT", "SIGKILL", "SIGHUP"}[w.r.IntN(4)]
	r, err := w.call("stop", args{"execution_id": id, "signal": signal, "force_after_ms": w.r.IntN(1000)})
	if err != nil {
		return err
	}
	if !r.Stopped {
		return fmt.Errorf("stop: %s", r.Error)
	}
	if _, err := w.finished(id, "stopped"); err != nil {
		return err
	}
	return gone(members...)
}

// killShell kills a command's shell from outside.
func (w *worker) killShell() error {
	r, err := w.execute("exec sleep 2000", args{"yield_ms": 0})
	if err != nil {
		return err
	}
	if err := syscall.Kill(r.ProcessID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the shell: %w", err)
	}
	end, err := w.finished(r.ExecutionID, "completed")
	if err != nil {
		return err
	}
	if end.ExitCode == nil || *end.ExitCode != -9 || end.Signal != "SIGKILL" {
		return fmt.Errorf("exit code %v, signal %q after a SIGKILL", end.ExitCode, end.Signal)
	}
	return nil
}

// killSupervisor kills the process that stands between the server and a
// command: the execution is lost, and nothing of it is left.
func (w *worker) killSupervisor() error {
	id, pid, members, err := w.startTree(nil)
	if err != nil {
		return err
	}
	supervisor := mcptest.Parent(pid)
	if supervisor == 0 || supervisor == w.server.cmd.Process.Pid {
		return fmt.Errorf("the shell's parent is %d", supervisor)
	}
	if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the supervisor: %w", err)
	}
	if _, err := w.finished(id, "failed"); err != nil {
		return err
	}
	return gone(members...)
}

func (w *worker) timeout() error {
	id, _, members, err := w.startTree(args{"timeout_ms": 100 + w.r.IntN(400)})
	if err != nil {
		return err
	}
	if _, err := w.finished(id, "timed_out"); err != nil {
		return err
	}
	return gone(members...)
}

// daemon leaves a process behind, which stop ends.
func (w *worker) daemon() error {
	r, err := w.execute("setsid sleep 3000 >/dev/null 2>&1 & echo left", nil)
	if err != nil {
		return err
	}
	// The child may need a moment to take a session of its own.
	if r.Status != "completed" {
		if r, err = w.call("wait", args{"execution_id": r.ExecutionID, "since_seq": 1}); err != nil {
			return err
		}
	}
	if r.Status != "completed" || r.Stdout != "left\n" || len(r.Detached) != 1 {
		return fmt.Errorf("status %q, stdout %q, detached %v", r.Status, r.Stdout, r.Detached)
	}
	stopped, err := w.call("stop", args{"execution_id": r.ExecutionID})
	if err != nil || !stopped.Stopped {
		return fmt.Errorf("stop: %q, %w", stopped.Error, err)
	}
	return gone(r.Detached[0].PID)
}

// cancel gives up on a call: the command goes on, and ps shows it.
func (w *worker) cancel() error {
	name := fmt.Sprintf("cancelled by %p", w)
	ctx, cancel := context.WithTimeoutCause(w.server.ctx, time.Duration(w.r.IntN(60))*time.Millisecond, errGaveUp)
	defer cancel()
	_, err := w.server.call(ctx, "execute", args{"command": "exec sleep 4000", "side_effects": []string{"NONE"}, "name": name})
	if !errors.Is(err, errGaveUp) {
		return fmt.Errorf("a call that takes 30 s: %w", err)
	}
	list, err := w.call("ps", args{"include_completed": false, "limit": 1000})
	if err != nil {
		return err
	}
	for _, row := range list.Executions { // it is none if the call was cancelled before it began
		if row.Name == nil || *row.Name != name {
			continue
		}
		ctx, cancel := context.WithTimeoutCause(w.server.ctx, time.Duration(w.r.IntN(30))*time.Millisecond, errGaveUp)
		_, err := w.server.call(ctx, "wait", args{"execution_id": row.ExecutionID})
		cancel()
		if !errors.Is(err, errGaveUp) {
			return fmt.Errorf("a wait that takes 55 s: %w", err)
		}
		if r, err := w.call("stop", args{"execution_id": row.ExecutionID}); err != nil || !r.Stopped {
			return fmt.Errorf("stop: %q, %w", r.Error, err)
		}
		if err := gone(row.ProcessID); err != nil {
			return err
		}
	}
	return nil
}

var errGaveUp = errors.New("gave up")

// refuse makes calls that are wrong.
func (w *worker) refuse() error {
	junk := []any{nil, "", "x", -1, 1.5, 1e300, true, []int{1}, map[string]any{"a": nil}, strings.Repeat("y", 20_000), "\x00", "ü€😀"}
	tool := []string{"execute", "read", "wait", "write", "stop"}[w.r.IntN(5)]
	a := args{}
	for _, name := range []string{"execution_id", "command", "input", "since_seq", "tail_lines", "signal", "streams", "timeout_ms", "cwd", "env"} {
		if w.r.IntN(2) == 0 {
			a[name] = junk[w.r.IntN(len(junk))]
		}
	}
	r, err := w.call(tool, a)
	if err != nil {
		return err
	}
	if !r.isError || r.Error == "" {
		return fmt.Errorf("%s takes %.300v", tool, a)
	}
	return nil
}

func (w *worker) cleanup() error {
	r, err := w.call("cleanup", args{"completed_older_than_ms": 30_000, "stopped_older_than_ms": 30_000})
	if err == nil && r.isError {
		err = errors.New(r.Error)
	}
	return err
}
