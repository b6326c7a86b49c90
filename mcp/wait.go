package mcp

import (
	"context"
	"fmt"
	"time"
)

type waitInput struct {
	id      handle
	timeout time.Duration
	until   until
	view
}

type waitAnswer struct {
	stateFields
	Result  string       `json:"wait_result"`
	Waited  millis       `json:"waited_ms"`
	MaxWait millis       `json:"max_wait_ms"`
	Match   *matchFields `json:"match,omitempty"`
	outputFields
	restFields
}

func (*waitAnswer) failed() bool { return false }

func (a *waitAnswer) write(o *object) {
	a.stateFields.write(o)
	o.text("wait_result", a.Result)
	o.millis("waited_ms", a.Waited)
	o.millis("max_wait_ms", a.MaxWait)
	if a.Match != nil {
		a.Match.write(o)
	}
	a.outputFields.write(o)
	a.restFields.write(o)
}

func (t *tools) wait() tool[waitInput] {
	return tool[waitInput]{
		name:  "wait",
		title: "Wait for an execution",
		hints: hints(true, false, false, false),
		defaults: func() waitInput {
			return waitInput{timeout: RequestCeiling, view: view{streams: "both", render: t.Render}}
		},
		params: func(in *waitInput) []param {
			return []param{
				handleParam(&in.id),
				{
					name: "timeout_ms", into: &in.timeout,
					about: fmt.Sprintf("Milliseconds to wait at most. It never ends the execution. Default and upper limit: %d.", RequestCeiling.Milliseconds()),
				},
				in.until.outputParam("until_output", "Also answer as soon as output matches this regular expression (RE2 syntax; ^ and $ are line ends, (?i) ignores case). It looks at output from since_seq on, or at what no call has returned yet, and also at an unfinished last line such as a prompt. The answer's match has the line."),
				in.until.portParam("until_port", "Also answer as soon as something accepts connections on this TCP port of this machine (127.0.0.1 or ::1)."),
				in.until.idleParam(),
				t.maxParam(&in.max),
				in.streamsParam("Which output to return, and which until_output and until_idle_ms look at. Default: both. stdout or stderr alone leaves the server-side cursor alone and, without since_seq, begins at the beginning."),
				in.sinceParam(),
				in.tailParam(),
				t.renderParam(&in.render),
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
	conditions, stop := in.until.conditions(ctx, budget, e, in.view)
	defer stop()
	stopReports := reportProgress(ctx, e)
	// A cancelled call has nobody to answer to; output sees to it that nothing
	// is lost.
	reason, _ := e.Wait(ctx, max(0, budget-time.Since(begun)), conditions)
	stopReports()
	waited := time.Since(begun)
	s := e.Summary(ctx)
	return &waitAnswer{
		stateFields:  stateOf(ctx, e, s),
		Result:       waitResult(reason, s),
		Waited:       millis(waited),
		MaxWait:      millis(budget),
		Match:        matchOf(reason, conditions),
		outputFields: t.output(ctx, e, in.view),
		restFields:   restOf(s),
	}
}
