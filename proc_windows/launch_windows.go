package procwindows

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// launch is what CreateProcess needs to know.
type launch struct {
	program string // absolute path
	line    string // the whole command line, argument 0 included
	dir     string
	env     []uint16
	title   string // of the console
	stdin   windows.Handle
	stdout  windows.Handle
	stderr  windows.Handle
	job     *job
}

// started is a process that was created, and still has to be resumed.
type started struct {
	pid     int
	process windows.Handle
	thread  windows.Handle
}

// create makes the process, suspended and inside its job. After an error
// nothing is left of it.
func (l launch) create() (started, error) {
	attributes, err := windows.NewProcThreadAttributeList(2)
	if err != nil {
		return started{}, fmt.Errorf("process attributes: %w", err)
	}
	defer attributes.Delete()
	jobs := [1]windows.Handle{l.job.handle}
	if err := attributes.Update(procThreadAttributeJobList, unsafe.Pointer(&jobs), unsafe.Sizeof(jobs)); err != nil {
		return started{}, fmt.Errorf("process attributes (job): %w", err)
	}
	handles := [3]windows.Handle{l.stdin, l.stdout, l.stderr}
	if err := attributes.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&handles), unsafe.Sizeof(handles)); err != nil {
		return started{}, fmt.Errorf("process attributes (handles): %w", err)
	}
	info, err := l.call(attributes.List())
	if errors.Is(err, windows.ERROR_INTERNAL_ERROR) {
		// Wine answers so about once in a thousand starts, and does better when
		// it is asked again.
		info, err = l.call(attributes.List())
	}
	if err != nil {
		return started{}, err
	}
	s := started{int(info.ProcessId), info.Process, info.Thread}
	if err := l.verify(s); err != nil {
		return started{}, errors.Join(err, s.abandon())
	}
	return s, nil
}

func (l launch) call(attributes *windows.ProcThreadAttributeList) (*windows.ProcessInformation, error) {
	program, err := windows.UTF16PtrFromString(l.program)
	if err != nil {
		return nil, err
	}
	line, err := windows.UTF16PtrFromString(l.line)
	if err != nil {
		return nil, err
	}
	dir, err := windows.UTF16PtrFromString(l.dir)
	if err != nil {
		return nil, err
	}
	title, err := windows.UTF16PtrFromString(l.title)
	if err != nil {
		return nil, err
	}
	si := windows.StartupInfoEx{ProcThreadAttributeList: attributes}
	si.Cb = uint32(unsafe.Sizeof(si))
	si.Title = title
	si.Flags = windows.STARTF_USESTDHANDLES
	si.StdInput, si.StdOutput, si.StdErr = l.stdin, l.stdout, l.stderr
	// CREATE_NO_WINDOW: a console of its own, without a window. No
	// CREATE_NEW_PROCESS_GROUP, which would make the command deaf to Ctrl-C.
	const flags = windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW |
		windows.CREATE_UNICODE_ENVIRONMENT | windows.EXTENDED_STARTUPINFO_PRESENT
	var info windows.ProcessInformation
	if err := windows.CreateProcess(program, line, nil, nil, true, flags, &l.env[0], dir, &si.StartupInfo, &info); err != nil {
		return nil, fmt.Errorf("CreateProcess: %w", err)
	}
	return &info, nil
}

// verify makes sure that the process is in the job: a system that does not
// know the attribute must not cost the containment.
func (l launch) verify(s started) error {
	in, err := l.job.holds(s.process)
	if err != nil || in {
		return err
	}
	return l.job.adopt(s.process)
}

// resume lets the process run. The thread's handle is closed; the process's
// belongs to the caller. After an error nothing is left of the process.
func (s started) resume() error {
	before, err := windows.ResumeThread(s.thread)
	if err == nil && before != 1 {
		err = fmt.Errorf("suspend count was %d, not 1", before)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("ResumeThread: %w", err), s.abandon())
	}
	return windows.CloseHandle(s.thread)
}

// abandon ends a process that has not run yet.
func (s started) abandon() error {
	return errors.Join(windows.TerminateProcess(s.process, 1),
		windows.CloseHandle(s.thread), windows.CloseHandle(s.process))
}
