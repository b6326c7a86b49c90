package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

// match is the field match as a reply of its own.
func (r reply) match(t *testing.T) reply {
	t.Helper()
	m, ok := r["match"].(map[string]any)
	if !ok {
		t.Fatalf("no match in %v", r)
	}
	return m
}

// without checks that fields are absent.
func (r reply) without(t *testing.T, fields ...string) {
	t.Helper()
	for _, f := range fields {
		if _, there := r[f]; there {
			t.Errorf("%s is there: %v", f, r)
		}
	}
}

func TestWaitUntilOutput(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		p := b.backend.Last()
		time.AfterFunc(1*time.Second, func() { p.Print("one\ntwo\nserver rea") })
		time.AfterFunc(2*time.Second, func() { p.Print("dy on 80\nthree\n") })
		r := b.call("wait", of(id, `"until_output": "ready on \\d+"`))
		for field, want := range map[string]any{
			"wait_result": "output_matched", "waited_ms": 2000, "status": "running",
			"stdout": "one\ntwo\nserver ready on 80\nthree\n",
		} {
			r.want(t, field, want)
		}
		m := r.match(t)
		for field, want := range map[string]any{"stream": "stdout", "line": "server ready on 80", "text": "ready on 80", "start_seq": 9, "next_seq": 27} {
			m.want(t, field, want)
		}
		if s := fmt.Sprint(m["before"], m["after"]); s != "[one two] [three]" {
			t.Errorf("context is %s", s)
		}

		// The cursor has passed it, so it is not found again, but by position.
		r = b.call("wait", of(id, `"until_output": "ready", "timeout_ms": 500`))
		r.want(t, "wait_result", "deadline_reached")
		r.without(t, "match")
		r = b.call("wait", of(id, `"until_output": "server", "since_seq": 1`))
		r.want(t, "waited_ms", 0)
		r = b.call("wait", of(id, fmt.Sprintf(`"until_output": "server", "since_seq": %v, "timeout_ms": 1`, r.match(t)["next_seq"])))
		r.want(t, "wait_result", "deadline_reached")

		time.AfterFunc(time.Second, func() { p.Print("ready again"); p.Exit(3) })
		r = b.call("wait", of(id, `"until_output": "ready"`))
		r.want(t, "wait_result", "output_matched")
		r.match(t).want(t, "line", "ready again")
		r = b.call("wait", of(id, `"until_output": "ready"`))
		r.want(t, "wait_result", "exited")
		r.want(t, "exit_code", 3)
	})
}

func TestWaitUntilOutputOfOneStream(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		p := b.backend.Last()
		p.Print("warning: a\n")
		time.AfterFunc(time.Second, func() { p.PrintError("warning: b\n") })
		r := b.call("wait", of(id, `"until_output": "warning", "streams": "stderr"`))
		r.want(t, "waited_ms", 1000)
		r.want(t, "stderr", "warning: b\n")
		r.without(t, "stdout")
		r.match(t).want(t, "stream", "stderr")
		// Out of band: the poll has missed nothing, and it begins anew.
		b.call("wait", of(id, `"until_output": "warning", "streams": "stderr"`)).want(t, "waited_ms", 0)
		r = b.call("read", of(id, ``))
		r.want(t, "stdout", "warning: a\n")
		r.want(t, "stderr", "warning: b\n")
		// tail_lines leaves the cursor alone, too, but looks after it.
		r = b.call("wait", of(id, `"until_output": "warning", "tail_lines": 1, "timeout_ms": 10`))
		r.want(t, "wait_result", "deadline_reached")
		r.want(t, "stderr", "warning: b\n")
	})
}

func TestWaitUntilIdleOrPort(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		p := b.backend.Last()
		time.Sleep(time.Minute)
		time.AfterFunc(time.Second, func() { p.Print("answer\n") })
		r := b.call("wait", of(id, `"until_idle_ms": 1500`))
		r.want(t, "wait_result", "idle")
		r.want(t, "waited_ms", 2500)
		r.want(t, "stdout", "answer\n")
		r.without(t, "match")

		time.AfterFunc(2*time.Second, func() { close(b.ports.open) })
		r = b.call("wait", of(id, `"until_port": 8080, "until_output": "never", "until_idle_ms": 9000`))
		r.want(t, "wait_result", "port_open")
		r.want(t, "waited_ms", 2000)
		r = b.call("wait", of(id, `"until_port": "8080", "timeout_ms": 0`))
		r.want(t, "wait_result", "port_open")
		p.Exit(0)
		synctest.Wait()
		r = b.call("wait", of(id, `"until_port": 8080, "until_idle_ms": 1`))
		r.want(t, "wait_result", "exited")
	})
}

