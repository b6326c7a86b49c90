package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// everyKind has one argument of each kind.
type everyKind struct {
	Text   string
	Maybe  *string
	Count  int64
	Since  *int64
	Time   time.Duration
	Flag   bool
	List   []string
	Vars   map[string]string
	Handle handle
	Pick   string
}

func (in *everyKind) params() []param {
	return []param{
		{name: "text", into: &in.Text},
		{name: "maybe", into: &in.Maybe},
		{name: "count", into: &in.Count},
		{name: "since", into: &in.Since},
		{name: "time_ms", into: &in.Time},
		{name: "flag", into: &in.Flag},
		{name: "list", into: &in.List},
		{name: "vars", into: &in.Vars},
		{name: "execution_id", into: &in.Handle},
		{name: "pick", into: &in.Pick, enum: []string{"a", "b"}},
	}
}

func defaultsOfEveryKind() everyKind {
	return everyKind{Text: "t", Count: 7, Time: 7 * time.Millisecond, Flag: true, Pick: "a"}
}

// show writes what was decoded.
func (in everyKind) String() string {
	deref := func(p any) string { return string(must(encode(p))) }
	return fmt.Sprintf("%s %s %d %s %v %v %s %s %s %s", deref(in.Text), deref(in.Maybe), in.Count, deref(in.Since),
		in.Time, in.Flag, deref(in.List), deref(in.Vars), deref(in.Handle), in.Pick)
}

