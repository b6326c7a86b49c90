package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// zombiesBelow lists the zombies whose parent is pid or a descendant of it.
func zombiesBelow(pid int) []int {
	parents := map[int]bool{pid: true}
	for _, d := range mcptest.Descendants(pid) {
		parents[d] = true
	}
	var zombies []int
	for _, p := range mcptest.Processes() {
		if parents[mcptest.Parent(p)] && !mcptest.Alive(p) {
			zombies = append(zombies, p)
		}
	}
	return zombies
}

// supervisors lists the supervisors of a server.
func supervisors(server int) []int {
	var found []int
	for _, p := range mcptest.Descendants(server) {
		if mcptest.Parent(p) == server && strings.HasPrefix(mcptest.CommandLine(p), "yieldshell-supervisor") {
			found = append(found, p)
		}
	}
	return found
}

// entries counts what a folder of /proc holds.
func entries(t *testing.T, pid int, folder string) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", pid, folder))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// kilobytes reads a field such as "Pss:" of a file of /proc.
func kilobytes(t *testing.T, pid int, file, field string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in /proc/%d/%s", field, pid, file)
	return 0
}

// ticks is the processor time of the processes in clock ticks (utime and
// stime of proc(5)).
func ticks(t *testing.T, pids ...int) int {
	t.Helper()
	sum := 0
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, f := range fields[11:13] {
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
