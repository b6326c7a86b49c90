package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestControlBytesSurvive(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct{ name, format, want string }{
		{"colours", `\033[31mred\033[0m \001\002\010\t\177 end\n`, "\x1b[31mred\x1b[0m \x01\x02\b\t\x7f end\n"},
		{"NUL", `a\000b\n`, "a\x00b\n"},
		{"carriage returns", `a\rb\r\nc\n`, "a\rb\r\nc\n"},
		{"no newline", `tail`, "tail"},
		{"quotes and slashes", `"\\/\n`, "\"\\/\n"},
		{"line separators", `\342\200\250\342\200\251`, "\u2028\u2029"},
		{"byte order mark", `\357\273\277x`, "\ufeffx"},
		{"html", `<a href="x">&amp;</a>`, `<a href="x">&amp;</a>`},
		{"a noncharacter", `\357\277\277`, "\uffff"},
		{"invalid bytes", `a\377b\376\n`, "a\ufffdb\ufffd\n"},
		{"a lone continuation", `\200x`, "\ufffdx"},
		{"an encoded surrogate", `\355\240\200.`, "\ufffd\ufffd\ufffd."},
		{"an overlong slash", `\300\257.`, "\ufffd\ufffd."},
	} {
		r := s.Execute("printf '"+c.format+"'", nil)
		eq(t, c.name, r.Stdout, c.want)
		eq(t, c.name+": isError", r.IsError, false)
	}
	// A character that the end cuts is one replacement, or one for each byte:
	// both are in use.
	cut := s.Execute(`printf 'x\342\202'`, nil)
	eq(t, "a cut character", strings.TrimRight(cut.Stdout, "\ufffd"), "x")
	if !strings.Contains(cut.Stdout, "\ufffd") {
		t.Errorf("a cut character: %q", cut.Stdout)
	}
	r := s.Execute(`printf 'a\000b\n'`, nil)
	eq(t, "next_seq after a NUL", r.NextSeq, 5)
	eq(t, "stdout_bytes with a NUL", s.Row(r.ExecutionID).StdoutBytes, 4)
}

func TestACharacterWrittenByteByByteArrivesWhole(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(dripCommand(t, "e2", "100ms", "82", "100ms", "ac", "100ms", "0a"), nil)
	completed(t, r, "€\n")
	eq(t, "next_seq", r.NextSeq, 5)
}

func TestASnapshotWithholdsHalfACharacter(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute(dripCommand(t, "6162f09f", "@go", "9880"+"63640a"), args{"yield_ms": 0})
	got := r.Stdout
	mcptest.Until(t, prompt, "the first bytes", func() bool {
		got += s.Call("read", r.On(nil)).Stdout
		return got != ""
	})
	eq(t, "before the rest", got, "ab")
	eq(t, "in between", s.Call("read", r.On(nil)).Stdout, "")
	release(t, s, "go")
	eq(t, "after the rest", s.Call("wait", r.On(nil)).Stdout, "😀cd\n")
}

func TestACapWithinACharacterCutsBeforeIt(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("i=0; while [ $i -lt 6667 ]; do printf '€'; i=$((i+1)); done", nil)
	eq(t, "bytes", len(r.Stdout), 19998)
	eq(t, "capped", r.Capped, true)
	eq(t, "next_seq", r.NextSeq, 19999)
	read := s.Call("read", r.On(nil))
	eq(t, "rest", read.Stdout, "€")
	eq(t, "next_seq of the rest", read.NextSeq, 20002)
	eq(t, "capped at the end", read.Capped, false)
}

func TestTheBurstBeforeTheExitIsComplete(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 15 {
		r := s.Execute("head -c 200000 /dev/zero | tr '\\0' x; printf END", nil)
		eq(t, "status", r.Status, "completed")
		eq(t, "stdout_bytes", s.Row(r.ExecutionID).StdoutBytes, 200003)
		eq(t, "tail", s.Call("read", r.On(args{"tail_lines": 1, "max_output_bytes": 3})).Stdout, "END")
	}
}

func TestSizesAroundPipeAndBufferBounds(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, size := range []int64{0, 1, 4095, 4096, 4097, 19999, 20000, 20001, 32767, 32768, 65535, 65536, 65537, 262143, 262144, 262145} {
		r := s.Execute(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' a", size), nil)
		eq(t, "status", r.Status, "completed")
		eq(t, "stdout_bytes", s.Row(r.ExecutionID).StdoutBytes, size)
		eq(t, "latest_seq", r.LatestSeq, size+1)
		again := s.Call("read", r.On(args{"since_seq": 1}))
		eq(t, fmt.Sprintf("evicted with %d bytes", size), again.Evicted, size > 262144)
		eq(t, fmt.Sprintf("start_seq with %d bytes", size), again.StartSeq, max(1, size-262144+1))
		eq(t, fmt.Sprintf("returned of %d bytes", size), int64(len(again.Stdout)), min(size, 20000))
		eq(t, fmt.Sprintf("capped with %d bytes", size), again.Capped, size > 20000)
	}
}

func TestMuchOutputOnOneLineLeavesTheMemoryBounded(t *testing.T) {
	slow(t)
	t.Parallel()
	s := start(t)
	const size = 100_000_000
	r := s.Execute(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", size), args{"yield_ms": 55000})
	eq(t, "status", r.Status, "completed")
	row := s.Row(r.ExecutionID)
	eq(t, "stdout_bytes", row.StdoutBytes, size)
	eq(t, "latest_seq", row.LatestSeq, size+1)
	read := s.Call("read", r.On(args{"since_seq": 1}))
	eq(t, "evicted", read.Evicted, true)
	eq(t, "start_seq", read.StartSeq, size+1-262144)
	eq(t, "bytes", len(read.Stdout), 20000)
	contains(t, "hint", read.Hint, "YIELDSHELL_MAX_BUFFER_BYTES")
	checkPeakMemory(t, s.PID(), 100<<10)
}

func TestBothStreamsOfAnUnevenCommandAreKept(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_MAX_BUFFER_BYTES=1000", "YIELDSHELL_MAX_OUTPUT_BYTES=100000")
	r := s.Execute("echo keep >&2; seq 1 2000", nil)
	eq(t, "a loud stdout leaves stderr alone", r.Stderr, "keep\n")
	eq(t, "evicted", r.Evicted, true)
	if n := len(r.Stdout); n < 990 || n > 1000 || !strings.HasSuffix(r.Stdout, "1999\n2000\n") {
		t.Errorf("stdout has %d bytes and ends with %q", n, r.Stdout[max(0, n-20):])
	}
}

func TestOutputArrivesWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exec sleep 1000", args{"yield_ms": 0})
	got := r.Stdout
	mcptest.Until(t, prompt, "the first line", func() bool { got += s.Call("read", r.On(nil)).Stdout; return got == "one\n" })
	release(t, s, "go")
	begun := time.Now()
	mcptest.Until(t, prompt, "the second line", func() bool { got += s.Call("read", r.On(nil)).Stdout; return got == "one\ntwo\n" })
	quickly(t, "the second line", begun, prompt)
}
