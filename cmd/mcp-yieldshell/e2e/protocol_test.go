package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestTheTools(t *testing.T) {
	t.Parallel()
	eq(t, "tools without search", len(startAny(t).Tools()), 7)
	s := startAny(t, searching)
	want := map[string]struct{ required, optional string }{
		"execute": {"command side_effects", "cwd env shell stdin close_stdin name yield_ms yield_until_output yield_until_port timeout_ms max_output_bytes render"},
		"read":    {"execution_id", "since_seq max_output_bytes streams tail_lines render"},
		"write":   {"execution_id input", "newline close_stdin"},
		"wait":    {"execution_id", "timeout_ms max_output_bytes since_seq tail_lines until_output until_port until_idle_ms streams render"},
		"stop":    {"execution_id", "signal force_after_ms"},
		"ps":      {"", "include_completed limit"},
		"search":  {"execution_id pattern", "before_lines after_lines limit order streams since_seq until_seq max_output_bytes"},
		"cleanup": {"", "completed_older_than_ms stopped_older_than_ms"},
	}
	tools := s.Tools()
	eq(t, "tools", len(tools), len(want))
	for _, tool := range tools {
		var in struct {
			Type       string
			Required   []string
			Properties map[string]struct {
				Items struct{ Enum []string }
			}
		}
		if err := json.Unmarshal(tool.InputSchema, &in); err != nil {
			t.Fatal(err)
		}
		w := want[tool.Name]
		eq(t, tool.Name+": type", in.Type, "object")
		slices.Sort(in.Required)
		eq(t, tool.Name+": required", strings.Join(in.Required, " "), w.required)
		for _, name := range strings.Fields(w.required + " " + w.optional) {
			if _, ok := in.Properties[name]; !ok {
				t.Errorf("%s lacks %s", tool.Name, name)
			}
		}
		eq(t, tool.Name+": properties", len(in.Properties), len(strings.Fields(w.required+" "+w.optional)))
		if tool.Description == "" || tool.OutputSchema == nil {
			t.Errorf("%s has no description or no output schema", tool.Name)
		}
		if tool.Name == "execute" {
			enum := in.Properties["side_effects"].Items.Enum
			slices.Sort(enum)
			eq(t, "side_effects", strings.Join(enum, " "), strings.Join(categories, " "))
		}
	}
}

func TestInputSchemasUseWhatEveryClientTakes(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	good := strings.Fields("type properties required items enum minimum maximum minItems additionalProperties description title")
	var walk func(where string, node any)
	walk = func(where string, node any) {
		object, ok := node.(map[string]any)
		if !ok {
			t.Errorf("%s is no schema", where)
			return
		}
		for key := range object {
			if !slices.Contains(good, key) {
				t.Errorf("%s uses %s", where, key)
			}
		}
		if _, ok := object["type"].(string); !ok {
			t.Errorf("%s has type %v", where, object["type"])
		}
		if object["type"] == "array" && object["items"] == nil {
			t.Errorf("%s is an array without items", where)
		}
		properties, _ := object["properties"].(map[string]any)
		for name, p := range properties {
			walk(where+"."+name, p)
		}
		for _, key := range []string{"items", "additionalProperties"} {
			if nested, ok := object[key].(map[string]any); ok {
				walk(where+"."+key, nested)
			}
		}
	}
	for _, tool := range s.Tools() {
		var node any
		if err := json.Unmarshal(tool.InputSchema, &node); err != nil {
			t.Fatal(err)
		}
		walk(tool.Name, node)
	}
}

