package execution

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/proc"
)

func TestCompleted(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{Command: "c", Dir: "/d", CloseStdin: true})
		time.Sleep(2 * time.Second)
		p.Print("out")
		p.PrintError("err!")
		p.Exit(3)
		s := b.ended(e, Completed)
		if s.Exit.Code != 3 || s.Exit.Signal != "" || s.Stdout != 3 || s.Stderr != 4 || s.LatestSeq != 8 || s.Duration != 2*time.Second ||
			s.Command != "c" || s.Dir != "/d" || s.Name != nil || s.PID != 1000 || !s.LastOutput.Equal(s.Ended) {
			t.Errorf("summary is %+v", s)
		}
		if page := e.Next(100, 0); page.Stdout != "out" || page.Stderr != "err!" {
			t.Errorf("output is %+v", page)
		}
		synctest.Wait()
		if p.Closes() != 1 || !p.Input().Ended() {
			t.Errorf("process closed %d times", p.Closes())
		}
		time.Sleep(time.Hour)
		if d := e.Summary(t.Context()).Duration; d != 2*time.Second {
			t.Errorf("an ended execution goes on to age: %v", d)
		}
	})
}

func TestEndedBySignalOfItsOwn(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.Die(-11, "SIGSEGV")
		if s := b.ended(e, Completed); s.Exit.Code != -11 || s.Exit.Signal != "SIGSEGV" {
			t.Errorf("exit is %+v", s.Exit)
		}
	})
}

func TestRunningWhileTheSessionLives(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.ShellEnds(proc.Exit{Code: 1}, daemon)
		synctest.Wait()
		s := e.Summary(t.Context())
		if s.Status != Running || s.Exit == nil || s.Exit.Code != 1 || !s.Ended.IsZero() {
			t.Errorf("summary is %+v", s)
		}
		if m := e.Attached(t.Context()); len(m) != 1 || m[0] != daemon {
			t.Errorf("attached are %v", m)
		}
		p.Fail(errors.New("cannot tell"))
		if m := e.Attached(t.Context()); m != nil {
			t.Errorf("attached are %v", m)
		}
		p.SessionEnds()
		p.TreeEnds()
		b.ended(e, Completed)
	})
}

func TestLost(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		for _, shellFirst := range []bool{false, true} {
			e, p := b.start(Request{})
			p.Print("x")
			if shellFirst {
				p.ShellEnds(proc.Exit{Code: 0})
			}
			p.Lose(errors.New("the supervisor died"))
			s := b.ended(e, Failed)
			if s.Exit != nil || s.Lost == nil || s.Lost.Error() != "the supervisor died" || e.Next(9, 0).Stdout != "x" {
				t.Errorf("summary is %+v", s)
			}
		}
	})
}

func TestWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		yield time.Duration
		shell time.Duration // end of the shell
		end   time.Duration // end of the session
		want  time.Duration
	}{
		{"at once", 0, time.Hour, time.Hour, 0},
		{"yield", 30 * time.Second, time.Hour, time.Hour, 30 * time.Second},
		{"end", 30 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second},
		{"attached end", 30 * time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second},
		{"attached stay", 30 * time.Second, 2 * time.Second, time.Hour, 7 * time.Second},
		{"attached at the yield", 30 * time.Second, 28 * time.Second, time.Hour, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, b *bench) {
				begun := time.Now()
				e, p := b.start(Request{})
				time.AfterFunc(c.shell, func() { p.ShellEnds(proc.Exit{}) })
				time.AfterFunc(c.end, func() { p.Exit(0) })
				if _, err := e.WaitInline(t.Context(), c.yield, Conditions{}); err != nil {
					t.Error(err)
				}
				after(t, "execute", begun, c.want)
				if _, err := e.Wait(t.Context(), 3*time.Hour, Conditions{}); err != nil {
					t.Error(err)
				}
				after(t, "the end", begun, c.end)
				if _, err := e.Wait(t.Context(), 0, Conditions{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWaitEndsWithItsContextAndWithTheServer(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, _ := b.start(Request{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := e.Wait(ctx, time.Hour, Conditions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		after(t, "the wait", begun, time.Second)
		time.AfterFunc(time.Second, b.BeginShutdown)
		if _, err := e.Wait(t.Context(), time.Hour, Conditions{}); err != nil {
			t.Error(err)
		}
		after(t, "both waits", begun, 2*time.Second)
	})
}

func TestDaemonDelaysNobody(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		begun := time.Now()
		e, p := b.start(Request{Timeout: time.Minute})
		p.Print("last words")
		p.ShellEnds(proc.Exit{})
		p.SessionEnds(daemon)
		s := b.ended(e, Completed)
		after(t, "the end", begun, 0)
		if len(s.Detached) != 1 || s.Detached[0] != daemon || e.Next(100, 0).Stdout != "last words" {
			t.Errorf("summary is %+v", s)
		}

		// The timeout belonged to the execution. What the daemon writes is kept.
		time.Sleep(time.Hour)
		p.Print(", and more")
		synctest.Wait()
		if len(p.Signals()) != 0 || e.Next(100, 0).Stdout != ", and more" {
			t.Errorf("signals %v", p.Signals())
		}
		p.Fail(errors.New("cannot tell"))
		if d := e.Detached(t.Context()); len(d) != 1 || d[0] != daemon {
			t.Errorf("last known are %v", d)
		}
		p.Fail(nil)

		report, err := e.Stop(t.Context(), proc.SIGTERM, Grace)
		if err != nil || report.Forced || len(p.Signals()) != 1 {
			t.Errorf("stop: %+v, %v", report, err)
		}
		again := e.Summary(t.Context())
		if again.Status != Completed || again.Exit.Code != 0 || !again.Ended.Equal(s.Ended) || len(again.Detached) != 0 {
			t.Errorf("summary is %+v", again)
		}
	})
}

func TestStrangerThatHoldsThePipesIsNotWaitedForLong(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		begun := time.Now()
		e, p := b.start(Request{})
		p.Print("x")
		p.ShellEnds(proc.Exit{})
		p.SessionEnds()
		p.TreeEndsButPipes()
		b.ended(e, Completed)
		after(t, "the end", begun, drainBound)
		if e.Next(10, 0).Stdout != "x" {
			t.Error("output is missing")
		}
	})
}

func TestCursorlessReadersShareTheOutput(t *testing.T) {
	inBubble(t, Options{BufferBytes: 1 << 20}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		want := strings.Repeat("0123456789", 2000)
		p.Print(want)
		synctest.Wait()
		var mu sync.Mutex
		pieces := map[uint64]string{}
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				for {
					page := e.Next(37, 0)
					if page.Stdout == "" {
						return
					}
					mu.Lock()
					pieces[page.Start] = page.Stdout
					mu.Unlock()
				}
			})
		}
		readers.Wait()
		var got strings.Builder
		for at := uint64(1); at < 20001; at += uint64(len(pieces[at])) {
			if pieces[at] == "" {
				t.Fatalf("nothing from %d on", at)
			}
			got.WriteString(pieces[at])
		}
		if got.String() != want || len(pieces) != (20000+36)/37 {
			t.Errorf("%d pieces, %d bytes", len(pieces), got.Len())
		}
		// Out-of-band reads leave the cursor alone.
		e.Page(1, 10, 0, buffer.Both)
		e.Tail(1, 10, buffer.Both)
		p.Print("new")
		synctest.Wait()
		if page := e.Next(10, 0); page.Stdout != "new" {
			t.Errorf("next is %+v", page)
		}
	})
}

func TestSecretsAreHidden(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		name := "label supersecret"
		e, p := b.start(Request{
			Command: "use supersecret", Dir: "/supersecret", DisplayName: &name,
			Secrets: buffer.NewSecrets([]buffer.Secret{{Name: "S", Value: "supersecret"}}),
		})
		p.Print("super")
		p.Print("secret")
		p.Exit(0)
		s := b.ended(e, Completed)
		if s.Command != "use [REDACTED:S]" || s.Dir != "/[REDACTED:S]" || *s.Name != "label [REDACTED:S]" || e.Next(100, 0).Stdout != "[REDACTED:S]" {
			t.Errorf("summary is %+v", s)
		}
		if p.Spec.Command != "use supersecret" || p.Spec.Dir != "/supersecret" {
			t.Errorf("started with %+v", p.Spec)
		}
	})
}
