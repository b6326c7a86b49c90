//go:build unix

package keeper

import (
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/wire"
)

const (
	// A process that leaves the shell's session makes no event. Most do so
	// right after the shell's end; the others are found at a slow pace.
	firstRecheck = 25 * time.Millisecond
	nextRecheck  = time.Second
)

// keeper is the supervisor. Two goroutines take turns: one reads the socket,
// and when it has started a shell it follows that tree until it is empty,
// while the other one reads on. So a command costs no change of threads.
//
// A shell is killed when the thread that forked it ends (PDEATHSIG). The
// runtime ends a thread only with a goroutine that is locked to it, and there
// is none here that returns.
type keeper struct {
	turn sync.Mutex // held by the thread that reads the socket
	in   *wire.Reader
	fds  []int // descriptors received and not yet used
	lost bool  // the kernel has dropped descriptors that did not fit

	claimErr error
	exits    chan struct{} // has an element when a child has been reaped

	// mu makes reaping and signalling exclude each other, so that the id of
	// a direct child cannot pass to a stranger while it is signalled. It
	// also orders what is sent.
	mu   sync.Mutex
	tree tree.Tree
	out  []byte

	// The execution.
	seq     uint32
	shell   int  // process and session id
	running bool // something is left of it
	exited  bool // the shell has been reaped
	exit    syscall.WaitStatus
	told    bool // the shell's end has been reported
	empty   bool // the session's emptiness has been reported
	killing bool // who is in the session matters to nobody, and takes time to find out
	witness tree.Member
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
		f, err := k.in.Next()
		if err != nil {
			k.end()
		}
		switch f.Kind {
		case wire.KindStart:
			if k.start(f) {
				return
			}
		case wire.KindSignal:
			k.signal(f)
		case wire.KindKill:
			k.kill(f)
		case wire.KindList:
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
		n, oobn, flags, _, err := syscall.Recvmsg(controlFD, p, oob[:], receiveFlags)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		k.lost = k.lost || flags&syscall.MSG_CTRUNC != 0
		if oobn > 0 {
			k.collectFDs(oob[:oobn])
		}
		return n, nil
	}
}

func (k *keeper) collectFDs(oob []byte) {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		k.lost = true
		return
	}
	for i := range msgs {
		fds, err := syscall.ParseUnixRights(&msgs[i])
		if err != nil {
			k.lost = true
			continue
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
		}
		k.fds = append(k.fds, fds...)
	}
}

func (k *keeper) closeFDs() {
	for _, fd := range k.fds {
		syscall.Close(fd)
	}
	k.fds = k.fds[:0]
	k.lost = false
}

// start starts the shell, and reports whether there is one to follow.
func (k *keeper) start(f wire.Frame) bool {
	defer k.closeFDs()
	k.mu.Lock()
	defer k.mu.Unlock()
	pid, err := k.fork(f)
	if err != nil {
		errno, ok := err.(syscall.Errno)
		if !ok {
			errno = syscall.EPROTO
		}
		k.send(wire.KindFailed, f.Seq, func(b []byte) []byte { return wire.AppendInt(b, int(errno)) })
		return false
	}
	k.seq, k.shell = f.Seq, pid
	k.running = true
	k.exited, k.told, k.empty, k.killing = false, false, false, false
	k.witness = tree.Member{}
	k.tree.Begin(pid)
	k.send(wire.KindStarted, f.Seq, func(b []byte) []byte { return wire.AppendInt(b, pid) })
	return true
}

func (k *keeper) fork(f wire.Frame) (int, error) {
	if k.claimErr != nil {
		return 0, k.claimErr
	}
	if k.running {
		return 0, syscall.EBUSY
	}
	if k.lost {
		return 0, syscall.EMFILE
	}
	var req wire.StartRequest
	if err := req.Parse(f.Payload); err != nil {
		return 0, err
	}
	if len(k.fds) != 3 {
		return 0, syscall.EPROTO
	}
	return syscall.ForkExec(req.Path, req.Argv, &syscall.ProcAttr{
		Dir:   req.Dir,
		Env:   req.Env,
		Files: []uintptr{uintptr(k.fds[0]), uintptr(k.fds[1]), uintptr(k.fds[2])},
		Sys:   shellAttr(),
	})
}

// follow reaps until nothing is left of the execution.
func (k *keeper) follow() {
	for {
		k.tree.Wait(k.exited) // which only this goroutine changes now
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
	k.tree.Update()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD: no child is left
			empty := tree.Adopts || !tree.AnyLive(k.tree.Collect())
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
	r := wire.Report{TreeEmpty: treeEmpty}
	if k.exited && !k.told {
		k.told = true
		r.ShellExited = true
		if k.exit.Signaled() {
			r.Signal = int(k.exit.Signal())
		} else {
			r.Code = k.exit.ExitStatus()
		}
	}
	if k.exited && !k.empty && (!k.killing || treeEmpty) {
		r.SessionEmpty, r.Detached = k.sessionEmpty(treeEmpty)
		k.empty = r.SessionEmpty
	}
	k.scheduleRecheck()
	if r.ShellExited || r.SessionEmpty || r.TreeEmpty {
		k.send(wire.KindReport, k.seq, r.Append)
	}
}

// sessionEmpty reports whether the shell's session is empty, and who lives
// outside of it.
func (k *keeper) sessionEmpty(treeEmpty bool) (bool, []int) {
	if treeEmpty {
		return true, nil
	}
	// Usually whoever kept the session alive last time still does.
	if k.witness.PID != 0 && k.tree.Still(k.witness, k.shell) {
		return false, nil
	}
	ms, ok := k.snapshot()
	if !ok {
		return false, nil
	}
	var detached []int
	for _, m := range ms {
		switch {
		case !m.Live():
		case m.SID == k.shell:
			k.witness = m
			return false, nil
		default:
			detached = append(detached, m.PID)
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
func (k *keeper) snapshot() ([]tree.Member, bool) {
	before := k.tree.Collect()
	for range snapshotTries {
		now := k.tree.Collect()
		if tree.Same(before, now) {
			return now, true
		}
		before = now
	}
	return before, false
}

// current reports whether f is about the execution that runs, and otherwise
// answers it. The caller holds mu.
func (k *keeper) current(f wire.Frame) bool {
	if k.running && f.Seq == k.seq {
		return true
	}
	k.send(wire.KindGone, f.Seq, func(b []byte) []byte { return b })
	return false
}

func (k *keeper) list(f wire.Frame) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.current(f) {
		return
	}
	var l wire.Listed
	ms, _ := k.snapshot()
	// The kernel says that a child is left. Looks that find nobody alive came
	// while one was re-parented.
	for try := 0; try < snapshotTries && tree.Adopts && !tree.AnyLive(ms); try++ {
		ms, _ = k.snapshot()
	}
	for _, m := range ms {
		switch {
		case !m.Live() || m.PID == k.shell || m.PID < 0:
		case m.SID == k.shell:
			l.Attached = append(l.Attached, m.PID)
		default:
			l.Detached = append(l.Detached, m.PID)
		}
	}
	k.send(wire.KindListed, f.Seq, l.Append)
}

// send sends one frame. If the server is gone, the thread that reads the
// socket knows it. The caller holds mu.
func (k *keeper) send(kind wire.Kind, seq uint32, payload func([]byte) []byte) {
	b := wire.End(payload(wire.Begin(k.out[:0], kind, seq)))
	k.out = b
	for len(b) > 0 {
		n, err := syscall.SendmsgN(controlFD, b, nil, nil, sendFlags)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return
		}
		b = b[n:]
	}
}