func TestTheHandshakeNegotiates(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2099-01-01", "nonsense"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := mcptest.Start(t, mcptest.Options{Command: program, Uninitialized: true})
			var answer struct {
				ProtocolVersion string
				ServerInfo      struct{ Name, Title, Version string }
				Capabilities    map[string]any
			}
			if err := json.Unmarshal(s.Initialize(version), &answer); err != nil {
				t.Fatal(err)
			}
			if version < "2026" {
				eq(t, "version", answer.ProtocolVersion, version)
			} else if answer.ProtocolVersion == version || answer.ProtocolVersion == "" {
				t.Errorf("version %q is agreed to", answer.ProtocolVersion)
			}
			eq(t, "name", answer.ServerInfo.Name, "yieldshell")
			eq(t, "title", answer.ServerInfo.Title, "YieldShell MCP")
			if answer.Capabilities["tools"] == nil {
				t.Error("no tools capability")
			}
			eq(t, "tools", len(s.Tools()), 7)
			eq(t, "status", s.Execute("echo hi", nil).Status, "completed")
		})
	}
}

func TestUnknownAndIncompleteRequests(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	_, err := s.Request("no/such", args{})
	if err == nil || err.Code != -32601 {
		t.Errorf("an unknown method: %v", err)
	}
	for name, params := range map[string]any{
		"unknown tool": args{"name": "exec", "arguments": args{"command": "ls"}}, "no name": args{"arguments": args{}},
		"null": json.RawMessage("null"), "no params": nil, "a list": []int{1}, "arguments a list": args{"name": "ps", "arguments": []int{1}},
		"name a number": args{"name": 5},
	} {
		result, err := s.Request("tools/call", params)
		if err == nil && !strings.Contains(string(result), `"isError":true`) {
			t.Errorf("%s: %s", name, result)
		}
	}
	for _, params := range []any{args{"name": "ps"}, args{"name": "ps", "arguments": nil}, args{"name": "ps", "arguments": args{}}} {
		contains(t, "ps", string(s.MustRequest("tools/call", params)), "executions")
	}
	s.Notify("notifications/whatever", args{"x": 1})
	s.Notify("notifications/cancelled", args{"requestId": 4242})
	s.MustRequest("ping", nil)
	eq(t, "status", s.Execute("echo alive", nil).Status, "completed")
}

func TestUnknownArgumentsAreWarnings(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	r := s.Execute("echo hi", args{"description": "says hi", "run_in_background": false, "timeout_mss": 5000})
	eq(t, "status", r.Status, "completed")
	contains(t, "warnings", strings.Join(r.Warnings, "\n"), "description", "run_in_background", "timeout_mss", "timeout_ms")
	eq(t, "no timeout was set", r.Signal, "")
	for _, tool := range []string{"ps", "cleanup"} {
		r := s.Call(tool, args{"verbose": true})
		eq(t, tool+": isError", r.IsError, false)
		contains(t, tool+": warnings", strings.Join(r.Warnings, "\n"), "verbose")
	}
	for _, tool := range []string{"read", "wait", "stop"} {
		contains(t, tool, strings.Join(s.Call(tool, r.On(args{"sinc_seq": 1})).Warnings, "\n"), "sinc_seq")
	}
	eq(t, "no warnings", s.Execute("echo hi", nil).Has("warnings"), false)
}

func TestMissingAndMistypedArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, c := range []struct {
		tool  string
		given args
		name  string
	}{
		{"execute", args{"side_effects": []string{"NONE"}}, "command"},
		{"execute", args{"command": "echo x"}, "side_effects"},
		{"execute", args{"command": 5, "side_effects": []string{"NONE"}}, "command"},
		{"execute", args{"command": []string{"ls"}, "side_effects": []string{"NONE"}}, "command"},
		{"execute", args{"command": nil, "side_effects": []string{"NONE"}}, "command"},
		{"execute", args{"command": "echo", "side_effects": []string{"NONE"}, "cwd": 5}, "cwd"},
		{"execute", args{"command": "echo", "side_effects": []string{"NONE"}, "shell": true}, "shell"},
		{"execute", args{"command": "echo", "side_effects": []string{"NONE"}, "close_stdin": "perhaps"}, "close_stdin"},
		{"execute", args{"command": "echo", "side_effects": []string{"NONE"}, "stdin": 5}, "stdin"},
		{"read", args{}, "execution_id"},
		{"read", args{"execution_id": nil}, "execution_id"},
		{"wait", args{}, "execution_id"},
		{"stop", args{"execution_id": nil}, "execution_id"},
		{"stop", args{}, "execution_id"},
		{"write", args{"execution_id": "x"}, "input"},
		{"write", args{"input": "x"}, "execution_id"},
		{"write", args{"execution_id": "x", "input": nil}, "input"},
	} {
		r := s.Call(c.tool, c.given)
		if !r.IsError {
			t.Errorf("%s takes %v: %v", c.tool, c.given, r)
		}
		contains(t, fmt.Sprintf("error of %s %v", c.tool, c.given), r.Error, c.name)
		if c.tool == "execute" {
			refused(t, r, c.name)
		}
	}
	eq(t, "rows", len(s.Rows()), 0)
}

