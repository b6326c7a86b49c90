package main

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// shellRuns is how many starts of the shell its time is taken from, unless
	// they take longer than askBound.
	shellRuns = 9
	// shellBound is when a shell counts as one that hangs.
	shellBound = 30 * time.Second
	// slowShell is what a start should not take: every command pays for it.
	slowShell = 100 * time.Millisecond
	// askBound bounds what other programs are asked.
	askBound = 3 * time.Second
)

// checkShell times the shell that commands run in.
func (c *checkup) checkShell(ctx context.Context) {
	const area = "shell"
	name, args := defaultShell(c.sys.lookupEnv)
	ctx, cancel := context.WithTimeout(ctx, shellBound)
	defer cancel()
	var times []time.Duration
	for first := time.Now(); len(times) == 0 || len(times) < shellRuns && time.Since(first) < askBound; {
		begun := time.Now()
		if output, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
			c.find(area, gradeProblem, "commands cannot run without it; a call may name another one in 'shell'",
				"%s does not run: %v %s", name, err, strings.TrimSpace(printable(string(output))))
			return
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	median := times[len(times)/2]
	took := float64(median) / float64(time.Millisecond)
	if median > slowShell {
		c.find(area, gradeWarning, "every command takes at least as long; is there a scanner in the way, or a slow disk?",
			"%s takes %.0f ms to start and end", name, took)
		return
	}
	c.find(area, gradeOK, "", "commands run in %s, which starts and ends in %.1f ms (median of %d)", name, took, len(times))
}
