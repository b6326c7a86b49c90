package e2e

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// say is dripCommand with texts: a word that begins with @ still waits for a
// file, and one that is a duration for that long.
func say(t *testing.T, words ...string) string {
	t.Helper()
	for i, w := range words {
		if _, err := time.ParseDuration(w); err != nil && !strings.HasPrefix(w, "@") {
			words[i] = hex.EncodeToString([]byte(w))
		}
	}
	return dripCommand(t, words...)
}

// listen opens a TCP port once a file exists, and takes one connection.
func listen(words []string) int {
	file, network, address := words[0], words[1], words[2]
	if status := drip([]string{"@" + file}); status != 0 {
		return status
	}
	l, err := net.Listen(network, address)
	if err == nil {
		fmt.Println("open")
		_, err = l.Accept()
	}
	fmt.Fprintln(os.Stderr, "accepted, or failed:", err)
	return 1
}

// freePort finds a port of an address that nobody has.
func freePort(t *testing.T, network, host string) int {
	t.Helper()
	l, err := net.Listen(network, net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("this machine has no %s: %v", host, err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestWaitUntilOutputThatGrows(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(say(t, "one\ntwo\nserver lis", "@a", "tening on port 80", "@b", "80\nlast\n", "@c"), args{"yield_until_output": "lis$"})
	eq(t, "half of the line was returned", r.Stdout, "one\ntwo\nserver lis")
	w := s.Go("wait", r.On(args{"until_output": `listening on port \d+`}))
	release(t, s, "a")
	m := w.Result()
	eq(t, "wait_result", m.WaitResult, "output_matched")
	eq(t, "status", m.Status, "running")
	eq(t, "line", m.Match.Line, "server listening on port 80") // unfinished, and split over two writes
	eq(t, "text", m.Match.Text, "listening on port 80")
	eq(t, "stream", m.Match.Stream, "stdout")
	eq(t, "before", strings.Join(m.Match.Before, ","), "one,two")
	eq(t, "start_seq", m.Match.StartSeq, 9)
	eq(t, "next_seq", m.Match.NextSeq, 36)
	release(t, s, "b")
	// From after the match on: the rest of the line, and no second match.
	next := s.Call("wait", r.On(args{"until_output": "port|last", "since_seq": m.Match.NextSeq}))
	eq(t, "next line", next.Match.Line, "last")
	eq(t, "stdout", next.Stdout, "80\nlast\n")
	// Those looked without consuming.
	eq(t, "the rest", s.Call("read", r.On(nil)).Stdout, "80\nlast\n")
	again := s.Go("wait", r.On(args{"until_output": "last"}))
	release(t, s, "c")
	end := again.Result()
	eq(t, "the end is first", end.WaitResult, "exited")
	eq(t, "match", end.Has("match"), false)
	// What is kept is found at once.
	whole := s.Call("wait", r.On(args{"until_output": "listening", "since_seq": 1}))
	eq(t, "wait_result", whole.WaitResult, "output_matched")
	eq(t, "line", whole.Match.Line, "server listening on port 8080")
	eq(t, "context", strings.Join(whole.Match.Before, ",")+"|"+strings.Join(whole.Match.After, ","), "one,two|last")
}

func TestWaitUntilOutputOverLinesAndAtTheEndOfOne(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(say(t, "a\nfirst", "50ms", "\nsec", "50ms", "ond\n>>> ", "@go", "\ndone: no\nx\ndone"), args{"yield_ms": 0})
	eq(t, "over two lines", s.Call("wait", r.On(args{"until_output": `first\nsecond`, "since_seq": 1})).Match.Text, "first\nsecond")
	prompt := s.Call("wait", r.On(args{"until_output": `^>>> $`, "since_seq": 1}))
	eq(t, "prompt", prompt.Match.Line, ">>> ")
	end := s.Go("wait", r.On(args{"until_output": `^done$`, "since_seq": 1}))
	release(t, s, "go")
	e := end.Result()
	eq(t, "at the end of all output", e.WaitResult, "output_matched")
	eq(t, "line", e.Match.Line, "done")
	eq(t, "before", strings.Join(e.Match.Before, ","), "done: no,x")
}

func TestWaitLooksAtStreams(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("echo warning: out; while [ ! -e go ]; do sleep 0.02; done; echo warning: err >&2; exec sleep 1000", args{"yield_ms": 0})
	s.Call("wait", r.On(args{"until_output": "warning", "since_seq": 1}))
	w := s.Go("wait", r.On(args{"until_output": "warning", "streams": "stderr"}))
	release(t, s, "go")
	m := w.Result()
	eq(t, "stream", m.Match.Stream, "stderr")
	eq(t, "stderr", m.Stderr, "warning: err\n")
	eq(t, "has stdout", m.Has("stdout"), false)
	eq(t, "cursor", s.Call("read", r.On(nil)).Stderr, "warning: err\n") // it was left alone
	eq(t, "both streams are texts of their own", s.Call("wait", r.On(args{"until_output": `out\nwarning`, "since_seq": 1, "timeout_ms": 100})).WaitResult, "deadline_reached")
}

func TestWaitUntilOutputThatIsEvicted(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_MAX_BUFFER_BYTES=1000")
	// A watch from the first byte on: by the time of the answer, what it found
	// was evicted long ago.
	run := func(expr string) *mcptest.Result {
		t.Helper()
		r := s.Execute("seq 1 300000; echo end; exec sleep 1000", args{"yield_until_output": expr})
		eq(t, "wait_result", r.WaitResult, "output_matched")
		return r
	}
	r := run(`^150000$`)
	eq(t, "line", r.Match.Line, "150000")
	eq(t, "before", strings.Join(r.Match.Before, ","), "149998,149999")
	eq(t, "start_seq", r.Match.StartSeq, int64(len(numbers(149999)))+1)
	eq(t, "over lines", run(`^3000\n3001\n3002$`).Match.Text, "3000\n3001\n3002")
	r = run(`^end$`)
	eq(t, "last", r.Match.Line, "end")
	eq(t, "evicted", s.Call("read", r.On(args{"since_seq": 1})).Evicted, true)
}

// TestWatchingIsLinear: an unfinished line of many megabytes that comes in
// many pieces is looked at once. Looked at anew with each piece, it would take
// minutes.
func TestWatchingIsLinear(t *testing.T) {
	t.Parallel()
	s := start(t)
	begun := time.Now()
	r := s.Execute("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo ready", args{"yield_until_output": `(?i)x\w*y|READY`, "yield_ms": 55000})
	eq(t, "wait_result", r.WaitResult, "output_matched")
	eq(t, "line", r.Match.Line, "ready")
	quickly(t, "20 MB of one line", begun, 3*prompt)
}

func TestWaitUntilIdle(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("while read line; do echo working; sleep 0.3; echo \"answer to $line\"; done", args{"yield_ms": 0, "close_stdin": false})
	begun := time.Now()
	eq(t, "idle from the beginning", s.Call("wait", r.On(args{"until_idle_ms": 700})).WaitResult, "idle")
	notBefore(t, "700 ms", begun, 700*time.Millisecond)
	begun = time.Now()
	eq(t, "ok", s.Call("write", r.On(args{"input": "question", "newline": true})).OK, true)
	w := s.Call("wait", r.On(args{"until_idle_ms": 700}))
	eq(t, "wait_result", w.WaitResult, "idle")
	eq(t, "stdout", w.Stdout, "working\nanswer to question\n")
	notBefore(t, "the answer and 700 ms", begun, 990*time.Millisecond)
	s.Call("write", r.On(args{"input": "last", "newline": true, "close_stdin": true}))
	eq(t, "the end is first", s.Call("wait", r.On(args{"until_idle_ms": 50000})).WaitResult, "exited")
}

func TestWaitUntilPort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ network, host, listen string }{
		{"tcp4", "127.0.0.1", "127.0.0.1"}, {"tcp6", "::1", "::1"}, {"tcp4", "127.0.0.1", "0.0.0.0"}, {"tcp6", "::1", "::"},
	} {
		t.Run(c.listen, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			port := freePort(t, c.network, c.host)
			command := fmt.Sprintf("E2E_HELPER=listen exec '%s' go %s '%s'", self(t), c.network, net.JoinHostPort(c.listen, fmt.Sprint(port)))
			r := s.Execute(command, args{"yield_until_port": port, "yield_ms": 300})
			eq(t, "status", r.Status, "backgrounded")
			eq(t, "wait_result", r.WaitResult, "deadline_reached")
			w := s.Go("wait", r.On(args{"until_port": port}))
			release(t, s, "go")
			m := w.Result()
			eq(t, "wait_result", m.WaitResult, "port_open")
			eq(t, "status", m.Status, "running")
			// On Linux nobody has connected, and the helper has not ended.
			if len(program) == 1 && runtime.GOOS == "linux" {
				eq(t, "again", s.Call("wait", r.On(args{"until_port": port, "timeout_ms": 0})).WaitResult, "port_open")
				c, err := net.Dial(c.network, net.JoinHostPort(c.host, fmt.Sprint(port)))
				if err != nil {
					t.Fatalf("the port takes no connection: %v", err)
				}
				defer c.Close()
			}
			end := s.Call("wait", r.On(args{"until_output": "failed: <nil>", "streams": "stderr"}))
			eq(t, "the helper's only connection", end.WaitResult, "output_matched")
		})
	}
}

