//go:build unix

package procunix

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	supervisorName = "yieldshell-supervisor"
	controlFD      = 3 // the supervisor's end of the socket

	// A process that leaves the shell's session makes no event. Most do so
	// right after the shell's end; the others are found at a slow pace.
	firstRecheck = 25 * time.Millisecond
	nextRecheck  = time.Second
)

// isSupervisor reports whether this process has been started as a supervisor.
func isSupervisor() bool {
	return len(os.Args) == 1 && os.Args[0] == supervisorName
}

// supervise is the supervisor's main function. It does not return.
func supervise() {
	closeOnExec(controlFD)
	shield()
	k := &keeper{exits: make(chan struct{}, 1)}
	k.in.read = k.receive
	k.claimErr = k.tree.claim()
	go k.serve()
	k.serve()
}

// keeper is the supervisor. Two goroutines take turns: one reads the socket,
// and when it has started a shell it follows that tree until it is empty,
// while the other one reads on. So a command costs no change of threads.
//
// A shell is killed when the thread that forked it ends (PDEATHSIG). The
// runtime ends a thread only with a goroutine that is locked to it, and there
// is none here that returns.
type keeper struct {
	turn sync.Mutex // held by the thread that reads the socket
	in   frameReader
	fds  []int // descriptors received and not yet used
	lost bool  // the kernel has dropped descriptors that did not fit

	claimErr error
	exits    chan struct{} // has an element when a child has been reaped

	// mu makes reaping and signalling exclude each other, so that the id of
	// a direct child cannot pass to a stranger while it is signalled. It
	// also orders what is sent.
	mu   sync.Mutex
	tree tree
	out  []byte

	// The execution.
	seq     uint32
	shell   int  // process and session id
	running bool // something is left of it
	exited  bool // the shell has been reaped
	exit    unix.WaitStatus
	told    bool // the shell's end has been reported
	empty   bool // the session's emptiness has been reported
	killing bool // who is in the session matters to nobody, and takes time to find out
	witness member
	recheck *time.Timer
}

func (k *keeper) serve() {
	if signalsBlocked() { // the launcher's habit, which commands would inherit
		runtime.LockOSThread()
		clearSignalMask()
	}
	for {
		k.turn.Lock()
		k.readUntilStart()
		k.turn.Unlock()
		k.follow()
	}
}

// readUntilStart serves requests until one has started a shell.
func (k *keeper) readUntilStart() {
	for {
		f, err := k.in.next()
		if err != nil {
			k.end()
		}
		switch f.kind {
		case kindStart:
			if k.start(f) {
				return
			}
		case kindSignal:
			k.signal(f)
		case kindKill:
			k.kill(f)
		case kindList:
			k.list(f)
		default:
			k.end() // a stream that makes no sense is as good as closed
		}
	}
}

// lastBound is how long a supervisor tries to end its tree when nobody waits
// for that. What it leaves nobody else ends.
const lastBound = time.Minute

// end is the answer to the end of the socket: the server has let go, or died.
func (k *keeper) end() {
	k.killAll(lastBound)
	syscall.Exit(0)
}

// receive reads from the socket, and collects the descriptors that arrive.
func (k *keeper) receive(p []byte) (int, error) {
	var oob [64]byte
	for {
		n, oobn, flags, _, err := unix.Recvmsg(controlFD, p, oob[:], receiveFlags)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		k.lost = k.lost || flags&unix.MSG_CTRUNC != 0
		if oobn > 0 {
			k.collectFDs(oob[:oobn])
		}
		return n, nil
	}
}

func (k *keeper) collectFDs(oob []byte) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		k.lost = true
		return
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			k.lost = true
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
		}
		k.fds = append(k.fds, fds...)
	}
}

func (k *keeper) closeFDs() {
	for _, fd := range k.fds {
		unix.Close(fd)
	}
	k.fds = k.fds[:0]
	k.lost = false
}

// start starts the shell, and reports whether there is one to follow.
func (k *keeper) start(f frame) bool {
	defer k.closeFDs()
	k.mu.Lock()
	defer k.mu.Unlock()
	pid, err := k.fork(f)
	if err != nil {
		errno, ok := err.(unix.Errno)
		if !ok {
			errno = unix.EPROTO
		}
		k.send(kindFailed, f.seq, func(b []byte) []byte { return appendInt(b, int(errno)) })
		return false
	}
	k.seq, k.shell = f.seq, pid
	k.running = true
	k.exited, k.told, k.empty, k.killing = false, false, false, false
	k.witness = member{}
	k.tree.begin(pid)
	k.send(kindStarted, f.seq, func(b []byte) []byte { return appendInt(b, pid) })
	return true
}

func (k *keeper) fork(f frame) (int, error) {
	if k.claimErr != nil {
		return 0, k.claimErr
	}
	if k.running {
		return 0, unix.EBUSY
	}
	if k.lost {
		return 0, unix.EMFILE
	}
	var req startRequest
	if err := req.parse(f.payload); err != nil {
		return 0, err
	}
	if len(k.fds) != 3 {
		return 0, unix.EPROTO
	}
	return syscall.ForkExec(req.path, req.argv, &syscall.ProcAttr{
		Dir:   req.dir,
		Env:   req.env,
		Files: []uintptr{uintptr(k.fds[0]), uintptr(k.fds[1]), uintptr(k.fds[2])},
		Sys:   shellAttr(),
	})
}

