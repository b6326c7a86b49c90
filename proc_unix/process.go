//go:build unix

package procunix

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// killSilenceBound is how long the end of a kill may take that the supervisor
// has begun.
const killSilenceBound = killBound + silenceBound

// process implements proc.Process.
type process struct {
	s       *supervisor
	seq     uint32
	pid     int
	pipes   *pipes
	events  chan proc.Event // has room for all that can come
	started chan answer
	done    chan struct{} // closed when nothing is left, or it is lost

	turn    chan struct{} // held while a question is open
	answers chan answer

	// Written before done is closed.
	err  error // why it is lost
	left []int // what the sweep could not end

	closing sync.Once
}

// answer is what the supervisor says to a question.
type answer struct {
	kind    kind
	value   int
	payload []byte
}

func newProcess(s *supervisor, ps *pipes) *process {
	return &process{
		s:       s,
		pipes:   ps,
		events:  make(chan proc.Event, 4),
		started: make(chan answer, 1),
		done:    make(chan struct{}),
		turn:    make(chan struct{}, 1),
		answers: make(chan answer, 2),
	}
}

func (p *process) PID() int                  { return p.pid }
func (p *process) Stdin() proc.Input         { return p.pipes.stdin }
func (p *process) Stdout() proc.Output       { return p.pipes.stdout }
func (p *process) Stderr() proc.Output       { return p.pipes.stderr }
func (p *process) Events() <-chan proc.Event { return p.events }

// begin takes the answer to a start. It returns the error number of a shell that
// could not be started.
func (p *process) begin(a answer) (unix.Errno, error) {
	if a.kind == kindFailed {
		return unix.Errno(a.value), nil
	}
	p.pid = a.value
	return 0, nil
}

// take turns a report into events. Only the supervisor's reader calls it.
func (p *process) take(r report) {
	if r.shellExited {
		p.events <- proc.Event{Kind: proc.ShellExited, Exit: exitOf(r)}
	}
	if r.sessionEmpty {
		p.events <- proc.Event{Kind: proc.SessionEmpty, Detached: p.members(r.detached)}
	}
	if r.treeEmpty {
		p.events <- proc.Event{Kind: proc.TreeEmpty}
		p.finish()
	}
}

// lose says that the supervisor has ended too early.
func (p *process) lose(why error, left []int) {
	p.err, p.left = why, left
	p.events <- proc.Event{Kind: proc.Lost, Err: why}
	p.finish()
}

func (p *process) finish() {
	close(p.events)
	close(p.done)
}

func exitOf(r report) proc.Exit {
	if r.signal == 0 {
		return proc.Exit{Code: int64(r.code)}
	}
	return proc.Exit{Code: -int64(r.signal), Signal: signalName(r.signal)}
}

// answer passes on what the supervisor says to the open question.
func (p *process) answer(f frame) {
	select {
	case p.answers <- answer{kind: f.kind, payload: append([]byte(nil), f.payload...)}:
	default: // nobody has asked that much
	}
}

