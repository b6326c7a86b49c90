//go:build unix

package procunix

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/wire"
)

// killSilenceBound is how long the end of a kill may take that the supervisor
// has begun.
const killSilenceBound = keeper.KillBound + silenceBound

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
	kind    wire.Kind
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
	if a.kind == wire.KindFailed {
		return unix.Errno(a.value), nil
	}
	p.pid = a.value
	return 0, nil
}

// take turns a report into events. Only the supervisor's reader calls it.
func (p *process) take(r wire.Report) {
	if r.ShellExited {
		p.events <- proc.Event{Kind: proc.ShellExited, Exit: exitOf(r)}
	}
	if r.SessionEmpty {
		p.events <- proc.Event{Kind: proc.SessionEmpty, Detached: p.members(r.Detached)}
	}
	if r.TreeEmpty {
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

func exitOf(r wire.Report) proc.Exit {
	if r.Signal == 0 {
		return proc.Exit{Code: int64(r.Code)}
	}
	return proc.Exit{Code: -int64(r.Signal), Signal: signalName(r.Signal)}
}

// answer passes on what the supervisor says to the open question.
func (p *process) answer(f wire.Frame) {
	select {
	case p.answers <- answer{kind: f.Kind, payload: append([]byte(nil), f.Payload...)}:
	default: // nobody has asked that much
	}
}

// ask sends a question and returns the answer of the kind wanted. It returns
// proc.ErrGone when nothing is left that the question could be about.
func (p *process) ask(ctx context.Context, q, want wire.Kind, payload ...int) ([]byte, error) {
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
		if a.kind == wire.KindGone {
			return nil, proc.ErrGone
		}
		return a.payload, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// put puts a question and waits for its answer. If none comes in time, the
// supervisor is given up.
func (p *process) put(q, want wire.Kind, payload []int) answer {
	gone := answer{kind: wire.KindGone}
	select {
	case <-p.done:
		return gone
	default:
	}
	b := wire.Begin(nil, q, p.seq)
	for _, v := range payload {
		b = wire.AppendInt(b, v)
	}
	if err := p.s.send(wire.End(b), nil, sendBound); err != nil {
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
			case wire.KindKilling:
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
	payload, err := p.ask(ctx, wire.KindSignal, wire.KindSignaled, int(n))
	if err != nil {
		return proc.SignalReport{}, err
	}
	var r wire.Signaled
	if err := r.Parse(payload); err != nil {
		return proc.SignalReport{}, err
	}
	return proc.SignalReport{Reached: r.Reached, OnlyDefault: r.OnlyDefault, Denied: r.Denied}, nil
}

// Kill implements proc.Process.
func (p *process) Kill(ctx context.Context) (proc.KillReport, error) {
	payload, err := p.ask(ctx, wire.KindKill, wire.KindKilled)
	if errors.Is(err, proc.ErrGone) {
		<-p.done
		return proc.KillReport{Unkillable: p.left}, nil
	}
	if err != nil {
		return proc.KillReport{}, err
	}
	left, err := wire.Ints(payload)
	return proc.KillReport{Unkillable: left}, err
}

// Detached implements proc.Process. When nothing is left the list is empty.
func (p *process) Detached(ctx context.Context) ([]proc.Member, error) {
	l, err := p.list(ctx)
	return p.members(l.Detached), err
}

// Attached implements proc.Process. When nothing is left the list is empty.
func (p *process) Attached(ctx context.Context) ([]proc.Member, error) {
	l, err := p.list(ctx)
	return p.members(l.Attached), err
}

func (p *process) list(ctx context.Context) (wire.Listed, error) {
	payload, err := p.ask(ctx, wire.KindList, wire.KindListed)
	if errors.Is(err, proc.ErrGone) {
		return wire.Listed{}, nil
	}
	if err != nil {
		return wire.Listed{}, err
	}
	var l wire.Listed
	return l, l.Parse(payload)
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
