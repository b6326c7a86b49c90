package mcp

import (
	"context"
	"time"
)

// defaultAge is the age from which cleanup forgets records unless asked
// otherwise (specification, section cleanup).
const defaultAge = time.Hour

type cleanupInput struct {
	completed time.Duration
	stopped   time.Duration
}

type cleanupAnswer struct {
	Removed int    `json:"removed"`
	Error   string `json:"error,omitempty"`
	warned
}

func (a *cleanupAnswer) failed() bool { return a.Error != "" }

func (a *cleanupAnswer) write(o *object) {
	o.integer("removed", int64(a.Removed))
	o.someText("error", a.Error)
	a.warned.write(o)
}

func (t *tools) cleanup() tool[cleanupInput] {
	return tool[cleanupInput]{
		name:     "cleanup",
		title:    "Forget ended executions",
		hints:    hints(false, true, true, false),
		defaults: func() cleanupInput { return cleanupInput{completed: defaultAge, stopped: defaultAge} },
		params: func(in *cleanupInput) []param {
			return []param{
				{
					name: "completed_older_than_ms", into: &in.completed, minimum: new(int64),
					about: "Forget completed executions that ended at least this many milliseconds ago; 0 for all. Default: 3600000.",
				},
				{
					name: "stopped_older_than_ms", into: &in.stopped, minimum: new(int64),
					about: "Forget stopped, timed-out and failed executions that ended at least this many milliseconds ago; 0 for all. Default: 3600000.",
				},
			}
		},
		refuse: func(_ cleanupInput, err error) answer { return &cleanupAnswer{Error: err.Error()} },
		run: func(_ context.Context, in cleanupInput) answer {
			return &cleanupAnswer{Removed: t.Registry.Cleanup(in.completed, in.stopped)}
		},
	}
}
