package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestPollingLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("i=1; while [ $i -le 2000 ]; do echo out$i; echo err$i >&2; [ $((i%400)) = 0 ] && sleep 0.1; i=$((i+1)); done", args{"yield_ms": 50})
	stdout, stderr := r.Stdout, r.Stderr
	next := r.NextSeq
	for over := false; !over; {
		r = s.Call("wait", r.On(args{"timeout_ms": 200, "max_output_bytes": 3000}))
		if r.StartSeq != next {
			t.Fatalf("start_seq is %d after next_seq %d", r.StartSeq, next)
		}
		if n := int64(len(r.Stdout) + len(r.Stderr)); r.NextSeq != next+n || n > 3000 {
			t.Fatalf("%d bytes from %d to %d", n, next, r.NextSeq)
		}
		if r.Capped && r.Hint == "" {
			t.Fatal("capped without a hint")
		}
		if r.Capped != (r.NextSeq < r.LatestSeq) {
			t.Fatalf("capped is %v with next_seq %d and latest_seq %d", r.Capped, r.NextSeq, r.LatestSeq)
		}
		stdout, stderr, next = stdout+r.Stdout, stderr+r.Stderr, r.NextSeq
		over = r.WaitResult == "exited" && r.NextSeq == r.LatestSeq
	}
	var wantOut, wantErr strings.Builder
	for i := 1; i <= 2000; i++ {
		fmt.Fprintf(&wantOut, "out%d\n", i)
		fmt.Fprintf(&wantErr, "err%d\n", i)
	}
	eq(t, "stdout", stdout, wantOut.String())
	eq(t, "stderr", stderr, wantErr.String())
	last := s.Call("read", r.On(nil))
	eq(t, "nothing is left", last.Stdout+last.Stderr, "")
	eq(t, "start_seq at the end", last.StartSeq, last.LatestSeq)
	eq(t, "next_seq at the end", last.NextSeq, last.LatestSeq)
}

func TestPagesBySinceSeq(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("seq 1 3000", args{"max_output_bytes": 100})
	eq(t, "first page", len(r.Stdout), 100)
	eq(t, "capped", r.Capped, true)
	contains(t, "hint", r.Hint, r.ExecutionID, fmt.Sprint(r.NextSeq))
	var all strings.Builder
	for seq := int64(1); ; {
		page := s.Call("read", r.On(args{"since_seq": seq, "max_output_bytes": 997}))
		all.WriteString(page.Stdout)
		if seq = page.NextSeq; !page.Capped {
			break
		}
	}
	eq(t, "all pages", all.String(), numbers(3000))
	eq(t, "the poll goes on after the first page", s.Call("read", r.On(args{"max_output_bytes": 4})).StartSeq, 101)
}

func TestPeeksDoNotMoveTheCursor(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	r := dripping(t, s, "616263", "2:78797a", "@go", "646566")
	mcptest.Until(t, prompt, "the output", func() bool { return s.Row(r.ExecutionID).LatestSeq == 7 })
	first := s.Call("read", r.On(nil))
	eq(t, "first", r.Stdout+r.Stderr+first.Stdout+first.Stderr != "", true)
	for _, peek := range []args{{"tail_lines": 1}, {"streams": "stdout"}, {"streams": "stderr"}, {"since_seq": 1}, {"since_seq": 2, "streams": "stdout"}, {"since_seq": 99}} {
		for _, tool := range []string{"read", "wait"} {
			if tool == "wait" && peek["streams"] != nil {
				continue
			}
			all := r.On(peek)
			if tool == "wait" {
				all["timeout_ms"] = 0
			}
			p := s.Call(tool, all)
			if p.IsError {
				t.Errorf("%s %v: %v", tool, peek, p)
			}
			if peek["since_seq"] == 1 {
				eq(t, "peek", p.Stdout+p.Stderr, "abcxyz")
			}
		}
	}
	eq(t, "nothing new", s.Call("read", r.On(nil)).Stdout, "")
	release(t, s, "go")
	w := s.Call("wait", r.On(nil))
	eq(t, "stdout", w.Stdout, "def")
	eq(t, "stderr", w.Stderr, "")
}

