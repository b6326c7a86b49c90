//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// A sample is what the server takes at one moment.
type sample struct {
	anonymous   int // KiB of memory that is not a file's
	descriptors int
	threads     int
	children    int // processes below it
}

func (s sample) String() string {
	return fmt.Sprintf("%.1f MB, %d descriptors, %d threads, %d children", mb(s.anonymous), s.descriptors, s.threads, s.children)
}

func (s *server) sample() sample {
	pid := s.cmd.Process.Pid
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	descriptors, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return sample{
		anonymous:   field(status, "RssAnon:"),
		threads:     field(status, "Threads:"),
		descriptors: len(descriptors),
		children:    len(mcptest.Descendants(pid)),
	}
}

// field is a number in /proc/PID/status (proc_pid_status(5)).
func field(status []byte, name string) int {
	_, rest, _ := bytes.Cut(status, []byte(name))
	words := strings.Fields(string(rest))
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(words[0])
	return n
}

// settleBound is how long an idle server may take to give back what it keeps
// for the next command.
const settleBound = 10 * time.Second

// settledSample waits until the server has one child, its spare supervisor,
// for a while.
func (s *server) settledSample() sample {
	deadline := time.Now().Add(settleBound)
	steady := 0
	for {
		now := s.sample()
		if steady++; now.children != 1 {
			steady = 0
		}
		if steady == 10 || time.Now().After(deadline) {
			return now
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// withVariable lists the live processes, zombies apart, that have the variable
// in their environment.
func withVariable(variable string) []int {
	var found []int
	for _, pid := range mcptest.Processes() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || pid == os.Getpid() {
			continue
		}
		for v := range bytes.SplitSeq(environ, []byte{0}) {
			if string(v) == variable && mcptest.Alive(pid) {
				found = append(found, pid)
			}
		}
	}
	return found
}