func TestExecuteUntilReady(t *testing.T) {
	t.Parallel()
	s := start(t)
	port := freePort(t, "tcp4", "127.0.0.1")
	server := fmt.Sprintf("E2E_HELPER=listen exec '%s' . tcp4 127.0.0.1:%d", self(t), port)
	r := s.Execute("echo compiling; sleep 0.2; echo Ready on 3000; exec sleep 1000", args{"yield_until_output": "(?i)ready on \\d+"})
	eq(t, "status", r.Status, "backgrounded")
	eq(t, "wait_result", r.WaitResult, "output_matched")
	eq(t, "line", r.Match.Line, "Ready on 3000")
	eq(t, "stdout", r.Stdout, "compiling\nReady on 3000\n")
	eq(t, "both", s.Execute(server, args{"yield_until_port": port, "yield_until_output": "never"}).WaitResult, "port_open")
	taken := s.Execute("exec sleep 1000", args{"yield_until_port": port})
	eq(t, "wait_result", taken.WaitResult, "port_open")
	contains(t, "message", taken.Message, fmt.Sprintf("port %d was open before", port))
	failed := s.Execute("echo cannot start >&2; exit 3", args{"yield_until_output": "ready", "yield_until_port": 1})
	eq(t, "status", failed.Status, "completed")
	eq(t, "wait_result", failed.WaitResult, "exited")
	eq(t, "exit_code", failed.Exit(), "3")
	late := s.Execute("echo ready; exit 4", args{"yield_until_output": "^ready$"})
	eq(t, "what was put out before the end", late.WaitResult, "output_matched")
	plain := s.Execute("echo ready", nil)
	for _, field := range []string{"wait_result", "match", "tail", "omitted_bytes"} {
		eq(t, "a plain call has "+field, plain.Has(field), false)
	}
}

func TestBadConditionsStartNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("exec sleep 1000", args{"yield_ms": 0})
	for _, c := range []struct {
		name  string
		value any
		parts []string
	}{
		{"until_output", "(ready", []string{`"(ready"`, "RE2", "missing closing )", "backslash"}},
		{"until_output", "(?=ready)", []string{"look-ahead"}},
		{"until_output", strings.Repeat("x", 5000), []string{"2000 bytes"}},
		{"until_port", 65536, []string{"65536", "1 to 65535"}},
		{"until_port", "http", []string{"http", "whole number"}},
	} {
		w := s.Call("wait", r.On(args{c.name: c.value}))
		eq(t, "isError", w.IsError, true)
		contains(t, "wait", w.Error, append(c.parts, c.name)...)
		refused(t, s.Execute("echo x > ran", args{"yield_" + c.name: c.value}), append(c.parts, "yield_"+c.name)...)
	}
	w := s.Call("wait", r.On(args{"until_idle_ms": 0}))
	contains(t, "wait", w.Error, "until_idle_ms", "1 or more", "0")
	if _, err := os.Stat(s.Dir + "/ran"); err == nil {
		t.Error("a refused command ran")
	}
}

func TestTheEndOfALongOutput(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("seq 1 20000; sleep 0.2; echo 'main.c:7: error: no such thing' >&2; exit 1", nil)
	all := numbers(20000)
	eq(t, "capped", r.Capped, true)
	eq(t, "page", len(r.Stdout), 20000)
	eq(t, "tail.stderr", r.Tail.Stderr, "main.c:7: error: no such thing\n")
	size := len(r.Tail.Stdout) + len(r.Tail.Stderr)
	if size > 4000 || size < 3900 || !strings.HasSuffix(all, "\n"+r.Tail.Stdout) {
		t.Errorf("tail has %d bytes: %.100q", size, r.Tail.Stdout)
	}
	eq(t, "tail.start_seq", r.Tail.StartSeq, int64(len(all)-len(r.Tail.Stdout))+1)
	eq(t, "omitted_bytes", r.Omitted, r.LatestSeq-r.NextSeq-int64(size))
	// The cursor does not skip what the tail has shown.
	stdout, stderr := r.Stdout, r.Stderr
	for next := r; next.Capped; {
		next = s.Call("read", r.On(args{"max_output_bytes": 7000}))
		eq(t, "has tail", next.Has("tail"), next.Capped)
		if next.Tail != nil && len(next.Tail.Stdout)+len(next.Tail.Stderr) > 1400 {
			t.Errorf("a tail larger than a fifth of the cap")
		}
		stdout, stderr = stdout+next.Stdout, stderr+next.Stderr
	}
	eq(t, "all of stdout", stdout, all)
	eq(t, "all of stderr", stderr, "main.c:7: error: no such thing\n")
	one := s.Call("read", r.On(args{"since_seq": 1, "streams": "stdout", "max_output_bytes": 1000}))
	eq(t, "tail of one stream", strings.HasSuffix(all, one.Tail.Stdout), true)
	eq(t, "tail of a wait", s.Call("wait", r.On(args{"since_seq": 1})).Tail.Stderr, "main.c:7: error: no such thing\n")

	for value, most := range map[string]int{"0": 0, "100": 100} {
		other := start(t, "YIELDSHELL_TAIL_BYTES="+value)
		r := other.Execute("seq 1 20000", nil)
		eq(t, "has tail", r.Has("tail"), most > 0)
		eq(t, "has omitted_bytes", r.Has("omitted_bytes"), most > 0)
		if most > 0 && len(r.Tail.Stdout) > most {
			t.Errorf("a tail of %d bytes", len(r.Tail.Stdout))
		}
	}
}

