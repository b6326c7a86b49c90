package execution

import (
	"context"
	"sync"
)

// BeginShutdown makes every request that waits answer with what it has, and
// refuses new commands. It may be called more than once.
func (r *Registry) BeginShutdown() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closingOnce.Do(func() { close(r.closing) })
}

// Closing is closed by BeginShutdown.
func (r *Registry) Closing() <-chan struct{} { return r.closing }

// untilClosing returns a context that ends when the server begins to end, too.
func (r *Registry) untilClosing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (r *Registry) isClosing() bool {
	select {
	case <-r.closing:
		return true
	default:
		return false
	}
}

// Shutdown ends everything that every execution owns, all at once, with the
// grace and the bounds of the specification. A close of hurry cuts the grace
// short, but never skips the kill. What cannot be ended goes to Options.Warn.
// It returns when all is over, and is called once.
func (r *Registry) Shutdown(hurry <-chan struct{}) {
	r.BeginShutdown()
	var ending sync.WaitGroup
	asked := make(map[*Execution]bool)
	endAll := func() {
		for _, e := range r.owners() {
			if !asked[e] {
				asked[e] = true
				ending.Go(func() { e.end(Stopped, hurry, "ending an execution at the shutdown") })
			}
		}
	}
	endAll()
	r.starting.Wait()
	endAll() // what was just being started
	ending.Wait()
}

// owners lists the executions that may own processes.
func (r *Registry) owners() []*Execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []*Execution
	for _, e := range r.order {
		if !e.gone() {
			left = append(left, e)
		}
	}
	return left
}
