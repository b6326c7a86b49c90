package mcptest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Survivors waits until the processes have gone and returns those that have
// not within the bound. A zombie has gone. Processes of others announce
// their end to nobody, so it looks again and again.
func Survivors(bound time.Duration, pids ...int) []int {
	deadline := time.Now().Add(bound)
	for {
		var left []int
		for _, pid := range pids {
			if Alive(pid) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		pids = left
		time.Sleep(10 * time.Millisecond)
	}
}

// WaitGone fails the test if one of the processes lives longer than bound.
func WaitGone(t testing.TB, bound time.Duration, pids ...int) {
	t.Helper()
	if left := Survivors(bound, pids...); len(left) > 0 {
		t.Errorf("still alive after %v: %s", bound, describe(left))
	}
}

// WaitUnmarked fails the test if a process with the marker on its command
// line lives longer than bound.
func WaitUnmarked(t testing.TB, bound time.Duration, marker string) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left := Marked(marker)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%d marked processes are still alive after %v: %s", len(left), bound, describe(left))
			return
		}
		time.Sleep(pause)
	}
}

// WaitMarked waits until at least n processes have the marker on their command
// line.
func WaitMarked(t testing.TB, bound time.Duration, marker string, n int) {
	t.Helper()
	got := 0
	deadline := time.Now().Add(bound)
	for {
		if got = len(Marked(marker)); got >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d marked processes are there after %v", got, n, bound)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ReadPID waits for a file in which a command writes a process id and a
// newline.
func ReadPID(t testing.TB, path string) int {
	t.Helper()
	pid := 0
	Until(t, 20*time.Second, "a process id in "+path, func() bool {
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

// describe lists processes with their command lines, at most ten of them.
func describe(pids []int) string {
	var b strings.Builder
	for i, pid := range pids {
		if i == 10 {
			fmt.Fprintf(&b, "... and %d more", len(pids)-10)
			break
		}
		fmt.Fprintf(&b, "%d (%.80q) ", pid, CommandLine(pid))
	}
	return b.String()
}
