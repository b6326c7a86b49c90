package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

// Limits of the server under test, small so that they are met often.
const (
	modelProcesses = 4
	modelRetained  = 3
	modelRetention = 10 * time.Minute
	modelBuffer    = 40
	modelOutput    = 30
	modelTimeout   = time.Minute
)

// TestCallsAgainstModel makes random calls, lets random things happen to the
// commands, and compares every answer with a model that is too simple to be
// wrong. A failure is cut down to the fewest steps that show it.
//
// It runs under a clock of its own, where nothing happens while a step runs
// but what the step has caused.
func TestCallsAgainstModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		// The wrapper hides that it is a *testing.T, whose deadline may not be
		// asked for in a bubble.
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			m := newServerModel(rt, b)
			defer m.backendRegistry().Shutdown(nil)
			rt.Repeat(map[string]func(*rapid.T){
				"":         m.checkPs,
				"execute":  m.execute,
				"refused":  m.refused,
				"print":    m.print,
				"exit":     m.exit,
				"attached": m.leaveAttached,
				"detached": m.leaveDetached,
				"read":     m.read,
				"wait":     m.wait,
				"write":    m.write,
				"stop":     m.stop,
				"cleanup":  m.cleanup,
				"ps":       m.ps,
				"time":     m.passTime,
			})
		})
	})
}

// serverModel is what a client would expect of the server.
type serverModel struct {
	t     *rapid.T
	bench *bench
	// execs are those that the server knows, by their start.
	execs []*execModel
	// forgotten are handles that no longer exist.
	forgotten []string
}

// execModel is an execution: a list of bytes, a cursor and a state.
type execModel struct {
	id      string
	process *fake.Process

	output [2][]int // positions of the bytes of each stream that are kept
	bytes  []byte   // bytes[i] has the position i+1
	lost   [2]int   // position of the newest evicted byte of each stream
	totals [2]int
	cursor int

	stdin     string
	stdinOpen bool

	status   string
	exit     *float64
	signal   any
	ended    time.Time
	deadline time.Time
	guarded  bool // completed, with a detached process left
	attached bool // the shell has ended, and an attached process lives
}

func newServerModel(rt *rapid.T, b *bench) *serverModel {
	b.backend = &fake.Backend{}
	b.config.Registry = execution.New(execution.Options{
		Backend: b.backend, BufferBytes: modelBuffer, MaxProcesses: modelProcesses,
		Retention: modelRetention, MaxRetained: modelRetained,
	})
	b.config.MaxOutputBytes = modelOutput
	b.config.DefaultTimeout = 0
	return &serverModel{t: rt, bench: b}
}

func (m *serverModel) backendRegistry() *execution.Registry { return m.bench.config.Registry }

// call calls a tool. A millisecond passes, so that no two steps happen at the
// same time.
func (m *serverModel) call(tool string, arguments args) reply {
	time.Sleep(time.Millisecond)
	raw, err := json.Marshal(arguments)
	if err != nil {
		m.t.Fatal(err)
	}
	a := m.bench.config.callers()[tool].answer(m.bench.t.Context(), raw)
	var r reply
	var value any
	text := []byte(render(a))
	if err := json.Unmarshal(text, &r); err != nil {
		m.t.Fatalf("%s %s: %v in %s", tool, raw, err, text)
	}
	_ = json.Unmarshal(text, &value)
	if err := m.bench.outputSchema(tool).Validate(value); err != nil {
		m.t.Fatalf("%s %s: %s does not validate: %v", tool, raw, text, err)
	}
	r["(isError)"] = a.failed()
	synctest.Wait()
	return r
}

type args map[string]any

// want compares fields of an answer.
func (m *serverModel) want(r reply, fields args) {
	for name, want := range fields {
		if n, ok := want.(int); ok {
			want = float64(n)
		}
		if got, there := r[name]; !there || got != want {
			m.t.Fatalf("%s is %#v (there: %v), want %#v in %v", name, got, there, want, r)
		}
	}
}

func pick[T any](t *rapid.T, name string, from ...T) T { return rapid.SampledFrom(from).Draw(t, name) }

