package mcp

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/screen"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// outputFields is the output in an answer, with the cursor.
type outputFields struct {
	// Stdout and Stderr are nil only if the call did not select the stream.
	Stdout    *string `json:"stdout,omitempty"`
	Stderr    *string `json:"stderr,omitempty"`
	StartSeq  uint64  `json:"start_seq"`
	NextSeq   uint64  `json:"next_seq"`
	LatestSeq uint64  `json:"latest_seq"`
	Capped    bool    `json:"capped"`
	Evicted   bool    `json:"evicted"`
	// Tail and OmittedBytes are there if the answer is capped.
	Tail         *tailFields `json:"tail,omitempty"`
	OmittedBytes *uint64     `json:"omitted_bytes,omitempty"`
	Hint         string      `json:"hint,omitempty"`
}

// tailFields is the newest lines of output that the answer does not reach.
type tailFields struct {
	// Stdout and Stderr are nil only if the call did not select the stream.
	Stdout   *string `json:"stdout,omitempty"`
	Stderr   *string `json:"stderr,omitempty"`
	StartSeq uint64  `json:"start_seq"`
}

func (f *tailFields) write(o *object) {
	o.name("tail")
	o.begin()
	if f.Stdout != nil {
		o.text("stdout", *f.Stdout)
	}
	if f.Stderr != nil {
		o.text("stderr", *f.Stderr)
	}
	o.unsigned("start_seq", f.StartSeq)
	o.end()
}

func (f *outputFields) write(o *object) {
	if f.Stdout != nil {
		o.text("stdout", *f.Stdout)
	}
	if f.Stderr != nil {
		o.text("stderr", *f.Stderr)
	}
	o.unsigned("start_seq", f.StartSeq)
	o.unsigned("next_seq", f.NextSeq)
	o.unsigned("latest_seq", f.LatestSeq)
	o.flag("capped", f.Capped)
	o.flag("evicted", f.Evicted)
	if f.Tail != nil {
		f.Tail.write(o)
	}
	if f.OmittedBytes != nil {
		o.unsigned("omitted_bytes", *f.OmittedBytes)
	}
	o.someText("hint", f.Hint)
}

// A view says which part of an execution's output a call wants.
type view struct {
	since   *int64 // since_seq, nil for the server-side cursor
	tail    *int64 // tail_lines, nil for reading forward
	max     int64  // max_output_bytes
	streams string // "both", "stdout" or "stderr"
	render  string // RenderRaw or RenderText
}

// Values of render.
const (
	RenderRaw  = "raw"
	RenderText = "text"
)

// renderParam is the argument render.
func (t *tools) renderParam(into *string) param {
	return param{
		name: "render", into: into, enum: []string{RenderRaw, RenderText},
		about: fmt.Sprintf("text: what a terminal would show in the end, without colours and other control sequences; a progress bar is one line. raw: every byte. Positions and max_output_bytes count raw bytes in both cases. Default: %s.", t.Render),
	}
}

// sinceParam is the argument since_seq.
func (v *view) sinceParam() param {
	return param{
		name: "since_seq", into: &v.since,
		about: "Read from this position on: the next_seq of an earlier answer, or 1 for the beginning. It leaves the server-side cursor alone. Left out, the call goes on where the last call without since_seq and tail_lines stopped.",
	}
}

// tailParam is the argument tail_lines.
func (v *view) tailParam() param {
	return param{
		name: "tail_lines", into: &v.tail, minimum: new(int64(1)),
		about: "Return only the newest lines, at most this many, instead of reading forward. It leaves the server-side cursor alone and cannot be combined with since_seq.",
		check: func() error {
			if v.since != nil {
				return fmt.Errorf("since_seq and tail_lines exclude each other: use since_seq to read forward from a position, or tail_lines for the newest lines")
			}
			return nil
		},
	}
}

// streamsParam is the argument streams.
func (v *view) streamsParam(about string) param {
	return param{name: "streams", into: &v.streams, enum: []string{"both", "stdout", "stderr"}, about: about}
}

// maxParam is the argument max_output_bytes.
func (t *tools) maxParam(into *int64) param {
	return param{
		name: "max_output_bytes", into: into,
		about: fmt.Sprintf("Most bytes of stdout and stderr together, not counting a capped answer's tail. Default and upper limit: %d. What is held back stays readable.", t.MaxOutputBytes),
	}
}

// limit applies the server's cap.
func (t *tools) limit(asked int64) int {
	if asked < 1 || asked > int64(t.MaxOutputBytes) {
		return t.MaxOutputBytes
	}
	return int(asked)
}

// turn waits until a large answer may be made, and reports whether it can still
// arrive. It is called after all other waiting.
func (t *tools) turn(ctx context.Context) bool {
	if t.Turn == nil {
		return ctx.Err() == nil
	}
	return t.Turn(ctx) == nil
}