func TestDecode(t *testing.T) {
	change := func(f func(*everyKind)) string {
		in := defaultsOfEveryKind()
		f(&in)
		return in.String()
	}
	same := change(func(*everyKind) {})
	count := func(n int64) string { return change(func(in *everyKind) { in.Count = n }) }
	list := func(l ...string) string { return change(func(in *everyKind) { in.List = append([]string{}, l...) }) }
	vars := func(kv ...string) string {
		return change(func(in *everyKind) {
			in.Vars = map[string]string{}
			for i := 0; i < len(kv); i += 2 {
				in.Vars[kv[i]] = kv[i+1]
			}
		})
	}
	for _, c := range []struct{ args, want, err string }{
		{``, same, ""},
		{`null`, same, ""},
		{`{}`, same, ""},
		{` { } `, same, ""},
		{`"{\"count\":5}"`, count(5), ""},
		{`[]`, same, "arguments must be an object"},
		{`5`, same, "arguments must be an object"},
		{`"x"`, same, "arguments must be an object"},

		{`{"count":null}`, same, ""},
		{`{"count":""}`, same, ""},
		{`{"count":" "}`, same, ""},
		{`{"count":250}`, count(250), ""},
		{`{"count":"250"}`, count(250), ""},
		{`{"count":" 250 "}`, count(250), ""},
		{`{"count":"250.0"}`, count(250), ""},
		{`{"count":250.0}`, count(250), ""},
		{`{"count":2.5e2}`, count(250), ""},
		{`{"count":-3}`, count(-3), ""},
		{`{"count":-0}`, count(0), ""},
		{`{"count":-0.0}`, count(0), ""},
		{`{"count":9007199254740993}`, count(maxInteger), ""},
		{`{"count":1e30}`, count(maxInteger), ""},
		{`{"count":-1e30}`, count(-maxInteger), ""},
		{`{"count":1e999999999}`, count(maxInteger), ""},
		{`{"count":99999999999999999999999999999999999}`, count(maxInteger), ""},
		{`{"count":5.5}`, same, "count must be a whole number, got 5.5"},
		{`{"count":"soon"}`, same, `count must be a whole number, got "soon"`},
		{`{"count":"Infinity"}`, same, `count must be a whole number`},
		{`{"count":"NaN"}`, same, `count must be a whole number`},
		{`{"count":"0x10"}`, same, `count must be a whole number`},
		{`{"count":true}`, same, "count must be a whole number, got true"},
		{`{"count":[1]}`, same, "count must be a whole number, got [1]"},
		{`{"count":{"a":1}}`, same, `count must be a whole number, got {"a":1}`},
		{`{"count":1,"count":2}`, count(2), ""},

		{`{"since":0}`, change(func(in *everyKind) { in.Since = new(int64) }), ""},
		{`{"since":null}`, same, ""},
		{`{"since":""}`, same, ""},
		{`{"time_ms":1500}`, change(func(in *everyKind) { in.Time = 1500 * time.Millisecond }), ""},
		{`{"time_ms":1e300}`, change(func(in *everyKind) { in.Time = time.Duration(maxMillis) * time.Millisecond }), ""},
		{`{"time_ms":0.5}`, same, "time_ms must be a whole number of milliseconds, got 0.5"},

		{`{"flag":false}`, change(func(in *everyKind) { in.Flag = false }), ""},
		{`{"flag":"false"}`, change(func(in *everyKind) { in.Flag = false }), ""},
		{`{"flag":"False"}`, change(func(in *everyKind) { in.Flag = false }), ""},
		{`{"flag":"true"}`, same, ""},
		{`{"flag":null}`, same, ""},
		{`{"flag":""}`, same, ""},
		{`{"flag":0}`, same, "flag must be true or false, got 0"},
		{`{"flag":"yes"}`, same, `flag must be true or false, got "yes"`},

		{`{"list":["NONE","b"]}`, list("NONE", "b"), ""},
		{`{"list":"[\"NONE\"]"}`, list("NONE"), ""},
		{`{"list":"NONE"}`, list("NONE"), ""},
		{`{"list":[]}`, list(), ""},
		{`{"list":null}`, same, ""},
		{`{"list":""}`, same, ""},
		{`{"list":"[NONE]"}`, same, "list must be a list of strings"},
		{`{"list":[1]}`, same, "list must be a list of strings"},
		{`{"list":[null]}`, same, "list must be a list of strings"},
		{`{"list":5}`, same, "list must be a list of strings"},
		{`{"list":{}}`, same, "list must be a list of strings"},

		{`{"vars":{"A":"x","B":""}}`, vars("A", "x", "B", ""), ""},
		{`{"vars":"{\"A\":\"x\"}"}`, vars("A", "x"), ""},
		{`{"vars":{"PORT":3000,"DBG":true,"NIL":null,"E":1e3}}`, vars("PORT", "3000", "DBG", "true", "E", "1e3"), ""},
		{`{"vars":null}`, same, ""},
		{`{"vars":""}`, same, ""},
		{`{"vars":{"A":["secretvalue"]}}`, same, `vars must be an object of strings, such as {"NAME": "value"}, but the value of "A" is a list or an object`},
		{`{"vars":["secretvalue"]}`, same, "vars must be an object"},
		{`{"vars":"secretvalue"}`, same, "vars must be an object"},

		{`{"text":""}`, change(func(in *everyKind) { in.Text = "" }), ""},
		{`{"text":" x "}`, change(func(in *everyKind) { in.Text = " x " }), ""},
		{`{"text":"[\ud83d]"}`, change(func(in *everyKind) { in.Text = "[\uFFFD]" }), ""},
		{`{"text":5}`, same, "text must be a string, got 5"},
		{`{"text":["ls"]}`, same, `text must be a string, got ["ls"]`},
		{`{"maybe":null}`, same, ""},
		{`{"maybe":""}`, change(func(in *everyKind) { in.Maybe = new(string) }), ""},
		{`{"pick":"b"}`, change(func(in *everyKind) { in.Pick = "b" }), ""},
		{`{"pick":""}`, same, ""},
		{`{"pick":"B"}`, same, `Invalid pick "B": use one of a, b`},

		{`{"execution_id":" x "}`, change(func(in *everyKind) { in.Handle = handle{" x ", true} }), ""},
		{`{"execution_id":""}`, change(func(in *everyKind) { in.Handle = handle{"", true} }), ""},
		{`{"execution_id":42}`, change(func(in *everyKind) { in.Handle = handle{"42", true} }), "Unknown execution_id: 42 (execution_id must be the string"},
		{`{"execution_id":true}`, same, "execution_id must be the string"},

		{`{"count":"x","flag":3,"list":5}`, same, "count must be a whole number, got \"x\"; flag must be true or false, got 3; list must be"},
	} {
		in := defaultsOfEveryKind()
		_, err := decode(json.RawMessage(c.args), in.params())
		got := in.String()
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%s: %v", c.args, err)
		case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %q", c.args, err, c.err)
		case err != nil && strings.Contains(err.Error(), "secretvalue"):
			t.Errorf("%s: the error shows a value: %v", c.args, err)
		case c.err == "" && got != c.want:
			t.Errorf("%s:\n got %s\nwant %s", c.args, got, c.want)
		}
	}
}