// searching is the variable that offers search.
const searching = "YIELDSHELL_SEARCH=on"

func TestSearch(t *testing.T) {
	t.Parallel()
	s := start(t, searching)
	r := s.Execute("for i in 1 2 3 4 5; do seq 1 1000; sleep 0.1; echo \"error: number $i\" >&2; sleep 0.1; done; echo last", args{"yield_ms": 0})
	s.Call("wait", r.On(nil))
	first := s.Call("search", r.On(args{"pattern": "^error: (.*)$", "limit": 2}))
	eq(t, "status", first.Status, "completed")
	eq(t, "total", first.Total, 5)
	eq(t, "capped", first.Capped, true)
	eq(t, "lines", first.Matches[0].Line+first.Matches[1].Line, "error: number 1error: number 2")
	eq(t, "stream", first.Matches[0].Stream, "stderr")
	at := first.Matches[1].StartSeq
	eq(t, "position", s.Call("read", r.On(args{"since_seq": at, "max_output_bytes": 15})).Stderr, "error: number 2")
	newest := s.Call("search", r.On(args{"pattern": "error", "order": "newest", "limit": 2}))
	eq(t, "newest", newest.Matches[0].Line+newest.Matches[1].Line, "error: number 5error: number 4")
	before := s.Call("search", r.On(args{"pattern": "error", "order": "newest", "until_seq": newest.Matches[1].StartSeq}))
	eq(t, "before those", before.Total, 3)
	around := s.Call("search", r.On(args{"pattern": "^500$", "since_seq": at, "limit": 1, "before_lines": 2, "after_lines": 1}))
	eq(t, "around", strings.Join(around.Matches[0].Before, ",")+"|"+strings.Join(around.Matches[0].After, ","), "498,499|501")
	eq(t, "one stream", s.Call("search", r.On(args{"pattern": "error", "streams": "stdout"})).Total, 0)
	contains(t, "refusal", s.Call("search", r.On(args{"pattern": "["})).Error, "pattern", `"["`, "missing closing ]")
	unknown(t, s.Call("search", args{"execution_id": "nope", "pattern": "x"}), "nope")

	// It neither moved the cursor nor waits for more.
	eq(t, "cursor", s.Call("wait", r.On(nil)).StartSeq > 1, true)
	running := s.Execute("echo found; exec sleep 1000", args{"yield_until_output": "found"})
	found := s.Call("search", running.On(args{"pattern": "found"}))
	eq(t, "status", found.Status, "running")
	eq(t, "total", found.Total, 1)
}

