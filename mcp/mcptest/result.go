package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

// Result is the answer to a tool call. Fields that the answer leaves out, and
// those that are null, have their zero value; Has and Null tell them apart.
type Result struct {
	Fields
	// IsError says that the call did not do what it asked.
	IsError bool
	// Text is the text content.
	Text string

	t          testing.TB
	structured json.RawMessage
	members    map[string]json.RawMessage
}

// Fields are the structured fields of all tools.
type Fields struct {
	ExecutionID string    `json:"execution_id"`
	ProcessID   int       `json:"process_id"`
	Status      string    `json:"status"`
	ExitCode    *int64    `json:"exit_code"`
	Signal      string    `json:"signal"`
	Stdout      string    `json:"stdout"`
	Stderr      string    `json:"stderr"`
	DurationMS  float64   `json:"duration_ms"`
	StartSeq    int64     `json:"start_seq"`
	NextSeq     int64     `json:"next_seq"`
	LatestSeq   int64     `json:"latest_seq"`
	Capped      bool      `json:"capped"`
	Evicted     bool      `json:"evicted"`
	Message     string    `json:"message"`
	Hint        string    `json:"hint"`
	Error       string    `json:"error"`
	StdinError  string    `json:"stdin_error"`
	WaitResult  string    `json:"wait_result"`
	WaitedMS    float64   `json:"waited_ms"`
	MaxWaitMS   float64   `json:"max_wait_ms"`
	OK          bool      `json:"ok"`
	Stopped     bool      `json:"stopped"`
	Removed     int       `json:"removed"`
	Executions  []Row     `json:"executions"`
	Detached    []Process `json:"detached"`
	Warnings    []string  `json:"warnings"`
	Match       *Line     `json:"match"`
	Matches     []Line    `json:"matches"`
	Total       int       `json:"total"`
	Tail        *Tail     `json:"tail"`
	Omitted     int64     `json:"omitted_bytes"`
}

// Line is a line that was waited or searched for. A search gives no Text and
// no NextSeq.
type Line struct {
	Stream   string   `json:"stream"`
	Line     string   `json:"line"`
	Text     string   `json:"text"`
	StartSeq int64    `json:"start_seq"`
	NextSeq  int64    `json:"next_seq"`
	Before   []string `json:"before"`
	After    []string `json:"after"`
}

// Tail is the newest lines of capped output.
type Tail struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	StartSeq int64  `json:"start_seq"`
}

// Process is an entry of detached.
type Process struct {
	PID  int    `json:"process_id"`
	Name string `json:"name"`
}

// Row is an execution that ps lists.
type Row struct {
	ExecutionID  string    `json:"execution_id"`
	ProcessID    int       `json:"process_id"`
	Name         *string   `json:"name"`
	Command      string    `json:"command"`
	CWD          string    `json:"cwd"`
	Status       string    `json:"status"`
	ExitCode     *int64    `json:"exit_code"`
	Signal       *string   `json:"signal"`
	StartedAt    float64   `json:"started_at"`
	EndedAt      *float64  `json:"ended_at"`
	DurationMS   float64   `json:"duration_ms"`
	StdoutBytes  int64     `json:"stdout_bytes"`
	StderrBytes  int64     `json:"stderr_bytes"`
	StdinError   *string   `json:"stdin_error"`
	LastOutputAt *float64  `json:"last_output_at"`
	IdleMS       *float64  `json:"idle_ms"`
	LatestSeq    int64     `json:"latest_seq"`
	Detached     []Process `json:"detached"`
}

func parseResult(raw json.RawMessage) (*Result, error) {
	var envelope struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return nil, err
	}
	r := &Result{IsError: envelope.IsError, structured: envelope.Structured}
	for _, c := range envelope.Content {
		if c.Type == "text" {
			r.Text += c.Text
		}
	}
	if r.structured == nil {
		return nil, fmt.Errorf("no structuredContent; text: %.300s", r.Text)
	}
	if err := json.Unmarshal(r.structured, &r.Fields); err != nil {
		return nil, fmt.Errorf("%w in %.500s", err, r.structured)
	}
	if err := json.Unmarshal(r.structured, &r.members); err != nil {
		return nil, err
	}
	return r, r.compareText()
}

// compareText checks that the text says what the structured content says.
func (r *Result) compareText() error {
	text, err := decode([]byte(r.Text))
	if err != nil {
		return fmt.Errorf("the text is no JSON: %.300s", r.Text)
	}
	structured, err := decode(r.structured)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(text, structured) {
		return fmt.Errorf("text and structuredContent differ: %.300s and %.300s", r.Text, r.structured)
	}
	return nil
}

// decode reads one JSON value with its numbers as they are written.
func decode(data []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// Has reports whether the answer has the field, null or not.
func (r *Result) Has(field string) bool {
	_, ok := r.members[field]
	return ok
}

// Null reports whether the answer has the field and it is null.
func (r *Result) Null(field string) bool {
	value, ok := r.members[field]
	return ok && string(value) == "null"
}

// Exit is the exit code, or "null".
func (r *Result) Exit() string { return number(r.ExitCode) }

// Exit is the exit code, or "null".
func (r Row) Exit() string { return number(r.ExitCode) }

func number(n *int64) string {
	if n == nil {
		return "null"
	}
	return fmt.Sprint(*n)
}

// String is the structured content as it came.
func (r *Result) String() string { return string(r.structured) }
