package execution

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

func TestShutdown(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		done := b.run()
		withDaemon, p := b.start(Request{})
		p.ShellEnds(proc.Exit{})
		p.SessionEnds(daemon)
		b.ended(withDaemon, Completed)
		polite, _ := b.start(Request{})
		var stubborn []*Execution
		for range 3 {
			e, p := b.start(Request{})
			ignore(p)
			stubborn = append(stubborn, e)
		}
		begun := time.Now()
		b.Shutdown(nil)
		after(t, "the shutdown", begun, Grace) // of all at once
		b.ended(done, Completed)
		b.ended(withDaemon, Completed)
		b.ended(polite, Stopped)
		for _, e := range stubborn {
			b.ended(e, Stopped)
		}
		for i, p := range b.backend.Started() {
			if p.Closes() != 1 {
				t.Errorf("process %d was closed %d times", i, p.Closes())
			}
		}
		if _, err := b.Start(Request{}); !errors.Is(err, ErrShuttingDown) {
			t.Errorf("start: %v", err)
		}
	})
}

func TestShutdownInAHurry(t *testing.T) {
	for _, denied := range [][]int{nil, {7}} {
		inBubble(t, Options{}, func(t *testing.T, b *bench) {
			e, p := b.start(Request{})
			p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
				return proc.SignalReport{Reached: 1, Denied: denied}, nil
			})
			hurry := make(chan struct{})
			time.AfterFunc(2*time.Second, func() { close(hurry) })
			begun := time.Now()
			b.Shutdown(hurry)
			after(t, "the shutdown", begun, 2*time.Second)
			if b.ended(e, Stopped); p.Kills() != 1 {
				t.Errorf("%d kills", p.Kills())
			}
		})
	}
}

func TestShutdownEndsWhatIsJustBeingStarted(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		begun, proceed := make(chan struct{}), make(chan struct{})
		b.backend.Begin = func(*fake.Process) error {
			close(begun)
			<-proceed
			return nil
		}
		started := make(chan *Execution, 1)
		go func() {
			e, err := b.Start(Request{})
			if err != nil {
				t.Error(err)
			}
			started <- e
		}()
		<-begun
		over := make(chan struct{})
		go func() {
			b.Shutdown(nil)
			close(over)
		}()
		synctest.Wait()
		select {
		case <-over:
			t.Error("the shutdown did not wait for the start")
		default:
		}
		close(proceed)
		<-over
		b.ended(<-started, Stopped)
	})
}

func TestShutdownIsBounded(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		_, p := b.start(Request{})
		ignore(p)
		p.OnKill(func(ctx context.Context) (proc.KillReport, error) {
			<-ctx.Done() // the system does not end it
			return proc.KillReport{}, ctx.Err()
		})
		begun := time.Now()
		b.Shutdown(nil)
		if took := time.Since(begun); took > Grace+killBound+drainBound {
			t.Errorf("the shutdown took %v", took)
		}
		p.OnKill(nil)
	})
}

func TestShutdownWarnsOfWhatItCannotEnd(t *testing.T) {
	warned := make(map[any]error) // by execution_id
	warn := func(text string, keyvals ...any) {
		if len(keyvals) != 4 || keyvals[0] != "execution_id" || keyvals[2] != "error" {
			t.Errorf("warning: %q %v", text, keyvals)
			return
		}
		warned[keyvals[1]] = keyvals[3].(error)
	}
	inBubble(t, Options{Warn: warn}, func(t *testing.T, b *bench) {
		b.run()
		b.start(Request{}) // ends when it is told to
		stuck, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			return proc.SignalReport{Denied: []int{7}}, nil
		})
		p.OnKill(func(context.Context) (proc.KillReport, error) { return proc.KillReport{Unkillable: []int{7}}, nil })
		b.Shutdown(nil)
		var left *LeftError
		if len(warned) != 1 || !errors.As(warned[stuck.ID()], &left) {
			t.Errorf("warnings: %v", warned)
		}
		p.TreeEnds()
		synctest.Wait()
	})
}
