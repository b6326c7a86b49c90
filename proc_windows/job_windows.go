package procwindows

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// job is a Job Object whose processes end when its last handle is closed. The
// handle is not inheritable, so this process holds the only one.
//
// Never wait on the handle: Windows signals a job on its time limit, not when
// it is empty.
type job struct {
	mu     sync.RWMutex
	handle windows.Handle // zero once closed
}

// use calls f with the handle, which stays open meanwhile.
func (j *job) use(f func(windows.Handle) error) error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.handle == 0 {
		return proc.ErrClosed
	}
	return f(j.handle)
}

// newJob creates a job that nothing can break away from.
func newJob() (*job, error) {
	h, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("CreateJobObject: %w", err)
	}
	j := &job{handle: h}
	if err := j.setLimits(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (j *job) setLimits(flags uint32) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = flags
	return j.set("limits", windows.JobObjectExtendedLimitInformation, unsafe.Pointer(&info), unsafe.Sizeof(info))
}

// notify makes the job report to the port, under the key. It must come before
// the first process, or an early end goes unreported.
func (j *job) notify(port windows.Handle, key uintptr) error {
	info := jobPort{key, port}
	return j.set("port", windows.JobObjectAssociateCompletionPortInformation, unsafe.Pointer(&info), unsafe.Sizeof(info))
}

func (j *job) set(what string, class uint32, p unsafe.Pointer, size uintptr) error {
	return j.use(func(h windows.Handle) error {
		if _, err := windows.SetInformationJobObject(h, class, uintptr(p), uint32(size)); err != nil {
			return fmt.Errorf("SetInformationJobObject (%s): %w", what, err)
		}
		return nil
	})
}

func (j *job) query(what string, class int32, p unsafe.Pointer, size uintptr) error {
	return j.use(func(h windows.Handle) error {
		if err := windows.QueryInformationJobObject(h, class, uintptr(p), uint32(size), nil); err != nil {
			return fmt.Errorf("QueryInformationJobObject (%s): %w", what, err)
		}
		return nil
	})
}

// active counts the live processes.
func (j *job) active() (int, error) {
	var info jobAccounting
	err := j.query("accounting", windows.JobObjectBasicAccountingInformation, unsafe.Pointer(&info), unsafe.Sizeof(info))
	return int(info.activeProcesses), err
}

// pids lists the live processes.
func (j *job) pids() ([]int, error) {
	// JOBOBJECT_BASIC_PROCESS_ID_LIST: two 32-bit counts, then the ids, each
	// as wide as a pointer.
	const header = 8
	const width = unsafe.Sizeof(uintptr(0))
	for room := 64; ; room *= 2 {
		buf := make([]uintptr, header/width+uintptr(room))
		err := j.query("process ids", windows.JobObjectBasicProcessIdList, unsafe.Pointer(&buf[0]), uintptr(len(buf))*width)
		if errors.Is(err, windows.ERROR_MORE_DATA) {
			continue
		}
		if err != nil {
			return nil, err
		}
		listed := (*[2]uint32)(unsafe.Pointer(&buf[0]))[1]
		pids := make([]int, 0, listed)
		for _, id := range buf[header/width:][:listed] {
			pids = append(pids, int(id))
		}
		return pids, nil
	}
}

// adopt puts a process into the job.
func (j *job) adopt(process windows.Handle) error {
	return j.use(func(h windows.Handle) error {
		if err := windows.AssignProcessToJobObject(h, process); err != nil {
			return fmt.Errorf("AssignProcessToJobObject: %w", err)
		}
		return nil
	})
}

// holds reports whether a process is in the job.
func (j *job) holds(process windows.Handle) (in bool, err error) {
	err = j.use(func(h windows.Handle) error {
		in, err = isProcessInJob(process, h)
		return err
	})
	return in, err
}

// terminate ends every process of the job. They cannot delay or refuse it.
func (j *job) terminate(code uint32) error {
	return j.use(func(h windows.Handle) error {
		if err := windows.TerminateJobObject(h, code); err != nil {
			return fmt.Errorf("TerminateJobObject: %w", err)
		}
		return nil
	})
}

func (j *job) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle == 0 {
		return nil
	}
	h := j.handle
	j.handle = 0
	return windows.CloseHandle(h)
}
