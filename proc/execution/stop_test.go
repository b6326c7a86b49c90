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

func notRunning(err error, s Status) bool {
	var late *NotRunningError
	return errors.As(err, &late) && late.Status == s
}

func TestStop(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		begun := time.Now()
		report, err := e.Stop(t.Context(), proc.SIGINT, Grace)
		if err != nil || report.Signal != proc.SIGINT || report.Forced || p.Kills() != 0 {
			t.Errorf("%+v, %v, %d kills", report, err, p.Kills())
		}
		after(t, "the stop", begun, 0)
		b.ended(e, Stopped)
		if _, err := e.Stop(t.Context(), proc.SIGTERM, Grace); !notRunning(err, Stopped) {
			t.Errorf("second stop: %v", err)
		}
		if len(p.Signals()) != 1 {
			t.Errorf("signals %v", p.Signals())
		}
	})
}

func TestStopEscalates(t *testing.T) {
	for _, c := range []struct {
		signal      proc.Signal
		grace, want time.Duration
		forced      bool
	}{
		{proc.SIGTERM, Grace, Grace, true},
		{proc.SIGTERM, 500 * time.Millisecond, 500 * time.Millisecond, true},
		{proc.SIGTERM, 0, 0, true},
		{proc.SIGTERM, -time.Second, 0, true},
		{proc.SIGTERM, time.Hour, MaxForceAfter, true},
		{proc.SIGKILL, Grace, 0, false},
	} {
		inBubble(t, Options{}, func(t *testing.T, b *bench) {
			b.backend.Begin = func(p *fake.Process) error { ignore(p); return nil }
			e, p := b.start(Request{})
			begun := time.Now()
			report, err := e.Stop(t.Context(), c.signal, c.grace)
			if err != nil || report.Forced != c.forced || p.Kills() != 1 {
				t.Errorf("%+v: %+v, %v, %d kills", c, report, err, p.Kills())
			}
			after(t, "the stop", begun, c.want)
			if s := b.ended(e, Stopped); s.Exit.Signal != proc.SIGKILL {
				t.Errorf("exit is %+v", s.Exit)
			}
		})
	}
}

func TestStopLetsTheCommandCleanUp(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			time.AfterFunc(3*time.Second, func() { p.Print("bye"); p.Exit(7) })
			return proc.SignalReport{Reached: 1}, nil
		})
		begun := time.Now()
		if report, err := e.Stop(t.Context(), proc.SIGTERM, Grace); err != nil || report.Forced {
			t.Errorf("%+v, %v", report, err)
		}
		after(t, "the stop", begun, 3*time.Second)
		if s := b.ended(e, Stopped); s.Exit.Code != 7 || e.Next(9, 0).Stdout != "bye" {
			t.Errorf("summary is %+v", s)
		}
	})
}

// TestOnlyDefault: a shell without a handler that ends with an exit code had
// ended by itself before the signal came.
func TestOnlyDefault(t *testing.T) {
	for _, c := range []struct {
		name        string
		onlyDefault bool
		exit        proc.Exit
		want        Status
	}{
		{"ended by itself", true, proc.Exit{Code: 0}, Completed},
		{"ended by the signal", true, proc.Exit{Code: -15, Signal: proc.SIGTERM}, Stopped},
		{"had a handler", false, proc.Exit{Code: 0}, Stopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, b *bench) {
				e, p := b.start(Request{})
				p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
					p.ShellEnds(c.exit)
					p.Exit(0)
					return proc.SignalReport{Reached: 1, OnlyDefault: c.onlyDefault}, nil
				})
				_, err := e.Stop(t.Context(), proc.SIGTERM, Grace)
				b.ended(e, c.want)
				if c.want == Completed && !notRunning(err, Completed) || c.want == Stopped && err != nil {
					t.Errorf("stop: %v", err)
				}
			})
		})
	}
}

func TestStopThatReachesNothing(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			time.AfterFunc(time.Second, func() { p.Exit(0) }) // the end was on its way
			return proc.SignalReport{}, nil
		})
		if _, err := e.Stop(t.Context(), proc.SIGTERM, Grace); !notRunning(err, Completed) {
			t.Errorf("stop: %v", err)
		}
		b.ended(e, Completed)
	})
}

func TestStopsAtOnceAgree(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			time.AfterFunc(time.Second, func() { p.Die(-15, proc.SIGTERM) })
			return proc.SignalReport{Reached: 1}, nil
		})
		errs := make(chan error, 5)
		for range cap(errs) {
			go func() {
				_, err := e.Stop(t.Context(), proc.SIGTERM, Grace)
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		b.ended(e, Stopped)
	})
}

func TestStopWithAnUnsupportedSignal(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) { return proc.SignalReport{}, proc.ErrUnsupportedSignal })
		if _, err := e.Stop(t.Context(), "SIGEMT", Grace); !errors.Is(err, proc.ErrUnsupportedSignal) {
			t.Error(err)
		}
		if e.Status() != Running || p.Kills() != 0 {
			t.Error("it was stopped all the same")
		}
		p.Exit(0)
		b.ended(e, Completed) // the refused signal is no cause
	})
}