// some returns a known execution that holds, or skips the step.
func (m *serverModel) some(holds func(*execModel) bool) *execModel {
	var fit []*execModel
	for _, e := range m.execs {
		if holds(e) {
			fit = append(fit, e)
		}
	}
	if len(fit) == 0 {
		m.t.Skip("no such execution")
	}
	return fit[rapid.IntRange(0, len(fit)-1).Draw(m.t, "execution")]
}

func (e *execModel) running() bool { return e.status == "running" }

// live reports whether something holds the output pipes.
func (e *execModel) live() bool { return e.running() || e.guarded }

func (m *serverModel) known(*execModel) bool { return true }

// unknown makes the call with a handle that does not exist, if it is drawn.
func (m *serverModel) unknown(tool string, arguments args) bool {
	if !pick(m.t, "known", true, true, true, true, false) || len(m.execs) == 0 {
		id := pick(m.t, "id", append([]string{"nope", "1000"}, m.forgotten...)...)
		arguments["execution_id"] = id
		r := m.call(tool, arguments)
		m.want(r, args{"(isError)": true, "execution_id": id, "error": "Unknown execution_id: " + id})
		return true
	}
	return false
}

// The steps.

func (m *serverModel) execute(t *rapid.T) {
	m.t = t
	code := pick(t, "exit code", -1, -1, 0, 7) // -1: it goes on
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\né€😀")), 0, 60, -1).Draw(t, "output")
	stream := pick(t, "stream", 0, 1)
	open := rapid.Bool().Draw(t, "stdin open")
	input := ""
	if code < 0 { // one that ends at once may not have read it
		input = pick(t, "stdin", "", "first\n")
	}
	limited := rapid.Bool().Draw(t, "timeout")
	limit := rapid.IntRange(0, modelOutput+5).Draw(t, "max_output_bytes")
	m.bench.backend.Begin = func(p *fake.Process) error {
		printTo(p, stream, text)
		if code >= 0 {
			p.Exit(int64(code))
		}
		return nil
	}
	arguments := args{
		"command": "cmd", "side_effects": "NONE", "yield_ms": 1, "stdin": input, "close_stdin": !open,
		"max_output_bytes": limit,
	}
	if limited {
		arguments["timeout_ms"] = modelTimeout.Milliseconds()
	}
	begun := time.Now().Add(time.Millisecond) // call lets one pass first
	m.reap(begun)
	full := m.count((*execModel).running) >= modelProcesses
	r := m.call("execute", arguments)
	if full {
		m.want(r, args{"(isError)": true, "status": failedToStart, "stdout": "", "stderr": ""})
		return
	}
	e := &execModel{
		id: r.id(), process: m.bench.backend.Last(), cursor: 1,
		stdin: input, stdinOpen: open, status: "running",
	}
	if limited {
		e.deadline = begun.Add(modelTimeout)
	}
	m.execs = append(m.execs, e)
	e.print(stream, text)
	status := backgrounded
	if code >= 0 {
		e.end("completed", code, nil, begun)
		status = "completed"
	}
	m.want(r, args{"(isError)": false, "status": status, "process_id": e.process.PID()})
	m.wantExit(r, e)
	m.wantNext(r, e, limit)
	if got := e.process.Input().Text(); got != input {
		t.Fatalf("the command read %q, want %q", got, input)
	}
}

// refused makes calls that policy or a backend refuse: they leave no trace,
// but the backend's refusal comes after records have been reaped.
func (m *serverModel) refused(t *rapid.T) {
	m.t = t
	arguments := args{"command": "cmd", "side_effects": "NONE"}
	switch pick(t, "reason", "blocked", "blank", "backend") {
	case "blocked":
		arguments["side_effects"] = "RUNS_INLINE_CODE"
	case "blank":
		arguments["command"] = " "
	default:
		m.reap(time.Now().Add(time.Millisecond))
		m.bench.backend.Begin = func(*fake.Process) error { return &proc.StartError{Op: "fork", Err: proc.ErrClosed} }
	}
	m.want(m.call("execute", arguments), args{"(isError)": true, "status": failedToStart, "next_seq": 1})
}

func printTo(p *fake.Process, stream int, text string) {
	switch {
	case text == "":
	case stream == 0:
		p.Print(text)
	default:
		p.PrintError(text)
	}
}

func (m *serverModel) print(t *rapid.T) {
	m.t = t
	e := m.some((*execModel).live)
	stream := pick(t, "stream", 0, 1)
	text := rapid.StringOfN(rapid.RuneFrom([]rune("xyz\nü€😀")), 1, 70, -1).Draw(t, "text")
	printTo(e.process, stream, text)
	synctest.Wait()
	e.print(stream, text)
}

