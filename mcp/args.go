package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
)

// A param is one argument of a tool. The table of a tool's params is what its
// input schema says and what its arguments are decoded by.
//
// Models and clients send null, "", "250", 250.0, "true" or "[\"NONE\"]" where
// the schema says otherwise. What has one sensible meaning is taken; anything
// else is refused with an error that names the argument.
type param struct {
	name string
	// into points to where the value goes, which already holds the default.
	// Its type is the argument's: *string, *int64, *time.Duration (in
	// milliseconds), *bool, *[]string, *map[string]string or *handle; or a
	// pointer to a pointer to one of the first three, nil for left out.
	into     any
	required bool
	about    string   // for the model, with the default
	enum     []string // the names that a text, or a list's items, may be
	minimum  *int64   // a smaller number is refused
	// check judges the value once all arguments are decoded. It is called only
	// if the argument was given and understood.
	check func() error
}

// handle is an execution_id as it was sent.
type handle struct {
	id    string
	given bool
}

func (h handle) write(o *object, name string) {
	if !h.given {
		o.null(name)
		return
	}
	o.text(name, h.id)
}

// MarshalJSON encodes a handle that was not given as null.
func (h handle) MarshalJSON() ([]byte, error) {
	if !h.given {
		return []byte("null"), nil
	}
	return encode(h.id)
}

// maxInteger is the largest integer that every JSON implementation agrees on
// (RFC 8259, section 6). Larger ones are taken for it.
const maxInteger = 1 << 53

// maxMillis is the longest time.Duration.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// decode reads a call's arguments into params. The error holds everything that
// is wrong with them; warnings tell of arguments that are not in the table,
// and are there with an error too.
func decode(raw json.RawMessage, params []param) (warnings []string, err error) {
	given, err := members(raw)
	if err != nil {
		return nil, err
	}
	problems := make([]error, len(params))
	understood := make([]bool, len(params))
	for i, p := range params {
		value := given[p.name]
		if p.leavesOut(value) {
			if p.required {
				problems[i] = fmt.Errorf("%s is required: %s", p.name, p.wanted())
			}
			continue
		}
		problems[i] = p.set(value)
		understood[i] = problems[i] == nil
	}
	for i, p := range params {
		if understood[i] && p.check != nil {
			problems[i] = p.check()
		}
	}
	return unknownArguments(given, params), together(problems)
}

// together puts the errors into one, on one line.
func together(problems []error) error {
	var texts []string
	for _, err := range problems {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// members splits the arguments, which may also be an object written as text.
// Absent ones, and null, are none. Of a name that stands twice the last counts.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var given map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) == 0 {
		return given, nil
	}
	object := raw
	if text, ok := textOf(raw); ok {
		object = json.RawMessage(text)
	}
	if json.Unmarshal(object, &given) != nil {
		// What they hold is not shown: there may be secrets in it.
		return nil, errors.New("arguments must be an object of argument names and values")
	}
	return given, nil
}

// leavesOut reports whether the value stands for an argument left out: nothing,
// null, and an empty text where no text belongs, which some clients send for
// every argument that the model did not set.
func (p param) leavesOut(value json.RawMessage) bool {
	if len(value) == 0 || string(value) == "null" {
		return true
	}
	switch p.into.(type) {
	case *string, **string, *handle:
		return p.enum != nil && isBlankText(value)
	}
	return isBlankText(value)
}

func isBlankText(value json.RawMessage) bool {
	text, ok := textOf(value)
	return ok && strings.TrimSpace(text) == ""
}

// set decodes the value.
func (p param) set(value json.RawMessage) (err error) {
	switch into := p.into.(type) {
	case *string:
		*into, err = p.text(value)
	case **string:
		var text string
		if text, err = p.text(value); err == nil {
			*into = &text
		}
	case *handle:
		*into, err = p.handle(value)
	case *int64:
		*into, err = p.integer(value)
	case **int64:
		var n int64
		if n, err = p.integer(value); err == nil {
			*into = &n
		}
	case *time.Duration:
		*into, err = p.millis(value)
	case **time.Duration:
		var d time.Duration
		if d, err = p.millis(value); err == nil {
			*into = &d
		}
	case *bool:
		*into, err = p.boolean(value)
	case *[]string:
		*into, err = p.list(value)
	case *map[string]string:
		*into, err = p.variables(value)
	default:
		panic(fmt.Sprintf("param %s has no type: %T", p.name, p.into))
	}
	return err
}

