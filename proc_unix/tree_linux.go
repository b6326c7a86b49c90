package procunix

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

const (
	receiveFlags = unix.MSG_CMSG_CLOEXEC
	sendFlags    = unix.MSG_NOSIGNAL
)

// guarantees depends on /proc: without it, or with one of another PID
// namespace, only the shell's process group can be found.
func guarantees() proc.Guarantees {
	ok := procIsOurs()
	return proc.Guarantees{Tree: ok, SurvivesServerKill: ok}
}

// procIsOurs reports whether /proc shows this PID namespace. In another one
// its numbers would be those of strangers.
func procIsOurs() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// executable is the running program, also after its file has been replaced.
// Without /proc it is the file that it was started from.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// adoptOrphans makes this process the parent of descendants whose own parent
// has ended (prctl(2), PR_SET_CHILD_SUBREAPER).
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// shellAttr gives the shell a session of its own, and ties it to the thread
// that forks it.
func shellAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// signalsBlocked reports whether the calling thread blocks signals.
func signalsBlocked() bool {
	var mask unix.Sigset_t
	err := unix.PthreadSigmask(unix.SIG_SETMASK, nil, &mask)
	return err == nil && mask != unix.Sigset_t{}
}

// supervisorAttr gives the supervisor a session of its own, and lets the end of
// the server wake it in case it has been stopped: it has work to do then.
func supervisorAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}

// clearSignalMask empties the calling thread's signal mask, which a child
// that it forks inherits.
func clearSignalMask() {
	// It fails for bad arguments only.
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, new(unix.Sigset_t), nil)
}

// closeOnExec keeps every descriptor from first on from commands.
func closeOnExec(first int) {
	if unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	closeOnExecIn("/proc/self/fd", first) // before Linux 5.11
}

// tree finds the descendants of this process in /proc.
type tree struct {
	self  int
	ours  bool // /proc shows this PID namespace
	scan  bool // the kernel does not list children (CONFIG_PROC_CHILDREN)
	shell int
	path  []byte
	data  []byte
}

// adopts: orphans become children of this process, so that the tree is empty
// when the kernel says that there is no child.
const adopts = true

// wait blocks until a child has ended, without reaping it, or returns at once
// when there is none.
func (t *tree) wait(bool) {
	for unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

func (t *tree) claim() error {
	t.open()
	return adoptOrphans()
}

// open finds out what /proc offers.
func (t *tree) open() {
	t.self = os.Getpid()
	t.ours = procIsOurs()
	t.data = make([]byte, 4<<10)
	self := strconv.Itoa(t.self)
	t.scan = t.ours && unix.Access("/proc/self/task/"+self+"/children", unix.R_OK) != nil
}

func (t *tree) begin(shell int) { t.shell = shell }

// poke ends wait where something can change without an event. Here nothing
// can.
func (t *tree) poke() {}

// update finds new members. Here the kernel keeps them.
func (t *tree) update() {}

// collect lists the descendants of this process, zombies included.
func (t *tree) collect() []member {
	switch {
	case !t.ours:
		return groupMember(t.shell)
	case t.scan:
		return t.scanAll()
	default:
		return t.walk()
	}
}

// walk goes down from parent to child.
func (t *tree) walk() []member { return t.descend(t.collectChildren()) }

// descend appends the descendants of the processes in ms.
func (t *tree) descend(ms []member) []member {
	var pids []int
	for i := 0; i < len(ms); i++ {
		parent := ms[i]
		pids = t.children(pids[:0], parent.pid, parent.threads)
		for _, pid := range pids {
			st, ok := t.stat(pid)
			// A child that is re-parented in between is found the next time.
			if ok && st.isChildOf(parent.pid) {
				ms = append(ms, st.member(false))
			}
		}
	}
	return ms
}

// collectChildren lists this process's own children, zombies included.
func (t *tree) collectChildren() []member {
	var ms []member
	if t.scan {
		for _, m := range t.scanAll() {
			if m.direct {
				ms = append(ms, m)
			}
		}
		return ms
	}
	for _, pid := range t.children(nil, t.self, anyThreads) {
		if st, ok := t.stat(pid); ok && st.isChildOf(t.self) {
			ms = append(ms, st.member(true))
		}
	}
	return ms
}

// anyThreads stands for a number of threads that is not known.
const anyThreads = 0

// children appends the ids of a process's children. Linux keeps them by the
// thread that forked them.
func (t *tree) children(pids []int, pid, threads int) []int {
	if threads == 1 {
		t.path = appendPath(t.path[:0], pid, "/task/")
		t.path = strconv.AppendInt(t.path, int64(pid), 10)
		return appendNumbers(pids, t.read(append(t.path, "/children"...)))
	}
	dir := string(appendPath(t.path[:0], pid, "/task"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return pids // it has ended
	}
	for _, e := range entries {
		t.path = append(append(append(t.path[:0], dir...), '/'), e.Name()...)
		pids = appendNumbers(pids, t.read(append(t.path, "/children"...)))
	}
	return pids
}

// scanAll finds the descendants by their parents' ids among all processes.
func (t *tree) scanAll() []member {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return groupMember(t.shell)
	}
	byParent := make(map[int][]status)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, ok := t.stat(pid); ok {
			byParent[st.ppid] = append(byParent[st.ppid], st)
		}
	}
	var ms []member
	for _, st := range byParent[t.self] {
		ms = append(ms, st.member(true))
	}
	for i := 0; i < len(ms); i++ {
		for _, st := range byParent[ms[i].pid] {
			ms = append(ms, st.member(false))
		}
	}
	return ms
}

