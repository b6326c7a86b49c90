//go:build unix

package procunix

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/wire"
)

// Backend implements proc.Backend. Make it with New.
type Backend struct {
	// NameOf names processes for people, the empty text for what is not
	// known; nil knows none. It must not change after the first Start.
	NameOf func(pid int) string

	executable string
	devNull    *os.File
	pool       pool

	// kin are the supervisors. Starting one, which makes it a child before
	// it is in here, and sweeping strangers among the children exclude each
	// other.
	kinMu   sync.RWMutex
	kinList sync.Mutex
	kin     map[int]*supervisor
	// earlier are the children that this process had when New was called, from
	// a wrapper script that became this program.
	earlier map[tree.Identity]bool

	childSignals chan os.Signal
	unheard      chan os.Signal // see heedIgnored
	waking       sync.WaitGroup // the goroutine that wake is

	supervisors sync.WaitGroup // their readers
}

var _ proc.Backend = (*Backend)(nil)

// New prepares this process for being a server: it marks every descriptor
// beyond standard error close-on-exec, so that commands inherit none, and
// makes the process adopt the orphans of a supervisor that dies. See sweep
// for what that means to children that others start.
func New() (*Backend, error) {
	keeper.CloseOnExec(3)
	exe, err := executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if err := tree.AdoptOrphans(); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	b := &Backend{
		executable:   exe,
		devNull:      null,
		kin:          make(map[int]*supervisor),
		earlier:      children(),
		childSignals: make(chan os.Signal, 1),
		unheard:      make(chan os.Signal, 1),
	}
	b.pool.init(b.spawn)
	signal.Notify(b.childSignals, unix.SIGCHLD)
	b.heedIgnored()
	b.waking.Go(b.wake)
	return b, nil
}

// heedIgnored has the runtime handle the signals that the launcher ignored (as
// nohup does) and that it would leave so. Nobody listens, so they still do
// nothing here, but what this process starts gets their default disposition.
func (b *Backend) heedIgnored() {
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(b.unheard, sig)
		}
	}
}

func (b *Backend) nameOf(pid int) string {
	if b.NameOf == nil {
		return ""
	}
	return b.NameOf(pid)
}

// Warm implements proc.Backend: one supervisor is made ready.
func (b *Backend) Warm() { b.pool.warm() }

// Guarantees implements proc.Backend.
func (b *Backend) Guarantees() proc.Guarantees { return guarantees() }

// closeBound is how long Close waits for the supervisors that are just being
// started, and for all of them to end what they still own.
const closeBound = keeper.KillBound + time.Second

// Close implements proc.Backend. It ends the supervisors, and with them
// whatever they still own. One that does not come to an end, because its tree
// does not, is left to go on with it by itself.
func (b *Backend) Close() error {
	return b.closeWithin(closeBound)
}

func (b *Backend) closeWithin(d time.Duration) error {
	bound := time.NewTimer(d)
	defer bound.Stop()
	b.pool.close()
	for _, s := range b.allSupervisors() {
		s.letGo()
	}
	ended := make(chan struct{})
	go func() {
		b.pool.spawning.Wait() // before, because it adds to the supervisors
		b.supervisors.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-bound.C:
	}
	signal.Stop(b.unheard)
	signal.Stop(b.childSignals)
	close(b.childSignals)
	b.waking.Wait()
	return b.devNull.Close()
}

// startTries is how many supervisors Start asks before it gives up, when one
// after the other turns out to have died while it was idle.
const startTries = 4

// Start implements proc.Backend.
func (b *Backend) Start(spec proc.Spec) (proc.Process, error) {
	req, err := prepare(spec)
	if err != nil {
		return nil, err
	}
	ps, err := newPipes()
	if err != nil {
		return nil, &proc.StartError{Op: "pipe", Err: err}
	}
	p, err := b.start(spec, req, ps)
	ps.closeChild()
	if err != nil {
		ps.closeServer()
		return nil, err
	}
	return p, nil
}

func (b *Backend) start(spec proc.Spec, req *wire.StartRequest, ps *pipes) (*process, error) {
	err := errDied
	for range startTries {
		var s *supervisor
		if s, err = b.pool.get(); err != nil {
			break
		}
		p := newProcess(s, ps)
		var errno unix.Errno
		if errno, err = s.start(p, req, ps.child); err == nil {
			if errno != 0 {
				return nil, startFailure(spec, req, errno)
			}
			return p, nil
		}
		if !errors.Is(err, errUnheard) {
			err = fmt.Errorf("%w; the command may have begun to run", err)
			break
		}
	}
	return nil, &proc.StartError{Op: "supervisor", Err: err}
}
