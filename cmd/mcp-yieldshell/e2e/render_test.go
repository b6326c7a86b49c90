package e2e

import (
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// bar draws a progress bar 5,000 times, with colours.
const bar = `i=1; while [ $i -le 5000 ]; do printf '\r\033[32m%5d of 5000\033[0m' $i; i=$((i+1)); done; echo; echo done`

const drawn = " 5000 of 5000\ndone\n"

func TestAProgressBarIsOneLine(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_MAX_OUTPUT_BYTES=200000")
	r := s.Execute(bar, args{"render": "text"})
	eq(t, "execute", r.Stdout, drawn)
	raw := s.Call("read", r.On(args{"since_seq": 1, "render": "raw"}))
	eq(t, "raw", strings.Count(raw.Stdout, "\r"), 5000)
	eq(t, "positions count raw bytes", r.NextSeq, int64(len(raw.Stdout)+1))
	text := s.Call("read", r.On(args{"since_seq": 1, "render": "text"}))
	eq(t, "since_seq", text.Stdout, drawn)
	eq(t, "its next_seq", text.NextSeq, raw.NextSeq)
	eq(t, "tail", s.Call("wait", r.On(args{"tail_lines": 2, "render": "text"})).Stdout, drawn)
	eq(t, "one stream", s.Call("read", r.On(args{"streams": "stdout", "render": "text"})).Stdout, drawn)
	eq(t, "raw by default", s.Call("read", r.On(args{"since_seq": 1})).Stdout, raw.Stdout)
}

// The cap counts raw bytes: each page but the last has as many as it may, and
// shows what they left on the screen.
func TestTextInPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(bar+"; echo warning >&2", args{"render": "text", "max_output_bytes": 1000})
	text, n := r.Stdout, 1
	stderr := r.Stderr
	for ; r.Capped; n++ {
		was := r.NextSeq
		r = s.Call("read", r.On(args{"render": "text", "max_output_bytes": 1000}))
		eq(t, "start_seq", r.StartSeq, was)
		if size := r.NextSeq - was; r.Capped && size != 1000 {
			t.Fatalf("a page of %d bytes", size)
		}
		if strings.ContainsAny(r.Stdout, "\r\x1b") || strings.Count(r.Stdout, "5000") > 2 {
			t.Fatalf("page %d shows %q", n, r.Stdout)
		}
		text, stderr = text+r.Stdout, stderr+r.Stderr
	}
	if n < 100 {
		t.Errorf("there were %d pages", n)
	}
	eq(t, "the end", strings.HasSuffix(text, drawn), true)
	eq(t, "stderr", stderr, "warning\n")
}

// What was on the screen is carried by the server-side cursor, from calls that
// asked for text and from those that did not, and not by since_seq.
func TestTheScreenIsCarried(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"raw", "text"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			r := s.Execute(`printf 'abcdef'; while [ ! -e go ]; do sleep 0.02; done; printf '\rXY'; while [ ! -e on ]; do sleep 0.02; done; printf 'Z\n\033['; sleep 0.1; printf '1mend\n'`,
				args{"yield_ms": 0, "render": first})
			mcptest.Until(t, prompt, "the first text", func() bool { return s.Row(r.ExecutionID).LatestSeq == 7 })
			if r.Stdout == "" {
				r = s.Call("read", r.On(args{"render": first}))
			}
			eq(t, "first", r.Stdout, "abcdef")
			release(t, s, "go")
			mcptest.Until(t, prompt, "the second", func() bool { return s.Row(r.ExecutionID).LatestSeq == 10 })
			afresh := s.Call("read", r.On(args{"render": "text", "since_seq": r.NextSeq}))
			eq(t, "since_seq", afresh.Stdout, "XY")
			eq(t, "carried", s.Call("read", r.On(args{"render": "text"})).Stdout, "XYcdef")
			release(t, s, "on")
			got := ""
			for over := false; !over; {
				w := s.Call("wait", r.On(args{"render": "text", "timeout_ms": 50}))
				got += w.Stdout
				over = w.WaitResult == "exited" && w.NextSeq == w.LatestSeq
			}
			eq(t, "to the end", got, "XYZdef\nend\n")
		})
	}
}

func TestTextIsTheDefaultIfConfigured(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_RENDER=text")
	r := s.Execute(`printf '\033[1mbold\033[0m\n'`, nil)
	eq(t, "execute", r.Stdout, "bold\n")
	eq(t, "read", s.Call("read", r.On(args{"since_seq": 1})).Stdout, "bold\n")
	eq(t, "wait", s.Call("wait", r.On(args{"since_seq": 1})).Stdout, "bold\n")
	eq(t, "raw", s.Call("read", r.On(args{"since_seq": 1, "render": "raw"})).Stdout, "\x1b[1mbold\x1b[0m\n")
	for _, bad := range []any{"html", 5, "TEXT"} {
		e := s.Call("read", r.On(args{"render": bad}))
		eq(t, "isError", e.IsError, true)
		contains(t, "error", e.Error, "render", "text")
	}
}

// A few bytes can move a cursor far: the answer is bounded all the same.
func TestTextIsNotMoreThanTheCap(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(`i=0; while [ $i -lt 2000 ]; do printf '\033[150Cx\n'; i=$((i+1)); done; printf 'the end'`, args{"render": "text"})
	if n := len(r.Stdout); n > 20000 || n < 19000 {
		t.Errorf("%d bytes", n)
	}
	eq(t, "the end is there", strings.HasSuffix(r.Stdout, "x\nthe end"), true)
}
