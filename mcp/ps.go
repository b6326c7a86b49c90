package mcp

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// rowSize is about how much a row takes in the answer, in bytes.
const rowSize = 512

// defaultLimit is how many executions ps lists unless asked otherwise
// (specification, section ps).
const defaultLimit = 50

type psInput struct {
	includeCompleted bool
	limit            int64
}

type psAnswer struct {
	Executions []psRow `json:"executions"`
	Error      string  `json:"error,omitempty"`
	warned
}

func (a *psAnswer) failed() bool { return a.Error != "" }

func (a *psAnswer) write(o *object) {
	o.json = slices.Grow(o.json, rowSize*len(a.Executions))
	o.name("executions")
	o.json = append(o.json, '[')
	for i := range a.Executions {
		if i > 0 {
			o.json = append(o.json, ',')
		}
		o.begin()
		a.Executions[i].write(o)
		o.end()
	}
	o.json = append(o.json, ']')
	o.someText("error", a.Error)
	a.warned.write(o)
}

type psRow struct {
	ExecutionID string  `json:"execution_id"`
	ProcessID   *int    `json:"process_id"`
	Name        *string `json:"name"`
	Command     string  `json:"command"`
	Cwd         string  `json:"cwd"`
	Status      string  `json:"status"`
	exitFields
	StartedAt    timestamp  `json:"started_at"`
	EndedAt      *timestamp `json:"ended_at"`
	Duration     millis     `json:"duration_ms"`
	StdoutBytes  uint64     `json:"stdout_bytes"`
	StderrBytes  uint64     `json:"stderr_bytes"`
	StdinError   *string    `json:"stdin_error"`
	LastOutputAt *timestamp `json:"last_output_at"`
	Idle         *millis    `json:"idle_ms"`
	LatestSeq    uint64     `json:"latest_seq"`
	Detached     []member   `json:"detached,omitempty"`
	Error        string     `json:"error,omitempty"`
}

func (r *psRow) write(o *object) {
	o.text("execution_id", r.ExecutionID)
	if r.ProcessID == nil {
		o.null("process_id")
	} else {
		o.integer("process_id", int64(*r.ProcessID))
	}
	o.textOrNull("name", r.Name)
	o.text("command", r.Command)
	o.text("cwd", r.Cwd)
	o.text("status", r.Status)
	r.exitFields.write(o)
	o.timestampOrNull("started_at", &r.StartedAt)
	o.timestampOrNull("ended_at", r.EndedAt)
	o.millis("duration_ms", r.Duration)
	o.unsigned("stdout_bytes", r.StdoutBytes)
	o.unsigned("stderr_bytes", r.StderrBytes)
	o.textOrNull("stdin_error", r.StdinError)
	o.timestampOrNull("last_output_at", r.LastOutputAt)
	if r.Idle == nil {
		o.null("idle_ms")
	} else {
		o.millis("idle_ms", *r.Idle)
	}
	o.unsigned("latest_seq", r.LatestSeq)
	o.members("detached", r.Detached)
	o.someText("error", r.Error)
}

func (t *tools) ps() tool[psInput] {
	return tool[psInput]{
		name:     "ps",
		title:    "List executions",
		hints:    hints(true, false, true, false),
		defaults: func() psInput { return psInput{includeCompleted: true, limit: defaultLimit} },
		params: func(in *psInput) []param {
			return []param{
				{
					name: "include_completed", into: &in.includeCompleted,
					about: "List executions that have ended too. Default: true.",
				},
				{
					name: "limit", into: &in.limit,
					about: "Most executions to list, newest first. Default: 50.",
				},
			}
		},
		refuse: func(_ psInput, err error) answer { return &psAnswer{Executions: []psRow{}, Error: err.Error()} },
		run: func(ctx context.Context, in psInput) answer {
			if !t.turn(ctx) {
				in.limit = 0
			}
			now := time.Now()
			list := t.Registry.List(ctx, in.includeCompleted, int(min(max(in.limit, 0), math.MaxInt32)))
			rows := make([]psRow, len(list))
			for i := range list {
				rows[i] = rowOf(&list[i], now)
			}
			return &psAnswer{Executions: rows}
		},
	}
}

// rowOf describes an execution. The row refers to the summary.
func rowOf(s *execution.Summary, now time.Time) psRow {
	row := psRow{
		ExecutionID:  s.ID,
		Name:         s.Name,
		Command:      s.Command,
		Cwd:          s.Dir,
		Status:       string(s.Status),
		exitFields:   exitOf(s),
		StartedAt:    timestamp(s.Started),
		EndedAt:      timestampOrNull(&s.Ended),
		Duration:     millis(s.Duration),
		StdoutBytes:  s.Stdout,
		StderrBytes:  s.Stderr,
		StdinError:   textOrNull(s.StdinErr),
		LastOutputAt: timestampOrNull(&s.LastOutput),
		LatestSeq:    s.LatestSeq,
		Detached:     membersOf(s.Detached),
		Error:        failureOf(s),
	}
	if s.PID > 0 {
		row.ProcessID = &s.PID
	}
	if !s.LastOutput.IsZero() {
		idle := millis(max(0, now.Sub(s.LastOutput)))
		row.Idle = &idle
	}
	return row
}