func TestDecodeDurationsNeverOverflow(t *testing.T) {
	for _, n := range []string{"9223372036854", "9223372036855", "9007199254740992", "1e300"} {
		in := defaultsOfEveryKind()
		if _, err := decode(json.RawMessage(`{"time_ms":`+n+`}`), in.params()); err != nil || in.Time < 290*365*24*time.Hour {
			t.Errorf("%s ms: %v, %v", n, in.Time, err)
		}
		in = defaultsOfEveryKind()
		if _, err := decode(json.RawMessage(`{"time_ms":-`+n+`}`), in.params()); err != nil || in.Time > -290*365*24*time.Hour {
			t.Errorf("-%s ms: %v, %v", n, in.Time, err)
		}
	}
}

func TestDecodeRequired(t *testing.T) {
	var command string
	for _, args := range []string{``, `{}`, `{"command":null}`} {
		if _, err := decode(json.RawMessage(args), []param{{name: "command", into: &command, required: true}}); err == nil || err.Error() != "command is required: a string" {
			t.Errorf("%s: %v", args, err)
		}
	}
	var list []string
	if _, err := decode(json.RawMessage(`{"side_effects":""}`), []param{{name: "side_effects", into: &list, required: true}}); err == nil || !strings.HasPrefix(err.Error(), "side_effects is required") {
		t.Error(err)
	}
}

func TestErrorsShowShortValues(t *testing.T) {
	in := defaultsOfEveryKind()
	long := strings.Repeat("é", 5000)
	for _, value := range []string{`"` + long + `"`, `["` + long + `"]`} {
		_, err := decode(json.RawMessage(`{"count":`+value+`}`), in.params())
		if err == nil || len(err.Error()) > 250 || strings.Contains(err.Error(), "\uFFFD") {
			t.Errorf("error is %v", err)
		}
	}
}

func TestUnknownArguments(t *testing.T) {
	callers := Config{}.callers()
	for _, c := range []struct{ tool, name, meant string }{
		{"execute", "timeout_mss", "timeout_ms"},
		{"execute", "timeout", "timeout_ms"},
		{"execute", "Command", "command"},
		{"execute", "cmd", "command"},
		{"execute", "workdir", "cwd"},
		{"execute", "working_directory", "cwd"},
		{"execute", "run_in_background", "yield_ms"},
		{"execute", "description", "name"},
		{"execute", "sideEffects", "side_effects"},
		{"execute", "maxOutputBytes", "max_output_bytes"},
		{"wait", "timeout", "timeout_ms"},
		{"read", "id", "execution_id"},
		{"read", "process_id", "execution_id"},
		{"read", "offset", "since_seq"},
		{"read", "tail", "tail_lines"},
		{"read", "stream", "streams"},
		{"write", "text", "input"},
		{"write", "new_line", "newline"},
		{"stop", "sig", "signal"},
		{"stop", "grace_ms", "force_after_ms"},
		{"ps", "count", "limit"},
		{"cleanup", "older_than_ms", "completed_older_than_ms"},
		{"execute", "until_output", "yield_until_output"},
		{"execute", "wait_for", "yield_until_output"},
		{"execute", "port", "yield_until_port"},
		{"wait", "yield_until_output", "until_output"},
		{"wait", "pattern", "until_output"},
		{"wait", "idle_ms", "until_idle_ms"},
		{"search", "regex", "pattern"},
		{"search", "context", "before_lines"},
		{"search", "max_results", "limit"},
	} {
		args := json.RawMessage(fmt.Sprintf(`{%q: 1}`, c.name))
		warnings, _ := decode(args, callers[c.tool].params)
		want := fmt.Sprintf("unknown argument %q was ignored; did you mean %q?", c.name, c.meant)
		if !slices.Equal(warnings, []string{want}) {
			t.Errorf("%s %s: %q, want %q", c.tool, c.name, warnings, want)
		}
	}
	warnings, _ := decode(json.RawMessage(`{"verbose":true}`), callers["ps"].params)
	if !slices.Equal(warnings, []string{`unknown argument "verbose" was ignored; the arguments are include_completed, limit`}) {
		t.Errorf("%q", warnings)
	}
}