func TestStreamsAreSelected(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("echo o; echo e >&2", args{"yield_ms": 0})
	s.Call("wait", r.On(args{"since_seq": 1}))
	only := s.Call("read", r.On(args{"streams": "stderr"}))
	eq(t, "stderr", only.Stderr, "e\n")
	eq(t, "has stdout", only.Has("stdout"), false)
	only = s.Call("read", r.On(args{"streams": "stdout"}))
	eq(t, "stdout", only.Stdout, "o\n")
	eq(t, "has stderr", only.Has("stderr"), false)
	both := s.Call("read", r.On(args{"streams": "both", "since_seq": 1}))
	eq(t, "both", both.Stdout+both.Stderr, "o\ne\n")
	for _, bad := range []any{"all", "STDOUT", "stdout,stderr", 5, []string{"stdout"}} {
		e := s.Call("read", r.On(args{"streams": bad}))
		eq(t, "isError", e.IsError, true)
		contains(t, "error", e.Error, "streams")
	}
}

func TestTheCapIsForBothStreamsTogether(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("head -c 15000 /dev/zero | tr '\\0' o; head -c 15000 /dev/zero | tr '\\0' e >&2", nil)
	eq(t, "first", len(r.Stdout)+len(r.Stderr), 20000)
	eq(t, "capped", r.Capped, true)
	rest := s.Call("read", r.On(nil))
	eq(t, "stdout", r.Stdout+rest.Stdout, strings.Repeat("o", 15000))
	eq(t, "stderr", r.Stderr+rest.Stderr, strings.Repeat("e", 15000))
	eq(t, "capped at the end", rest.Capped, false)
	small := start(t, "YIELDSHELL_MAX_OUTPUT_BYTES=1000")
	r = small.Execute("seq 1 500; seq 1 500 >&2", args{"max_output_bytes": 999999})
	eq(t, "capped by the server", len(r.Stdout)+len(r.Stderr), 1000)
}

func TestOnePositionCountsBothStreams(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("printf aa; sleep 0.2; printf bbb >&2; sleep 0.2; printf cccc", nil)
	p := s.Call("read", r.On(args{"since_seq": 3, "max_output_bytes": 3}))
	eq(t, "middle", fmt.Sprint(p.Stdout, "|", p.Stderr, p.StartSeq, p.NextSeq, p.LatestSeq), "|bbb3 6 10")
	p = s.Call("read", r.On(args{"since_seq": 2, "max_output_bytes": 5}))
	eq(t, "over three runs", fmt.Sprint(p.Stdout, "|", p.Stderr, p.NextSeq), "ac|bbb7")
	p = s.Call("read", r.On(args{"since_seq": 10}))
	eq(t, "at the end", fmt.Sprint(p.Stdout, p.Capped, p.Evicted), "false false")
	p = s.Call("read", r.On(args{"since_seq": 999}))
	eq(t, "past the end", fmt.Sprint(p.Stdout, p.StartSeq, p.NextSeq, p.IsError), "10 10 false")
}

func TestACursorPastTheEndDoesNotBlindLaterReads(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("printf abc; while [ ! -e go ]; do sleep 0.02; done; printf def", args{"yield_ms": 0})
	mcptest.Until(t, prompt, "the output", func() bool { return s.Row(r.ExecutionID).LatestSeq == 4 })
	past := s.Call("read", r.On(args{"since_seq": 500}))
	eq(t, "next_seq", past.NextSeq, 4)
	release(t, s, "go")
	s.Call("wait", r.On(args{"since_seq": 500}))
	eq(t, "stdout", s.Call("read", r.On(args{"since_seq": past.NextSeq})).Stdout, "def")
}