// still reports whether m lives on in the session sid.
func (t *tree) still(m member, sid int) bool {
	if !t.ours {
		return len(groupMember(t.shell)) > 0
	}
	st, ok := t.stat(m.pid)
	now := st.member(m.direct)
	return ok && now.identity == m.identity && now.sid == sid && now.live()
}

// signal signals one process, and never a stranger that has taken its id.
// Signal 0 only asks. The caller keeps direct children from being reaped.
func (t *tree) signal(m member, sig unix.Signal) error {
	if m.direct {
		return unix.Kill(m.pid, sig)
	}
	fd, err := unix.PidfdOpen(m.pid, 0)
	if err == unix.ENOSYS { // before Linux 5.3
		if !t.same(m) {
			return unix.ESRCH
		}
		return unix.Kill(m.pid, sig)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !t.same(m) {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

func (t *tree) same(m member) bool {
	st, ok := t.stat(m.pid)
	return ok && st.start == m.start
}

// hasDefault reports whether the signal has its default effect on the
// process: not caught, ignored or blocked.
func (t *tree) hasDefault(pid int, sig unix.Signal) bool {
	data := t.read(appendPath(t.path[:0], pid, "/status"))
	if data == nil {
		return false
	}
	bit := uint64(1) << (sig - 1)
	for _, field := range []string{"SigBlk:\t", "SigIgn:\t", "SigCgt:\t"} {
		_, rest, ok := bytes.Cut(data, []byte(field))
		if !ok {
			return false
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		mask, err := strconv.ParseUint(string(line), 16, 64)
		if err != nil || mask&bit != 0 {
			return false
		}
	}
	return true
}

// status is what /proc/<pid>/stat says (proc_pid_stat(5)).
type status struct {
	identity
	letter          byte
	ppid, pgid, sid int
	threads         int
}

// unknownParent is the parent of a process that /proc does not show.
const unknownParent = -1

func (s status) isChildOf(pid int) bool {
	return s.ppid == pid || s.ppid == unknownParent
}

func (s status) member(direct bool) member {
	m := member{identity: s.identity, pgid: s.pgid, sid: s.sid, direct: direct, threads: s.threads}
	switch s.letter {
	case 'Z', 'X', 'x':
		// A process whose first thread has ended looks like a zombie as
		// long as another one runs.
		if s.threads <= 1 {
			m.state = stateZombie
		}
	case 'T':
		m.state = stateStopped
	case 'D':
		m.state = stateBlocked
	}
	return m
}

// stat reads the status of one process, and reports whether there is one.
func (t *tree) stat(pid int) (status, bool) {
	t.path = appendPath(t.path[:0], pid, "/stat")
	st, ok := parseStat(t.read(t.path))
	if !ok {
		return t.hiddenStat(pid)
	}
	return st, true
}

// hiddenStat stands in for stat where /proc does not show other users'
// processes (hidepid). The kernel tells the session all the same. Its parent
// cannot be checked, but it cannot be signalled either.
func (t *tree) hiddenStat(pid int) (status, bool) {
	if unix.Kill(pid, 0) != unix.EPERM {
		return status{}, false
	}
	st := status{identity: identity{pid: pid}, letter: 'S', ppid: unknownParent}
	var err error
	if st.sid, err = unix.Getsid(pid); err != nil {
		return status{}, false
	}
	if st.pgid, err = unix.Getpgid(pid); err != nil {
		return status{}, false
	}
	return st, true
}

func parseStat(data []byte) (status, bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 1 || end < open {
		return status{}, false
	}
	st := status{identity: identity{pid: atoi(data[:open-1])}}
	// The fields behind the name, counted from 3 in the manual.
	n := 3
	for f := range bytes.FieldsSeq(data[end+1:]) {
		switch n {
		case 3:
			st.letter = f[0]
		case 4:
			st.ppid = atoi(f)
		case 5:
			st.pgid = atoi(f)
		case 6:
			st.sid = atoi(f)
		case 20:
			st.threads = atoi(f)
		case 22:
			st.start = uint64(atoi(f))
			return st, true
		}
		n++
	}
	return status{}, false
}

// atoi reads the digits at the start of b.
func atoi(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

func appendNumbers(ns []int, b []byte) []int {
	for f := range bytes.FieldsSeq(b) {
		ns = append(ns, atoi(f))
	}
	return ns
}

func appendPath(b []byte, pid int, name string) []byte {
	b = append(b, "/proc/"...)
	b = strconv.AppendInt(b, int64(pid), 10)
	return append(b, name...)
}

// pageful is less than any file in /proc returns at once when it has more.
const pageful = 2 << 10

// read returns a file's content, or nil. It is valid until the next read.
func (t *tree) read(path []byte) []byte {
	fd, err := openRaw(append(path, 0))
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	size := 0
	for {
		if size == len(t.data) {
			t.data = append(t.data, make([]byte, len(t.data))...)
		}
		n, err := unix.Pread(fd, t.data[size:], int64(size))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil
		}
		size += n
		if n < pageful && size < len(t.data) {
			return t.data[:size]
		}
	}
}

// openRaw opens without copying the path, which ends in a NUL: a look at a
// large tree opens thousands of files.
func openRaw(path []byte) (int, error) {
	at := unix.AT_FDCWD
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(at),
			uintptr(unsafe.Pointer(&path[0])), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
		switch errno {
		case 0:
			return int(fd), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
