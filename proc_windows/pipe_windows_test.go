package procwindows

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// outPipe is an output pipe with its far end.
func outPipe(t *testing.T) (*output, windows.Handle) {
	t.Helper()
	f, far, err := newPipe(windows.PIPE_ACCESS_INBOUND)
	if err != nil {
		t.Fatal(err)
	}
	o := newOutput(f, newTextDecoder(nil))
	t.Cleanup(func() { o.Close() })
	return o, far
}

func inPipe(t *testing.T) (*input, windows.Handle) {
	t.Helper()
	f, far, err := newPipe(windows.PIPE_ACCESS_OUTBOUND)
	if err != nil {
		t.Fatal(err)
	}
	in := &input{file: f}
	t.Cleanup(func() { in.Close() })
	return in, far
}

func put(t *testing.T, far windows.Handle, text string) {
	t.Helper()
	var n uint32
	if err := windows.WriteFile(far, []byte(text), &n, nil); err != nil || int(n) != len(text) {
		t.Fatalf("write: %d, %v", n, err)
	}
}

// TestOutputAfterEnd: what was written stays readable when the writer is gone
// before anybody reads.
func TestOutputAfterEnd(t *testing.T) {
	for _, size := range []int{1, 1000, pipeSize} {
		o, far := outPipe(t)
		want := strings.Repeat("x", size)
		put(t, far, want)
		windows.CloseHandle(far)
		var got strings.Builder
		if err := o.CopyTo(func(p []byte) { got.Write(p) }); err != nil {
			t.Errorf("copy: %v", err)
		}
		if got.String() != want {
			t.Errorf("%d of %d bytes arrived", got.Len(), size)
		}
	}
}

// TestOutputGoesOnAfterAnEmptyWrite: a write of no bytes ends a read, which then
// has none, like one at the end.
func TestOutputGoesOnAfterAnEmptyWrite(t *testing.T) {
	o, far := outPipe(t)
	texts := make(chan string, 10)
	copied := make(chan error, 1)
	go func() { copied <- o.CopyTo(func(p []byte) { texts <- string(p) }) }()
	for _, want := range []string{"a", "b", "c"} {
		put(t, far, "")
		put(t, far, want)
		if eof, err := o.Drain(limited(t, bound)); eof || err != nil {
			t.Fatalf("drain: %v, %v", eof, err)
		}
		if len(texts) != 1 || <-texts != want {
			t.Fatalf("%q did not arrive", want)
		}
	}
	windows.CloseHandle(far)
	if err := <-copied; err != nil {
		t.Error(err)
	}
}

// TestDrain: everything that the pipe held has been passed on, although the
// pipe stays open.
func TestDrain(t *testing.T) {
	o, far := outPipe(t)
	var got strings.Builder // of the goroutine, until Drain says so
	copied := make(chan error, 1)
	go func() { copied <- o.CopyTo(func(p []byte) { got.Write(p) }) }()
	want := ""
	for i := range 200 {
		text := strings.Repeat(string(rune('a'+i%26)), 1+i*37%5000)
		put(t, far, text)
		want += text
		if eof, err := o.Drain(limited(t, bound)); eof || err != nil {
			t.Fatalf("drain: %v, %v", eof, err)
		}
		if got.String() != want {
			t.Fatalf("round %d: %d of %d bytes", i, got.Len(), len(want))
		}
	}
	put(t, far, "end")
	windows.CloseHandle(far)
	if eof, err := o.Drain(limited(t, bound)); !eof || err != nil {
		t.Errorf("drain at the end: %v, %v", eof, err)
	}
	if err := <-copied; err != nil || got.String() != want+"end" {
		t.Errorf("copy: %v, %d of %d bytes", err, got.Len(), len(want)+3)
	}
}

// TestDrainTwice: requests side by side are all answered.
func TestDrainTwice(t *testing.T) {
	o, far := outPipe(t)
	defer windows.CloseHandle(far)
	copied := make(chan error, 1)
	go func() { copied <- o.CopyTo(func([]byte) {}) }()
	answers := make(chan error, 20)
	for range cap(answers) {
		go func() {
			eof, err := o.Drain(limited(t, bound))
			if eof {
				err = errors.New("at the end")
			}
			answers <- err
		}()
	}
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	o.Close()
	if err := <-copied; !errors.Is(err, proc.ErrClosed) {
		t.Errorf("copy: %v", err)
	}
}

// TestDrainContext: a sink that does not return delays Drain by its context
// alone.
func TestDrainContext(t *testing.T) {
	o, far := outPipe(t)
	defer windows.CloseHandle(far)
	busy, release := make(chan struct{}), make(chan struct{})
	copied := make(chan error, 1)
	go func() {
		copied <- o.CopyTo(func([]byte) {
			close(busy)
			<-release
		})
	}()
	put(t, far, "x")
	<-busy
	if _, err := o.Drain(limited(t, 20*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drain: %v", err)
	}
	close(release)
	o.Close()
	<-copied
}

// TestInputCount: a write that is given up counts exactly what the pipe took,
// and the next write continues there.
func TestInputCount(t *testing.T) {
	in, far := inPipe(t)
	data := make([]byte, 300_000)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	n, err := in.Write(limited(t, 50*time.Millisecond), data)
	if n <= 0 || n >= len(data) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("write: %d, %v", n, err)
	}
	reading := make(chan []byte, 1)
	go func() {
		defer windows.CloseHandle(far)
		got, _ := io.ReadAll(handleReader(far)) // ends with the broken pipe
		reading <- got
	}()
	m, err := in.Write(context.Background(), data[n:])
	if err != nil || n+m != len(data) {
		t.Errorf("write: %d after %d, %v", m, n, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if got := <-reading; string(got) != string(data) {
		t.Errorf("%d bytes arrived, of %d, or others", len(got), len(data))
	}
	if n, err := in.Write(context.Background(), data); n != 0 || !errors.Is(err, proc.ErrClosed) {
		t.Errorf("write after close: %d, %v", n, err)
	}
}

// handleReader reads as a program does.
type handleReader windows.Handle

func (h handleReader) Read(p []byte) (int, error) {
	var n uint32
	err := windows.ReadFile(windows.Handle(h), p, &n, nil)
	return int(n), err
}
