package execution

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
	"github.com/yieldshell/mcp-yieldshell/buffer/spill"
	"github.com/yieldshell/mcp-yieldshell/proc"
)

// maxGuarded is how many terminal executions may own detached processes before
// a new command is refused.
const maxGuarded = 200

// Errors that refuse a start.
var (
	ErrShuttingDown  = errors.New("the server is shutting down")
	ErrLimit         = errors.New("process limit reached")
	ErrDetachedLimit = errors.New("too many executions have left detached processes running")
)

// Options configure a Registry. They do not change after New.
type Options struct {
	// Backend starts the commands. The registry does not close it.
	Backend proc.Backend
	// BufferBytes is the capacity of each stream's ring.
	BufferBytes int
	// MaxProcesses bounds the running executions.
	MaxProcesses int
	// Retention is the age at which a terminal record is forgotten; zero
	// forgets it before the next start.
	Retention time.Duration
	// MaxRetained bounds the terminal records that a start finds.
	MaxRetained int
	// Ports is asked about ports. It may be nil if no wait names one.
	Ports Ports
	// Spill keeps output that leaves memory, as long as the record lives; nil
	// for nobody does. The registry does not close it.
	Spill *spill.Store
	// Warn takes messages for the operator: alternating keys and values after
	// the text, as in slog. It may be nil.
	Warn func(text string, keyvals ...any)
}

// Registry owns the executions of a server.
type Registry struct {
	opts Options

	// closing is closed when the server begins to end: requests that wait
	// answer with what they have, and nothing new is started.
	closing     chan struct{}
	closingOnce sync.Once

	mu       sync.Mutex
	byID     map[string]*Execution
	order    []*Execution // by start, oldest first
	terminal []*Execution // by end, oldest first, without those in guarded
	guarded  map[*Execution]struct{}
	live     int // running executions and starts under way
	// forgotten are the records that are gone, and whose output on disk is not.
	forgotten []*Execution

	// starting counts the starts that are under way and not yet entered.
	starting sync.WaitGroup
}

// New returns an empty registry.
func New(opts Options) *Registry {
	if opts.Warn == nil {
		opts.Warn = func(string, ...any) {}
	}
	return &Registry{
		opts:    opts,
		closing: make(chan struct{}),
		byID:    make(map[string]*Execution),
		guarded: make(map[*Execution]struct{}),
	}
}

// Request is a command that policy has let through.
type Request struct {
	Command string
	// DisplayName is the user's label, or nil.
	DisplayName *string
	Shell       string // path or bare name; empty for the default
	Dir         string // absolute
	Env         []string
	Stdin       string
	CloseStdin  bool
	Timeout     time.Duration // zero: none
	// Expect is looked for in all output from the first byte on; nil for
	// nothing. Execution.Expected is the watch.
	Expect *lazydfa.Regexp
	// Secrets are hidden in the output, and in what List shows.
	Secrets *buffer.Secrets
}

// Start forgets the records whose time has come, takes a slot and starts the
// command. Errors are ErrShuttingDown, ErrLimit, ErrDetachedLimit (wrapped)
// and *proc.StartError.
func (r *Registry) Start(req Request) (*Execution, error) {
	err := r.reserve()
	r.discardForgotten()
	if err != nil {
		return nil, err
	}
	defer r.starting.Done()
	begun := time.Now()
	p, err := r.opts.Backend.Start(proc.Spec{Command: req.Command, Shell: req.Shell, Dir: req.Dir, Env: req.Env})
	if err != nil {
		r.unreserve()
		return nil, err
	}
	e := newExecution(r, req, p, begun)
	r.add(e)
	e.begin(req)
	return e, nil
}

// reserve takes a slot, or says why there is none.
func (r *Registry) reserve() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isClosing() {
		return ErrShuttingDown
	}
	if r.live >= r.opts.MaxProcesses {
		return fmt.Errorf("%w: %d executions are running and YIELDSHELL_MAX_PROCESSES is %d; wait for one, stop one, or raise the limit",
			ErrLimit, r.live, r.opts.MaxProcesses)
	}
	if len(r.guarded) >= maxGuarded {
		return fmt.Errorf("%w: %d of them; stop those that are no longer needed (ps lists them under detached)", ErrDetachedLimit, len(r.guarded))
	}
	r.reap(time.Now()) // not before a call that is refused
	r.live++
	r.starting.Add(1) // under the lock that BeginShutdown takes: none is missed
	return nil
}

func (r *Registry) unreserve() {
	r.mu.Lock()
	r.live--
	r.mu.Unlock()
}

