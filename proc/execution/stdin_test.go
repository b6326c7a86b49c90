package execution

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

func TestInitialInput(t *testing.T) {
	for _, c := range []struct {
		text  string
		close bool
	}{{"", true}, {"", false}, {"héllo", true}, {"héllo", false}} {
		inBubble(t, Options{}, func(t *testing.T, b *bench) {
			e, p := b.start(Request{Stdin: c.text, CloseStdin: c.close})
			synctest.Wait()
			if p.Input().Text() != c.text || p.Input().Ended() != c.close {
				t.Errorf("%+v: got %q, ended %v", c, p.Input().Text(), p.Input().Ended())
			}
			if err := e.Summary(t.Context()).StdinErr; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInputThatIsNotRead(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		b.backend.Begin = func(p *fake.Process) error { p.Input().Stall(3); return nil }
		begun := time.Now()
		e, p := b.start(Request{Stdin: "0123456789", CloseStdin: false})
		after(t, "the start", begun, 0)
		synctest.Wait()
		written := make(chan error, 1)
		go func() {
			_, err := e.Write(t.Context(), []byte("x"), false)
			written <- err
		}()
		synctest.Wait()
		p.Exit(0) // which breaks the pipe
		if err := <-written; !errors.Is(err, proc.ErrBrokenPipe) && !notRunning(err, Completed) {
			t.Errorf("a write that waited for its turn: %v", err)
		}
		s := b.ended(e, Completed)
		after(t, "the end", begun, 0)
		if s.StdinErr == nil || !strings.HasPrefix(s.StdinErr.Error(), "3 of 10 bytes of stdin were delivered") || !errors.Is(s.StdinErr, proc.ErrBrokenPipe) {
			t.Errorf("stdin error is %v", s.StdinErr)
		}
	})
}

// TestWriteDuringTheInitialInput: it comes after it, however late the command
// reads.
func TestWriteDuringTheInitialInput(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		b.backend.Begin = func(p *fake.Process) error { p.Input().Stall(3); return nil }
		e, p := b.start(Request{Stdin: "0123456789", CloseStdin: false})
		begun := time.Now()
		if n, err := e.Write(t.Context(), []byte("x"), false); n != 0 || err == nil || !strings.Contains(err.Error(), "did not read its stdin for 55 s") {
			t.Errorf("nobody reads: %d, %v", n, err)
		}
		after(t, "the write that nobody reads", begun, WriteBound)
		time.AfterFunc(time.Second, p.Input().Resume)
		if n, err := e.Write(t.Context(), []byte("yz"), true); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if got := p.Input().Text(); got != "0123456789yz" || !p.Input().Ended() {
			t.Errorf("the command got %q", got)
		}
		p.Exit(0)
		b.ended(e, Completed)
	})
}

// TestWriteAfterTheLastInput: nothing can follow input after which stdin is
// closed, and a write need not wait to know.
func TestWriteAfterTheLastInput(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		b.backend.Begin = func(p *fake.Process) error { p.Input().Stall(3); return nil }
		e, p := b.start(Request{Stdin: "0123456789", CloseStdin: true})
		begun := time.Now()
		if _, err := e.Write(t.Context(), []byte("x"), false); !errors.Is(err, ErrStdinClosed) {
			t.Error(err)
		}
		after(t, "the refusal", begun, 0)
		p.Exit(0)
		b.ended(e, Completed)
	})
}

// TestInputThatAStrangerHolds: the reading end outlives everything owned, so
// that the pipe does not break by itself.
func TestInputThatAStrangerHolds(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		b.backend.Begin = func(p *fake.Process) error { p.Input().Stall(0); return nil }
		e, p := b.start(Request{Stdin: "x"})
		begun := time.Now()
		p.Lose(errors.New("gone"))
		s := b.ended(e, Failed)
		after(t, "the end", begun, time.Second)
		if !errors.Is(s.StdinErr, context.Canceled) {
			t.Errorf("stdin error is %v", s.StdinErr)
		}
	})
}

func TestWrite(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{Stdin: "a"})
		synctest.Wait()
		if n, err := e.Write(t.Context(), []byte("bc"), false); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if n, err := e.Write(t.Context(), nil, true); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if p.Input().Text() != "abc" || !p.Input().Ended() {
			t.Errorf("the command got %q", p.Input().Text())
		}
		if _, err := e.Write(t.Context(), []byte("x"), false); !errors.Is(err, ErrStdinClosed) {
			t.Error(err)
		}
		p.Exit(0)
		<-e.Done()
		if _, err := e.Write(t.Context(), []byte("x"), false); !notRunning(err, Completed) {
			t.Error(err)
		}
	})
}

func TestWriteIsBounded(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.Input().Stall(2)
		begun := time.Now()
		blocked := make(chan error, 1)
		go func() {
			n, err := e.Write(t.Context(), []byte("abc"), false)
			if n != 2 {
				t.Errorf("%d bytes were taken", n)
			}
			blocked <- err
		}()
		synctest.Wait()
		// One that waits for its turn is bounded by its own context.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n, err := e.Write(ctx, []byte("x"), false); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d, %v", n, err)
		}
		after(t, "the second write", begun, time.Second)
		if err := <-blocked; err == nil || !strings.Contains(err.Error(), "did not read its stdin for 55 s") {
			t.Error(err)
		}
		after(t, "the first write", begun, WriteBound)
		p.Input().Resume()
		if _, err := e.Write(t.Context(), []byte("d"), false); err != nil || p.Input().Text() != "abd" {
			t.Errorf("%v, %q", err, p.Input().Text())
		}
	})
}

func TestWriteThatTheEndInterrupts(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.Input().Stall(0)
		time.AfterFunc(time.Second, func() { p.Exit(0) })
		_, err := e.Write(t.Context(), []byte("abc"), false)
		if !errors.Is(err, proc.ErrBrokenPipe) && !errors.Is(err, proc.ErrClosed) && !notRunning(err, Completed) {
			t.Error(err)
		}
		b.ended(e, Completed)
	})
}
