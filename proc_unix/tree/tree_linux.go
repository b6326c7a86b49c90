package tree

import (
	"syscall"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/sys"
)

// Ours reports whether /proc shows this PID namespace. In another one its
// numbers would be those of strangers.
func Ours() bool {
	var self [16]byte
	n, err := syscall.Readlink("/proc/self", self[:])
	pid, ok := number(string(self[:max(n, 0)]))
	return err == nil && ok && pid == syscall.Getpid()
}

// Tree finds the descendants of this process in /proc.
type Tree struct {
	self  int
	ours  bool // /proc shows this PID namespace
	scan  bool // the kernel does not list children (CONFIG_PROC_CHILDREN)
	shell int
	path  []byte
	data  []byte
}

// Adopts reports whether orphans become children of the process that calls
// AdoptOrphans, so that its tree is empty when it has no child.
const Adopts = true

// AdoptOrphans makes this process the parent of descendants whose own parent
// has ended.
func AdoptOrphans() error { return sys.SetChildSubreaper() }

// Wait blocks until a child has ended, without reaping it, or returns at once
// when there is none.
func (t *Tree) Wait(bool) {
	_ = sys.AwaitChild() // fails when there is none
}

// Claim makes the calling process the one whose descendants are found.
func (t *Tree) Claim() error {
	t.Open()
	return AdoptOrphans()
}

// Open finds out what /proc offers.
func (t *Tree) Open() {
	t.self = syscall.Getpid()
	t.ours = Ours()
	t.path = make([]byte, 0, 64) // for the longest, with the NUL
	t.data = make([]byte, 4<<10)
	t.scan = t.ours && !t.listsChildren()
}

// listsChildren reports whether the kernel lists a process's children.
func (t *Tree) listsChildren() bool {
	fd, err := openRaw(append(t.childrenPath(t.self, t.self), 0))
	if err == nil {
		syscall.Close(fd)
	}
	return err == nil
}

// childrenPath is the file that lists the children that a thread has forked.
// It is valid until the next path.
func (t *Tree) childrenPath(pid, thread int) []byte {
	t.path = append(appendDecimal(appendPath(t.path[:0], pid, "/task/"), thread), "/children"...)
	return t.path
}

// Ours reports whether /proc shows this PID namespace.
func (t *Tree) Ours() bool { return t.ours }

// Scans reports whether the descendants are found among all processes, as the
// kernel does not list children (CONFIG_PROC_CHILDREN).
func (t *Tree) Scans() bool { return t.scan }

// Begin starts to follow a shell.
func (t *Tree) Begin(shell int) { t.shell = shell }

// Poke ends wait where something can change without an event. Here nothing
// can.
func (t *Tree) Poke() {}

// Update finds new members. Here the kernel keeps them.
func (t *Tree) Update() {}

// Collect lists the descendants of this process, zombies included.
func (t *Tree) Collect() []Member {
	switch {
	case !t.ours:
		return group(t.shell)
	case t.scan:
		return t.scanAll()
	default:
		return t.walk()
	}
}

// walk goes down from parent to child.
func (t *Tree) walk() []Member { return t.Descend(t.Children()) }

// Descend appends the descendants of the processes in ms.
func (t *Tree) Descend(ms []Member) []Member {
	var pids []int
	for i := 0; i < len(ms); i++ {
		parent := ms[i]
		pids = t.children(pids[:0], parent.PID, parent.threads)
		for _, pid := range pids {
			st, ok := t.stat(pid)
			// A child that is re-parented in between is found the next time.
			if ok && st.isChildOf(parent.PID) {
				ms = append(ms, st.member(false))
			}
		}
	}
	return ms
}

