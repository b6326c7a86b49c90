package mcp

import (
	"context"
	"fmt"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

const (
	defaultFindings = 20
	maxFindings     = 200
	maxAround       = 20 // lines on each side
)

type searchInput struct {
	id            handle
	pattern       string
	re            *lazydfa.Regexp
	before, after int64
	limit         int64
	order         string
	untilSeq      *int64
	view
}

// searchAnswer says what was found.
type searchAnswer struct {
	ExecutionID string    `json:"execution_id"`
	Status      string    `json:"status"`
	Matches     []finding `json:"matches"`
	Total       int64     `json:"total"`
	StartSeq    uint64    `json:"start_seq"`
	LatestSeq   uint64    `json:"latest_seq"`
	Capped      bool      `json:"capped"`
	Evicted     bool      `json:"evicted"`
	Hint        string    `json:"hint,omitempty"`
	warned
}

func (*searchAnswer) failed() bool { return false }

func (a *searchAnswer) write(o *object) {
	o.text("execution_id", a.ExecutionID)
	o.text("status", a.Status)
	o.name("matches")
	o.json = append(o.json, '[')
	for i := range a.Matches {
		if i > 0 {
			o.json = append(o.json, ',')
		}
		a.Matches[i].write(o)
	}
	o.json = append(o.json, ']')
	o.integer("total", a.Total)
	o.unsigned("start_seq", a.StartSeq)
	o.unsigned("latest_seq", a.LatestSeq)
	o.flag("capped", a.Capped)
	o.flag("evicted", a.Evicted)
	o.someText("hint", a.Hint)
	a.warned.write(o)
}

// finding is one line.
type finding struct {
	Stream   string   `json:"stream"`
	Line     string   `json:"line"`
	StartSeq uint64   `json:"start_seq"`
	Before   []string `json:"before,omitempty"`
	After    []string `json:"after,omitempty"`
}

func (f *finding) write(o *object) {
	o.begin()
	o.text("stream", f.Stream)
	o.text("line", f.Line)
	o.unsigned("start_seq", f.StartSeq)
	o.texts("before", f.Before)
	o.texts("after", f.After)
	o.end()
}

func (t *tools) search() tool[searchInput] {
	return tool[searchInput]{
		name:  "search",
		title: "Search output",
		hints: hints(true, false, true, false),
		defaults: func() searchInput {
			return searchInput{limit: defaultFindings, order: "oldest", view: view{streams: "both"}}
		},
		params: t.searchParams,
		refuse: func(in searchInput, err error) answer { return &refusal{ExecutionID: in.id, Error: err.Error()} },
		run:    t.runSearch,
	}
}

func (t *tools) searchParams(in *searchInput) []param {
	lines := func(name, where string, into *int64) param {
		return param{
			name: name, into: into, minimum: new(int64),
			about: fmt.Sprintf("How many lines %s each matching line to show. Default: 0. Upper limit: %d.", where, maxAround),
		}
	}
	return []param{
		handleParam(&in.id),
		{
			name: "pattern", into: &in.pattern, required: true,
			about: "Regular expression (RE2 syntax) that a line must match anywhere; (?i) at its beginning ignores case.",
			check: func() (err error) {
				if in.pattern == "" {
					return fmt.Errorf("pattern must not be empty: use a word or a regular expression such as (?i)error, or read for all lines")
				}
				in.re, err = expression("pattern", in.pattern)
				return err
			},
		},
		lines("before_lines", "before", &in.before),
		lines("after_lines", "after", &in.after),
		{
			name: "limit", into: &in.limit, minimum: new(int64(1)),
			about: fmt.Sprintf("How many matching lines to return at most. Default: %d. Upper limit: %d. total counts all.", defaultFindings, maxFindings),
		},
		{
			name: "order", into: &in.order, enum: []string{"oldest", "newest"},
			about: "Which lines to return, and in which order: the oldest, oldest first, or the newest, newest first. Default: oldest.",
		},
		in.streamsParam("Which output to search. Default: both."),
		{
			name: "since_seq", into: &in.since,
			about: "Search only lines that begin at this position or later. Default: from the beginning of what is kept.",
		},
		{
			name: "until_seq", into: &in.untilSeq,
			about: "Search only lines that begin before this position. Default: up to the end.",
		},
		t.maxParam(&in.max),
	}
}

func (t *tools) runSearch(ctx context.Context, in searchInput) answer {
	e, ok := t.Registry.Get(in.id.id)
	if !ok {
		return &refusal{ExecutionID: in.id, Error: unknownHandle(in.id.id).Error()}
	}
	q := buffer.Query{
		Re: in.re, Streams: selectionOf(in.streams), From: 1, Newest: in.order == "newest",
		Before: int(min(in.before, maxAround)), After: int(min(in.after, maxAround)),
		Limit: int(min(in.limit, maxFindings)), Bytes: t.limit(in.max),
	}
	if in.since != nil {
		q.From = uint64(max(*in.since, 1))
	}
	if in.untilSeq != nil {
		q.Until = uint64(max(*in.untilSeq, 1))
	}
	status := e.Status()
	ctx, cancel := context.WithTimeout(ctx, RequestCeiling)
	defer cancel()
	select {
	case t.searching <- struct{}{}:
		defer func() { <-t.searching }()
	case <-ctx.Done():
		return &refusal{ExecutionID: in.id, Error: fmt.Sprintf("the search was not begun: %v", context.Cause(ctx))}
	}
	found, err := e.Search(ctx, q)
	if err != nil {
		return &refusal{ExecutionID: in.id, Error: fmt.Sprintf("the search was not finished: %v", err)}
	}
	if !t.turn(ctx) { // after the search, which may take long: others do not wait for it
		found.Lines = nil
	}
	a := &searchAnswer{
		ExecutionID: e.ID(), Status: string(status), Matches: []finding{}, Total: int64(found.Total),
		StartSeq: found.Start, LatestSeq: found.Latest, Capped: len(found.Lines) < found.Total, Evicted: found.Evicted,
	}
	for _, f := range found.Lines {
		a.Matches = append(a.Matches, finding{streamName(f.Stream), f.Line, f.Seq, f.Before, f.After})
	}
	a.Hint = searchHint(e, in, a)
	return a
}

// searchHint names the call that goes on.
func searchHint(e *execution.Execution, in searchInput, a *searchAnswer) string {
	var parts []string
	if a.Evicted {
		parts = append(parts, fmt.Sprintf("Output before position %d is no longer kept and was not searched.", a.StartSeq))
	}
	if a.Capped && len(a.Matches) > 0 {
		last := a.Matches[len(a.Matches)-1].StartSeq
		on := fmt.Sprintf("since_seq %d", last+1)
		if in.order == "newest" {
			on = fmt.Sprintf("until_seq %d", last)
		}
		parts = append(parts, fmt.Sprintf("There are more matching lines: call search with the same arguments and %s.", on))
	}
	return sentences(parts...)
}