func (m *serverModel) exit(t *rapid.T) {
	m.t = t
	time.Sleep(time.Millisecond)
	e := m.some((*execModel).running)
	code := pick(t, "code", 0, 1, 137)
	if e.attached {
		code = int(*e.exit) // the shell's, which has ended before
	}
	e.process.Exit(int64(code))
	synctest.Wait()
	e.end("completed", code, nil, time.Now())
}

// leaveAttached lets the shell end while a process in its session lives on.
func (m *serverModel) leaveAttached(t *rapid.T) {
	m.t = t
	e := m.some(func(e *execModel) bool { return e.running() && !e.attached })
	e.process.ShellEnds(proc.Exit{Code: 5}, proc.Member{PID: 9, Name: "left"})
	synctest.Wait()
	e.attached = true
	five := 5.0
	e.exit = &five
}

// leaveDetached lets the command end while a process in a session of its own
// lives on.
func (m *serverModel) leaveDetached(t *rapid.T) {
	m.t = t
	time.Sleep(time.Millisecond)
	e := m.some(func(e *execModel) bool { return e.running() && !e.attached })
	e.process.ShellEnds(proc.Exit{Code: 0})
	e.process.SessionEnds(proc.Member{PID: 8, Name: "daemon"})
	synctest.Wait()
	e.end("completed", 0, nil, time.Now())
	e.guarded = true
}

func (m *serverModel) read(t *rapid.T) {
	m.t = t
	arguments := args{}
	if m.unknown("read", arguments) {
		return
	}
	e := m.some(m.known)
	arguments["execution_id"] = e.id
	limit := rapid.IntRange(-1, modelOutput+5).Draw(t, "max_output_bytes")
	arguments["max_output_bytes"] = limit
	streams := pick(t, "streams", "both", "both", "stdout", "stderr")
	arguments["streams"] = streams
	switch pick(t, "from", "cursor", "cursor", "since", "tail") {
	case "cursor":
		r := m.call("read", arguments)
		if streams == "both" {
			m.wantNext(r, e, limit)
		} else {
			m.wantPage(r, e, 1, limit, streams)
		}
	case "since":
		since := rapid.IntRange(-2, len(e.bytes)+5).Draw(t, "since_seq")
		arguments["since_seq"] = since
		m.wantPage(m.call("read", arguments), e, since, limit, streams)
	case "tail":
		// What it holds is checked in package buffer; here, that it is a peek.
		arguments["tail_lines"] = rapid.IntRange(1, 5).Draw(t, "tail_lines")
		m.want(m.call("read", arguments), args{"latest_seq": len(e.bytes) + 1, "next_seq": len(e.bytes) + 1})
	}
}

func (m *serverModel) wait(t *rapid.T) {
	m.t = t
	arguments := args{"timeout_ms": pick(t, "timeout_ms", 0, 5)}
	if m.unknown("wait", arguments) {
		return
	}
	e := m.some(m.known)
	arguments["execution_id"] = e.id
	m.passed(time.Now().Add(6 * time.Millisecond))
	r := m.call("wait", arguments)
	result := exited
	if e.running() {
		result = deadlineReached
	}
	m.want(r, args{"wait_result": result, "status": e.status, "max_wait_ms": arguments["timeout_ms"]})
	m.wantExit(r, e)
	m.wantNext(r, e, 0)
}

func (m *serverModel) write(t *rapid.T) {
	m.t = t
	text := rapid.StringOfN(rapid.RuneFrom([]rune("in\nü")), 0, 5, -1).Draw(t, "input")
	newline, last := rapid.Bool().Draw(t, "newline"), pick(t, "close_stdin", false, false, true)
	arguments := args{"input": text, "newline": newline, "close_stdin": last}
	if m.unknown("write", arguments) {
		return
	}
	e := m.some(m.known)
	arguments["execution_id"] = e.id
	r := m.call("write", arguments)
	switch {
	case !e.running():
		m.want(r, args{"ok": false, "error": fmt.Sprintf("not running (status: %s)", e.status)})
	case !e.stdinOpen:
		m.want(r, args{"ok": false, "error": execution.ErrStdinClosed.Error()})
	default:
		m.want(r, args{"ok": true, "error": nil})
		e.stdin += text
		if newline {
			e.stdin += "\n"
		}
		e.stdinOpen = !last
	}
	if got := e.process.Input(); got.Text() != e.stdin || e.running() && got.Ended() == e.stdinOpen {
		t.Fatalf("the command read %q (ended: %v), want %q", got.Text(), got.Ended(), e.stdin)
	}
}

