package stdio

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call is a request that the session works on.
type call struct {
	batch      *batch // nil if it came by itself
	initialize bool
	// parked: it is a subscription, which lasts until the session ends, so
	// the end of the input does not wait for it.
	parked bool
}

// A batch collects the answers to the requests of one JSON-RPC batch.
type batch struct {
	answers [][]byte
	size    int // of answers, in bytes
	waiting int // calls without an answer
	calls   int
	parked  int
}

// conn implements mcp.Connection. One mutex guards all of its state; nothing
// that can block is done while it is held.
type conn struct {
	r    io.Reader
	w    io.Writer
	opts Options

	mu       sync.Mutex
	readable sync.Cond // Read waits: there may be something for it to do
	room     sync.Cond // readLoop waits: the inbox may have room
	sendable sync.Cond // writeLoop waits: the queue may have a frame
	shorter  sync.Cond // awaitRoom waits: the queue may have become shorter

	// What came in.
	inbox    []line
	inboxed  int               // the sizes of the lines in inbox
	ready    []jsonrpc.Message // the rest of a batch
	inputErr error             // set when the input has ended; io.EOF if in good order
	watching bool              // for the hang-up of a client that does not read
	stall    *time.Timer       // set after the hang-up: runs while nothing is written
	drain    drain

	// What the session works on.
	calls   map[jsonrpc.ID]call
	open    int // requests whose answer the kernel does not have yet
	parked  int // those of them that are subscriptions
	version string

	// What goes out.
	splices splices
	queue   []*frame
	queued  int // bytes in queue and in the hands of writeLoop
	broken  error
	closing bool
	closed  chan struct{} // closed with closing set

	turns chan struct{} // one element for each call that makes its answer
}

var _ mcp.Connection = (*conn)(nil)

// A line is an entry of the inbox.
type line struct {
	item
	size int // roughly, in bytes
}

// drain is the state of the end of the input.
type drain struct {
	timer    *time.Timer
	expired  bool // DrainTimeout has passed
	notified bool // OnDrained was called
	final    bool // FinalTimeout has passed
}

// SessionID implements [mcp.Connection]. A stdio session has no id.
func (c *conn) SessionID() string { return "" }

// Read returns the next message. It is called by one goroutine at a time.
//
// It returns io.EOF when the input has ended and what was read before has been
// answered (see [Options]), or the connection was closed; or the error of the
// output when that broke. The SDK cancels every call then, and drops the
// answers that are not written yet.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.readable.Broadcast()
		})
		defer stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if err := c.readError(ctx); err != nil {
			return nil, err
		}
		if msg := c.next(); msg != nil {
			return msg, nil
		}
		if c.inputErr != nil && c.drained() {
			return nil, c.inputErr
		}
		c.waitReadable(ctx)
	}
}

// readError returns the reason for Read not to go on, if there is one.
func (c *conn) readError(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.broken != nil:
		return c.broken
	case c.closing:
		return io.EOF
	}
	return nil
}

// next takes what it can from the inbox until there is a message for the
// session. It returns nil if there is none, or none may be taken now.
func (c *conn) next() jsonrpc.Message {
	for {
		if len(c.ready) > 0 {
			msg := c.ready[0]
			c.ready = c.ready[1:]
			return msg
		}
		if len(c.inbox) == 0 || c.queued > c.opts.MaxQueued {
			return nil
		}
		l := c.inbox[0]
		c.inbox[0] = line{} // the array outlives it
		c.inbox = c.inbox[1:]
		c.inboxed -= l.size
		c.room.Signal()
		if msg := c.take(l.item); msg != nil {
			return msg
		}
	}
}

// waitReadable waits until something that Read looks at has changed. Every
// such change signals c.readable under the lock, so none is missed.
func (c *conn) waitReadable(ctx context.Context) {
	if c.readError(ctx) == nil {
		c.readable.Wait()
	}
}

// take hands an item on: to the session by its result, or, as an answer, to
// the queue.
func (c *conn) take(i item) jsonrpc.Message {
	switch {
	case i.batch != nil:
		c.takeBatch(i.batch)
		return nil
	case i.bad != nil:
		c.enqueue(&frame{data: i.bad.encode()})
		return nil
	}
	msg, bad := c.admit(i.msg, nil)
	if bad != nil {
		c.enqueue(&frame{data: bad.encode()})
	}
	return msg
}

// admit enters a request among the calls. It returns the message for the
// session, or a refusal, or neither if the message is to be ignored.
func (c *conn) admit(msg jsonrpc.Message, b *batch) (jsonrpc.Message, *refusal) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return msg, nil
	}
	if !req.IsCall() {
		if req.Method == methodCancelled {
			return cancelled(req), nil
		}
		return req, nil
	}
	if _, ok := c.calls[req.ID]; ok {
		// An answer that carried the id would pass for that of the first.
		return nil, refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "invalid request: id %s is in use by a request in flight", appendID(nil, req.ID))
	}
	if c.open >= MaxInFlight {
		return nil, refuse(req.ID, codeTooManyRequests, "too many requests in flight (at most %d)", MaxInFlight)
	}
	cl := call{batch: b, initialize: req.Method == methodInitialize, parked: req.Method == methodListen}
	c.calls[req.ID] = cl
	c.open++
	if cl.parked {
		c.parked++
	}
	if b != nil {
		b.add(cl)
	}
	return req, nil
}