// output takes the part of the output that the call wants. Only a call that
// names no part moves the server-side cursor, and only if its answer can still
// arrive: one that was cancelled delivers nothing.
//
// The execution's status must have been read before. Then a status that says
// that it has ended means that all its output can be seen here.
func (t *tools) output(ctx context.Context, e *execution.Execution, v view) outputFields {
	selection, limit := selectionOf(v.streams), t.limit(v.max)
	wanted := t.turn(ctx)
	if !wanted {
		limit = 1
	}
	ending := min(limit/5, t.TailBytes)
	var page buffer.Page
	drawn := false // as text, on the screen that the cursor carries
	switch {
	case v.tail != nil:
		page = e.Tail(int(min(*v.tail, math.MaxInt32)), limit, selection)
	case v.since != nil:
		page = e.Page(uint64(max(*v.since, 1)), limit, ending, selection)
	case selection != buffer.Both || !wanted:
		page = e.Page(1, limit, ending, selection)
	case v.render == RenderText:
		page = e.NextText(limit, ending)
		drawn = true
	default:
		page = e.Next(limit, ending)
	}
	if v.render == RenderText {
		makeText(&page.Stdout, &page.Stderr, limit, drawn)
		if end := page.Ending; end != nil {
			makeText(&end.Stdout, &end.Stderr, ending, false)
		}
	}
	f := outputFields{
		StartSeq: page.Start, NextSeq: page.Next, LatestSeq: page.Latest,
		Capped: page.Capped, Evicted: page.Evicted,
	}
	if selection != buffer.OnlyStderr {
		f.Stdout = &page.Stdout
	}
	if selection != buffer.OnlyStdout {
		f.Stderr = &page.Stderr
	}
	if end := page.Ending; end != nil {
		f.Tail, f.OmittedBytes = &tailFields{StartSeq: end.Start}, &end.Omitted
		if f.Stdout != nil {
			f.Tail.Stdout = &end.Stdout
		}
		if f.Stderr != nil {
			f.Tail.Stderr = &end.Stderr
		}
	}
	f.Hint = t.hint(e, v, page)
	return f
}

// makeText draws output, unless that is done, and sees to it that both streams
// together are not more than the limit: a few bytes can move a cursor far.
func makeText(stdout, stderr *string, limit int, drawn bool) {
	if !drawn {
		*stdout, *stderr = screen.Text(*stdout), screen.Text(*stderr)
	}
	*stderr = screen.Newest(*stderr, max(limit/2, limit-len(*stdout)))
	*stdout = screen.Newest(*stdout, limit-len(*stderr))
}

func selectionOf(streams string) buffer.Selection {
	switch streams {
	case "stdout":
		return buffer.OnlyStdout
	case "stderr":
		return buffer.OnlyStderr
	}
	return buffer.Both
}

// hint says what became of output that the answer does not carry, and names
// the call that gets what can be had.
func (t *tools) hint(e *execution.Execution, v view, page buffer.Page) string {
	if !page.Capped && !page.Evicted {
		return ""
	}
	var parts []string
	if page.Evicted {
		parts = append(parts, t.lossHint(e, v, page))
	}
	if _, kept := t.Registry.Get(e.ID()); !kept {
		return strings.Join(append(parts, "The record has been removed in the meantime, so no more of its output can be read."), " ")
	}
	parts = append(parts, t.followUp(e.ID(), v, page))
	return strings.Join(parts, " ")
}

// lossHint says which output is gone, and how less of it would be. The oldest
// byte of a capped tail is not the oldest one that is kept, so its position says
// nothing of that.
func (t *tools) lossHint(e *execution.Execution, v view, page buffer.Page) string {
	// One stream may have lost what the other still has around it.
	what := fmt.Sprintf("Some output was dropped before it was read; what is left of it begins at position %d", page.Start)
	if v.tail != nil && page.Capped {
		what = fmt.Sprintf("Fewer than %d lines are kept: older ones were dropped before they were read", *v.tail)
	}
	remedy := "raise YIELDSHELL_MAX_BUFFER_BYTES"
	switch {
	case e.SpillErr() != nil: // no limit is to blame
		remedy = "see to the disk of YIELDSHELL_SPILL_DIR"
	case t.Spilling:
		remedy = "raise YIELDSHELL_MAX_SPILL_BYTES and YIELDSHELL_MAX_SPILL_TOTAL_BYTES"
	}
	return fmt.Sprintf("%s. What is gone cannot be recovered: poll more often, or have the operator %s.", what, remedy)
}

// followUp names the next call.
func (t *tools) followUp(id string, v view, page buffer.Page) string {
	call := fmt.Sprintf("read with execution_id %q", id)
	if selectionOf(v.streams) != buffer.Both {
		call += fmt.Sprintf(", streams %q", v.streams)
	}
	switch {
	case v.tail != nil && page.Capped && t.limit(v.max) < t.MaxOutputBytes:
		return fmt.Sprintf("The lines exceed max_output_bytes and only their newest bytes are here: call %s, tail_lines %d and a larger max_output_bytes (up to %d).",
			call, *v.tail, t.MaxOutputBytes)
	case v.tail != nil && page.Capped:
		return fmt.Sprintf("The lines exceed the most that one answer may carry and only their newest bytes are here: call %s and since_seq 1 to read all that is kept, page by page.", call)
	case page.Capped:
		return fmt.Sprintf("More output is there: call %s and since_seq %d to go on.", call, page.Next)
	}
	return fmt.Sprintf("To go on from here, call %s and since_seq %d.", call, page.Next)
}
