package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

type stopInput struct {
	id     handle
	signal string
	force  time.Duration
}

// stopAnswer: Signal is the one that was sent first, null if none was.
type stopAnswer struct {
	ExecutionID handle       `json:"execution_id"`
	Stopped     bool         `json:"stopped"`
	Signal      *proc.Signal `json:"signal"`
	Error       *string      `json:"error"`
	Forced      bool         `json:"forced,omitempty"`
	warned
}

func (a *stopAnswer) failed() bool { return !a.Stopped }

func (a *stopAnswer) write(o *object) {
	a.ExecutionID.write(o, "execution_id")
	o.flag("stopped", a.Stopped)
	o.textOrNull("signal", (*string)(a.Signal))
	o.textOrNull("error", a.Error)
	if a.Forced {
		o.flag("forced", true)
	}
	a.warned.write(o)
}

func (t *tools) stop() tool[stopInput] {
	refuse := func(in stopInput, err error) answer {
		return &stopAnswer{ExecutionID: in.id, Error: textOrNull(err)}
	}
	return tool[stopInput]{
		name:     "stop",
		title:    "Stop an execution",
		hints:    hints(false, true, true, false),
		defaults: func() stopInput { return stopInput{signal: string(proc.SIGTERM), force: execution.Grace} },
		params: func(in *stopInput) []param {
			return []param{
				handleParam(&in.id),
				{
					name: "signal", into: &in.signal,
					about: "Name of the signal to send first, such as SIGTERM, SIGINT or SIGKILL. Default: SIGTERM. Windows has no signals: SIGKILL ends the processes at once, any other name asks with Ctrl-C and Ctrl-Break first.",
					check: func() error {
						_, err := proc.ParseSignal(in.signal)
						return err
					},
				},
				{
					name: "force_after_ms", into: &in.force,
					about: fmt.Sprintf("Milliseconds to wait for the processes to end before what is left is killed; 0 for at once. Default: %d. Upper limit: %d.",
						execution.Grace.Milliseconds(), execution.MaxForceAfter.Milliseconds()),
				},
			}
		},
		refuse: refuse,
		run: func(ctx context.Context, in stopInput) answer {
			e, ok := t.Registry.Get(in.id.id)
			if !ok {
				return refuse(in, unknownHandle(in.id.id))
			}
			return stopped(ctx, e, in)
		},
	}
}

func stopped(ctx context.Context, e *execution.Execution, in stopInput) answer {
	signal, err := proc.ParseSignal(in.signal)
	if err != nil { // it was checked with the arguments
		return &stopAnswer{ExecutionID: in.id, Error: textOrNull(err)}
	}
	report, err := e.Stop(ctx, signal, in.force)
	a := &stopAnswer{ExecutionID: in.id, Stopped: err == nil, Error: textOrNull(err), Forced: report.Forced}
	if report.Forced {
		clientOf(ctx).log(ctx, "warning", "execution killed after its grace", fields{"execution_id": e.ID()})
	}
	var ended *execution.NotRunningError
	if !errors.As(err, &ended) && !errors.Is(err, proc.ErrUnsupportedSignal) {
		a.Signal = &report.Signal
	}
	return a
}
