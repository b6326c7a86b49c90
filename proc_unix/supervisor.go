//go:build unix

package procunix

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/wire"
)

// sendBound is how long the server's end of the socket may take a frame, and
// silenceBound how long a supervisor may go without an answer before it is
// given up: on a busy machine most of it is the wait for a core.
const (
	sendBound    = 10 * time.Second
	silenceBound = 10 * time.Second
)

var (
	errDied    = errors.New("the supervisor has ended")
	errUnheard = errors.New("the supervisor had ended before it was asked")
	errSilent  = errors.New("the supervisor does not answer")
)

// A supervisor does not collect garbage. It is retired when it has allocated
// this much: startCost, and twice the size of the request, for each start.
const (
	maxSpent  = 256 << 10
	startCost = 2 << 10
)

// supervisor is the server's hold on one supervisor process.
type supervisor struct {
	backend *Backend
	proc    *os.Process
	conn    *os.File // the server's end of the socket
	gone    chan struct{}
	spent   int // what it has allocated, roughly; for who has it to itself

	mu    sync.Mutex
	cur   *process // what it runs; nil while it is idle
	seq   uint32
	shell int   // the process id of its shell, while that has not ended
	cause error // why it was given up
	reset bool  // it ended before it had read all that was sent
}

// spawn starts a supervisor.
func (b *Backend) spawn() (*supervisor, error) {
	fds, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("make its socket: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "supervisor")
	defer theirs.Close()
	// It fails for bad descriptors only.
	_ = unix.SetNonblock(fds[0], true)
	s := &supervisor{
		backend: b,
		conn:    os.NewFile(uintptr(fds[0]), "supervisor"),
		gone:    make(chan struct{}),
	}
	if err := b.startSupervisor(s, theirs); err != nil {
		s.conn.Close()
		return nil, cause(err)
	}
	b.supervisors.Go(s.run)
	return s, nil
}

func (b *Backend) startSupervisor(s *supervisor, socket *os.File) error {
	b.kinMu.RLock()
	defer b.kinMu.RUnlock()
	p, err := os.StartProcess(b.executable, []string{keeper.Name}, &os.ProcAttr{
		Dir:   "/",
		Env:   keeper.Environment(),
		Files: []*os.File{b.devNull, b.devNull, b.devNull, socket},
		Sys:   supervisorAttr(),
	})
	if err != nil {
		return err
	}
	s.proc = p
	b.kinList.Lock()
	b.kin[p.Pid] = s
	b.kinList.Unlock()
	return nil
}

func (b *Backend) isKin(pid int) bool {
	b.kinList.Lock()
	defer b.kinList.Unlock()
	return b.kin[pid] != nil
}

// wake makes stopped supervisors go on, as long as the server lives: a command
// that stops its parent, or a user who stops all that is in sight, would
// otherwise have the execution hang. A child that stops makes the same signal
// as one that ends, and to a supervisor that runs SIGCONT is nothing.
func (b *Backend) wake() {
	for range b.childSignals {
		for _, s := range b.allSupervisors() {
			_ = s.proc.Signal(unix.SIGCONT) // fails if it has ended
		}
	}
}

func (b *Backend) allSupervisors() []*supervisor {
	b.kinList.Lock()
	defer b.kinList.Unlock()
	return slices.Collect(maps.Values(b.kin))
}

// run reads what the supervisor says until it ends, and then clears up after
// it. It is the only goroutine that a supervisor has.
func (s *supervisor) run() {
	defer close(s.gone)
	frames := wire.NewReader(s.conn.Read)
	var err error
	for err == nil {
		var f wire.Frame
		if f, err = frames.Next(); err == nil {
			err = s.handle(f)
		}
	}
	// It has ended, or it is as good as ended: nobody listens to it any more.
	_ = s.proc.Kill()
	state, waitErr := s.proc.Wait()
	s.conn.Close()
	s.backend.pool.remove(s)
	s.backend.forget(s.proc.Pid)

	s.mu.Lock()
	p := s.cur
	shell := s.shell
	why := s.cause
	// What the kernel says of a socket that is closed with unread data.
	s.reset = errors.Is(err, unix.ECONNRESET)
	s.mu.Unlock()
	if why == nil {
		why = errDied
		if waitErr == nil {
			why = fmt.Errorf("%w: %v", errDied, state)
		}
	}
	s.mu.Lock()
	s.cause = why // for a start that waits for its answer
	s.mu.Unlock()
	if p != nil {
		p.lose(why, s.backend.sweep(shell))
	}
}

func (b *Backend) forget(pid int) {
	b.kinList.Lock()
	defer b.kinList.Unlock()
	delete(b.kin, pid)
}

// handle takes one frame. An error means that the supervisor is of no use.
func (s *supervisor) handle(f wire.Frame) error {
	s.mu.Lock()
	p := s.cur
	if p == nil || f.Seq != s.seq {
		s.mu.Unlock()
		return nil // about an execution that is over
	}
	s.mu.Unlock()
	switch f.Kind {
	case wire.KindStarted, wire.KindFailed:
		v, err := wire.Int(f.Payload)
		if err != nil {
			return err
		}
		if f.Kind == wire.KindFailed {
			s.free()
		} else {
			s.setShell(v)
		}
		p.started <- answer{kind: f.Kind, value: v}
	case wire.KindReport:
		var r wire.Report
		if err := r.Parse(f.Payload); err != nil {
			return err
		}
		if r.ShellExited {
			s.setShell(0)
		}
		if r.TreeEmpty {
			s.free()
		}
		p.take(r)
	case wire.KindGone:
		// What it asked about has ended, and the report says so.
	default:
		p.answer(f)
	}
	return nil
}

func (s *supervisor) setShell(pid int) {
	s.mu.Lock()
	s.shell = pid
	s.mu.Unlock()
}

// free gives the supervisor back to the pool.
func (s *supervisor) free() {
	s.mu.Lock()
	s.cur = nil
	s.mu.Unlock()
	s.backend.pool.put(s)
}

// start asks for the shell. It returns the error number of a shell that could
// not be started; errUnheard if the supervisor has certainly done nothing;
// and any other error after the supervisor, and all that it had, has ended.
func (s *supervisor) start(p *process, req *wire.StartRequest, fds [3]int) (unix.Errno, error) {
	s.mu.Lock()
	s.seq++
	s.cur = p
	p.seq = s.seq
	s.mu.Unlock()

	b := wire.End(req.Append(wire.Begin(nil, wire.KindStart, p.seq)))
	s.spent += startCost + 2*len(b)
	if err := s.send(b, unix.UnixRights(fds[:]...), sendBound); err != nil {
		s.abandon(err)
		<-s.gone
		return 0, errUnheard
	}
	return s.awaitStart(p)
}

// awaitStart waits for the answer to a start.
func (s *supervisor) awaitStart(p *process) (unix.Errno, error) {
	silence := newSilence(silenceBound)
	defer silence.Stop()
	for {
		select {
		case a := <-p.started:
			return p.begin(a)
		case <-s.gone:
			return s.startAtEnd(p)
		case <-silence.C:
			if silence.lasts() {
				s.abandon(errSilent)
				<-s.gone
				return s.startAtEnd(p)
			}
		}
	}
}

// startAtEnd is awaitStart once the supervisor has ended. That may be after
// the command, and after the supervisor has retired: the answer counts.
func (s *supervisor) startAtEnd(p *process) (unix.Errno, error) {
	select {
	case a := <-p.started:
		return p.begin(a)
	default:
		return 0, s.whyStartFailed()
	}
}

func (s *supervisor) whyStartFailed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reset {
		return errUnheard
	}
	return s.cause // which run leaves when it ends
}

