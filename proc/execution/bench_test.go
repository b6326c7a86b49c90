package execution

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a registry on a fake system, under a clock of its own.
type bench struct {
	*Registry
	t       *testing.T
	backend *fake.Backend
}

// inBubble runs a test with a registry. What is left at its end is killed.
func inBubble(t *testing.T, opts Options, f func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, backend: &fake.Backend{}}
		opts.Backend = b.backend
		if opts.BufferBytes == 0 {
			opts.BufferBytes = 1000
		}
		if opts.MaxProcesses == 0 {
			opts.MaxProcesses = 1000
		}
		if opts.MaxRetained == 0 {
			opts.MaxRetained = 1000
		}
		if opts.Retention == 0 {
			opts.Retention = time.Hour
		}
		b.Registry = New(opts)
		f(t, b)
		for _, p := range b.backend.Started() {
			p.Die(-9, proc.SIGKILL)
		}
	})
}

// start starts a command.
func (b *bench) start(req Request) (*Execution, *fake.Process) {
	b.t.Helper()
	e, err := b.Start(req)
	if err != nil {
		b.t.Fatal(err)
	}
	return e, b.backend.Last()
}

// run starts a command and lets it complete.
func (b *bench) run() *Execution {
	b.t.Helper()
	e, p := b.start(Request{CloseStdin: true})
	p.Exit(0)
	<-e.Done()
	return e
}

// ended waits for the end and checks the status.
func (b *bench) ended(e *Execution, want Status) Summary {
	b.t.Helper()
	<-e.Done()
	s := e.Summary(b.t.Context())
	if s.Status != want {
		b.t.Errorf("status is %s, want %s", s.Status, want)
	}
	return s
}

// after checks that the time since begun is exactly want: the clock of a bubble
// stands still unless everything waits for it.
func after(t *testing.T, what string, begun time.Time, want time.Duration) {
	t.Helper()
	if took := time.Since(begun); took != want {
		t.Errorf("%s took %v, want %v", what, took, want)
	}
}

// ignore is a command that survives every signal but SIGKILL.
func ignore(p *fake.Process) {
	p.OnSignal(func(proc.Signal) (proc.SignalReport, error) { return proc.SignalReport{Reached: 1}, nil })
}

var daemon = proc.Member{PID: 42, Name: "daemon"}