func (m *serverModel) stop(t *rapid.T) {
	m.t = t
	signal := pick(t, "signal", "SIGTERM", "SIGINT", "int")
	arguments := args{"signal": signal}
	if m.unknown("stop", arguments) {
		return
	}
	e := m.some(m.known)
	arguments["execution_id"] = e.id
	parsed, err := proc.ParseSignal(signal)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now().Add(time.Millisecond)
	r := m.call("stop", arguments)
	switch {
	case e.running():
		m.want(r, args{"stopped": true, "error": nil, "signal": string(parsed)})
		if e.attached {
			e.end("stopped", int(*e.exit), nil, begun)
		} else {
			e.end("stopped", -15, string(parsed), begun)
		}
	case e.guarded: // what it left behind is ended, and the rest stays
		m.want(r, args{"stopped": true, "error": nil})
		e.guarded = false
	default:
		m.want(r, args{"stopped": false, "error": fmt.Sprintf("not running (status: %s)", e.status), "signal": nil})
	}
}

func (m *serverModel) cleanup(t *rapid.T) {
	m.t = t
	completed := pick(t, "completed_older_than_ms", 0, 60_000, 3_600_000)
	stopped := pick(t, "stopped_older_than_ms", 0, 60_000, 3_600_000)
	now := time.Now().Add(time.Millisecond)
	removed := m.forget(func(e *execModel) bool {
		age := stopped
		if e.status == "completed" {
			age = completed
		}
		return e.retained() && now.Sub(e.ended) >= time.Duration(age)*time.Millisecond
	})
	r := m.call("cleanup", args{"completed_older_than_ms": completed, "stopped_older_than_ms": stopped})
	m.want(r, args{"removed": removed})
}

func (m *serverModel) ps(t *rapid.T) {
	m.t = t
	all, limit := rapid.Bool().Draw(t, "include_completed"), rapid.IntRange(-1, 6).Draw(t, "limit")
	m.wantRows(m.call("ps", args{"include_completed": all, "limit": limit}), all, limit)
}

// passTime lets time pass: timeouts fire, records grow old.
func (m *serverModel) passTime(t *rapid.T) {
	m.t = t
	d := pick(t, "time", time.Second, modelTimeout/2, modelTimeout, modelRetention)
	m.passed(time.Now().Add(d))
	time.Sleep(d)
	synctest.Wait()
}

// passed ends what will have timed out at that time.
func (m *serverModel) passed(then time.Time) {
	for _, e := range m.execs {
		if !e.running() || e.deadline.IsZero() || e.deadline.After(then) {
			continue
		}
		if e.attached {
			e.end("timed_out", int(*e.exit), nil, e.deadline)
		} else {
			e.end("timed_out", -15, "SIGTERM", e.deadline)
		}
	}
}

// checkPs compares everything that ps shows, after each step.
func (m *serverModel) checkPs(t *rapid.T) {
	m.t = t
	m.passed(time.Now().Add(time.Millisecond))
	m.wantRows(m.call("ps", args{"limit": 100}), true, 100)
}

// The model.

func (e *execModel) print(stream int, text string) {
	for i := range len(text) {
		e.bytes = append(e.bytes, text[i])
		e.output[stream] = append(e.output[stream], len(e.bytes))
	}
	e.totals[stream] += len(text)
	kept := e.output[stream]
	for len(kept) > modelBuffer || len(kept) > 0 && !utf8.RuneStart(e.bytes[kept[0]-1]) {
		e.lost[stream] = kept[0]
		kept = kept[1:]
	}
	e.output[stream] = kept
}

func (e *execModel) end(status string, code int, signal any, at time.Time) {
	number := float64(code)
	e.status, e.exit, e.signal, e.ended, e.attached = status, &number, signal, at, false
	e.stdinOpen = false
}

// retained reports whether the record may be reaped.
func (e *execModel) retained() bool { return !e.running() && !e.guarded }