func TestUnknownExecutionsAreStructuredErrors(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	r := s.Execute("echo hi", nil)
	for _, id := range []string{"nope", fmt.Sprint(r.ProcessID), "", r.ExecutionID + " ", strings.ToUpper(r.ExecutionID) + "X", "ü\n\"", "../x", strings.Repeat("x", 10000)} {
		for tool, more := range map[string]args{"read": {}, "wait": {}, "stop": {}, "write": {"input": "x"}} {
			more["execution_id"] = id
			e := s.Call(tool, more)
			unknown(t, e, id)
			eq(t, tool+": has ok", e.Has("ok"), tool == "write")
			eq(t, tool+": has stopped", e.Has("stopped"), tool == "stop")
		}
	}
	for _, old := range []string{`"pid":`, `"processes":`} {
		if strings.Contains(string(s.Stdout()), old) {
			t.Errorf("the field %s of 0.x is back", old)
		}
	}
}

func TestABatchIsAnswered(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	s.Expect("100")
	s.Expect("101")
	before := len(s.Stdout())
	s.SendRaw([]byte(`[{"jsonrpc":"2.0","id":100,"method":"ping"},{"jsonrpc":"2.0","id":101,"method":"ping"}]` + "\n"))
	mcptest.Until(t, prompt, "an answer to the batch", func() bool { return len(s.Stdout()) > before })
	eq(t, "status", s.Execute("echo alive", nil).Status, "completed")
}

func TestIdsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, id := range []string{`"p"`, `"7"`, `0`, `-3`, `123456789012`, `"ü\u0041"`, `""`} {
		want := id
		if id == `"ü\u0041"` {
			want = `"üA"`
		}
		p := s.Expect(want)
		s.SendRaw([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n"))
		select {
		case <-p.Done():
		case <-time.After(prompt):
			t.Errorf("id %s was not answered", id)
		}
	}
}

// hostile are lines that no client should send.
func hostile() map[string]string {
	return map[string]string{
		"words":                 "this is not json\n",
		"an empty line":         "\n",
		"blanks":                "   \t \n",
		"a carriage return":     "\r\n",
		"half an object":        `{"jsonrpc":"2.0","id":1` + "\n",
		"two objects":           `{"jsonrpc":"2.0","method":"notifications/x"}{"jsonrpc":"2.0","method":"notifications/y"}` + "\n",
		"a number":              "42\n",
		"a text":                "\"hello\"\n",
		"null":                  "null\n",
		"an empty object":       "{}\n",
		"an empty list":         "[]\n",
		"no version":            `{"id":"h1","method":"ping"}` + "\n",
		"version 1":             `{"jsonrpc":"1.0","id":"h2","method":"ping"}` + "\n",
		"an id that is a list":  `{"jsonrpc":"2.0","id":[1],"method":"ping"}` + "\n",
		"an id that is an obj.": `{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\n",
		"a null id":             `{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n",
		"a method of type 5":    `{"jsonrpc":"2.0","id":"h3","method":5}` + "\n",
		"an answer to nothing":  `{"jsonrpc":"2.0","id":12345,"result":{}}` + "\n",
		"NUL bytes":             "\x00\x00\x00\n",
		"invalid UTF-8":         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/\xff\xfe\"}\n",
		"a byte order mark":     "\xef\xbb\xbf" + `{"jsonrpc":"2.0","method":"notifications/x"}` + "\n",
		"UTF-16":                "{\x00\"\x00}\x00\n\x00\n",
		"deep nesting":          strings.Repeat("[", 100_000) + "\n",
		"deep arguments":        `{"jsonrpc":"2.0","id":"h4","method":"tools/call","params":{"name":"ps","arguments":{"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}}}` + "\n",
		"a long line":           strings.Repeat("x", 3_000_000) + "\n",
		"http":                  "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}\n",
		"lsp framing":           "Content-Length: 20\r\n\r\n\n",
		"duplicate keys":        `{"jsonrpc":"2.0","id":"h5","id":"h6","method":"ping","method":"ping"}` + "\n",
		"huge exponents":        `{"jsonrpc":"2.0","id":1e999,"method":"ping"}` + "\n",
	}
}

// The lines may be answered with an error, or not at all; the client refuses
// answers that nobody asked for, so it is told what may come.
func TestHostileLinesHarmNothing(t *testing.T) {
	t.Parallel()
	for name, line := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAny(t)
			for _, id := range []string{`"h1"`, `"h2"`, `"h3"`, `"h4"`, `"h5"`, `"h6"`, `[1]`, `{}`, `1e999`} {
				s.Expect(id)
			}
			s.SendRaw([]byte(line))
			eq(t, "status", s.Execute("echo alive", nil).Status, "completed")
			s.MustRequest("ping", nil)
			eq(t, "exit status", s.Close(), 0)
		})
	}
}