func (b *batch) add(cl call) {
	b.waiting++
	b.calls++
	if cl.parked {
		b.parked++
	}
}

// takeBatch puts the messages of a batch in c.ready.
func (c *conn) takeBatch(items []item) {
	if version := c.batchVersion(items); version > lastBatchVersion {
		bad := refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "invalid request: protocol version %s has no batches; send one message to a line", version)
		c.enqueue(&frame{data: bad.encode()})
		return
	}
	b := &batch{}
	for _, i := range items {
		bad := i.bad
		if i.msg != nil {
			var msg jsonrpc.Message
			if msg, bad = c.admit(i.msg, b); msg != nil {
				c.ready = append(c.ready, msg)
			}
		}
		if bad != nil {
			b.answers = append(b.answers, bad.encode())
		}
	}
	if b.waiting == 0 && len(b.answers) > 0 {
		c.enqueue(&frame{data: encodeBatch(b.answers)})
	}
}

// batchVersion returns the protocol version that a batch came under: the
// newest that the session has negotiated or the batch itself names.
func (c *conn) batchVersion(items []item) string {
	version := c.version
	for _, i := range items {
		version = max(version, statelessVersion(i.msg))
	}
	return version
}

// push appends to the inbox, waiting for room. It reports whether more lines
// are wanted.
func (c *conn) push(l line) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.full() && c.wanting() {
		c.expectHangUp()
		c.room.Wait()
	}
	if !c.wanting() {
		return false
	}
	c.inbox = append(c.inbox, l)
	c.inboxed += l.size
	c.readable.Signal()
	return true
}

// full reports whether the inbox has no room for another line.
func (c *conn) full() bool { return c.inboxed > maxInbox }

// expectHangUp sees to it that the end of the input is noticed though there is
// no room for what the client sent before it. If the client has closed its end
// and takes no answers either, nobody waits for the rest of the requests.
func (c *conn) expectHangUp() {
	switch {
	case c.opts.HangUp == nil:
	case c.stall != nil:
		c.stall.Reset(stallTimeout)
	case !c.watching:
		c.watching = true
		go func() {
			if c.opts.HangUp() != nil {
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.wanting() {
				c.stall = time.AfterFunc(stallTimeout, c.stalled)
			}
		}()
	}
}

// stalled ends the input of a client that has hung up and does not read.
func (c *conn) stalled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full() { // otherwise the reader gets to the end by itself
		c.end(io.EOF)
	}
}

// wanting reports whether there is any use in more lines.
func (c *conn) wanting() bool {
	return c.inputErr == nil && c.broken == nil && !c.closing
}

// endInput begins the end of the session: no line is taken from here on.
func (c *conn) endInput(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(err)
}

func (c *conn) end(err error) {
	if !c.wanting() {
		return
	}
	c.inputErr = err
	c.drain.timer = c.after(c.opts.DrainTimeout, &c.drain.expired)
	c.room.Broadcast()
	c.readable.Broadcast()
}

// after sets flag after d, and lets Read have a look.
func (c *conn) after(d time.Duration, flag *bool) *time.Timer {
	return time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		*flag = true
		c.readable.Broadcast()
	})
}

// drained moves the end of the input along and reports whether it is complete.
// It lets go of the lock while it calls OnDrained.
func (c *conn) drained() bool {
	d := &c.drain
	if !c.idle() && !d.expired {
		return false
	}
	if !d.notified {
		d.notified = true
		d.timer.Stop()
		d.timer = c.after(c.opts.FinalTimeout, &d.final)
		if c.opts.OnDrained != nil {
			c.mu.Unlock()
			c.opts.OnDrained()
			c.mu.Lock()
		}
	}
	if !c.idle() && !d.final {
		return false
	}
	if !c.idle() {
		// The SDK waits for writes that are blocked before it closes the
		// connection, so it is for us to release them.
		c.shut()
	}
	d.timer.Stop()
	return true
}

// idle reports whether everything that was read has been answered.
func (c *conn) idle() bool {
	return len(c.inbox) == 0 && len(c.ready) == 0 && c.open == c.parked && c.queued == 0
}

// Close ends the connection. It releases Read and every Write, and returns at
// once, whatever the descriptors are doing. Frames that the kernel does not
// have yet are lost.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut()
	return nil
}

func (c *conn) shut() {
	if c.closing {
		return
	}
	c.closing = true
	close(c.closed)
	for _, t := range []*time.Timer{c.drain.timer, c.stall} {
		if t != nil {
			t.Stop()
		}
	}
	c.wakeAll()
}

func (c *conn) wakeAll() {
	c.readable.Broadcast()
	c.room.Broadcast()
	c.sendable.Broadcast()
	c.shorter.Broadcast()
}

