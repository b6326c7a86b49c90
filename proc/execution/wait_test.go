package execution

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

// fakePorts opens each port at its time after the beginning.
type fakePorts struct {
	begun time.Time
	opens map[int]time.Duration
}

func (p fakePorts) Open(port int) bool {
	after, ok := p.opens[port]
	return ok && time.Since(p.begun) >= after
}

func (p fakePorts) Await(ctx context.Context, port int) error {
	after, ok := p.opens[port]
	if !ok {
		<-ctx.Done()
		return ctx.Err()
	}
	t := time.NewTimer(after - time.Since(p.begun))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func regex(t *testing.T, expr string) *lazydfa.Regexp {
	t.Helper()
	re, err := lazydfa.Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	return re
}

func TestConditions(t *testing.T) {
	at := func(after time.Duration, do func(p *fake.Process)) func(*fake.Process) {
		return func(p *fake.Process) { time.AfterFunc(after, func() { do(p) }) }
	}
	prints := func(text string) func(p *fake.Process) { return func(p *fake.Process) { p.Print(text) } }
	warns := func(text string) func(p *fake.Process) { return func(p *fake.Process) { p.PrintError(text) } }
	exits := func(p *fake.Process) { p.Exit(0) }
	const s = time.Second
	for _, c := range []struct {
		name   string
		script []func(*fake.Process)
		expr   string
		idle   time.Duration
		sel    buffer.Selection
		port   int
		want   Reason
		after  time.Duration
	}{
		{name: "nothing", want: GaveUp, after: 50 * s},
		{name: "exit", script: []func(*fake.Process){at(3*s, exits)}, expr: "ready", idle: 5 * s, port: 1, want: Exited, after: 3 * s},
		{name: "output", script: []func(*fake.Process){at(2*s, prints("rea")), at(3*s, prints("dy")), at(4*s, exits)}, expr: "ready", want: OutputMatched, after: 3 * s},
		{name: "output and exit", script: []func(*fake.Process){at(2*s, func(p *fake.Process) { p.Print("ready"); p.Exit(1) })}, expr: "ready", port: 1, want: OutputMatched, after: 2 * s},
		{name: "prompt at the end", script: []func(*fake.Process){at(2*s, func(p *fake.Process) { p.Print("> "); p.Exit(1) })}, expr: "> $", want: OutputMatched, after: 2 * s},
		{name: "prompt", script: []func(*fake.Process){at(2*s, prints("> "))}, expr: "> $", want: OutputMatched, after: 2*s + 30*time.Millisecond},
		{name: "other stream", script: []func(*fake.Process){at(2*s, prints("ready")), at(3*s, warns("ready"))}, expr: "ready", sel: buffer.OnlyStderr, want: OutputMatched, after: 3 * s},
		{name: "idle from the beginning", idle: 5 * s, want: IdleReached, after: 5 * s},
		{name: "idle after output", script: []func(*fake.Process){at(1*s, prints("a")), at(5*s, prints("b")), at(9*s, prints("c"))}, idle: 5 * s, want: IdleReached, after: 14 * s},
		{name: "idle of one stream", script: []func(*fake.Process){at(2*s, prints("a")), at(4*s, warns("b"))}, idle: 5 * s, sel: buffer.OnlyStdout, want: IdleReached, after: 7 * s},
		{name: "not idle enough", script: []func(*fake.Process){at(1*s, prints("a")), at(5*s, prints("ready"))}, idle: 5 * s, expr: "ready", want: OutputMatched, after: 5 * s},
		{name: "port", port: 8, expr: "ready", idle: 20 * s, want: PortOpen, after: 8 * s},
		{name: "another port", port: 1, want: GaveUp, after: 50 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			ports := &fakePorts{opens: map[int]time.Duration{8: 8 * s}}
			inBubble(t, Options{Ports: ports}, func(t *testing.T, b *bench) {
				begun := time.Now()
				ports.begun = begun
				e, p := b.start(Request{})
				for _, do := range c.script {
					do(p)
				}
				conditions := Conditions{Idle: c.idle, Streams: c.sel, Port: c.port}
				if c.expr != "" {
					conditions.Output = e.Watch(t.Context(), regex(t, c.expr), 0, c.sel)
					defer conditions.Output.Stop()
				}
				got, err := e.Wait(t.Context(), 50*s, conditions)
				if got != c.want || err != nil {
					t.Errorf("got %v, %v, want %v", got, err, c.want)
				}
				after(t, "the answer", begun, c.after)
				time.Sleep(time.Minute) // what is left of the script
			})
		})
	}
}

