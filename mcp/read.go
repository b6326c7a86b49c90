package mcp

import (
	"context"

	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

type readInput struct {
	id handle
	view
}

// stateFields is what read and wait say of an execution before its output.
type stateFields struct {
	ExecutionID string `json:"execution_id"`
	Status      string `json:"status"`
	exitFields
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
}

// restFields is what read and wait say after the output.
type restFields struct {
	StdinError string   `json:"stdin_error,omitempty"`
	Detached   []member `json:"detached,omitempty"`
	warned
}

type readAnswer struct {
	stateFields
	outputFields
	restFields
}

func (*readAnswer) failed() bool { return false }

func (a *readAnswer) write(o *object) {
	a.stateFields.write(o)
	a.outputFields.write(o)
	a.restFields.write(o)
}

func (f *stateFields) write(o *object) {
	o.text("execution_id", f.ExecutionID)
	o.text("status", f.Status)
	f.exitFields.write(o)
	o.someText("error", f.Error)
	o.someText("message", f.Message)
}

func (f *restFields) write(o *object) {
	o.someText("stdin_error", f.StdinError)
	o.members("detached", f.Detached)
	f.warned.write(o)
}

// refusal is the answer to a call on an execution that could not be done, for
// the tools whose answer has no field that says so.
type refusal struct {
	ExecutionID handle `json:"execution_id"`
	Error       string `json:"error"`
	warned
}

func (*refusal) failed() bool { return true }

func (r *refusal) write(o *object) {
	r.ExecutionID.write(o, "execution_id")
	o.text("error", r.Error)
	r.warned.write(o)
}

func (t *tools) read() tool[readInput] {
	return tool[readInput]{
		name:     "read",
		title:    "Read output",
		hints:    hints(true, false, false, false),
		defaults: func() readInput { return readInput{view: view{streams: "both", render: t.Render}} },
		params: func(in *readInput) []param {
			return []param{
				handleParam(&in.id),
				in.sinceParam(),
				t.maxParam(&in.max),
				in.streamsParam("Which output to return. Default: both. stdout or stderr alone leaves the server-side cursor alone and, without since_seq, reads from the beginning."),
				in.tailParam(),
				t.renderParam(&in.render),
			}
		},
		refuse: func(in readInput, err error) answer { return &refusal{ExecutionID: in.id, Error: err.Error()} },
		run: func(ctx context.Context, in readInput) answer {
			e, ok := t.Registry.Get(in.id.id)
			if !ok {
				return &refusal{ExecutionID: in.id, Error: unknownHandle(in.id.id).Error()}
			}
			s := e.Summary(ctx)
			return &readAnswer{stateOf(ctx, e, s), t.output(ctx, e, in.view), restOf(s)}
		},
	}
}

func stateOf(ctx context.Context, e *execution.Execution, s execution.Summary) stateFields {
	return stateFields{
		ExecutionID: s.ID,
		Status:      string(s.Status),
		exitFields:  exitOf(&s),
		Error:       failureOf(&s),
		Message:     standing(ctx, e, s),
	}
}

func restOf(s execution.Summary) restFields {
	return restFields{StdinError: textOrEmpty(s.StdinErr), Detached: membersOf(s.Detached), warned: warningsOf(&s)}
}
