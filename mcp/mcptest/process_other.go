//go:build !linux

package mcptest

import (
	"os"
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

// Born tells processes apart that have had the same id: when the process
// began, in a unit of the system's, or 0 if it is not there.
func Born(pid int) int64 {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0
	}
	born, err := p.CreateTime()
	if err != nil {
		return 0
	}
	return born
}

// Parent is the process's parent, or 0. Windows goes on naming a parent that
// has ended, whose id may be another process's by now: a younger one's.
func Parent(pid int) int {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0
	}
	id, err := p.Ppid()
	if err != nil {
		return 0
	}
	parent, err := process.NewProcess(id)
	if err != nil {
		return 0
	}
	born, err := p.CreateTime()
	if err != nil {
		return 0
	}
	if parentBorn, err := parent.CreateTime(); err != nil || parentBorn > born {
		return 0
	}
	return int(id)
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

// holders lists the processes that have one of the files open; these systems do
// not say who has.
func holders([]os.FileInfo) []int { return nil }

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
