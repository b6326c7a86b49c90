package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/mcp/jsonstr"
	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// An answer is the structured content of a tool's result. Fields that may be
// null are pointers without omitempty; fields that are there only if they say
// something have omitempty.
type answer interface {
	// failed reports whether the call did not do what it asked.
	failed() bool
	warn([]string)
	// write writes the members, as the tags say.
	write(*object)
}

// warned is the part of every answer that tells of ignored arguments and of
// trouble that did not keep the call from doing what it asked.
type warned struct {
	Warnings []string `json:"warnings,omitempty"`
}

func (w *warned) warn(texts []string) { w.Warnings = append(w.Warnings, texts...) }

func (w *warned) write(o *object) { o.texts("warnings", w.Warnings) }

// result encodes an answer once and sends the same JSON as structured content
// and as text, because some clients show the model only one of the two.
func result(a answer) *sdk.CallToolResult {
	text := render(a)
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: text}},
		StructuredContent: jsonstr.JSON(text),
		IsError:           a.failed(),
	}
}

// renderers lends the memory in which answers are put together.
var renderers = sync.Pool{New: func() any { return &object{json: make([]byte, 0, 1<<10)} }}

// render encodes an answer.
func render(a answer) string {
	o := renderers.Get().(*object)
	defer renderers.Put(o)
	o.json = o.json[:0]
	o.begin()
	a.write(o)
	o.end()
	return string(o.json)
}

// encode is json.Marshal, but leaves <, > and & as they are: what the server
// says is read by models and shells, not by browsers.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mustEncode encodes what is known when the program is built.
func mustEncode(v any) json.RawMessage {
	b, err := encode(v)
	if err != nil {
		panic(err)
	}
	return b
}

// millis is a duration in milliseconds with at most one decimal.
type millis time.Duration

// MarshalJSON implements json.Marshaler.
func (m millis) MarshalJSON() ([]byte, error) {
	return m.append(nil), nil
}

// timestamp is a time in Unix seconds, to the microsecond.
type timestamp time.Time

// MarshalJSON implements json.Marshaler.
func (t timestamp) MarshalJSON() ([]byte, error) {
	return t.append(nil), nil
}

// timestampOrNull is null for the zero time.
func timestampOrNull(t *time.Time) *timestamp {
	if t.IsZero() {
		return nil
	}
	return (*timestamp)(t)
}

// exitFields is how the shell ended: null while it runs, or when that is not
// known.
type exitFields struct {
	ExitCode *int64  `json:"exit_code"`
	Signal   *string `json:"signal"`
}

func (f *exitFields) write(o *object) {
	o.integerOrNull("exit_code", f.ExitCode)
	o.textOrNull("signal", f.Signal)
}

func exitOf(s *execution.Summary) exitFields {
	var f exitFields
	if s.Exit == nil {
		return f
	}
	f.ExitCode = &s.Exit.Code
	if s.Exit.Signal != "" {
		f.Signal = (*string)(&s.Exit.Signal)
	}
	return f
}

// member is a process that outlived its shell.
type member struct {
	ProcessID int    `json:"process_id"`
	Name      string `json:"name"`
}

func membersOf(list []proc.Member) []member {
	var out []member
	for _, m := range list {
		out = append(out, member{m.PID, m.Name})
	}
	return out
}

// maxNamed is how many processes a message names.
const maxNamed = 5

// naming lists processes in words.
func naming(list []proc.Member) string {
	var names []string
	for _, m := range list[:min(len(list), maxNamed)] {
		if m.Name == "" {
			names = append(names, fmt.Sprintf("process %d", m.PID))
			continue
		}
		names = append(names, fmt.Sprintf("%s (process %d)", m.Name, m.PID))
	}
	if more := len(list) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// standing says in words what the status alone does not: that an execution
// goes on, through whom, and what it has left running.
func standing(ctx context.Context, e *execution.Execution, s execution.Summary) string {
	var parts []string
	switch {
	case s.Closing:
		parts = append(parts, "The server is shutting down and is ending this execution.")
	case s.Ending == execution.TimedOut:
		parts = append(parts, "timeout_ms has passed, so this execution is being ended.")
	case s.Ending == execution.Stopped:
		parts = append(parts, "A stop of this execution is under way.")
	}
	if s.Status == execution.Running && s.Exit != nil {
		who := "processes that it started"
		if attached := e.Attached(ctx); len(attached) > 0 {
			who = naming(attached)
		}
		parts = append(parts, fmt.Sprintf("The shell has ended with exit code %d, but the execution goes on through %s.", s.Exit.Code, who))
	}
	if len(s.Detached) > 0 {
		who, left := naming(s.Detached), ""
		switch s.Status {
		case execution.Running:
			left = fmt.Sprintf("Not waited for, in sessions of their own: %s; stop ends them too.", who)
		case execution.TimedOut, execution.Stopped:
			left = fmt.Sprintf("Told to end, but not gone yet: %s.", who)
		default:
			left = fmt.Sprintf("The command has ended but left running: %s. To end them, call stop with execution_id %q.", who, s.ID)
		}
		parts = append(parts, left)
	}
	return strings.Join(parts, " ")
}

// warningsOf says what went wrong with an execution's output.
func warningsOf(s *execution.Summary) warned {
	if s.SpillErr == nil {
		return warned{}
	}
	return warned{[]string{fmt.Sprintf("output of this execution that leaves memory is no longer kept on disk: %v", s.SpillErr)}}
}

// failureOf says why an execution has the status failed.
func failureOf(s *execution.Summary) string {
	if s.Status != execution.Failed {
		return ""
	}
	text := "the server lost hold of this execution, so its outcome is unknown"
	if s.Lost != nil {
		text += ": " + s.Lost.Error()
	}
	return text
}

// textOrEmpty is an error's text, empty for none.
func textOrEmpty(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// textOrNull is an error's text, null for none.
func textOrNull(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &text
}

// unknownHandle is the error for an execution_id that names nothing.
func unknownHandle(id string) error {
	//lint:ignore ST1005 the specification gives this text
	return fmt.Errorf("Unknown execution_id: %s", id)
}