func TestExecuteUntil(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.backend.Begin = func(p *fake.Process) error {
			time.AfterFunc(2*time.Second, func() { p.Print(strings.Repeat("x\n", 600) + "ready\n") })
			return nil
		}
		r := b.call("execute", runs(`"yield_until_output": "^ready$"`))
		for field, want := range map[string]any{"status": "backgrounded", "wait_result": "output_matched", "duration_ms": 2000, "capped": true} {
			r.want(t, field, want)
		}
		r.match(t).want(t, "start_seq", 1201)

		r = b.call("execute", runs(`"yield_until_output": "never", "yield_ms": 5000`))
		r.want(t, "wait_result", "deadline_reached")
		r.want(t, "duration_ms", 5000)
		r.without(t, "match")

		time.AfterFunc(3*time.Second, func() { close(b.ports.open) })
		r = b.call("execute", runs(`"yield_until_port": 8080`))
		r.want(t, "wait_result", "port_open")
		r.want(t, "duration_ms", 3000)
		if strings.Contains(r.text("message"), "8080") {
			t.Errorf("message is %q", r.text("message"))
		}
		r = b.call("execute", runs(`"yield_until_port": 8080`))
		r.want(t, "duration_ms", 0)
		r.contains(t, "message", "Port 8080 was open before")

		b.backend.Begin = func(p *fake.Process) error { p.Print("ready or not"); p.Exit(1); return nil }
		r = b.call("execute", runs(`"yield_until_output": "ready$", "yield_until_port": 1`))
		r.want(t, "wait_result", "exited")
		r.want(t, "status", "completed")
		r = b.call("execute", runs(`"yield_until_output": "not$"`))
		r.want(t, "wait_result", "output_matched")
		r.want(t, "exit_code", 1)
		b.call("execute", runs(``)).without(t, "wait_result", "match", "tail", "omitted_bytes")
	})
}

func TestBadConditions(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		started := len(b.backend.Started())
		for value, parts := range map[string][]string{
			`"(foo"`:                              {"RE2", `"(foo"`, "missing closing )", "backslash"},
			`"a[b"`:                               {`"a[b"`, "missing closing ]", `"[b"`},
			`"(?=a)"`:                             {`"(?=a)"`, "look-ahead"},
			`"(?<!a)"`:                            {"look-behind"},
			`"(a)\\1"`:                            {`"(a)\\1"`, "back-references"},
			`"*a"`:                                {"missing argument to repetition operator", "backslash"},
			`"a{1001}"`:                           {"1000"},
			`"(abcdefghij){999}"`:                 {"smaller", "too large"},
			`"` + strings.Repeat("a", 3000) + `"`: {"smaller", "longer than 2000 bytes", "aaa…"},
			`["a"]`:                               {"must be a string", `["a"]`},
			`7`:                                   {"must be a string, got 7"},
		} {
			r := b.call("wait", of(id, `"until_output": `+value))
			r.want(t, "(isError)", true)
			r.contains(t, "error", append(parts, "until_output must be")...)
			r = b.call("execute", runs(`"yield_until_output": `+value))
			r.want(t, "status", "failed_to_start")
			r.contains(t, "error", append(parts, "yield_until_output must be")...)
			b.call("search", of(id, `"pattern": `+value)).contains(t, "error", append(parts, "pattern must be")...)
		}
		for value, part := range map[string]string{
			`70000`: "from 1 to 65535, got 70000", `65536`: "from 1 to 65535, got 65536", `0`: "1 or more, got 0", `-1`: "1 or more, got -1",
			`"http"`: `a whole number, got "http"`, `80.5`: "a whole number, got 80.5",
		} {
			b.call("wait", of(id, `"until_port": `+value)).contains(t, "error", "until_port must be ", part)
			b.call("execute", runs(`"yield_until_port": `+value)).contains(t, "error", "yield_until_port must be ", part)
		}
		for _, value := range []string{`0`, `-1`, `"x"`} {
			b.call("wait", of(id, `"until_idle_ms": `+value)).contains(t, "error", "until_idle_ms must be ")
		}
		b.call("wait", of(id, `"streams": "all"`)).contains(t, "error", `Invalid streams "all"`)
		if n := len(b.backend.Started()); n != started {
			t.Errorf("%d commands were started", n-started)
		}
		// What some clients send for what was not set.
		for _, value := range []string{`null`, `""`} {
			r := b.call("wait", of(id, `"until_output": `+value+`, "until_port": `+value+`, "until_idle_ms": `+value+`, "streams": `+value+`, "timeout_ms": 7`))
			r.want(t, "wait_result", "deadline_reached")
			r.want(t, "waited_ms", 7)
		}
	})
}

