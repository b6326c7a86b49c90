package procwindows

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

const (
	pipeSize = 64 << 10
	// readSize is how much CopyTo takes at once.
	readSize = 64 << 10
	// writeChunk is less than pipeSize, so that a chunk is either taken
	// whole or, when its write is cancelled, withdrawn whole: the reader
	// cannot have come to a chunk that does not fit in an empty pipe yet.
	// That makes the count of a partial write exact.
	writeChunk = 16 << 10
)

// newPipe makes a pipe whose near end does overlapped I/O, which can be
// cancelled, and whose far end is an ordinary, inheritable handle, as programs
// expect of their standard streams. Anonymous pipes cannot do that.
func newPipe(access uint32) (near *os.File, far windows.Handle, err error) {
	name, err := windows.UTF16PtrFromString(`\\.\pipe\mcp-yieldshell-` + rand.Text())
	if err != nil {
		return nil, 0, err
	}
	const mode = windows.PIPE_TYPE_BYTE | windows.PIPE_REJECT_REMOTE_CLIENTS
	n, err := windows.CreateNamedPipe(name,
		access|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE, mode, 1, pipeSize, pipeSize, 0, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("CreateNamedPipe: %w", err)
	}
	farAccess := uint32(windows.GENERIC_READ | windows.FILE_WRITE_ATTRIBUTES)
	if access == windows.PIPE_ACCESS_INBOUND {
		farAccess = windows.GENERIC_WRITE | windows.FILE_READ_ATTRIBUTES
	}
	inherit := windows.SecurityAttributes{InheritHandle: 1}
	inherit.Length = uint32(unsafe.Sizeof(inherit))
	far, err = windows.CreateFile(name, farAccess, 0, &inherit, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("CreateFile (pipe): %w", err), windows.CloseHandle(n))
	}
	return os.NewFile(uintptr(n), "pipe"), far, nil
}

// pipes are the three pipes of a command.
type pipes struct {
	in       *input
	out, err *output
	// far holds the command's ends until it has inherited them.
	far [3]windows.Handle
}

// openPipes makes all three or none. newText makes the decoder of a stream.
func openPipes(newText func() *textDecoder) (*pipes, error) {
	p := new(pipes)
	in, far, err := newPipe(windows.PIPE_ACCESS_OUTBOUND)
	if err != nil {
		return nil, err
	}
	p.in, p.far[0] = &input{file: in}, far
	for i, o := range []**output{&p.out, &p.err} {
		f, far, err := newPipe(windows.PIPE_ACCESS_INBOUND)
		if err != nil {
			p.closeAll()
			return nil, err
		}
		*o, p.far[1+i] = newOutput(f, newText()), far
	}
	return p, nil
}

// closeFar lets go of the command's ends.
func (p *pipes) closeFar() {
	for i, h := range p.far {
		if h != 0 {
			windows.CloseHandle(h) // cannot fail: ours and open
			p.far[i] = 0
		}
	}
}

func (p *pipes) closeAll() {
	p.closeFar()
	p.in.Close()
	for _, o := range []*output{p.out, p.err} {
		if o != nil {
			o.Close()
		}
	}
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// input is the server's end of stdin.
type input struct {
	file *os.File
	once sync.Once
	err  error
}

// Write implements proc.Input.
func (in *input) Write(ctx context.Context, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		in.file.SetWriteDeadline(past) // fails only when closed
		close(fired)
	})
	n, err := in.writeAll(p)
	if !stop() {
		<-fired
		in.file.SetWriteDeadline(time.Time{}) // for the next Write
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = context.Cause(ctx)
	case errors.Is(err, os.ErrClosed):
		err = proc.ErrClosed
	case errors.Is(err, windows.ERROR_NO_DATA), errors.Is(err, windows.ERROR_BROKEN_PIPE):
		// The first is the answer when the reader had gone before the write,
		// the second when it went during it.
		err = fmt.Errorf("write standard input: %w", proc.ErrBrokenPipe)
	}
	return n, err
}