// ask sends a question and returns the answer of the kind wanted. It returns
// proc.ErrGone when nothing is left that the question could be about.
func (p *process) ask(ctx context.Context, q, want kind, payload ...int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.turn <- struct{}{}:
	case <-p.done:
		return nil, proc.ErrGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// The question stays open until it is answered, also when the one who
	// asked has left: the next answer would be taken for another one's.
	result := make(chan answer, 1)
	go func() {
		defer func() { <-p.turn }()
		result <- p.put(q, want, payload)
	}()
	select {
	case a := <-result:
		if a.kind == kindGone {
			return nil, proc.ErrGone
		}
		return a.payload, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// put puts a question and waits for its answer. If none comes in time, the
// supervisor is given up.
func (p *process) put(q, want kind, payload []int) answer {
	gone := answer{kind: kindGone}
	select {
	case <-p.done:
		return gone
	default:
	}
	b := beginFrame(nil, q, p.seq)
	for _, v := range payload {
		b = appendInt(b, v)
	}
	if err := p.s.send(endFrame(b), nil, sendBound); err != nil {
		p.s.abandon(fmt.Errorf("ask the supervisor: %w", err))
	}
	silence := newSilence(silenceBound)
	defer silence.Stop()
	for {
		select {
		case a := <-p.answers:
			switch a.kind {
			case want:
				return a
			case kindKilling:
				silence.restart(killSilenceBound)
			}
		case <-p.done:
			select { // it was sent before the end
			case a := <-p.answers:
				if a.kind == want {
					return a
				}
			default:
			}
			return gone
		case <-silence.C:
			if silence.lasts() {
				p.s.abandon(errSilent)
				<-p.done
				return gone
			}
		}
	}
}

// Signal implements proc.Process. It returns proc.ErrGone when nothing is
// left.
func (p *process) Signal(ctx context.Context, sig proc.Signal) (proc.SignalReport, error) {
	n := signalNumber(sig)
	if n == 0 {
		return proc.SignalReport{}, fmt.Errorf("%s: %w", sig, proc.ErrUnsupportedSignal)
	}
	payload, err := p.ask(ctx, kindSignal, kindSignaled, int(n))
	if err != nil {
		return proc.SignalReport{}, err
	}
	var r signaled
	if err := r.parse(payload); err != nil {
		return proc.SignalReport{}, err
	}
	return proc.SignalReport{Reached: r.reached, OnlyDefault: r.onlyDefault, Denied: r.denied}, nil
}

// Kill implements proc.Process.
func (p *process) Kill(ctx context.Context) (proc.KillReport, error) {
	payload, err := p.ask(ctx, kindKill, kindKilled)
	if err == proc.ErrGone {
		<-p.done
		return proc.KillReport{Unkillable: p.left}, nil
	}
	if err != nil {
		return proc.KillReport{}, err
	}
	d := decoder{rest: string(payload)}
	r := proc.KillReport{Unkillable: d.ints()}
	return r, d.end()
}

// Detached implements proc.Process. When nothing is left the list is empty.
func (p *process) Detached(ctx context.Context) ([]proc.Member, error) {
	l, err := p.list(ctx)
	return p.members(l.detached), err
}

// Attached implements proc.Process. When nothing is left the list is empty.
func (p *process) Attached(ctx context.Context) ([]proc.Member, error) {
	l, err := p.list(ctx)
	return p.members(l.attached), err
}

func (p *process) list(ctx context.Context) (listed, error) {
	payload, err := p.ask(ctx, kindList, kindListed)
	if err == proc.ErrGone {
		return listed{}, nil
	}
	if err != nil {
		return listed{}, err
	}
	var l listed
	return l, l.parse(payload)
}

// Close implements proc.Process. When something lives that cannot be killed,
// the supervisor is let go, and tries on its own.
func (p *process) Close() error {
	p.closing.Do(func() {
		select {
		case <-p.done:
			return
		default:
		}
		// It is bounded by the bounds of its questions.
		r, err := p.Kill(context.Background())
		if err != nil || len(r.Unkillable) > 0 {
			p.s.letGoOf(p)
		}
	})
	return nil
}

// members names processes, at the time of asking.
func (p *process) members(pids []int) []proc.Member {
	if len(pids) == 0 {
		return nil
	}
	ms := make([]proc.Member, len(pids))
	for i, pid := range pids {
		ms[i] = proc.Member{PID: pid, Name: p.s.backend.nameOf(pid)}
	}
	return ms
}

// aliases are names of signals that x/sys knows by another one.
var aliases = map[proc.Signal]string{"SIGCLD": "SIGCHLD", "SIGIOT": "SIGABRT", "SIGPOLL": "SIGIO"}

func signalNumber(sig proc.Signal) unix.Signal {
	if n := unix.SignalNum(string(sig)); n != 0 {
		return n
	}
	return unix.SignalNum(aliases[sig])
}

// signalName names a signal that ended a process. Real-time signals have a
// number only.
func signalName(n int) proc.Signal {
	if name := unix.SignalName(unix.Signal(n)); strings.HasPrefix(name, "SIG") {
		return proc.Signal(name)
	}
	return proc.Signal(fmt.Sprintf("SIG%d", n))
}
