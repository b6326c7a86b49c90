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

// longList is of how many rows a half is worth a goroutine.
const longList = 300

// defaultLimit is how many executions ps lists unless asked otherwise
// (specification, section ps).
const defaultLimit = 50

type psInput struct {
	includeCompleted bool
	limit            int64
}

type psAnswer struct {
	Executions psRows `json:"executions"`
	Error      string `json:"error,omitempty"`
	warned
}

func (a *psAnswer) failed() bool { return a.Error != "" }

func (a *psAnswer) write(o *object) {
	o.name("executions")
	a.Executions.write(o)
	o.someText("error", a.Error)
	a.warned.write(o)
}

// psRows describes executions as they were at a time. A row is made when it is
// written: a thousand of them would be more garbage than the answer itself.
type psRows struct {
	of  []execution.Summary
	now time.Time
}

// MarshalJSON implements json.Marshaler.
func (r psRows) MarshalJSON() ([]byte, error) {
	rows := make([]psRow, len(r.of))
	for i := range r.of {
		rows[i] = rowOf(&r.of[i], r.now)
	}
	return encode(rows)
}

func (r psRows) write(o *object) {
	o.json = append(o.json, '[')
	r.writeRows(o)
	o.json = append(o.json, ']')
}

// writeRows writes the rows with commas between them, long lists on several
// processors at once.
func (r psRows) writeRows(o *object) {
	if n := len(r.of); n >= longList {
		rest := psRows{r.of[n/2:], r.now}
		r.of = r.of[:n/2]
		written := make(chan *object)
		go func() {
			o := renderers.Get().(*object)
			o.json = o.json[:0]
			rest.writeRows(o)
			written <- o
		}()
		defer func() {
			second := <-written
			o.json = append(append(o.json, ','), second.json...)
			renderers.Put(second)
		}()
	}
	o.json = slices.Grow(o.json, rowSize*len(r.of))
	for i := range r.of {
		if i > 0 {
			o.json = append(o.json, ',')
		}
		row := rowOf(&r.of[i], r.now)
		o.begin()
		row.write(o)
		o.end()
	}
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
		refuse: func(_ psInput, err error) answer { return &psAnswer{Error: err.Error()} },
		run: func(ctx context.Context, in psInput) answer {
			if !t.turn(ctx) {
				in.limit = 0
			}
			now := time.Now()
			list := t.Registry.List(ctx, in.includeCompleted, int(min(max(in.limit, 0), math.MaxInt32)))
			return &psAnswer{Executions: psRows{list, now}}
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