// TestAnyValueForAnyArgument calls each tool with each kind of JSON value for
// each of its arguments. Whatever it is, the answer must validate, and an error
// must name the argument.
func TestAnyValueForAnyArgument(t *testing.T) {
	values := []string{
		`null`, `true`, `false`, `0`, `1`, `-1`, `5.5`, `5.0`, `1e2`, `1e30`, `-1e30`, `9223372036854775807`, `9223372036854775808`,
		`""`, `" "`, `"x"`, `"250"`, `"true"`, `"NONE"`, `"[\"NONE\"]"`, `"{}"`, `"\u0000"`, `"\ud83d"`, `"é\n<&>"`,
		`[]`, `["NONE"]`, `[null]`, `[[]]`, `{}`, `{"A":"b"}`, `{"A":null,"B":1}`, `{"A":{}}`, `{"":"x"}`, `{"A=B":"x"}`,
	}
	required := map[string]map[string]string{
		"execute": {"command": `"true"`, "side_effects": `["NONE"]`},
		"write":   {"input": `"x"`},
		"search":  {"pattern": `"x"`},
	}
	for name, c := range (Config{}).callers() {
		for _, p := range c.params {
			t.Run(name+"/"+p.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					defer b.close()
					id := b.call("execute", `{"command":"sleep","side_effects":["NONE"],"yield_ms":0}`).id()
					for _, value := range values {
						args := map[string]json.RawMessage{}
						for k, v := range required[name] {
							args[k] = json.RawMessage(v)
						}
						for _, q := range c.params {
							if q.name == "execution_id" {
								args[q.name] = mustEncode(id)
							}
						}
						args[p.name] = json.RawMessage(value)
						r := b.call(name, string(mustEncode(args)))
						if !r.failed() {
							continue
						}
						about := p.name
						switch {
						case name == "stop" || name == "write" && p.name != "execution_id":
							about = "" // also refused because it has ended, or because stdin is closed
						}
						if !strings.Contains(r.text("error"), about) {
							t.Errorf("%s = %s: the error does not name it: %s", p.name, value, r.text("error"))
						}
					}
				})
			})
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"count":"2.5e2"}`, `{"list":"[\"a\"]","vars":{"A":1}}`, `"{\"flag\":\"true\"}"`, `{"count":1e400,"pick":"c","x":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := defaultsOfEveryKind()
		warnings, err := decode(data, in.params())
		if in.Count > maxInteger || in.Count < -maxInteger {
			t.Errorf("count = %d", in.Count)
		}
		if err != nil && (err.Error() == "" || strings.Contains(err.Error(), "\n")) {
			t.Errorf("error %q", err)
		}
		if len(warnings) > maxWarnings {
			t.Errorf("%d warnings", len(warnings))
		}
		if json.Valid(data) && err == nil {
			// What was understood can be said in the schema's own terms, and is
			// then understood the same way.
			again := everyKind{}
			if _, err := decode(in.plain(), again.params()); err != nil || again.String() != in.String() {
				t.Errorf("%s and again %s: %v", in, again, err)
			}
		}
	})
}

// plain writes the arguments as the schema asks for them.
func (in everyKind) plain() json.RawMessage {
	return mustEncode(map[string]any{
		"text": in.Text, "maybe": in.Maybe, "count": in.Count, "since": in.Since, "time_ms": in.Time.Milliseconds(),
		"flag": in.Flag, "list": in.List, "vars": in.Vars, "execution_id": in.Handle, "pick": in.Pick,
	})
}