// follow reaps until nothing is left of the execution.
func (k *keeper) follow() {
	for {
		k.tree.wait(k.exited) // which only this goroutine changes now
		k.mu.Lock()
		done := k.reap()
		k.mu.Unlock()
		select {
		case k.exits <- struct{}{}:
		default:
		}
		if done {
			return
		}
	}
}

// reap collects the children that have ended, and reports what follows from
// it. It returns true when there is nothing left.
func (k *keeper) reap() bool {
	k.tree.update()
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // ECHILD: no child is left
			empty := adopts || !anyLive(k.tree.collect())
			k.running = !empty
			k.tell(empty)
			return empty
		case pid == 0:
			k.tell(false)
			return false
		case pid == k.shell && !k.exited:
			k.exited, k.exit = true, ws
		}
	}
}

// tell reports what is new, in one frame. The caller holds mu.
func (k *keeper) tell(treeEmpty bool) {
	r := report{treeEmpty: treeEmpty}
	if k.exited && !k.told {
		k.told = true
		r.shellExited = true
		if k.exit.Signaled() {
			r.signal = int(k.exit.Signal())
		} else {
			r.code = k.exit.ExitStatus()
		}
	}
	if k.exited && !k.empty && (!k.killing || treeEmpty) {
		r.sessionEmpty, r.detached = k.sessionEmpty(treeEmpty)
		k.empty = r.sessionEmpty
	}
	k.scheduleRecheck()
	if r.shellExited || r.sessionEmpty || r.treeEmpty {
		k.send(kindReport, k.seq, r.append)
	}
}

// sessionEmpty reports whether the shell's session is empty, and who lives
// outside of it.
func (k *keeper) sessionEmpty(treeEmpty bool) (bool, []int) {
	if treeEmpty {
		return true, nil
	}
	// Usually whoever kept the session alive last time still does.
	if k.witness.pid != 0 && k.tree.still(k.witness, k.shell) {
		return false, nil
	}
	ms, ok := k.snapshot()
	if !ok {
		return false, nil
	}
	var detached []int
	for _, m := range ms {
		switch {
		case !m.live():
		case m.sid == k.shell:
			k.witness = m
			return false, nil
		default:
			detached = append(detached, m.pid)
		}
	}
	return true, detached
}

// scheduleRecheck keeps a timer while, and only while, the shell has ended and
// its session has not.
func (k *keeper) scheduleRecheck() {
	waiting := k.exited && !k.empty
	switch {
	case waiting && k.recheck == nil:
		k.recheck = time.AfterFunc(firstRecheck, k.checkAgain)
	case !waiting && k.recheck != nil:
		k.recheck.Stop()
		k.recheck = nil
	}
}

func (k *keeper) checkAgain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.recheck == nil { // stopped too late
		return
	}
	k.tell(false)
	if k.recheck != nil {
		k.recheck.Reset(nextRecheck)
	}
}

// snapshotTries bounds the search for a moment in which nothing changed.
const snapshotTries = 8

// snapshot lists the owned processes. A process that is re-parented during a
// walk could be missed, so only two equal walks in a row count. It reports
// whether there were two.
func (k *keeper) snapshot() ([]member, bool) {
	before := k.tree.collect()
	for range snapshotTries {
		now := k.tree.collect()
		if sameMembers(before, now) {
			return now, true
		}
		before = now
	}
	return before, false
}

func anyLive(ms []member) bool {
	return slices.ContainsFunc(ms, member.live)
}

func sameMembers(a, b []member) bool {
	if len(a) != len(b) {
		return false
	}
	seen := make(map[identity]member, len(a))
	for _, m := range a {
		seen[m.identity] = m
	}
	for _, m := range b {
		if was, ok := seen[m.identity]; !ok || was.sid != m.sid || was.live() != m.live() {
			return false
		}
	}
	return true
}

// current reports whether f is about the execution that runs, and otherwise
// answers it. The caller holds mu.
func (k *keeper) current(f frame) bool {
	if k.running && f.seq == k.seq {
		return true
	}
	k.send(kindGone, f.seq, func(b []byte) []byte { return b })
	return false
}

func (k *keeper) list(f frame) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.current(f) {
		return
	}
	var l listed
	ms, _ := k.snapshot()
	for _, m := range ms {
		switch {
		case !m.live() || m.pid == k.shell || m.pid < 0:
		case m.sid == k.shell:
			l.attached = append(l.attached, m.pid)
		default:
			l.detached = append(l.detached, m.pid)
		}
	}
	k.send(kindListed, f.seq, l.append)
}

// send sends one frame. If the server is gone, the thread that reads the
// socket knows it. The caller holds mu.
func (k *keeper) send(kd kind, seq uint32, payload func([]byte) []byte) {
	b := endFrame(payload(beginFrame(k.out[:0], kd, seq)))
	k.out = b
	for len(b) > 0 {
		n, err := unix.SendmsgN(controlFD, b, nil, nil, sendFlags)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		b = b[n:]
	}
}
