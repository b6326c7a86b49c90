package mcp

import (
	"context"
	"fmt"
	"time"
)

type waitInput struct {
	id      handle
	timeout time.Duration
	view
}

// Values of wait_result.
const (
	exited          = "exited"
	deadlineReached = "deadline_reached"
)

type waitAnswer struct {
	stateFields
	Result  string `json:"wait_result"`
	Waited  millis `json:"waited_ms"`
	MaxWait millis `json:"max_wait_ms"`
	outputFields
	restFields
}

func (*waitAnswer) failed() bool { return false }

func (a *waitAnswer) write(o *object) {
	a.stateFields.write(o)
	o.text("wait_result", a.Result)
	o.millis("waited_ms", a.Waited)
	o.millis("max_wait_ms", a.MaxWait)
	a.outputFields.write(o)
	a.restFields.write(o)
}

func (t *tools) wait() tool[waitInput] {
	return tool[waitInput]{
		name:     "wait",
		title:    "Wait for an execution",
		hints:    hints(true, false, false, false),
		defaults: func() waitInput { return waitInput{timeout: RequestCeiling} },
		params: func(in *waitInput) []param {
			return []param{
				handleParam(&in.id),
				{
					name: "timeout_ms", into: &in.timeout,
					about: fmt.Sprintf("Milliseconds to wait at most. It never ends the execution. Default and upper limit: %d.", RequestCeiling.Milliseconds()),
				},
				t.maxParam(&in.max),
				in.sinceParam(),
				in.tailParam(),
			}
		},
		refuse: func(in waitInput, err error) answer { return &refusal{ExecutionID: in.id, Error: err.Error()} },
		run:    t.runWait,
	}
}

func (t *tools) runWait(ctx context.Context, in waitInput) answer {
	e, ok := t.Registry.Get(in.id.id)
	if !ok {
		return &refusal{ExecutionID: in.id, Error: unknownHandle(in.id.id).Error()}
	}
	budget := max(0, min(in.timeout, RequestCeiling))
	begun := time.Now()
	stopReports := reportProgress(ctx, e)
	// A cancelled call has nobody to answer to; output sees to it that nothing
	// is lost.
	_ = e.Wait(ctx, budget)
	stopReports()
	waited := time.Since(begun)
	s := e.Summary(ctx)
	a := &waitAnswer{
		stateFields:  stateOf(ctx, e, s),
		Result:       deadlineReached,
		Waited:       millis(waited),
		MaxWait:      millis(budget),
		outputFields: t.output(ctx, e, in.view),
		restFields:   restOf(s),
	}
	if s.Status.Terminal() {
		a.Result = exited
	}
	return a
}
