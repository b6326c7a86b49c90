package mcptest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Alive reports whether the process exists and is no zombie.
func Alive(pid int) bool {
	switch state(pid) {
	case "", "Z", "X":
		return false
	}
	return true
}

// stat returns the fields of /proc/PID/stat after the name, or nil: state,
// parent, process group, session, terminal and so on (proc(5)).
func stat(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	i := bytes.LastIndexByte(data, ')') // the name may hold anything
	return strings.Fields(string(data[i+1:]))
}

func state(pid int) string {
	if f := stat(pid); f != nil {
		return f[0]
	}
	return ""
}

// Born tells processes apart that have had the same id: when the process
// began, in a unit of the system's, or 0 if it is not there.
func Born(pid int) int64 {
	if f := stat(pid); len(f) > 19 {
		born, _ := strconv.ParseInt(f[19], 10, 64)
		return born
	}
	return 0
}

// Parent is the process's parent, or 0.
func Parent(pid int) int {
	if f := stat(pid); f != nil {
		parent, _ := strconv.Atoi(f[1])
		return parent
	}
	return 0
}

// Processes lists all process ids.
func Processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// holders lists the other processes that have one of the files open. Of those
// that may not be asked it knows nothing.
func holders(files []os.FileInfo) []int {
	var pids []int
	for _, pid := range Processes() {
		if pid != os.Getpid() && holds(pid, files) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func holds(pid int, files []os.FileInfo) bool {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(open, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && slices.ContainsFunc(files, func(f os.FileInfo) bool { return os.SameFile(f, info) })
	})
}

// CommandLine is the process's command line with spaces between the words.
func CommandLine(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " "))
}
