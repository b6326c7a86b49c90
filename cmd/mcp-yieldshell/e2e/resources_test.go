package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// content is the one content of a resource.
type content struct {
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType"`
	Text     string         `json:"text"`
	Meta     map[string]any `json:"_meta"`
}

func readResource(t *testing.T, s *mcptest.Server, uri string) content {
	t.Helper()
	var r struct{ Contents []content }
	if err := json.Unmarshal(s.MustRequest("resources/read", args{"uri": uri}), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Contents) != 1 || r.Contents[0].URI != uri {
		t.Fatalf("contents of %s: %+v", uri, r.Contents)
	}
	return r.Contents[0]
}

// updates counts the notices of changes to a resource so far, once there are
// at least as many as wanted.
func updates(t *testing.T, s *mcptest.Server, uri string, wanted int) int {
	t.Helper()
	n := 0
	count := func(m mcptest.Message) bool {
		var p struct{ URI string }
		if m.Method == "notifications/resources/updated" && json.Unmarshal(m.Params, &p) == nil && p.URI == uri {
			n++
		}
		return n >= wanted
	}
	if _, ok := s.WaitMessage(count, prompt); !ok && wanted > 0 {
		t.Fatalf("%d notices of %s, want %d", n, uri, wanted)
	}
	n = 0
	s.WaitMessage(func(m mcptest.Message) bool { count(m); return false }, 0)
	return n
}

func TestExecutionsAreResources(t *testing.T) {
	t.Parallel()
	s := start(t)
	var list struct {
		ResourceTemplates []struct{ URITemplate, MIMEType string }
	}
	if err := json.Unmarshal(s.MustRequest("resources/templates/list", args{}), &list); err != nil {
		t.Fatal(err)
	}
	var templates []string
	for _, template := range list.ResourceTemplates {
		templates = append(templates, template.URITemplate+" "+template.MIMEType)
	}
	eq(t, "templates", strings.Join(templates, ", "),
		"yieldshell://executions/{id} application/json, yieldshell://executions/{id}/stderr text/plain, yieldshell://executions/{id}/stdout text/plain")

	r := s.Execute("seq 1 10000; echo oh >&2; exit 3", args{"name": "count"})
	uri := "yieldshell://executions/" + r.ExecutionID
	status := readResource(t, s, uri)
	eq(t, "type", status.MIMEType, "application/json")
	var row mcptest.Row
	if err := json.Unmarshal([]byte(status.Text), &row); err != nil {
		t.Fatal(err)
	}
	eq(t, "status", row.Status, "completed")
	eq(t, "exit_code", row.Exit(), "3")
	eq(t, "execution_id", row.ExecutionID, r.ExecutionID)
	eq(t, "latest_seq", row.LatestSeq, r.LatestSeq)
	stdout := readResource(t, s, uri+"/stdout")
	all := numbers(10000)
	eq(t, "type", stdout.MIMEType, "text/plain")
	eq(t, "stdout", stdout.Text, all[len(all)-20000:])
	eq(t, "complete", stdout.Meta["yieldshell/complete"], any(false))
	stderr := readResource(t, s, uri+"/stderr")
	eq(t, "stderr", stderr.Text, "oh\n")
	eq(t, "complete", stderr.Meta["yieldshell/complete"], any(true))
	eq(t, "the poll is where it was", s.Call("read", r.On(args{"max_output_bytes": 5})).StartSeq, r.NextSeq)

	for _, bad := range []string{"yieldshell://executions/nope", uri + "/stdin", uri + "/", "yieldshell://executions/", "file:///etc/passwd"} {
		for _, method := range []string{"resources/read", "resources/subscribe"} {
			_, err := s.Request(method, args{"uri": bad})
			if err == nil || err.Code != -32602 && err.Code != -32002 {
				t.Errorf("%s %s: %v", method, bad, err)
			}
		}
	}
}

func TestSubscribersHearOfTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("while [ ! -e go ]; do sleep 0.02; done", args{"yield_ms": 0})
	other := s.Execute("exec sleep 1000", args{"yield_ms": 0})
	uri, otherURI := "yieldshell://executions/"+r.ExecutionID, "yieldshell://executions/"+other.ExecutionID
	for _, u := range []string{uri, uri, otherURI} { // twice is once
		s.MustRequest("resources/subscribe", args{"uri": u})
	}
	s.Call("ps", nil)
	eq(t, "notices while nothing happens", updates(t, s, uri, 0), 0)
	release(t, s, "go")
	updates(t, s, uri, 1)
	eq(t, "status at the notice", s.Row(r.ExecutionID).Status, "completed")
	s.Call("ps", nil)
	eq(t, "notices", updates(t, s, uri, 0), 1)
	eq(t, "notices of another", updates(t, s, otherURI, 0), 0)

	// Who comes too late is told so.
	s.MustRequest("resources/unsubscribe", args{"uri": uri})
	s.MustRequest("resources/subscribe", args{"uri": uri})
	updates(t, s, uri, 2)

	s.MustRequest("resources/unsubscribe", args{"uri": otherURI})
	s.Call("stop", other.On(nil))
	s.Call("ps", nil)
	eq(t, "notices to nobody", updates(t, s, otherURI, 0), 0)
}

func TestSubscribersHearOfOutputNowAndThen(t *testing.T) {
	t.Parallel()
	s := start(t)
	begun := time.Now()
	r := s.Execute("while [ ! -e go ]; do sleep 0.02; done; while [ ! -e end ]; do echo x; sleep 0.01; done", args{"yield_ms": 0})
	uri := "yieldshell://executions/" + r.ExecutionID
	for _, u := range []string{uri, uri + "/stdout", uri + "/stderr"} {
		s.MustRequest("resources/subscribe", args{"uri": u})
	}
	release(t, s, "go")
	updates(t, s, uri+"/stdout", 1) // the first comes at once
	eq(t, "there is output", readResource(t, s, uri+"/stdout").Text != "", true)
	updates(t, s, uri+"/stdout", 3)
	release(t, s, "end")
	s.Call("wait", r.On(nil))
	updates(t, s, uri+"/stderr", 1) // the end is for everybody
	most := int(time.Since(begun)/time.Second) + 3
	for _, u := range []string{uri, uri + "/stdout"} {
		if n := updates(t, s, u, 3); n > most {
			t.Errorf("%d notices of %s, more than %d", n, u, most)
		}
	}
	eq(t, "notices of a stream that is silent", updates(t, s, uri+"/stderr", 1), 1)
}

// In protocol versions without a handshake one request holds all subscriptions.
func TestSubscriptionsOfTheStatelessProtocol(t *testing.T) {
	t.Parallel()
	needPOSIX(t)
	s := mcptest.Start(t, mcptest.Options{Command: program, Uninitialized: true})
	with := func(params args) args {
		params["_meta"] = args{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": args{},
			"io.modelcontextprotocol/clientInfo":         args{"name": "mcptest", "version": "1"},
		}
		return params
	}
	execute := func(command string) (r mcptest.Fields) {
		t.Helper()
		var result struct{ StructuredContent json.RawMessage }
		raw := s.MustRequest("tools/call", with(args{"name": "execute", "arguments": args{
			"command": command, "side_effects": []string{"NONE"}, "yield_ms": 0,
		}}))
		if err := json.Unmarshal(raw, &result); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(result.StructuredContent, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := execute("while [ ! -e go ]; do sleep 0.02; done")
	uri := "yieldshell://executions/" + r.ExecutionID
	line, err := json.Marshal(args{"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen",
		"params": with(args{"notifications": args{"resourceSubscriptions": []string{uri}}})})
	if err != nil {
		t.Fatal(err)
	}
	s.Expect(`"listen"`)
	s.SendRaw(append(line, '\n'))
	if _, ok := s.WaitMessage(func(m mcptest.Message) bool {
		return m.Method == "notifications/subscriptions/acknowledged"
	}, prompt); !ok {
		t.Fatal("the subscription is not acknowledged")
	}
	eq(t, "notices while nothing happens", updates(t, s, uri, 0), 0)
	release(t, s, "go")
	updates(t, s, uri, 1)
}
