//go:build !linux

package mcptest

import (
	"slices"

	"github.com/shirou/gopsutil/v4/process"
)

// Alive reports whether the process exists and is no zombie.
func Alive(pid int) bool {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return false
	}
	status, err := p.Status()
	if err != nil { // some systems cannot tell: then existing is being alive
		running, err := p.IsRunning()
		return err == nil && running
	}
	return !slices.Contains(status, process.Zombie)
}

// Parent is the process's parent, or 0.
func Parent(pid int) int {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0
	}
	parent, err := p.Ppid()
	if err != nil {
		return 0
	}
	return int(parent)
}

// Processes lists all process ids.
func Processes() []int {
	ids, err := process.Pids()
	if err != nil {
		return nil
	}
	pids := make([]int, len(ids))
	for i, id := range ids {
		pids[i] = int(id)
	}
	return pids
}

// CommandLine is the process's command line with spaces between the words.
func CommandLine(pid int) string {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return ""
	}
	line, err := p.Cmdline()
	if err != nil {
		return ""
	}
	return line
}