func (m *serverModel) count(holds func(*execModel) bool) int {
	n := 0
	for _, e := range m.execs {
		if holds(e) {
			n++
		}
	}
	return n
}

// forget drops the executions that are gone, and returns how many.
func (m *serverModel) forget(gone func(*execModel) bool) int {
	before := len(m.execs)
	m.execs = slices.DeleteFunc(slices.Clone(m.execs), func(e *execModel) bool {
		if gone(e) {
			m.forgotten = append(m.forgotten, e.id)
			return true
		}
		return false
	})
	return before - len(m.execs)
}

// reap is what happens before a start.
func (m *serverModel) reap(now time.Time) {
	m.passed(now)
	m.forget(func(e *execModel) bool { return e.retained() && now.Sub(e.ended) >= modelRetention })
	for m.count((*execModel).retained) > modelRetained {
		var oldest *execModel
		for _, e := range m.execs {
			if e.retained() && (oldest == nil || e.ended.Before(oldest.ended)) {
				oldest = e
			}
		}
		m.forget(func(e *execModel) bool { return e == oldest })
	}
}

func (m *serverModel) wantExit(r reply, e *execModel) {
	var code any
	if e.exit != nil {
		code = *e.exit
	}
	m.want(r, args{"exit_code": code, "signal": e.signal})
}

// wantNext checks an answer that goes on from the server-side cursor.
func (m *serverModel) wantNext(r reply, e *execModel, limit int) {
	e.cursor = m.wantPage(r, e, e.cursor, limit, "both")
}

// wantPage checks the output in an answer, and returns where it ends.
func (m *serverModel) wantPage(r reply, e *execModel, from, limit int, streams string) (next int) {
	if limit < 1 || limit > modelOutput {
		limit = modelOutput
	}
	from = min(max(from, 1), len(e.bytes)+1)
	selected := map[string][]int{"both": {0, 1}, "stdout": {0}, "stderr": {1}}[streams]
	stream := make(map[int]int) // of each kept position
	evicted := false
	for _, s := range selected {
		evicted = evicted || e.lost[s] >= from
		for _, at := range e.output[s] {
			if at >= from {
				stream[at] = s
			}
		}
	}
	var text [2]strings.Builder
	start, size, capped := from, 0, false
	next = len(e.bytes) + 1
	for at := from; at <= len(e.bytes); at++ {
		s, there := stream[at]
		if !there || !utf8.RuneStart(e.bytes[at-1]) {
			continue
		}
		_, length := utf8.DecodeRune(e.bytes[at-1:])
		if size > 0 && size+length > limit {
			capped = true
			break
		}
		if size == 0 {
			start = at
		}
		text[s].Write(e.bytes[at-1 : at-1+length])
		size += length
		next = at + length
	}
	if !capped {
		next = len(e.bytes) + 1
	}
	want := args{"start_seq": start, "next_seq": next, "latest_seq": len(e.bytes) + 1, "capped": capped, "evicted": evicted}
	for _, s := range selected {
		want[[]string{"stdout", "stderr"}[s]] = text[s].String()
	}
	m.want(r, want)
	if _, hint := r["hint"]; hint != (capped || evicted) {
		m.t.Fatalf("hint: %v in %v", hint, r)
	}
	return next
}

func (m *serverModel) wantRows(r reply, all bool, limit int) {
	var want []*execModel
	for _, e := range slices.Backward(m.execs) {
		if len(want) < limit && (all || e.running()) {
			want = append(want, e)
		}
	}
	rows := r.rows()
	if len(rows) != len(want) {
		m.t.Fatalf("ps has %d rows, want %d: %v", len(rows), len(want), r)
	}
	for i, e := range want {
		row := reply(rows[i].(map[string]any))
		m.want(row, args{
			"execution_id": e.id, "process_id": e.process.PID(), "status": e.status, "latest_seq": len(e.bytes) + 1,
			"stdout_bytes": e.totals[0], "stderr_bytes": e.totals[1], "stdin_error": nil,
		})
		m.wantExit(row, e)
		if _, there := row["detached"]; there != e.guarded {
			m.t.Fatalf("detached: %v in %v", there, row)
		}
		if (row["ended_at"] == nil) != e.running() {
			m.t.Fatalf("ended_at in %v", row)
		}
	}
}
