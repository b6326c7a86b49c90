//go:build unix

package procunix

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

const (
	// refillDelay is how long a missing spare is not missed: most commands
	// end before, and give their supervisor back.
	refillDelay = 10 * time.Millisecond
	// quietTime is how long supervisors beyond the spare are kept after the
	// last one came back.
	quietTime = 1500 * time.Millisecond
)

// pool hands out idle supervisors. It keeps one spare, and starts no more at
// a time than there are cores: beyond that they only get in each other's way.
type pool struct {
	spawn func() (*supervisor, error)
	limit int // of starts at a time

	mu       sync.Mutex
	idle     []*supervisor
	waiting  []chan grant // starts that no supervisor was there for
	starting int
	closed   bool
	refill   *time.Timer
	quiet    *time.Timer
	spawning sync.WaitGroup
}

// grant is what a waiting start gets.
type grant struct {
	s   *supervisor
	err error
}

func (p *pool) init(spawn func() (*supervisor, error)) {
	p.spawn = spawn
	p.limit = runtime.GOMAXPROCS(0)
	p.refill = time.AfterFunc(time.Hour, p.warm)
	p.refill.Stop()
	p.quiet = time.AfterFunc(time.Hour, p.shrink)
	p.quiet.Stop()
}

// get returns a supervisor that is idle, or the first one that becomes so.
func (p *pool) get() (*supervisor, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, proc.ErrClosed
	}
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if n == 1 {
			p.refill.Reset(refillDelay)
		}
		p.mu.Unlock()
		return s, nil
	}
	turn := make(chan grant, 1)
	p.waiting = append(p.waiting, turn)
	p.grow()
	p.mu.Unlock()
	g := <-turn // grow starts as many as it takes, and hands out its errors
	return g.s, g.err
}

// grow starts supervisors for the starts that wait. The caller holds mu.
func (p *pool) grow() {
	for p.starting < min(p.limit, len(p.waiting)) {
		p.startOne()
	}
}

// startOne starts a supervisor in the background. The caller holds mu.
func (p *pool) startOne() {
	p.starting++
	p.spawning.Go(func() {
		s, err := p.spawn()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.starting--
		if err == nil {
			p.place(s)
		} else if len(p.waiting) > 0 {
			p.grant(grant{err: err})
		}
		p.grow()
	})
}

// grant serves the start that has waited longest. The caller holds mu.
func (p *pool) grant(g grant) {
	p.waiting[0] <- g
	p.waiting = slices.Delete(p.waiting, 0, 1)
}

// put takes back a supervisor whose execution has ended.
func (p *pool) put(s *supervisor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.spent >= maxSpent {
		s.letGo()
		if len(p.idle) == 0 && !p.closed {
			p.refill.Reset(0)
		}
		return
	}
	p.place(s)
}

// place gives an idle supervisor to a start that waits, or keeps it. The
// caller holds mu.
func (p *pool) place(s *supervisor) {
	switch {
	case p.closed:
		s.letGo()
	case len(p.waiting) > 0:
		p.grant(grant{s: s})
	default:
		p.idle = append(p.idle, s)
		p.refill.Stop()
		if len(p.idle) > 1 {
			p.quiet.Reset(quietTime)
		}
	}
}

// warm makes sure that there is a spare, or will be.
func (p *pool) warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.idle) == 0 && p.starting == 0 {
		p.startOne()
	}
}

// shrink lets go of all but the newest idle supervisor.
func (p *pool) shrink() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 1 {
		p.idle[0].letGo()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
}

// remove forgets a supervisor that has died while it was idle.
func (p *pool) remove(s *supervisor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.idle, s); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		if len(p.idle) == 0 && !p.closed {
			p.refill.Reset(refillDelay)
		}
	}
}

// close lets go of what is idle and refuses the starts that wait. It does not
// wait for the supervisors that are just being started, which place lets go
// of; spawning tells when that is over.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.refill.Stop()
	p.quiet.Stop()
	for _, s := range p.idle {
		s.letGo()
	}
	p.idle = nil
	for len(p.waiting) > 0 {
		p.grant(grant{err: proc.ErrClosed})
	}
}