// Children lists this process's own children, zombies included.
func (t *Tree) Children() []Member {
	var ms []Member
	if t.scan {
		for _, m := range t.scanAll() {
			if m.Direct {
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
func (t *Tree) children(pids []int, pid, threads int) []int {
	if threads == 1 {
		return appendNumbers(pids, t.read(t.childrenPath(pid, pid)))
	}
	tasks, err := Numbers(string(appendPath(t.path[:0], pid, "/task")))
	if err != nil {
		return t.childrenOfHidden(pids, pid)
	}
	for _, task := range tasks {
		pids = appendNumbers(pids, t.read(t.childrenPath(pid, task)))
	}
	return pids
}

// childrenOfHidden appends the children of a process that has ended, or that
// /proc does not show: those that it does show name their parent.
func (t *Tree) childrenOfHidden(pids []int, pid int) []int {
	if !exists(pid) {
		return pids
	}
	all, err := Numbers("/proc")
	if err != nil {
		return pids
	}
	for _, child := range all {
		if st, ok := t.stat(child); ok && st.ppid == pid {
			pids = append(pids, child)
		}
	}
	return pids
}

// exists reports whether there is a process, ended or not, with this id.
func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

// scanAll finds the descendants by their parents' ids among all processes.
func (t *Tree) scanAll() []Member {
	all, err := Numbers("/proc")
	if err != nil {
		return group(t.shell)
	}
	byParent := make(map[int][]status)
	for _, pid := range all {
		if st, ok := t.stat(pid); ok {
			byParent[st.ppid] = append(byParent[st.ppid], st)
		}
	}
	var ms []Member
	for _, st := range byParent[t.self] {
		ms = append(ms, st.member(true))
	}
	for i := 0; i < len(ms); i++ {
		for _, st := range byParent[ms[i].PID] {
			ms = append(ms, st.member(false))
		}
	}
	return ms
}

// Still reports whether m lives on in the session sid.
func (t *Tree) Still(m Member, sid int) bool {
	if !t.ours {
		return len(group(t.shell)) > 0
	}
	st, ok := t.stat(m.PID)
	now := st.member(m.Direct)
	return ok && now.Identity == m.Identity && now.SID == sid && now.Live()
}

// Signal signals one process, and never a stranger that has taken its id.
// Signal 0 only asks. The caller keeps direct children from being reaped.
func (t *Tree) Signal(m Member, sig syscall.Signal) error {
	if m.Direct {
		return syscall.Kill(m.PID, sig)
	}
	fd, err := sys.PidfdOpen(m.PID)
	if err == syscall.ENOSYS { // before Linux 5.3
		if !t.same(m) {
			return syscall.ESRCH
		}
		return syscall.Kill(m.PID, sig)
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if !t.same(m) {
		return syscall.ESRCH
	}
	return sys.PidfdSendSignal(fd, sig)
}

func (t *Tree) same(m Member) bool {
	st, ok := t.stat(m.PID)
	now := st.member(m.Direct)
	return ok && now.Identity == m.Identity && (!m.hidden() || now.SID == m.SID && now.PGID == m.PGID)
}

// HasDefault reports whether the signal has its default effect on the
// process: not caught, ignored or blocked.
func (t *Tree) HasDefault(pid int, sig syscall.Signal) bool {
	data := t.read(appendPath(t.path[:0], pid, "/status"))
	bit := uint64(1) << (sig - 1)
	for _, name := range []string{"SigBlk:", "SigIgn:", "SigCgt:"} {
		mask, ok := maskIn(data, name)
		if !ok || mask&bit != 0 {
			return false
		}
	}
	return true
}

// maskIn reads a signal mask of /proc/<pid>/status (proc_pid_status(5)), whose
// lines begin with a name.
func maskIn(data []byte, name string) (uint64, bool) {
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		field, rest := nextField(line)
		if string(field) == name {
			mask, _ := nextField(rest)
			return hex(mask)
		}
	}
	return 0, false
}

// status is what /proc/<pid>/stat says (proc_pid_stat(5)).
type status struct {
	Identity
	letter          byte
	ppid, pgid, sid int
	threads         int
}

// unknownParent is the parent of a process that /proc does not show.
const unknownParent = -1

func (s status) isChildOf(pid int) bool {
	return s.ppid == pid || s.ppid == unknownParent
}

func (s status) member(direct bool) Member {
	m := Member{Identity: s.Identity, PGID: s.pgid, SID: s.sid, Direct: direct, threads: s.threads}
	switch s.letter {
	case 'Z', 'X', 'x':
		// A process whose first thread has ended looks like a zombie as
		// long as another one runs.
		if s.threads <= 1 {
			m.State = Zombie
		}
	case 'T':
		m.State = Stopped
	case 'D':
		m.State = Blocked
	}
	return m
}

// stat reads the status of one process, and reports whether there is one.
func (t *Tree) stat(pid int) (status, bool) {
	t.path = appendPath(t.path[:0], pid, "/stat")
	st, ok := parseStat(t.read(t.path))
	if !ok {
		return t.hiddenStat(pid)
	}
	return st, true
}

// hiddenStat stands in for stat where /proc does not show every process
// (hidepid): those of other users are not there, nor are this user's own that
// must not be looked into, such as ssh-agent, or ping with its capability. The
// kernel tells their sessions all the same, but not their parents or how old
// they are.
func (t *Tree) hiddenStat(pid int) (status, bool) {
	if !exists(pid) {
		return status{}, false
	}
	st := status{Identity: Identity{PID: pid}, letter: 'S', ppid: unknownParent}
	var err error
	if st.sid, err = sys.Getsid(pid); err != nil {
		return status{}, false
	}
	if st.pgid, err = syscall.Getpgid(pid); err != nil {
		return status{}, false
	}
	return st, true
}

func parseStat(data []byte) (status, bool) {
	open, end := nameBounds(data)
	if open < 1 || end < open {
		return status{}, false
	}
	st := status{Identity: Identity{PID: atoi(data[:open-1])}}
	// The fields behind the name, counted from 3 in the manual.
	rest := data[end+1:]
	for n := 3; ; n++ {
		var f []byte
		if f, rest = nextField(rest); len(f) == 0 {
			return status{}, false
		}
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
	}
}

// nameBounds finds the first opening and the last closing parenthesis: a
// process's name may have any others in between. It returns -1 for what is not
// there.
func nameBounds(data []byte) (open, end int) {
	open, end = -1, -1
	for i, c := range data {
		switch {
		case c == '(' && open < 0:
			open = i
		case c == ')':
			end = i
		}
	}
	return open, end
}

func appendNumbers(ns []int, b []byte) []int {
	for {
		var f []byte
		if f, b = nextField(b); len(f) == 0 {
			return ns
		}
		ns = append(ns, atoi(f))
	}
}

func appendPath(b []byte, pid int, name string) []byte {
	b = append(b, "/proc/"...)
	return append(appendDecimal(b, pid), name...)
}

// pageful is less than any file in /proc returns at once when it has more.
const pageful = 2 << 10

// read returns a file's content, or nil. It is valid until the next read.
func (t *Tree) read(path []byte) []byte {
	fd, err := openRaw(append(path, 0))
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	size := 0
	for {
		if size == len(t.data) {
			t.data = append(t.data, make([]byte, len(t.data))...)
		}
		n, err := syscall.Pread(fd, t.data[size:], int64(size))
		switch {
		case err == syscall.EINTR:
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
