//go:build unix

package procunix

import (
	"math"

	gopsutil "github.com/shirou/gopsutil/v4/process"
)

// nameOf returns the name of a process's program, or nothing if it has ended.
func nameOf(pid int) string {
	if pid <= 0 || pid > math.MaxInt32 {
		return ""
	}
	// The literal, because NewProcess looks at all processes first on some
	// systems.
	name, err := (&gopsutil.Process{Pid: int32(pid)}).Name()
	if err != nil {
		return ""
	}
	return name
}
