package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// shellRuns is how many starts of the shell its time is taken from.
	shellRuns = 9
	// slowShell is what a start should not take: every command pays for it.
	slowShell = 100 * time.Millisecond
	// shellBound is how long the starts may take together. A shell that has
	// started once by then works.
	shellBound = 10 * time.Second
)

// checkShell times the shell that commands run in.
func (c *checkup) checkShell(ctx context.Context) {
	const area = "shell"
	name, args := defaultShell(c.sys.lookupEnv)
	times, err := timeRuns(ctx, name, args)
	if len(times) == 0 {
		c.find(area, gradeProblem, "commands cannot run without it; a call may name another one in 'shell'", "%s does not run: %v", name, err)
		return
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

// timeRuns runs a program several times. It ends at the first error or when
// the time is over, and returns how long the runs before took.
func timeRuns(ctx context.Context, name string, args []string) (times []time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, shellBound)
	defer cancel()
	for range shellRuns {
		begun := time.Now()
		output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
		switch {
		case ctx.Err() != nil:
			return times, fmt.Errorf("it has not ended after %v", shellBound)
		case err != nil:
			return nil, fmt.Errorf("%w %s", err, strings.TrimSpace(printable(string(output))))
		}
		times = append(times, time.Since(begun))
	}
	return times, nil
}
