package stdio

import (
	"context"
	"runtime"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxTurns bounds how many calls make their answers at a time. To make one
// takes processor time and nothing else, so a turn for each processor costs
// nothing; more than a few only cost memory.
const maxTurns = 4

// A turn is a call's permission to make its answer.
type turn struct {
	conn  *conn
	taken bool
}

type turnKey struct{}

// Turns is a receiving middleware that lets calls of tools and reads of resources
// take turns; see [TakeTurn].
func (t *Transport) Turns(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != methodCallTool && method != methodReadResource {
			return next(ctx, method, req)
		}
		own := &turn{conn: t.conn}
		defer own.release()
		return next(context.WithValue(ctx, turnKey{}, own), method, req)
	}
}

// TakeTurn waits until the call that ctx belongs to may make its answer, if
// that may be large: until few others are at it, and the client has read enough
// of the earlier ones. Otherwise a thousand calls in flight would hold a
// thousand answers as soon as a client stops reading. The turn lasts until the
// call's handler returns.
//
// A tool calls it after all other waiting, from the goroutine of its handler.
// An error means that nobody waits for the answer any more. Without the
// middleware there is nothing to wait for.
func TakeTurn(ctx context.Context) error {
	own, ok := ctx.Value(turnKey{}).(*turn)
	if !ok || own.taken {
		return ctx.Err()
	}
	select {
	case own.conn.turns <- struct{}{}:
		own.taken = true
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return own.conn.awaitRoom(ctx)
}

func (t *turn) release() {
	if t.taken {
		<-t.conn.turns
	}
}

func newTurns() chan struct{} {
	return make(chan struct{}, min(maxTurns, runtime.GOMAXPROCS(0)))
}

// awaitRoom waits until the queue is short enough for one more answer.
func (c *conn) awaitRoom(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queued <= c.opts.MaxQueued { // as nearly always
		return ctx.Err()
	}
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.shorter.Broadcast()
	})
	defer stop()
	for {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case c.broken != nil:
			return c.broken
		case c.closing:
			return mcp.ErrConnectionClosed
		case c.queued <= c.opts.MaxQueued:
			return nil
		}
		c.shorter.Wait()
	}
}