func TestTail(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "line %02d\n", i)
	}
	inBubble(t, func(t *testing.T, b *bench) {
		b.config.TailBytes = 4000
		b.backend.Begin = func(p *fake.Process) error {
			time.AfterFunc(1*time.Second, func() { p.Print(text.String()) })
			time.AfterFunc(2*time.Second, func() { p.PrintError("error\n"); p.Exit(1) })
			return nil
		}
		r := b.call("execute", runs(``))
		r.want(t, "capped", true)
		r.want(t, "omitted_bytes", 246-100-8-6)
		tail := reply(r["tail"].(map[string]any))
		tail.want(t, "stdout", "line 29\n")
		tail.want(t, "stderr", "error\n")
		tail.want(t, "start_seq", 233)
		id := r.id()
		// The cursor does not skip it.
		r = b.call("read", of(id, ``))
		r.want(t, "start_seq", 101)
		r.want(t, "next_seq", 201)
		r = b.call("read", of(id, ``))
		r.want(t, "capped", false)
		r.without(t, "tail", "omitted_bytes")
		r = b.call("read", of(id, `"since_seq": 1, "streams": "stderr", "max_output_bytes": 5`))
		r.want(t, "capped", true)
		r.without(t, "tail", "omitted_bytes") // a fifth of the cap holds no line
		r = b.call("wait", of(id, `"since_seq": 1, "streams": "stdout", "max_output_bytes": 80`))
		tail = reply(r["tail"].(map[string]any))
		tail.want(t, "stdout", "line 28\nline 29\n")
		tail.without(t, "stderr")
		r.want(t, "omitted_bytes", 240-80-16)
		b.call("read", of(id, `"tail_lines": 20, "max_output_bytes": 90`)).without(t, "tail")
		b.config.TailBytes = 5
		b.call("read", of(id, `"since_seq": 1`)).without(t, "tail")
		b.config.TailBytes = 0
		b.call("read", of(id, `"since_seq": 1`)).without(t, "tail", "omitted_bytes")
	})
}

