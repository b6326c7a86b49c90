package execution

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

// known reports which of the executions still have a record.
func (b *bench) known(list ...*Execution) (flags string) {
	for _, e := range list {
		if _, ok := b.Get(e.ID()); ok {
			flags += "+"
		} else {
			flags += "-"
		}
	}
	return flags
}

func TestLimit(t *testing.T) {
	inBubble(t, Options{MaxProcesses: 2}, func(t *testing.T, b *bench) {
		for range 5 { // what has ended takes no slot
			b.run()
		}
		_, attached := b.start(Request{})
		attached.ShellEnds(proc.Exit{}, daemon)
		b.start(Request{})
		if _, err := b.Start(Request{}); !errors.Is(err, ErrLimit) {
			t.Errorf("third start: %v", err)
		}
		if n := len(b.backend.Started()); n != 7 {
			t.Errorf("%d processes were started", n)
		}
		attached.SessionEnds(daemon) // detached processes take none
		synctest.Wait()
		b.start(Request{})
	})
}

func TestFailedStartTakesNoSlot(t *testing.T) {
	inBubble(t, Options{MaxProcesses: 1}, func(t *testing.T, b *bench) {
		want := &proc.StartError{Op: "shell", Err: errors.New("no")}
		b.backend.Begin = func(*fake.Process) error { return want }
		for range 3 {
			if _, err := b.Start(Request{}); !errors.Is(err, want) {
				t.Error(err)
			}
		}
		b.backend.Begin = nil
		b.start(Request{})
		if rows := b.List(t.Context(), true, 10); len(rows) != 1 {
			t.Errorf("%d records", len(rows))
		}
	})
}

func TestParallelStartsKeepTheLimit(t *testing.T) {
	inBubble(t, Options{MaxProcesses: 5}, func(t *testing.T, b *bench) {
		var started atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := b.Start(Request{}); err == nil {
					started.Add(1)
				} else if !errors.Is(err, ErrLimit) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := started.Load(); n != 5 {
			t.Errorf("%d were started", n)
		}
	})
}

// A call that is refused removes nothing (specification, section ps).
func TestRefusedStartsForgetNothing(t *testing.T) {
	inBubble(t, Options{MaxProcesses: 1, Retention: time.Minute}, func(t *testing.T, b *bench) {
		old := b.run()
		live, p := b.start(Request{})
		time.Sleep(2 * time.Minute)
		if _, err := b.Start(Request{}); !errors.Is(err, ErrLimit) {
			t.Errorf("second start: %v", err)
		}
		if _, ok := b.Get(old.ID()); !ok {
			t.Error("a refused call has removed a record")
		}
		p.Exit(0)
		b.ended(live, Completed)
		b.run()
		if _, ok := b.Get(old.ID()); ok {
			t.Error("the record is kept beyond its time")
		}
	})
}

func TestRetentionByAge(t *testing.T) {
	inBubble(t, Options{Retention: time.Minute}, func(t *testing.T, b *bench) {
		live, _ := b.start(Request{})
		old := b.run()
		time.Sleep(30 * time.Second)
		young := b.run()
		time.Sleep(30 * time.Second)
		if got := b.known(live, old, young); got != "+++" {
			t.Errorf("before a start: %s", got)
		}
		b.start(Request{})
		if got := b.known(live, old, young); got != "+-+" {
			t.Errorf("after a start: %s", got)
		}
	})
}

func TestRetentionByNumber(t *testing.T) {
	inBubble(t, Options{MaxRetained: 2}, func(t *testing.T, b *bench) {
		live, p := b.start(Request{})
		a, c, d := b.run(), b.run(), b.run()
		if got := b.known(live, a, c, d); got != "++++" {
			t.Errorf("before a start: %s", got)
		}
		b.start(Request{})
		if got := b.known(live, a, c, d); got != "+-++" {
			t.Errorf("after a start: %s", got)
		}
		// The oldest by end goes first, not the oldest by start.
		p.Exit(0)
		<-live.Done()
		b.start(Request{})
		if got := b.known(live, a, c, d); got != "+--+" {
			t.Errorf("after another start: %s", got)
		}
	})
}

func TestGuardedRecordsStay(t *testing.T) {
	inBubble(t, Options{Retention: time.Minute, MaxRetained: 1}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.ShellEnds(proc.Exit{})
		p.SessionEnds(daemon)
		b.ended(e, Completed)
		time.Sleep(time.Hour)
		b.run()
		b.run()
		if n := b.Cleanup(0, 0); n != 1 && n != 2 {
			t.Errorf("%d removed", n)
		}
		if got := b.known(e); got != "+" {
			t.Error("the record of a daemon's execution is gone")
		}
		rows := b.List(t.Context(), true, 10)
		if len(rows) != 1 || len(rows[0].Detached) != 1 {
			t.Errorf("rows are %+v", rows)
		}
		p.TreeEnds() // the daemon ends
		synctest.Wait()
		if n := b.Cleanup(0, 0); n != 1 || b.known(e) != "-" {
			t.Errorf("%d removed", n)
		}
	})
}

func TestTooManyDaemons(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		var last *fake.Process
		for range maxGuarded {
			e, p := b.start(Request{})
			p.ShellEnds(proc.Exit{})
			p.SessionEnds(daemon)
			<-e.Done()
			last = p
		}
		if _, err := b.Start(Request{}); !errors.Is(err, ErrDetachedLimit) {
			t.Errorf("start: %v", err)
		}
		last.TreeEnds()
		synctest.Wait()
		b.start(Request{})
	})
}

func TestCleanupByKindAndAge(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		live, _ := b.start(Request{})
		completed := b.run()
		stopped, _ := b.start(Request{})
		stopped.Stop(t.Context(), proc.SIGTERM, 0)
		timedOut, _ := b.start(Request{Timeout: time.Nanosecond})
		<-timedOut.Done()
		lost, p := b.start(Request{})
		p.Lose(errors.New("x"))
		<-lost.Done()
		all := []*Execution{live, completed, stopped, timedOut, lost}
		synctest.Wait()
		time.Sleep(time.Second)
		if n := b.Cleanup(2*time.Second, 2*time.Second); n != 0 {
			t.Errorf("%d removed", n)
		}
		if n := b.Cleanup(time.Second, time.Hour); n != 1 || b.known(all...) != "+-+++" {
			t.Errorf("%d removed: %s", n, b.known(all...))
		}
		if n := b.Cleanup(time.Hour, 0); n != 3 || b.known(all...) != "+----" {
			t.Errorf("%d removed: %s", n, b.known(all...))
		}
	})
}

func TestListOrder(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		first := b.run()
		second, _ := b.start(Request{})
		third := b.run()
		check := func(rows []Summary, want ...*Execution) {
			t.Helper()
			if len(rows) != len(want) {
				t.Fatalf("%d rows, want %d", len(rows), len(want))
			}
			for i := range rows {
				if rows[i].ID != want[i].ID() {
					t.Errorf("row %d is %s", i, rows[i].ID)
				}
			}
		}
		check(b.List(t.Context(), true, 10), third, second, first)
		check(b.List(t.Context(), true, 2), third, second)
		check(b.List(t.Context(), true, 0))
		check(b.List(t.Context(), false, 10), second)
	})
}