func (in *input) writeAll(p []byte) (n int, err error) {
	for n < len(p) {
		m, err := in.file.Write(p[n:min(n+writeChunk, len(p))])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Close implements proc.Input. What was written stays readable.
func (in *input) Close() error {
	in.once.Do(func() { in.err = in.file.Close() })
	return in.err
}

// output is the server's end of stdout or stderr. CopyTo is the only reader,
// and also does the work of Drain: woken by a read deadline, it looks what the
// pipe holds.
type output struct {
	file *os.File
	text *textDecoder
	done chan struct{} // closed when CopyTo has returned

	mu     sync.Mutex
	closed bool
	drains []chan<- bool // requests of Drain, answered with "at the end"
}

func newOutput(f *os.File, text *textDecoder) *output {
	return &output{file: f, text: text, done: make(chan struct{})}
}

// CopyTo implements proc.Output. The sink gets valid UTF-8 (see textDecoder).
func (o *output) CopyTo(sink func([]byte)) error {
	defer close(o.done)
	err := o.copy(sink)
	if rest := o.text.finish(); len(rest) > 0 {
		sink(rest)
	}
	o.answer(o.takeDrains(), true)
	if errors.Is(err, os.ErrClosed) {
		return proc.ErrClosed
	}
	if isEOF(err) {
		return nil
	}
	return err
}

func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ERROR_BROKEN_PIPE)
}

func (o *output) copy(sink func([]byte)) error {
	buf := make([]byte, readSize)
	for {
		n, err := o.read(buf)
		o.pass(sink, buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = o.drain(sink, buf)
		}
		if err != nil {
			return err
		}
	}
}

// read reads from the pipe. A write of no bytes ends a read as well (ReadFile,
// remarks), which os.File takes for the end.
func (o *output) read(buf []byte) (n int, err error) {
	n, err = o.file.Read(buf)
	if errors.Is(err, io.EOF) {
		if _, perr := o.peek(); perr == nil {
			err = nil
		}
	}
	return n, err
}

func (o *output) pass(sink func([]byte), p []byte) {
	if len(p) == 0 {
		return
	}
	if text := o.text.decode(p); len(text) > 0 {
		sink(text)
	}
}

// drain answers the requests that are there: it reads as much as the pipe
// holds now, but no more, since a busy writer could go on for ever.
func (o *output) drain(sink func([]byte), buf []byte) error {
	drains := o.takeDrains()
	held, err := o.peek()
	for left := int(held); err == nil && left > 0; {
		var n int
		n, err = o.read(buf[:min(left, len(buf))])
		o.pass(sink, buf[:n])
		left -= n
		if errors.Is(err, os.ErrDeadlineExceeded) { // another request
			err = o.file.SetReadDeadline(time.Time{})
			defer o.file.SetReadDeadline(past) // serve it next
		}
	}
	if err == nil && held > 0 {
		_, err = o.peek() // the last writer may be gone
	}
	if rest := o.text.settle(); len(rest) > 0 {
		sink(rest)
	}
	o.answer(drains, err != nil)
	return err
}

// takeDrains takes over the requests, and the deadline that announced them.
func (o *output) takeDrains() []chan<- bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	drains := o.drains
	o.drains = nil
	o.file.SetReadDeadline(time.Time{}) // fails only when closed, as the next read will
	return drains
}

func (o *output) answer(drains []chan<- bool, eof bool) {
	for _, d := range drains {
		d <- eof // has room for it
	}
}

// peek says how many bytes the pipe holds, or fails as a read would.
func (o *output) peek() (held uint32, err error) {
	raw, err := o.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := raw.Control(func(h uintptr) { held, err = peekPipe(windows.Handle(h)) }); cerr != nil {
		return 0, cerr
	}
	return held, err
}

// Drain implements proc.Output.
func (o *output) Drain(ctx context.Context) (eof bool, err error) {
	answer := make(chan bool, 1)
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return true, nil
	}
	o.drains = append(o.drains, answer)
	o.file.SetReadDeadline(past) // fails only when closed, which ends CopyTo
	o.mu.Unlock()
	select {
	case eof := <-answer:
		return eof, nil
	case <-o.done:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Close implements proc.Output.
func (o *output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	return o.file.Close()
}