func TestSearchTool(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		p := b.backend.Last()
		p.Print("error 1\n")
		synctest.Wait()
		p.PrintError("error 2\n")
		synctest.Wait()
		p.Print("b\nc\nerror 3\nd\n")
		p.Exit(0)
		b.call("wait", of(id, ``))
		lines := func(r reply) (all []string) {
			for _, m := range r["matches"].([]any) {
				all = append(all, fmt.Sprint(m.(map[string]any)["line"]))
			}
			return all
		}
		for _, c := range []struct {
			arguments string
			want      string
			total     int
		}{
			{`"pattern": "error"`, "[error 1 error 2 error 3]", 3},
			{`"pattern": "error", "limit": 2`, "[error 1 error 2]", 3},
			{`"pattern": "error", "limit": "2", "order": "newest"`, "[error 3 error 2]", 3},
			{`"pattern": "(?i)ERROR", "streams": "stderr"`, "[error 2]", 1},
			{`"pattern": "error", "since_seq": 9`, "[error 2 error 3]", 2},
			{`"pattern": "error", "until_seq": 9`, "[error 1]", 1},
			{`"pattern": "nothing"`, "[]", 0},
			{`"pattern": "error", "max_output_bytes": 8`, "[error 1]", 3},
		} {
			r := b.call("search", of(id, c.arguments))
			if got := fmt.Sprint(lines(r)); got != c.want {
				t.Errorf("%s: got %s, want %s", c.arguments, got, c.want)
			}
			r.want(t, "total", c.total)
			r.want(t, "status", "completed")
			r.want(t, "capped", c.total > len(lines(r)))
			r.want(t, "evicted", false)
		}
		r := b.call("search", of(id, `"pattern": "error 3", "before_lines": 2, "after_lines": 99`))
		if m := r["matches"].([]any)[0].(map[string]any); fmt.Sprintln(m["before"], m["after"], m["start_seq"], m["stream"]) != "[b c] [d] 21 stdout\n" {
			t.Errorf("got %v", m)
		}

		// The hints lead through all matches, in both directions.
		for order, want := range map[string]string{"oldest": "[error 1 error 2 error 3]", "newest": "[error 3 error 2 error 1]"} {
			var all []string
			more := ""
			for {
				r := b.call("search", of(id, fmt.Sprintf(`"pattern": "error", "limit": 1, "order": %q%s`, order, more)))
				all = append(all, lines(r)...)
				if r["capped"] == false {
					break
				}
				words := strings.Fields(strings.TrimSuffix(r.text("hint"), "."))
				more = fmt.Sprintf(`, %q: %s`, words[len(words)-2], words[len(words)-1])
			}
			if got := fmt.Sprint(all); got != want {
				t.Errorf("%s: got %s", order, got)
			}
		}
		for arguments, part := range map[string]string{
			`"pattern": ""`: "must not be empty", ``: "pattern is required", `"pattern": "x", "limit": 0`: "limit must be 1 or more",
			`"pattern": "x", "order": "up"`: `Invalid order "up"`, `"pattern": "x", "before_lines": -1`: "before_lines must be 0 or more",
		} {
			r := b.call("search", of(id, arguments))
			r.want(t, "(isError)", true)
			r.contains(t, "error", part)
		}
		b.call("search", of("nope", `"pattern": "x"`)).want(t, "error", "Unknown execution_id: nope")
		r = b.call("search", of(id, `"regex": "x"`))
		if w := fmt.Sprint(r["warnings"]); !strings.Contains(w, `did you mean "pattern"?`) {
			t.Errorf("warnings are %s", w)
		}
		b.call("read", of(id, `"since_seq": 1`)).contains(t, "stdout", "error 1")
	})
}

func TestSearchTellsOfEviction(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(``)).id()
		r := b.call("search", of(id, `"pattern": "y"`))
		r.want(t, "evicted", true)
		r.want(t, "start_seq", 503)
		r.contains(t, "hint", "before position 503")
	}, prints(strings.Repeat("x", 1500)+"y\n", 0))
}

// A search goes on beside few others, and an answer that nobody waits for has no
// findings.
func TestSearchTakesTurns(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(``)).id()
		lane := newTools(b.config)
		for range maxSearches {
			lane.searching <- struct{}{}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		search := lane.search()
		a := search.answer(ctx, []byte(of(id, `"pattern": "o"`)))
		if !a.failed() || !strings.Contains(problemOf(a), "not begun") {
			t.Errorf("a search was made beside %d others: %s", maxSearches, render(a))
		}
		<-lane.searching
		for range 3 { // each gives its place back
			if a := search.answer(t.Context(), []byte(of(id, `"pattern": "o"`))); a.failed() {
				t.Errorf("got %s", render(a))
			}
		}
		b.config.Turn = func(context.Context) error { return context.Canceled }
		r := b.call("search", of(id, `"pattern": "o"`))
		if found, _ := r["matches"].([]any); len(found) != 0 {
			t.Errorf("nobody waits for %v", r)
		}
	}, prints("one\ntwo\n", 0))
}

// What is kept is looked at even without time to wait, but not for a call that
// is cancelled.
func TestWaitLooksAtKeptOutput(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		id := b.call("execute", runs(`"yield_ms": 0`)).id()
		b.backend.Last().Print("ready\n")
		synctest.Wait()
		r := b.call("wait", of(id, `"until_output": "ready", "since_seq": 1, "timeout_ms": 0`))
		r.want(t, "wait_result", "output_matched")

		e, ok := b.config.Registry.Get(id)
		if !ok {
			t.Fatal("the execution is gone")
		}
		re, err := lazydfa.Compile("ready")
		if err != nil {
			t.Fatal(err)
		}
		u, since := until{re: re}, int64(1)
		for cancelled, want := range map[bool]bool{false: true, true: false} {
			ctx, cancel := context.WithCancel(t.Context())
			if cancelled {
				cancel()
			}
			c, stop := u.conditions(ctx, 0, e, view{streams: "both", since: &since})
			if got := c.Output.End(); got != want {
				t.Errorf("cancelled is %v, and a match %v", cancelled, got)
			}
			stop()
			cancel()
		}
	})
}