// reap forgets terminal records: first by age, then the oldest over the limit
// (specification, section ps). r.mu is held.
func (r *Registry) reap(now time.Time) {
	n := 0
	for n < len(r.terminal) && now.Sub(r.terminal[n].endedAt()) >= r.opts.Retention {
		n++
	}
	n = max(n, len(r.terminal)-r.opts.MaxRetained)
	for _, e := range r.terminal[:n] {
		r.forget(e)
	}
	r.terminal = slices.Delete(r.terminal, 0, n)
}

// forget drops a record from the indices, but for terminal. r.mu is held.
func (r *Registry) forget(e *Execution) {
	if e.spill != nil {
		r.forgotten = append(r.forgotten, e)
	}
	delete(r.byID, e.id)
	if i, ok := slices.BinarySearchFunc(r.order, e.number, func(o *Execution, n uint64) int {
		switch {
		case o.number < n:
			return -1
		case o.number > n:
			return 1
		}
		return 0
	}); ok {
		r.order = slices.Delete(r.order, i, i+1)
	}
}

// discardForgotten removes the output on disk of records that are gone. r.mu is
// not held, since the disk may be slow.
func (r *Registry) discardForgotten() {
	r.mu.Lock()
	forgotten := r.forgotten
	r.forgotten = nil
	r.mu.Unlock()
	files := make([]*spill.File, len(forgotten))
	for i, e := range forgotten {
		files[i] = e.spill
	}
	spill.Discard(files...)
}

// add gives the execution its id and number and enters it.
func (r *Registry) add(e *Execution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		e.id = newID()
		if _, taken := r.byID[e.id]; !taken {
			break
		}
	}
	e.number = 1
	if n := len(r.order); n > 0 {
		e.number = r.order[n-1].number + 1
	}
	if r.opts.Spill != nil {
		e.spill = r.opts.Spill.File(e.id)
		e.log.SetOverflow(e.spill)
	}
	r.byID[e.id] = e
	r.order = append(r.order, e)
}

func newID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// Get returns the execution with this id.
func (r *Registry) Get(id string) (*Execution, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.byID[id]
	return e, ok
}

// List returns summaries, newest first: at most limit of them, and without the
// terminal ones unless they are asked for.
func (r *Registry) List(ctx context.Context, includeTerminal bool, limit int) []Summary {
	r.mu.Lock()
	chosen := make([]*Execution, 0, min(limit, len(r.order)))
	for _, e := range slices.Backward(r.order) {
		if len(chosen) >= limit {
			break
		}
		if includeTerminal || !e.Status().Terminal() {
			chosen = append(chosen, e)
		}
	}
	r.mu.Unlock()

	rows := make([]Summary, len(chosen))
	var asked sync.WaitGroup
	for i, e := range chosen {
		rows[i] = e.summary()
		if e.mayHaveDetached() {
			asked.Go(func() { rows[i].Detached = e.Detached(ctx) })
		}
	}
	asked.Wait()
	return rows
}

// Cleanup forgets the terminal records that are at least as old as given:
// completed ones by the first age, all others by the second. It returns how
// many.
func (r *Registry) Cleanup(completedAge, otherAge time.Duration) int {
	defer r.discardForgotten() // once the lock is free again
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	before := len(r.terminal)
	r.terminal = slices.DeleteFunc(r.terminal, func(e *Execution) bool {
		age := otherAge
		if e.Status() == Completed {
			age = completedAge
		}
		if now.Sub(e.endedAt()) < age {
			return false
		}
		r.forget(e)
		return true
	})
	return before - len(r.terminal)
}

// settle makes an execution terminal and gives its slot back in one step, so
// that whoever sees the end finds the slot free.
func (r *Registry) settle(e *Execution, status Status, guarded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.setTerminal(status)
	r.live--
	if guarded {
		r.guarded[e] = struct{}{}
		return
	}
	r.retain(e)
}

// release enters an execution among the terminal records once nothing that it
// owned is left.
func (r *Registry) release(e *Execution) {
	r.mu.Lock()
	if _, ok := r.guarded[e]; ok {
		delete(r.guarded, e)
		r.retain(e)
	}
	r.mu.Unlock()
}

// retain inserts by time of end; nearly always that is the last place. r.mu
// is held.
func (r *Registry) retain(e *Execution) {
	i := len(r.terminal)
	for i > 0 && r.terminal[i-1].endedAt().After(e.endedAt()) {
		i--
	}
	r.terminal = slices.Insert(r.terminal, i, e)
}