// TestConditionsThatHoldAlready need no time at all.
func TestConditionsThatHoldAlready(t *testing.T) {
	ports := &fakePorts{opens: map[int]time.Duration{8: 0}}
	inBubble(t, Options{Ports: ports}, func(t *testing.T, b *bench) {
		ports.begun = time.Now()
		e, p := b.start(Request{})
		p.Print("is ready\n")
		synctest.Wait()
		for range 20 {
			w := e.Watch(t.Context(), regex(t, "ready"), 0, buffer.Both)
			if got, _ := e.Wait(t.Context(), 0, Conditions{Output: w}); got != OutputMatched {
				t.Fatalf("output: %v", got)
			}
			w.Stop()
			if got, _ := e.Wait(t.Context(), 0, Conditions{Port: 8}); got != PortOpen {
				t.Fatalf("port: %v", got)
			}
		}
		e.Next(100, 0)
		w := e.Watch(t.Context(), regex(t, "ready"), 0, buffer.Both)
		if got, _ := e.Wait(t.Context(), 0, Conditions{Output: w}); got != GaveUp {
			t.Errorf("before the cursor: %v", got)
		}
		w.Stop()
		p.Exit(0)
		b.ended(e, Completed)
		for want, from := range map[Reason]uint64{OutputMatched: 1, Exited: 0} {
			w := e.Watch(t.Context(), regex(t, "ready$"), from, buffer.Both)
			if got, _ := e.Wait(t.Context(), time.Hour, Conditions{Output: w, Port: 8, Idle: 1}); got != want {
				t.Errorf("ended, from %d: %v, want %v", from, got, want)
			}
			w.Stop()
		}
	})
}

func TestExpectedFromTheFirstByte(t *testing.T) {
	inBubble(t, Options{BufferBytes: 10}, func(t *testing.T, b *bench) {
		b.backend.Begin = func(p *fake.Process) error {
			p.Print("server is ready on port 80\nand much more output\n")
			return nil
		}
		e, _ := b.start(Request{Expect: regex(t, `port \d+`)})
		w := e.Expected()
		defer w.Stop()
		if got, err := e.WaitInline(t.Context(), time.Hour, Conditions{Output: w}); got != OutputMatched || err != nil {
			t.Fatalf("%v, %v", got, err)
		}
		if m := w.Match(); m.Line != "server is ready on port 80" || m.Text != "port 80" {
			t.Errorf("%+v", m)
		}
		if e.Expected() != nil {
			t.Error("the watch is kept")
		}
	})
}

func TestConditionsEndWithTheirContextAndWithTheServer(t *testing.T) {
	ports := &fakePorts{}
	inBubble(t, Options{Ports: ports}, func(t *testing.T, b *bench) {
		e, _ := b.start(Request{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := Conditions{Port: 9, Idle: time.Hour, Output: e.Watch(t.Context(), regex(t, "x"), 1, buffer.Both)}
		defer c.Output.Stop()
		if got, err := e.Wait(ctx, time.Minute, c); got != GaveUp || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", got, err)
		}
		time.AfterFunc(time.Second, b.BeginShutdown)
		if got, err := e.Wait(t.Context(), time.Minute, c); got != GaveUp || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// What looks at kept output ends with its caller's context and with the server.
func TestLookingAtKeptOutputEnds(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		e, p := b.start(Request{})
		p.Print("ready")
		synctest.Wait()
		cancel()
		w := e.Watch(ctx, regex(t, "ready"), 1, buffer.Both)
		defer w.Stop()
		if got, err := e.Wait(t.Context(), time.Second, Conditions{Output: w}); got != GaveUp || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		ctx, cancel = b.untilClosing(t.Context())
		defer cancel()
		if synctest.Wait(); ctx.Err() != nil {
			t.Errorf("before the server ends: %v", ctx.Err())
		}
		b.BeginShutdown()
		if synctest.Wait(); ctx.Err() == nil {
			t.Error("it does not end with the server")
		}
	})
}
