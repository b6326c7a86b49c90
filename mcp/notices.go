package mcp

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// noticeInterval is how far apart notices of output are at least.
const noticeInterval = time.Second

// notices tells subscribers of resources that these have changed. Each resource
// that somebody has subscribed to has one goroutine, which ends with the last
// subscription or with the execution, and each session that has ever subscribed
// has one, which ends with the session.
type notices struct {
	tools  *tools
	update func(uri string) // sends a notice to all subscribers

	mu       sync.Mutex
	watched  map[string]*watched             // by URI
	sessions map[*sdk.ServerSession]struct{} // whose end is awaited
}

// watched is one resource that has subscribers.
type watched struct {
	sessions map[*sdk.ServerSession]struct{}
	end      chan struct{} // closed with the last subscription
}

func newNotices(t *tools) *notices {
	return &notices{tools: t, watched: make(map[string]*watched), sessions: make(map[*sdk.ServerSession]struct{})}
}

// subscribe is the SDK's question whether a subscription is in order. What is
// sent before the SDK has entered it is lost, so the watching begins later.
func (n *notices) subscribe(_ context.Context, req *sdk.SubscribeRequest) error {
	if _, ok := n.tools.resource(req.Params.URI); !ok {
		return sdk.ResourceNotFoundError(req.Params.URI)
	}
	return nil
}

// unsubscribe ends a subscription. One that does not exist is none.
func (n *notices) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(req.Session, req.Params.URI)
	return nil
}

// drop ends a session's subscription, if there is one. The caller holds mu.
func (n *notices) drop(session *sdk.ServerSession, uri string) {
	w := n.watched[uri]
	if w == nil {
		return
	}
	delete(w.sessions, session)
	if len(w.sessions) == 0 {
		close(w.end)
		delete(n.watched, uri)
	}
}

// await ends all subscriptions of a session when it ends: the SDK does not ask
// for that.
func (n *notices) await(session *sdk.ServerSession) {
	_ = session.Wait() // how it ended makes no difference
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sessions, session)
	for uri := range n.watched {
		n.drop(session, uri)
	}
}

// received is a middleware that sees subscriptions which have been entered.
func (n *notices) received(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if sub, ok := req.(*sdk.SubscribeRequest); ok && err == nil {
			n.watch(sub.Session, sub.Params.URI)
		}
		return res, err
	}
}

// sent is a middleware that sees the same for the newer protocol, which has one
// request for all subscriptions and acknowledges them with a notification.
func (n *notices) sent(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		ack, ok := req.GetParams().(*sdk.SubscriptionsAcknowledgedParams)
		session, isServer := req.GetSession().(*sdk.ServerSession)
		if ok && isServer && err == nil {
			for _, uri := range ack.Notifications.ResourceSubscriptions {
				n.watch(session, uri)
			}
		}
		return res, err
	}
}

// watch enters a subscription. For an execution that has ended it sends the
// notice of that at once: the subscriber cannot know that it comes too late.
func (n *notices) watch(session *sdk.ServerSession, uri string) {
	r, ok := n.tools.resource(uri)
	if !ok {
		return // its record has been removed since it was asked for
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.watched[uri]
	if w == nil {
		w = &watched{sessions: make(map[*sdk.ServerSession]struct{}), end: make(chan struct{})}
		n.watched[uri] = w
		output, end := r.execution.Subscribe(r.streams)
		go func() {
			defer end()
			n.follow(uri, r.execution, output, w)
		}()
	}
	w.sessions[session] = struct{}{}
	if _, awaited := n.sessions[session]; !awaited {
		n.sessions[session] = struct{}{}
		go n.await(session)
	}
}

// follow sends notices: at most one in each interval of output, the first at
// once, and one of the end.
func (n *notices) follow(uri string, e *execution.Execution, output <-chan struct{}, w *watched) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	<-pause.C
	for next := output; ; {
		select {
		case <-w.end:
			return
		case <-e.Done():
			n.forget(uri, w)
			n.update(uri)
			return
		case <-next:
			n.update(uri)
			next = nil // what comes in the meantime stays in the channel
			pause.Reset(noticeInterval)
		case <-pause.C:
			next = output
		}
	}
}

// forget removes a resource that will not change any more, so that a later
// subscription is told so.
func (n *notices) forget(uri string, w *watched) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.watched[uri] == w {
		delete(n.watched, uri)
	}
}