// silence measures how long a supervisor has not answered. It takes two halves
// of its bound: a server that was itself stopped in between may find the first
// one gone when it goes on, with the answer there and not yet read.
type silence struct {
	*time.Timer
	half time.Duration
	once bool
}

func newSilence(bound time.Duration) *silence {
	return &silence{Timer: time.NewTimer(bound / 2), half: bound / 2}
}

// lasts reports, when the timer has fired, whether that was the second half,
// and otherwise begins it.
func (s *silence) lasts() bool {
	if s.once {
		return true
	}
	s.once = true
	s.Reset(s.half)
	return false
}

// restart begins anew with another bound.
func (s *silence) restart(bound time.Duration) {
	s.once, s.half = false, bound/2
	s.Reset(s.half)
}

// send sends a frame, and descriptors with its first byte.
func (s *supervisor) send(b, rights []byte, bound time.Duration) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(bound)); err != nil {
		return err
	}
	if rights == nil {
		_, err := s.conn.Write(b)
		return err
	}
	conn, err := s.conn.SyscallConn()
	if err != nil {
		return err
	}
	var n int
	var sendErr error
	err = conn.Write(func(fd uintptr) bool {
		n, sendErr = unix.SendmsgN(int(fd), b, rights, nil, unix.MSG_NOSIGNAL)
		for sendErr == unix.EINTR {
			n, sendErr = unix.SendmsgN(int(fd), b, rights, nil, unix.MSG_NOSIGNAL)
		}
		return sendErr != unix.EAGAIN
	})
	if err == nil {
		err = sendErr
	}
	if err == nil && n < len(b) {
		_, err = s.conn.Write(b[n:])
	}
	return err
}

// abandon gives up a supervisor. Its reader clears up.
func (s *supervisor) abandon(why error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = why
	}
	s.mu.Unlock()
	_ = s.proc.Kill() // fails if it has ended
}

// letGoOf lets go of a supervisor if it still runs p.
func (s *supervisor) letGoOf(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur == p {
		s.letGo()
	}
}

// letGo ends a supervisor that is idle, or that may take its time: it gets to
// the end of the socket, kills what it has, and exits.
func (s *supervisor) letGo() {
	conn, err := s.conn.SyscallConn()
	if err != nil {
		return // closed already
	}
	// Errors: it has ended.
	_ = conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
}