func TestOneStreamOfHostileLines(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, id := range []string{`"h1"`, `"h2"`, `"h3"`, `"h4"`, `"h5"`, `"h6"`, `[1]`, `{}`, `1e999`} {
		s.Expect(id)
	}
	for _, line := range hostile() {
		s.SendRaw([]byte(line))
		eq(t, "status", s.Execute("echo alive", nil).Status, "completed")
	}
}

func TestALineInPieces(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	p := s.Expect("500")
	for _, b := range []byte(`{"jsonrpc":"2.0","id":500,"method":"tools/call","params":{"name":"execute","arguments":{"command":"echo ü","side_effects":["NONE"]}}}` + "\n") {
		s.SendRaw([]byte{b})
	}
	contains(t, "result", string(p.Answer().Result), "completed")
}

func TestManyLinesInOnePiece(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	var lines strings.Builder
	var answers []*mcptest.Pending
	for i := 1000; i < 1200; i++ {
		answers = append(answers, s.Expect(fmt.Sprint(i)))
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\r\n", i)
	}
	s.SendRaw([]byte(lines.String()))
	for _, p := range answers {
		if m := p.Answer(); m.Error != nil {
			t.Errorf("request %s: %v", p.ID, m.Error)
		}
	}
}

func TestOutputThatLooksLikeTheProtocolStaysOutput(t *testing.T) {
	t.Parallel()
	s := start(t)
	const line = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	completed(t, s.Execute("cat", args{"stdin": line}), line)
	r := s.Execute("nosuchcommand_xyz; echo err >&2; printf 'no newline'", nil)
	eq(t, "stdout", r.Stdout, "no newline")
}

func TestACancelledWaitEndsAlone(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("sleep 1000", args{"yield_ms": 0})
	w := s.Go("wait", r.On(nil))
	s.Cancel(w)
	s.MustRequest("ping", nil)
	eq(t, "status", s.Call("read", r.On(nil)).Status, "running")
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
}

func TestACancelledExecuteIsNotLost(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	p := s.GoExecute("exec sleep "+m, args{"name": "cancelled"})
	mcptest.WaitMarked(t, prompt, m, 1)
	s.Cancel(p)
	s.MustRequest("ping", nil)
	rows := s.Rows()
	eq(t, "rows", len(rows), 1)
	eq(t, "name", *rows[0].Name, "cancelled")
	eq(t, "status", rows[0].Status, "running")
	mcptest.WaitMarked(t, prompt, m, 1)
	eq(t, "stopped", s.Call("stop", args{"execution_id": rows[0].ExecutionID}).Stopped, true)
	mcptest.WaitUnmarked(t, 2*time.Second, m)
}
