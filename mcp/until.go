package mcp

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// until is what ends a call's wait before the execution ends.
type until struct {
	output string // an expression, empty for none
	re     *lazydfa.Regexp
	idle   time.Duration // zero for none
	port   int64         // zero for none
}

// asked reports whether the call named anything.
func (u *until) asked() bool { return u.re != nil || u.idle > 0 || u.port > 0 }

// outputParam is the argument until_output or what it is called elsewhere.
func (u *until) outputParam(name, about string) param {
	return param{
		name: name, into: &u.output, about: about,
		check: func() (err error) {
			if u.output != "" { // some clients send that for what was not set
				u.re, err = expression(name, u.output)
			}
			return err
		},
	}
}

// portParam is the argument until_port or what it is called elsewhere.
func (u *until) portParam(name, about string) param {
	return param{
		name: name, into: &u.port, minimum: new(int64(1)), about: about,
		check: func() error {
			if u.port > maxPort {
				return fmt.Errorf("%s must be a TCP port from 1 to %d, got %d", name, maxPort, u.port)
			}
			return nil
		},
	}
}

const maxPort = 1<<16 - 1

// idleParam is the argument until_idle_ms.
func (u *until) idleParam() param {
	return param{
		name: "until_idle_ms", into: &u.idle, minimum: new(int64(1)),
		about: "Also answer once no output has come for this many milliseconds, counted from the beginning of this call: after a write to a REPL, for example.",
	}
}

// expression compiles the value of an argument.
func expression(name, text string) (*lazydfa.Regexp, error) {
	re, err := lazydfa.Compile(text)
	if err == nil {
		return re, nil
	}
	text = quote(text)
	var problem *syntax.Error
	if !errors.As(err, &problem) {
		return nil, fmt.Errorf("%s must be a smaller regular expression: %s is %w", name, text, err)
	}
	return nil, fmt.Errorf("%s must be a regular expression in RE2 syntax, got %s: %s in %s%s",
		name, text, problem.Code, quote(problem.Expr), advice(problem))
}

// advice says what would be right.
func advice(problem *syntax.Error) string {
	switch problem.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidNamedCapture: // (?<! looks like one
		return "; RE2 has no look-ahead and no look-behind, so match what stands around it, too"
	case syntax.ErrInvalidEscape:
		return "; RE2 has no back-references, and a literal backslash is written \\\\"
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingBracket,
		syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
		return "; to find the character itself, put a backslash before it"
	case syntax.ErrInvalidRepeatSize:
		return "; a repetition counts to 1000 at most"
	}
	return ""
}

// leastLook is how long a call with a shorter budget looks at kept output: with
// none, too, it tells whether that matches.
const leastLook = 500 * time.Millisecond

// conditions begins to look for what the call waits for; stop ends that. What is
// kept is looked at first, within the budget of the call.
func (u *until) conditions(ctx context.Context, budget time.Duration, e *execution.Execution, v view) (c execution.Conditions, stop func()) {
	c = execution.Conditions{Idle: u.idle, Port: int(u.port), Streams: selectionOf(v.streams)}
	if u.re == nil {
		return c, func() {}
	}
	from := uint64(0) // where the server-side cursor stands
	switch {
	case v.since != nil:
		from = uint64(max(*v.since, 1))
	case c.Streams != buffer.Both:
		from = 1
	}
	ctx, cancel := context.WithTimeout(ctx, max(budget, leastLook))
	defer cancel()
	c.Output = e.Watch(ctx, u.re, from, c.Streams)
	return c, c.Output.Stop
}

// Values of wait_result.
const (
	exited          = "exited"
	deadlineReached = "deadline_reached"
	outputMatched   = "output_matched"
	idle            = "idle"
	portOpen        = "port_open"
)

// waitResult words a reason. A wait that gave up may find that the execution
// has ended since.
func waitResult(r execution.Reason, s execution.Summary) string {
	switch {
	case r == execution.OutputMatched:
		return outputMatched
	case r == execution.PortOpen:
		return portOpen
	case s.Status.Terminal():
		return exited
	case r == execution.IdleReached:
		return idle
	}
	return deadlineReached
}

// matchFields is the place in the output that was waited for.
type matchFields struct {
	Stream   string   `json:"stream"`
	Line     string   `json:"line"`
	Text     string   `json:"text"`
	StartSeq uint64   `json:"start_seq"`
	NextSeq  uint64   `json:"next_seq"`
	Before   []string `json:"before,omitempty"`
	After    []string `json:"after,omitempty"`
}

func (f *matchFields) write(o *object) {
	o.name("match")
	o.begin()
	o.text("stream", f.Stream)
	o.text("line", f.Line)
	o.text("text", f.Text)
	o.unsigned("start_seq", f.StartSeq)
	o.unsigned("next_seq", f.NextSeq)
	o.texts("before", f.Before)
	o.texts("after", f.After)
	o.end()
}

// matchOf describes the match that ended a wait; nil if another reason did.
func matchOf(r execution.Reason, c execution.Conditions) *matchFields {
	if r != execution.OutputMatched {
		return nil
	}
	m := c.Output.Match()
	return &matchFields{
		Stream: streamName(m.Stream), Line: m.Line, Text: m.Text,
		StartSeq: m.Seq, NextSeq: m.Next, Before: m.Before, After: m.After,
	}
}

func streamName(s buffer.Stream) string {
	if s == buffer.Stderr {
		return "stderr"
	}
	return "stdout"
}

// outcomeFields is why an execute that named something to wait for answered.
type outcomeFields struct {
	Result string       `json:"wait_result,omitempty"`
	Match  *matchFields `json:"match,omitempty"`
}

func (f *outcomeFields) write(o *object) {
	o.someText("wait_result", f.Result)
	if f.Match != nil {
		f.Match.write(o)
	}
}

// portTaken says that the port that a call waits for was open before its
// command was started: then it says nothing of the command.
func (t *tools) portTaken(port int64) string {
	if port == 0 || !t.Registry.PortOpen(int(port)) {
		return ""
	}
	return fmt.Sprintf("Port %d was open before the command was started, so another process has it.", port)
}

// sentences joins what is not empty.
func sentences(parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, " ")
}