func TestTailLines(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	r := dripping(t, s, "310d0a320d0a33", "@go", "2:65310a65320a") // 1 2 3, e1 e2
	mcptest.Until(t, prompt, "the first lines", func() bool { return s.Row(r.ExecutionID).LatestSeq == 8 })
	release(t, s, "go")
	eq(t, "wait_result", s.Call("wait", r.On(nil)).WaitResult, "exited")
	for _, c := range []struct {
		ask            args
		stdout, stderr string
	}{
		{args{"tail_lines": 1}, "", "e2\n"},
		{args{"tail_lines": 2}, "", "e1\ne2\n"},
		{args{"tail_lines": 3}, "3", "e1\ne2\n"},
		{args{"tail_lines": 1, "streams": "stdout"}, "3", ""},
		{args{"tail_lines": 2, "streams": "stdout"}, "2\r\n3", ""},
		{args{"tail_lines": 99}, "1\r\n2\r\n3", "e1\ne2\n"},
		{args{"tail_lines": 99, "max_output_bytes": 4}, "", "\ne2\n"},
		{args{"tail_lines": 99, "max_output_bytes": 3, "streams": "stdout"}, "\r\n3"[:3], ""},
	} {
		tail := s.Call("read", r.On(c.ask))
		eq(t, fmt.Sprint(c.ask, " stdout"), tail.Stdout, c.stdout)
		eq(t, fmt.Sprint(c.ask, " stderr"), tail.Stderr, c.stderr)
	}
	for _, tool := range []string{"read", "wait"} {
		both := s.Call(tool, r.On(args{"tail_lines": 1, "since_seq": 1}))
		eq(t, "isError", both.IsError, true)
		contains(t, "error", both.Error, "tail_lines", "since_seq")
	}
	eq(t, "tail by wait", s.Call("wait", r.On(args{"tail_lines": 1})).Stderr, "e2\n")
	plain := dripping(t, s, "610a620a63") // a b c
	eq(t, "wait_result", s.Call("wait", plain.On(nil)).WaitResult, "exited")
	eq(t, "one", s.Call("read", plain.On(args{"tail_lines": 1})).Stdout, "c")
	eq(t, "two", s.Call("read", plain.On(args{"tail_lines": 2})).Stdout, "b\nc")
}

func TestEvictionIsReportedWhereItMatters(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_MAX_BUFFER_BYTES=1000", "YIELDSHELL_MAX_OUTPUT_BYTES=100000")
	r := s.Execute("seq 1 2000", nil)
	total := int64(len(numbers(2000)))
	eq(t, "evicted", r.Evicted, true)
	eq(t, "latest_seq", r.LatestSeq, total+1)
	eq(t, "start_seq", r.StartSeq, total+1-int64(len(r.Stdout)))
	contains(t, "hint", r.Hint, "YIELDSHELL_MAX_BUFFER_BYTES")
	late := s.Call("read", r.On(args{"since_seq": total - 20}))
	eq(t, "evicted of a retained range", late.Evicted, false)
	eq(t, "retained range", late.Stdout, numbers(2000)[total-21:])
	early := s.Call("read", r.On(args{"since_seq": 5}))
	eq(t, "evicted of a lost range", early.Evicted, true)
	eq(t, "isError", early.IsError, false)
}

func TestNoPageSplitsACharacter(t *testing.T) {
	t.Parallel()
	s := start(t)
	want := strings.Repeat("aé€😀", 40)
	for _, size := range []int{1, 2, 3, 5} {
		r := s.Execute("printf %s '"+want+"'", args{"max_output_bytes": size})
		got := r.Stdout
		for r.Capped {
			r = s.Call("read", r.On(args{"max_output_bytes": size}))
			if n := len(r.Stdout); n > size+3 || n == 0 {
				t.Fatalf("a page of %d bytes has %d", size, n)
			}
			got += r.Stdout
		}
		eq(t, "text", got, want)
	}
}

func TestActivityFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("while [ ! -e go ]; do sleep 0.02; done; echo x; while [ ! -e end ]; do sleep 0.02; done", args{"yield_ms": 0})
	row := s.Row(r.ExecutionID)
	if row.LastOutputAt != nil || row.IdleMS != nil || row.EndedAt != nil {
		t.Errorf("before any output: %+v", row)
	}
	eq(t, "latest_seq", row.LatestSeq, 1)
	release(t, s, "go")
	mcptest.Until(t, prompt, "output", func() bool { row = s.Row(r.ExecutionID); return row.LatestSeq == 3 })
	if row.IdleMS == nil || row.LastOutputAt == nil {
		t.Fatalf("after output: %+v", row)
	}
	now := float64(time.Now().UnixMilli()) / 1000
	if *row.LastOutputAt > now+1 || *row.LastOutputAt < now-60 || row.StartedAt > *row.LastOutputAt {
		t.Errorf("last_output_at is %f at %f", *row.LastOutputAt, now)
	}
	was := *row.IdleMS
	begun := time.Now()
	mcptest.Until(t, prompt, "idle_ms to grow", func() bool { row = s.Row(r.ExecutionID); return *row.IdleMS >= was+300 })
	notBefore(t, "300 ms of idling", begun, 250*time.Millisecond)
	release(t, s, "end")
	// Nobody reads: the record comes to its end all the same.
	mcptest.Until(t, prompt, "the end", func() bool { row = s.Row(r.ExecutionID); return row.Status == "completed" })
	if row.EndedAt == nil || *row.EndedAt < row.StartedAt {
		t.Errorf("ended_at: %+v", row)
	}
}
