package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestAnEndThatRacesTheTimeoutIsConsistent(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 20 {
		begun := time.Now()
		r := s.Execute("sleep 0.3", args{"timeout_ms": 300})
		quickly(t, "execute", begun, prompt)
		switch {
		case r.Status == "completed" && r.Exit() == "0" && r.Signal == "":
		case r.Status == "timed_out" && r.Exit() != "null" && (r.Signal != "" || r.Exit() != "0"):
		default:
			t.Errorf("inconsistent: %v", r)
		}
	}
}

func TestAnEndThatRacesStopIsConsistent(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 20 {
		r := s.Execute("sleep 0.05", args{"yield_ms": 40})
		if r.Status == "completed" {
			continue
		}
		stop := s.Call("stop", r.On(nil))
		row := s.Row(r.ExecutionID)
		switch {
		case stop.Stopped && row.Status == "stopped" && row.Exit() != "null":
		case !stop.Stopped && row.Status == "completed" && row.Exit() == "0":
		default:
			t.Errorf("inconsistent: stop %v, then %+v", stop, row)
		}
	}
}

func TestATimeoutBeforeTheYieldAnswersAtTheTimeout(t *testing.T) {
	t.Parallel()
	s := start(t)
	begun := time.Now()
	r := s.Execute("echo start; sleep 1000", args{"timeout_ms": 400, "yield_ms": 30000})
	notBefore(t, "execute", begun, 390*time.Millisecond)
	quickly(t, "execute", begun, prompt)
	eq(t, "status", r.Status, "timed_out")
	eq(t, "stdout", r.Stdout, "start\n")
	eq(t, "signal", r.Signal, "SIGTERM")
	if r.ExecutionID == "" || r.ProcessID == 0 {
		t.Errorf("ids are missing: %v", r)
	}
}

func TestRequestsStayBelowTheCeilingOfClients(t *testing.T) {
	slow(t)
	t.Parallel()
	s := start(t)
	begun := time.Now()
	r := s.Execute("sleep 1000", args{"yield_ms": 600000, "timeout_ms": 57000})
	notBefore(t, "execute", begun, 54*time.Second)
	quickly(t, "execute", begun, time.Minute)
	eq(t, "status", r.Status, "backgrounded")
	w := s.Call("wait", r.On(args{"timeout_ms": 600000}))
	eq(t, "max_wait_ms", w.MaxWaitMS, 55000)
	eq(t, "wait_result", w.WaitResult, "exited")
	eq(t, "status", w.Status, "timed_out")
}

func TestStopsAtTheSameTimeAgree(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := running(t, s, deaf, nil)
	var stops []*mcptest.Pending
	for range 4 {
		stops = append(stops, s.Go("stop", r.On(args{"force_after_ms": 600})))
	}
	stopped := 0
	for _, p := range stops {
		if result := p.Result(); result.Stopped {
			stopped++
		} else {
			contains(t, "error", result.Error, "not running")
		}
	}
	if stopped == 0 {
		t.Error("none of the stops succeeded")
	}
	eq(t, "status", s.Row(r.ExecutionID).Status, "stopped")
	eq(t, "rows", len(s.Rows()), 1)
}

func TestASecondStopShortensTheGraceOfTheFirst(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := running(t, s, deaf, nil)
	first := s.Go("stop", r.On(args{"force_after_ms": 40000}))
	begun := time.Now()
	eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 100})).Stopped, true)
	first.Result()
	quickly(t, "both stops", begun, 20*time.Second)
}

func TestCleanupUnderAWaitHarmsNeither(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("while [ ! -e go ]; do sleep 0.02; done; echo two", args{"yield_ms": 0})
	w := s.Go("wait", r.On(args{"timeout_ms": 30000}))
	release(t, s, "go")
	for {
		s.Call("cleanup", args{"completed_older_than_ms": 0, "stopped_older_than_ms": 0})
		select {
		case <-w.Done():
			result := w.Result()
			if result.IsError { // the record went before the wait came to it
				unknown(t, result, r.ExecutionID)
				return
			}
			eq(t, "wait_result", result.WaitResult, "exited")
			eq(t, "stdout", result.Stdout, "two\n")
			read := s.Call("read", r.On(args{"since_seq": 1}))
			if read.IsError {
				unknown(t, read, r.ExecutionID)
			}
			return
		default:
		}
	}
}

func TestReadersOfOneCursorShareTheBytes(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("seq 1 3000", args{"max_output_bytes": 1})
	var reads []*mcptest.Pending
	for range 40 {
		reads = append(reads, s.Go("read", r.On(args{"max_output_bytes": 400})))
	}
	pieces := map[int64]string{r.StartSeq: r.Stdout}
	for _, p := range reads {
		if result := p.Result(); result.Stdout != "" {
			if _, twice := pieces[result.StartSeq]; twice {
				t.Errorf("two reads got the bytes from %d", result.StartSeq)
			}
			pieces[result.StartSeq] = result.Stdout
		}
	}
	var all strings.Builder
	for at := int64(1); pieces[at] != ""; {
		piece := pieces[at]
		all.WriteString(piece)
		at += int64(len(piece))
	}
	eq(t, "all pieces", all.String(), numbers(3000))
}

// numbers is what seq 1 n prints.
func numbers(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte('\n')
	}
	return b.String()
}