// wanted says what the argument should be.
func (p param) wanted() string {
	switch p.into.(type) {
	case *int64, **int64:
		return "a whole number"
	case *time.Duration, **time.Duration:
		return "a whole number of milliseconds"
	case *bool:
		return "true or false"
	case *[]string:
		return `a list of strings, such as ["NONE"]`
	case *map[string]string:
		return `an object of strings, such as {"NAME": "value"}`
	case *handle:
		return "the string that execute returned as execution_id"
	}
	if len(p.enum) > 0 {
		return "one of " + strings.Join(p.enum, ", ")
	}
	return "a string"
}

// refused is the error for a value of the wrong kind.
func (p param) refused(value json.RawMessage) error {
	return fmt.Errorf("%s must be %s, got %s", p.name, p.wanted(), show(value))
}

func (p param) text(value json.RawMessage) (string, error) {
	text, ok := textOf(value)
	if !ok {
		return "", p.refused(value)
	}
	if p.enum != nil && !slices.Contains(p.enum, text) {
		//lint:ignore ST1005 a client may look for this text
		return "", fmt.Errorf("Invalid %s %s: use one of %s", p.name, quote(text), strings.Join(p.enum, ", "))
	}
	return text, nil
}

// handle takes texts only, unchanged. A number is what a call with the OS
// process id sends, so its refusal is the one for an unknown handle.
func (p param) handle(value json.RawMessage) (handle, error) {
	if text, ok := textOf(value); ok {
		return handle{text, true}, nil
	}
	if number(value) {
		h := handle{shorten(string(value)), true}
		return h, fmt.Errorf("%w (%s must be %s, in quotes; the number process_id is no handle)", unknownHandle(h.id), p.name, p.wanted())
	}
	return handle{}, p.refused(value)
}

func (p param) integer(value json.RawMessage) (int64, error) {
	text := string(value)
	if inner, ok := textOf(value); ok {
		text = strings.TrimSpace(inner)
	}
	n, ok := wholeNumber(text)
	if !ok {
		return 0, p.refused(value)
	}
	if p.minimum != nil && n < *p.minimum {
		return 0, fmt.Errorf("%s must be %d or more, got %d", p.name, *p.minimum, n)
	}
	return n, nil
}

// wholeNumber reads a number without a fraction, however it is written.
func wholeNumber(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return min(max(n, -maxInteger), maxInteger), true
	}
	if !number(json.RawMessage(text)) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64) // infinite beyond its range
	if err != nil && !errors.Is(err, strconv.ErrRange) || f != math.Trunc(f) {
		return 0, false
	}
	return int64(min(max(f, -maxInteger), maxInteger)), true
}

// number reports whether the JSON value is a number.
func number(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9') && json.Valid(value)
}

func (p param) millis(value json.RawMessage) (time.Duration, error) {
	n, err := p.integer(value)
	return time.Duration(min(max(n, -maxMillis), maxMillis)) * time.Millisecond, err
}

func (p param) boolean(value json.RawMessage) (bool, error) {
	text := string(value)
	if inner, ok := textOf(value); ok {
		text = strings.ToLower(strings.TrimSpace(inner))
	}
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, p.refused(value)
}

// list also takes a list written as text, and one item for a list of one.
func (p param) list(value json.RawMessage) ([]string, error) {
	items := value
	if text, ok := textOf(value); ok {
		text = strings.TrimSpace(text)
		if !strings.HasPrefix(text, "[") {
			return []string{text}, nil
		}
		items = json.RawMessage(text)
	}
	var raw []json.RawMessage
	if json.Unmarshal(items, &raw) != nil {
		return nil, p.refused(value)
	}
	list := make([]string, len(raw))
	for i, item := range raw {
		text, ok := textOf(item)
		if !ok {
			return nil, p.refused(value)
		}
		list[i] = text
	}
	return list, nil
}

