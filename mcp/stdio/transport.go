package stdio

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The defaults of Options, and limits that nobody has a reason to change.
const (
	DefaultMaxLine      = 64 << 20
	DefaultMaxQueued    = 8 << 20
	DefaultDrainTimeout = 500 * time.Millisecond
	DefaultFinalTimeout = 2 * time.Second

	// MaxInFlight is how many requests may be in flight at once, and how many
	// messages a batch may have.
	MaxInFlight = 1024

	// stallTimeout is how long a client that has closed its end of the input
	// may take to read one answer, before what it has sent beyond maxInbox is
	// given up.
	stallTimeout = time.Second

	// maxInbox is how many bytes of lines are read ahead of the session. It
	// only matters while Read is paused, when it lets the reader see the end
	// of the input behind what a pipe can hold.
	maxInbox = 1 << 20

	readBuffer = 64 << 10
)

// Options are the limits and callbacks of a Transport. A zero limit stands
// for its default.
type Options struct {
	// MaxLine is how many bytes a line may have. A longer one is skipped,
	// without being kept, and answered with an error.
	MaxLine int

	// MaxQueued is how many bytes may wait to be written before the transport
	// stops taking messages, and calls wait with their answers (TakeTurn). It
	// is not a hard limit: what has its turn already may still be answered.
	MaxQueued int

	// DrainTimeout is how long the calls that were read before the input
	// ended may take to finish by themselves. Negative is no time at all.
	DrainTimeout time.Duration

	// FinalTimeout is how long the calls that are still in flight may take
	// after OnDrained. Negative is no time at all.
	FinalTimeout time.Duration

	// OnDrained, if set, is called once when the input has ended and either
	// every call has been answered or DrainTimeout has passed. It should make
	// the calls that are left answer with what they have, and must not wait
	// for them: it runs in the goroutine that the session reads from.
	OnDrained func()

	// HangUp, if set, waits until the client has closed its end of the input,
	// though not all of it may have been read, and returns nil; or an error if
	// that cannot be told. It is called at most once, when a client that does
	// not read its answers has sent more than is taken in, and may block for
	// as long as the process lives. Without it, such a client can keep the
	// session from seeing the end of the input.
	HangUp func() error

	// OnBroken, if set, is called once with the error if the output fails. It
	// is not called after the connection was closed.
	OnBroken func(error)
}

func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.MaxQueued <= 0 {
		o.MaxQueued = DefaultMaxQueued
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	if o.FinalTimeout == 0 {
		o.FinalTimeout = DefaultFinalTimeout
	}
	return o
}

// A Transport is an [mcp.Transport] over a pair of byte streams. It serves one
// connection.
type Transport struct {
	conn    *conn
	connect sync.Once
}

var _ mcp.Transport = (*Transport)(nil)

// New returns a Transport that reads from r and writes to w. The caller owns
// both, and closes them, if at all, after the session has ended: closing r
// early counts as the end of the input. Neither needs to support deadlines.
func New(r io.Reader, w io.Writer, opts Options) *Transport {
	c := &conn{
		r:      r,
		w:      w,
		opts:   opts.withDefaults(),
		calls:  make(map[jsonrpc.ID]call),
		closed: make(chan struct{}),
		turns:  newTurns(),
	}
	c.readable.L = &c.mu
	c.room.L = &c.mu
	c.sendable.L = &c.mu
	c.shorter.L = &c.mu
	return &Transport{conn: c}
}

// Connect starts the connection. The SDK calls it, once.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err := errors.New("stdio: the transport is already connected")
	t.connect.Do(func() {
		go t.conn.readLoop()
		go t.conn.writeLoop()
		err = nil
	})
	if err != nil {
		return nil, err
	}
	return t.conn, nil
}

// InFlight returns how many requests have been taken but not yet answered. A
// request counts until the kernel has its answer.
func (t *Transport) InFlight() int {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	return t.conn.open
}

// EndInput makes the transport behave as if its input had ended here: calls in
// flight are answered within the bounds of [Options], and then the session
// ends. It is how a server ends in good order on a signal, since the SDK
// withholds the answers of a session that is closed. It returns at once.
func (t *Transport) EndInput() {
	t.conn.endInput(io.EOF)
}