// A frame is one line to write.
type frame struct {
	data   []byte // without the newline
	calls  int    // how many calls it answers
	parked int    // those of them that are subscriptions
	// done is closed when the frame has been written, or err says why not.
	// It is nil if nobody waits.
	done chan struct{}
	err  error
}

// Write writes a message. It returns when the kernel has it, or with an error
// when the context ends, the connection is closed or the output broke. When
// the context ends first, the frame is withdrawn if no byte of it is written
// yet, and completed in the background otherwise; the connection stays usable
// either way.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := c.frame(msg)
	if f == nil {
		return err
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		c.withdraw(f)
		return ctx.Err()
	case <-c.closed:
		return mcp.ErrConnectionClosed
	}
}

// frame puts a message in the queue. It returns nil if the message waits for
// the rest of its batch.
func (c *conn) frame(msg jsonrpc.Message) (*frame, error) {
	f := &frame{done: make(chan struct{})}
	resp, isResponse := msg.(*jsonrpc.Response)
	if isResponse {
		f.data = c.splices.encode(resp)
	} else {
		data, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return nil, fmt.Errorf("stdio: %w", err)
		}
		f.data = data
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.broken != nil:
		return nil, c.broken
	case c.closing:
		return nil, mcp.ErrConnectionClosed
	case isResponse && !c.answer(resp, f):
		return nil, nil
	}
	c.enqueue(f)
	return f, nil
}

// answer strikes a response's request off the calls: from here on the client
// may use its id again, though it cannot know yet. It reports whether there is
// a frame to write, which it completes.
func (c *conn) answer(resp *jsonrpc.Response, f *frame) bool {
	cl, ok := c.calls[resp.ID]
	if !ok {
		return true
	}
	delete(c.calls, resp.ID)
	if cl.initialize && resp.Error == nil {
		if version, ok := negotiatedVersion(resp.Result); ok {
			c.version = version
		}
	}
	b := cl.batch
	if b == nil {
		b = &batch{}
		b.add(cl)
	}
	b.waiting--
	if b.size += len(f.data); cl.batch != nil && b.size > c.opts.MaxQueued {
		// No room can be waited for here: there is some when the batch is
		// complete.
		b.size -= len(f.data)
		f.data = refuse(resp.ID, codeTooManyRequests, "the answers to this batch are larger than %d bytes; send the request by itself", c.opts.MaxQueued).encode()
	}
	if b.waiting > 0 {
		b.answers = append(b.answers, f.data)
		return false
	}
	if cl.batch != nil {
		f.data = encodeBatch(append(b.answers, f.data))
	}
	f.calls, f.parked = b.calls, b.parked
	return true
}

func (c *conn) enqueue(f *frame) {
	f.data = append(f.data, '\n')
	c.queue = append(c.queue, f)
	c.queued += len(f.data)
	c.sendable.Signal()
}

// withdraw takes a frame out of the queue, unless its turn has come.
func (c *conn) withdraw(f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.queue, f); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
		c.settle(f)
	}
}

// settle strikes a frame off the books.
func (c *conn) settle(f *frame) {
	paused := c.queued > c.opts.MaxQueued
	c.queued -= len(f.data)
	c.open -= f.calls
	c.parked -= f.parked
	if c.stall != nil && c.wanting() {
		c.stall.Reset(stallTimeout)
	}
	resumed := paused && c.queued <= c.opts.MaxQueued
	if resumed {
		c.shorter.Broadcast()
	}
	if resumed || c.inputErr != nil {
		c.readable.Signal() // anything else is nothing to Read, and waking it costs
	}
}

// writeLoop writes the frames in the queue, one write to each, until the
// connection is closed or the output breaks.
func (c *conn) writeLoop() {
	for f := c.nextFrame(); f != nil; f = c.nextFrame() {
		n, err := c.w.Write(f.data)
		if err == nil && n < len(f.data) {
			err = io.ErrShortWrite
		}
		if err != nil {
			c.breakOutput(f, err)
			return
		}
		c.mu.Lock()
		c.settle(f)
		c.mu.Unlock()
		c.splices.recycle(f.data)
		if f.done != nil {
			close(f.done)
		}
	}
}

// nextFrame waits for a frame. It returns nil when the connection is closed.
func (c *conn) nextFrame() *frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && !c.closing {
		c.sendable.Wait()
	}
	if c.closing {
		return nil
	}
	f := c.queue[0]
	c.queue[0] = nil // the array outlives it
	c.queue = c.queue[1:]
	return f
}

// breakOutput ends the connection because writing f failed.
func (c *conn) breakOutput(f *frame, cause error) {
	err := fmt.Errorf("stdio: write: %w", cause)
	c.mu.Lock()
	c.broken = err
	lost := append([]*frame{f}, c.queue...)
	c.queue = nil
	closing := c.closing
	c.wakeAll()
	c.mu.Unlock()
	for _, f := range lost {
		if f.done != nil {
			f.err = err
			close(f.done)
		}
	}
	if !closing && c.opts.OnBroken != nil {
		c.opts.OnBroken(err)
	}
}
