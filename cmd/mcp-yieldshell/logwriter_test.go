package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A stderr that nobody reads holds up neither those who log nor the end.
func TestLogWriterNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := newLogWriter(w)
		begun := time.Now()
		for i := range 2 * logBacklog {
			fmt.Fprintf(l, "line %d\n", i)
		}
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("writing took %v", waited)
		}
		l.Close()
		if waited := time.Since(begun); waited != logFlushBound {
			t.Errorf("closing took %v, want %v", waited, logFlushBound)
		}
		fmt.Fprintln(l, "too late") // must not panic
		r.Close()
	})
}

// A stderr that is read again gets what fitted, in order, and hears how much
// did not.
func TestLogWriterCountsWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := newLogWriter(w)
		fmt.Fprintln(l, "line 0")
		synctest.Wait() // it is being written, so that the backlog is empty
		for i := range logBacklog + 3 {
			fmt.Fprintf(l, "line %d\n", i+1)
		}
		go func() {
			l.Close()
			w.Close()
		}()
		var got []string
		for lines := bufio.NewScanner(r); lines.Scan(); {
			got = append(got, lines.Text())
		}
		if len(got) != logBacklog+2 || got[0] != "line 0" || !strings.Contains(got[1], " 3 lines ") {
			t.Fatalf("%d lines, beginning with %q", len(got), got[:min(3, len(got))])
		}
		if last := got[len(got)-1]; last != fmt.Sprintf("line %d", logBacklog) {
			t.Errorf("the last line is %q", last)
		}
	})
}
