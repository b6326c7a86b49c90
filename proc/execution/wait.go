package execution

import (
	"context"
	"time"
)

// descendantWait is how much longer execute waits for attached processes once
// the shell has ended.
const descendantWait = 5 * time.Second

// Wait blocks until the execution is terminal and its output complete, the
// budget is used up, the server begins to end, or the context ends. Only the
// last is an error.
func (e *Execution) Wait(ctx context.Context, budget time.Duration) error {
	return e.wait(ctx, budget, nil)
}

// WaitInline is the foreground part of execute: Wait, but once the shell has
// ended it waits at most 5 s more for what the shell left in its session.
func (e *Execution) WaitInline(ctx context.Context, yield time.Duration) error {
	return e.wait(ctx, yield, e.shellExited)
}

func (e *Execution) wait(ctx context.Context, budget time.Duration, shellExited <-chan struct{}) error {
	select {
	case <-e.done: // also with no budget: what has ended has ended
		return nil
	default:
	}
	deadline := time.Now().Add(budget)
	t := time.NewTimer(budget)
	defer t.Stop()
	for {
		select {
		case <-e.done:
			return nil
		case <-t.C:
			return nil
		case <-shellExited:
			shellExited = nil
			t.Reset(min(time.Until(deadline), descendantWait))
		case <-e.registry.closing:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