func TestWhatIsWaitedForIsRedacted(t *testing.T) {
	t.Parallel()
	s := start(t, searching, "YIELDSHELL_REDACT_ENV_REGEX=TOKEN", "MY_TOKEN=hunter2hunter2")
	r := s.Execute("echo token is $MY_TOKEN now; exec sleep 1000", args{"yield_until_output": "token is .* now"})
	eq(t, "line", r.Match.Line, "token is [REDACTED:MY_TOKEN] now")
	eq(t, "text", r.Match.Text, r.Match.Line)
	eq(t, "search", s.Call("search", r.On(args{"pattern": "hunter2"})).Total, 0)
	eq(t, "wait", s.Call("wait", r.On(args{"until_output": "hunter2", "since_seq": 1, "timeout_ms": 100})).WaitResult, "deadline_reached")
}

// TestWaitsEndWithTheServer: those that wait for anything answer too.
func TestWaitsEndWithTheServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("exec sleep 1000", args{"yield_ms": 0})
	w := s.Go("wait", r.On(args{"until_output": "x", "until_idle_ms": 50000, "until_port": freePort(t, "tcp4", "127.0.0.1")}))
	x := s.GoExecute("exec sleep 1000", args{"yield_until_output": "x"})
	mcptest.Until(t, prompt, "both to run", func() bool { return len(s.Rows()) == 2 })
	s.EOF()
	eq(t, "wait_result", w.Result().WaitResult, "deadline_reached")
	eq(t, "wait_result", x.Result().WaitResult, "deadline_reached")
}

// TestLinesOfAnySystem: $ is before a carriage return, too.
func TestLinesOfAnySystem(t *testing.T) {
	t.Parallel()
	s := startAny(t, searching)
	r := s.Execute("echo ready", args{"yield_until_output": "^ready$"})
	eq(t, "wait_result", r.WaitResult, "output_matched")
	eq(t, "line", r.Match.Line, "ready")
	eq(t, "text", r.Match.Text, "ready")
	found := s.Call("search", r.On(args{"pattern": "^ready$"}))
	eq(t, "total", found.Total, 1)
	eq(t, "line", found.Matches[0].Line, "ready")
	eq(t, "nothing after it", s.Call("wait", r.On(args{"until_output": "ready", "since_seq": r.Match.NextSeq})).WaitResult, "exited")
}

// A command that prints faster than anybody can look for a line holds no call up.
func TestWaitOnAFloodAnswersInTime(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("exec yes", args{"yield_ms": 0})
	begun := time.Now()
	for range 5 {
		w := s.Call("wait", r.On(args{"until_output": `(a|b|c)*[x-z].{1,50}never`, "timeout_ms": 100, "since_seq": 1}))
		eq(t, "wait_result", w.WaitResult, "deadline_reached")
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("five waits of 100 ms took %v", took)
	}
	s.Call("stop", r.On(nil))
}
