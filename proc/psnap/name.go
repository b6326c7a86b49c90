package psnap

import (
	"math"

	"github.com/shirou/gopsutil/v4/process"
)

// Name returns the name of a process's program, or nothing if it has ended.
func Name(pid int) string {
	if pid <= 0 || pid > math.MaxInt32 {
		return ""
	}
	// The literal, because NewProcess looks at all processes first on some
	// systems.
	name, err := (&process.Process{Pid: int32(pid)}).Name()
	if err != nil {
		return ""
	}
	return name
}