func TestStopAnswersWithinTheBoundOfARequest(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			time.Sleep(signalBound)
			return proc.SignalReport{Reached: 1}, nil
		})
		p.OnKill(func(ctx context.Context) (proc.KillReport, error) {
			<-ctx.Done() // the system does not end it
			return proc.KillReport{Unkillable: []int{7}}, context.Cause(ctx)
		})
		begun := time.Now()
		_, err := e.Stop(t.Context(), proc.SIGTERM, MaxForceAfter)
		var left *LeftError // and not that of the bound
		if took := time.Since(begun); took >= RequestBound || !errors.As(err, &left) {
			t.Errorf("the stop took %v: %v", took, err)
		}
	})
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			time.Sleep(2 * RequestBound) // more than any backend may take
			return proc.SignalReport{Reached: 1}, nil
		})
		begun := time.Now()
		if _, err := e.Stop(t.Context(), proc.SIGTERM, 0); err == nil {
			t.Error("a stop that is not over has succeeded")
		}
		after(t, "the answer", begun, RequestBound)
		b.ended(e, Stopped)
	})
}

func TestStopGoesOnWithoutItsRequest(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		ignore(p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := e.Stop(ctx, proc.SIGTERM, Grace); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		b.ended(e, Stopped)
		after(t, "the stop", begun, Grace)
	})
}

// A shell that has become another user's, such as sudo, gets no signal: giving
// it time to act on one would be pointless.
func TestStopGivesNoGraceToWhatItCannotReach(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			return proc.SignalReport{Denied: []int{7}}, nil
		})
		p.OnKill(func(context.Context) (proc.KillReport, error) { return proc.KillReport{Unkillable: []int{7}}, nil })
		begun := time.Now()
		_, err := e.Stop(t.Context(), proc.SIGTERM, Grace)
		var left *LeftError
		if !errors.As(err, &left) || len(left.PIDs) != 1 || left.PIDs[0] != 7 {
			t.Errorf("stop: %v", err)
		}
		after(t, "the stop", begun, 0)
		b.ended(e, Stopped)
		p.TreeEnds()
		synctest.Wait()
	})
}

func TestStopOfWhatMayNotBeSignalled(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.OnSignal(func(proc.Signal) (proc.SignalReport, error) {
			return proc.SignalReport{Reached: 1, Denied: []int{7}}, nil
		})
		p.OnKill(func(context.Context) (proc.KillReport, error) { return proc.KillReport{Unkillable: []int{7}}, nil })
		p.ShellEnds(proc.Exit{Code: -15, Signal: proc.SIGTERM})
		synctest.Wait()
		begun := time.Now()
		_, err := e.Stop(t.Context(), proc.SIGTERM, Grace)
		var left *LeftError
		if !errors.As(err, &left) || len(left.PIDs) != 1 || left.PIDs[0] != 7 {
			t.Errorf("stop: %v", err)
		}
		after(t, "the stop", begun, 0) // it is not waited for
		b.ended(e, Stopped)
		// Its record stays: something is still owned.
		if n := b.Cleanup(0, 0); n != 0 {
			t.Errorf("%d records removed", n)
		}
		p.TreeEnds()
		synctest.Wait()
		if n := b.Cleanup(0, 0); n != 1 {
			t.Errorf("%d records removed", n)
		}
	})
}

func TestTimeout(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		begun := time.Now()
		e, _ := b.start(Request{Timeout: time.Minute})
		b.ended(e, TimedOut)
		after(t, "the timeout", begun, time.Minute)

		begun = time.Now()
		e, p := b.start(Request{Timeout: time.Minute})
		ignore(p)
		if s := b.ended(e, TimedOut); s.Exit.Signal != proc.SIGKILL {
			t.Errorf("exit is %+v", s.Exit)
		}
		after(t, "the timeout", begun, time.Minute+Grace)

		// Also when only attached processes are left.
		begun = time.Now()
		e, p = b.start(Request{Timeout: time.Minute})
		p.ShellEnds(proc.Exit{Code: 0}, daemon)
		if s := b.ended(e, TimedOut); s.Exit.Code != 0 {
			t.Errorf("exit is %+v", s.Exit)
		}
		after(t, "the timeout", begun, time.Minute)

		e, p = b.start(Request{})
		time.Sleep(10000 * time.Hour)
		if e.Status() != Running || len(p.Signals()) != 0 {
			t.Error("a command without a limit was ended")
		}
	})
}

func TestStopAndTimeoutMeet(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{Timeout: 3 * time.Second})
		ignore(p)
		if _, err := e.Stop(t.Context(), proc.SIGTERM, 5*time.Second); err != nil {
			t.Error(err)
		}
		b.ended(e, Stopped) // what came first counts
	})
}

func TestLateTimeoutSparesTheDaemon(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.ShellEnds(proc.Exit{})
		p.SessionEnds(daemon)
		b.ended(e, Completed)
		e.expire() // as if its timer had fired just before the end
		if len(p.Signals()) != 0 || p.Kills() != 0 {
			t.Errorf("the daemon got %v", p.Signals())
		}
	})
}