// variables also takes an object written as text. Numbers and booleans in it
// stand for themselves as they were written, null for a variable left out. No
// error shows a value, since it may be a secret.
func (p param) variables(value json.RawMessage) (map[string]string, error) {
	object := value
	if text, ok := textOf(value); ok {
		object = json.RawMessage(text)
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(object, &raw) != nil {
		return nil, fmt.Errorf("%s must be %s", p.name, p.wanted())
	}
	values := make(map[string]string, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		item := raw[name]
		switch text, ok := textOf(item); {
		case ok:
			values[name] = text
		case string(item) == "null":
		case number(item), string(item) == "true", string(item) == "false":
			values[name] = string(item)
		default:
			return nil, fmt.Errorf("%s must be %s, but the value of %s is a list or an object", p.name, p.wanted(), quote(name))
		}
	}
	return values, nil
}

// textOf returns a JSON string's text.
func textOf(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// shownLength is how much of a value an error shows, in bytes.
const shownLength = 80

// show is a JSON value as errors show it: shortened, on one line.
func show(value json.RawMessage) string {
	if text, ok := textOf(value); ok {
		return quote(text)
	}
	var one bytes.Buffer
	if json.Compact(&one, value) != nil {
		return quote(string(value))
	}
	return shorten(one.String())
}

func quote(text string) string { return strconv.Quote(shorten(text)) }

// shorten cuts a text between characters.
func shorten(text string) string {
	if len(text) <= shownLength {
		return text
	}
	return strings.ToValidUTF8(text[:shownLength], "") + "…"
}

// unknownArguments has a warning for each argument that the tool does not
// have: refusing it would break callers that worked, and silence would let a
// misspelt timeout_ms go unnoticed.
func unknownArguments(given map[string]json.RawMessage, params []param) []string {
	known := make([]string, len(params))
	for i, p := range params {
		known[i] = p.name
	}
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		hint := "the arguments are " + strings.Join(known, ", ")
		if meant := meantArgument(name, known); meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		warnings = append(warnings, fmt.Sprintf("unknown argument %s was ignored; %s", quote(name), hint))
		if len(warnings) == maxWarnings {
			break
		}
	}
	return warnings
}

// maxWarnings bounds the warnings of an answer.
const maxWarnings = 10

// meantArgument guesses which of the known arguments the name stands for:
// first by what other shell tools call it, then by spelling. It is empty if
// there is no good guess.
func meantArgument(name string, known []string) string {
	for _, meant := range namesElsewhere(strings.ToLower(name)) {
		if slices.Contains(known, meant) {
			return meant
		}
	}
	if near := policy.Nearest(name, known); len(near) > 0 {
		return near[0]
	}
	return ""
}

// namesElsewhere maps what other shell tools call an argument to what it may be
// called here.
func namesElsewhere(name string) []string {
	switch name {
	case "timeout", "max_wait_ms", "wait_ms", "timeout_seconds":
		return []string{"timeout_ms"}
	case "workdir", "working_directory", "working_dir", "dir", "directory", "path":
		return []string{"cwd"}
	case "cmd", "script", "code", "commands":
		return []string{"command"}
	case "id", "pid", "process_id", "session_id", "shell_id", "task_id", "bash_id", "handle":
		return []string{"execution_id"}
	case "until_output", "wait_for", "wait_until", "until", "pattern", "regex", "regexp", "grep", "query", "expect":
		return []string{"until_output", "yield_until_output", "pattern"}
	case "until_port", "port", "wait_for_port":
		return []string{"until_port", "yield_until_port"}
	case "idle_ms", "until_idle", "idle", "quiet_ms", "idle_timeout_ms":
		return []string{"until_idle_ms"}
	case "context", "context_lines", "before_context":
		return []string{"before_lines"}
	case "after_context":
		return []string{"after_lines"}
	case "yield", "yield_time_ms", "background", "run_in_background", "is_background":
		return []string{"yield_ms"}
	case "environment", "env_vars", "variables":
		return []string{"env"}
	case "text", "data", "chars", "content", "stdin":
		return []string{"input"}
	case "yield_until_output":
		return []string{"until_output"}
	case "yield_until_port":
		return []string{"until_port"}
	case "reverse", "sort", "direction":
		return []string{"order"}
	case "since", "cursor", "offset", "next_seq", "start_seq", "seq":
		return []string{"since_seq"}
	case "tail", "lines", "last_lines", "num_lines":
		return []string{"tail_lines"}
	case "max_bytes", "max_output", "max_output_tokens", "max_chars":
		return []string{"max_output_bytes"}
	case "effects", "side_effect":
		return []string{"side_effects"}
	case "label", "title", "description":
		return []string{"name"}
	case "force_after", "grace", "grace_ms":
		return []string{"force_after_ms"}
	case "sig", "kill_signal":
		return []string{"signal"}
	case "count", "max", "max_results", "max_matches":
		return []string{"limit"}
	case "all", "include_terminal", "include_finished":
		return []string{"include_completed"}
	case "older_than_ms", "max_age_ms":
		return []string{"completed_older_than_ms"}
	}
	return nil
}
