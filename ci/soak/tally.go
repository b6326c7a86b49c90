//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// tally counts what was done and keeps what went wrong.
type tally struct {
	out   io.Writer
	begun time.Time

	mu     sync.Mutex
	counts map[string]int
	wrong  []string
	bytes  uint64
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, begun: time.Now(), counts: make(map[string]int)}
}

func (t *tally) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what]++
}

// output counts bytes of output that were checked.
func (t *tally) output(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += uint64(n)
}

// maxShown is how many failures are printed.
const maxShown = 20

func (t *tally) fail(format string, a ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong = append(t.wrong, fmt.Sprintf(format, a...))
	if len(t.wrong) <= maxShown {
		fmt.Fprintf(t.out, "%6.0f s  FAILURE: %.2000s\n", time.Since(t.begun).Seconds(), t.wrong[len(t.wrong)-1])
	}
}

func (t *tally) failures() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.wrong)
}

func (t *tally) print(format string, a ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%6.0f s  %s\n", time.Since(t.begun).Seconds(), fmt.Sprintf(format, a...))
}

func (t *tally) progress(s sample) {
	t.mu.Lock()
	calls, wrong := t.counts["calls"], len(t.wrong)
	t.mu.Unlock()
	t.print("%d calls, %d failures, %v", calls, wrong, s)
}

// Bounds of what may differ between the beginning and the end. The memory of
// a Go program goes up and down by a few MB with the collector.
const (
	memorySlack = 6 << 10 // KiB
	threadSlack = 4
)

// judge compares the idle server before and after, and the two quarters of the
// second half of the samples in between.
func (t *tally) judge(before, after sample, samples []sample) {
	t.print("idle before: %v", before)
	t.print("idle after:  %v", after)
	if after.descriptors != before.descriptors {
		t.fail("the server has %d descriptors, and had %d", after.descriptors, before.descriptors)
	}
	if after.children != before.children {
		t.fail("the server has %d children, and had %d", after.children, before.children)
	}
	if n := len(samples); n >= 8 {
		third, last := median(samples[n/2:n*3/4]), median(samples[n*3/4:])
		t.print("memory (anonymous, median): %.1f MB in the third quarter, %.1f MB in the last", mb(third), mb(last))
		if last > third+memorySlack {
			t.fail("memory grows: %.1f MB, then %.1f MB", mb(third), mb(last))
		}
	}
	most := sample{}
	for _, s := range samples {
		most.anonymous = max(most.anonymous, s.anonymous)
		most.descriptors = max(most.descriptors, s.descriptors)
		most.threads = max(most.threads, s.threads)
		most.children = max(most.children, s.children)
	}
	t.print("at most:     %v", most)
	if len(samples) > 0 && after.threads > most.threads+threadSlack {
		t.fail("the idle server has %d threads", after.threads)
	}
}

func median(samples []sample) int {
	var values []int
	for _, s := range samples {
		values = append(values, s.anonymous)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func mb(kib int) float64 { return float64(kib) * 1024 / 1e6 }

func (t *tally) summary() {
	t.mu.Lock()
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(t.counts)) {
		lines = append(lines, fmt.Sprintf("%s %d", name, t.counts[name]))
	}
	size, wrong := t.bytes, len(t.wrong)
	t.mu.Unlock()
	t.print("%s", strings.Join(lines, ", "))
	t.print("%.1f MB of output compared byte for byte, %d failures", float64(size)/1e6, wrong)
}
