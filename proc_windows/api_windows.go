package procwindows

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// What golang.org/x/sys/windows lacks. Each name is the system's, and
// documented at learn.microsoft.com.

var (
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")

	procAttachConsole            = kernel32.NewProc("AttachConsole")
	procFreeConsole              = kernel32.NewProc("FreeConsole")
	procGetConsoleOriginalTitleW = kernel32.NewProc("GetConsoleOriginalTitleW")
	procGetConsoleProcessList    = kernel32.NewProc("GetConsoleProcessList")
	procGetOEMCP                 = kernel32.NewProc("GetOEMCP")
	procIsDBCSLeadByteEx         = kernel32.NewProc("IsDBCSLeadByteEx")
	procIsProcessInJob           = kernel32.NewProc("IsProcessInJob")
	procPeekNamedPipe            = kernel32.NewProc("PeekNamedPipe")
	procSetConsoleCtrlHandler    = kernel32.NewProc("SetConsoleCtrlHandler")
)

const (
	procThreadAttributeJobList = 0x0002000D // PROC_THREAD_ATTRIBUTE_JOB_LIST
)

// jobPort is JOBOBJECT_ASSOCIATE_COMPLETION_PORT.
type jobPort struct {
	key  uintptr
	port windows.Handle
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	totalUserTime             int64
	totalKernelTime           int64
	thisPeriodTotalUserTime   int64
	thisPeriodTotalKernelTime int64
	totalPageFaultCount       uint32
	totalProcesses            uint32
	activeProcesses           uint32
	totalTerminatedProcesses  uint32
}

// processBasic is PROCESS_BASIC_INFORMATION with addresses of another process,
// which must not look like pointers in this one.
type processBasic struct {
	exitStatus uint32
	peb        uintptr
	affinity   uintptr
	priority   int32
	pid        uintptr
	parent     uintptr
}

// callErr turns the result of a call that fails with zero into an error.
func callErr(name string, r uintptr, err error) error {
	if r != 0 {
		return nil
	}
	if err == nil || err == syscall.Errno(0) {
		err = syscall.EINVAL
	}
	return fmt.Errorf("%s: %w", name, err)
}

func attachConsole(pid uint32) error {
	r, _, err := procAttachConsole.Call(uintptr(pid))
	return callErr("AttachConsole", r, err)
}

// freeConsole leaves the console, if there is one.
func freeConsole() {
	procFreeConsole.Call() // fails only where there is none
}

// setCtrlHandler adds a function that is asked what to do on console events;
// one that returns 1 has dealt with it.
func setCtrlHandler(callback uintptr) error {
	r, _, err := procSetConsoleCtrlHandler.Call(callback, 1)
	return callErr("SetConsoleCtrlHandler", r, err)
}

// ignoreCtrlC makes this process ignore Ctrl-C, or heed it. What it starts
// inherits that.
func ignoreCtrlC(ignore bool) {
	var add uintptr
	if ignore {
		add = 1
	}
	procSetConsoleCtrlHandler.Call(0, add) // cannot fail: it sets a flag
}

// consoleOriginalTitle is the title that this process's console was created
// with, or empty if the system does not tell. Unlike the current title no
// program can change it.
func consoleOriginalTitle() string {
	var b [512]uint16
	n, _, _ := procGetConsoleOriginalTitleW.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return windows.UTF16ToString(b[:min(int(n), len(b))])
}

// consoleProcesses lists the processes that share this process's console.
func consoleProcesses() ([]uint32, error) {
	list := make([]uint32, 64)
	for {
		n, _, err := procGetConsoleProcessList.Call(uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)))
		if err := callErr("GetConsoleProcessList", n, err); err != nil {
			return nil, err
		}
		if int(n) <= len(list) {
			return list[:n], nil
		}
		list = make([]uint32, n+64)
	}
}

// consoleNone is the console parameter of a process that was created with
// DETACHED_PROCESS; on Wine it is zero, as after FreeConsole everywhere.
const consoleNone = ^windows.Handle(0)

// consoleParameter is the console that a process was created to be on, or is
// on: a handle of its own, or a special value. It stands in the process's
// memory (RTL_USER_PROCESS_PARAMETERS); reading it fails if the process is not
// far enough, or too different from this one.
func consoleParameter(pid uint32) (console windows.Handle, err error) {
	err = readParameter(pid, unsafe.Offsetof(windows.RTL_USER_PROCESS_PARAMETERS{}.ConsoleHandle), unsafe.Pointer(&console), unsafe.Sizeof(console))
	return console, err
}

// isDeaf reports whether a process ignores Ctrl-C, without a handler: it was
// started so, as everything that "start /b" starts, or has chosen to, as the
// MSYS2 and Cygwin runtimes do. There is no call that tells. What cannot be told
// hears.
func isDeaf(pid uint32) bool {
	const ignore = 1 // CONSOLE_IGNORE_CTRL_C
	var flags uint32
	err := readParameter(pid, unsafe.Offsetof(windows.RTL_USER_PROCESS_PARAMETERS{}.ConsoleFlags), unsafe.Pointer(&flags), unsafe.Sizeof(flags))
	return err == nil && flags&ignore != 0
}

// readParameter reads a field of a process's RTL_USER_PROCESS_PARAMETERS.
func readParameter(pid uint32, offset uintptr, to unsafe.Pointer, size uintptr) error {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.PROCESS_VM_READ, false, pid)
	if err != nil {
		return fmt.Errorf("OpenProcess: %w", err)
	}
	defer windows.CloseHandle(h)
	var info processBasic
	if err := windows.NtQueryInformationProcess(h, windows.ProcessBasicInformation, unsafe.Pointer(&info), uint32(unsafe.Sizeof(info)), nil); err != nil {
		return fmt.Errorf("NtQueryInformationProcess: %w", err)
	}
	var parameters uintptr
	at := info.peb + unsafe.Offsetof(windows.PEB{}.ProcessParameters)
	if err := readMemory(h, at, unsafe.Pointer(&parameters), unsafe.Sizeof(parameters)); err != nil {
		return err
	}
	if parameters == 0 {
		return windows.ERROR_NOT_READY
	}
	return readMemory(h, parameters+offset, to, size)
}

func readMemory(process windows.Handle, at uintptr, to unsafe.Pointer, size uintptr) error {
	var n uintptr
	if err := windows.ReadProcessMemory(process, at, (*byte)(to), size, &n); err != nil {
		return fmt.Errorf("ReadProcessMemory: %w", err)
	}
	if n != size {
		return windows.ERROR_PARTIAL_COPY
	}
	return nil
}

func oemCodePage() uint32 {
	r, _, _ := procGetOEMCP.Call() // cannot fail
	return uint32(r)
}

func isLeadByte(codePage uint32, b byte) bool {
	r, _, _ := procIsDBCSLeadByteEx.Call(uintptr(codePage), uintptr(b))
	return r != 0
}

func isProcessInJob(process, job windows.Handle) (bool, error) {
	var in int32
	r, _, err := procIsProcessInJob.Call(uintptr(process), uintptr(job), uintptr(unsafe.Pointer(&in)))
	return in != 0, callErr("IsProcessInJob", r, err)
}

// peekPipe says how many bytes wait in a pipe. The error is
// windows.ERROR_BROKEN_PIPE once the pipe is empty and all writers are gone.
func peekPipe(pipe windows.Handle) (available uint32, err error) {
	r, _, e := procPeekNamedPipe.Call(uintptr(pipe), 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0)
	return available, callErr("PeekNamedPipe", r, e)
}
