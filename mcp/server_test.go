package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect runs a session with a server on the bench.
func (b *bench) connect() *sdk.ClientSession { return b.connectWith(nil, "") }

// connectWith asks for a protocol version, the newest if it is empty.
func (b *bench) connectWith(o *sdk.ClientOptions, version string) *sdk.ClientSession {
	b.t.Helper()
	toServer, toClient := sdk.NewInMemoryTransports()
	server, err := NewServer(b.config).Connect(b.t.Context(), toServer, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, o).Connect(b.t.Context(), toClient, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		client.Close()
		server.Wait()
		b.close()
	})
	return client
}

func TestToolsGolden(t *testing.T) {
	client := newBench(t).connect()
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		var pretty bytes.Buffer
		e := json.NewEncoder(&pretty)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(tool); err != nil {
			t.Fatal(err)
		}
		golden(t, tool.Name+".json", pretty.Bytes())
	}
	if want := []string{"cleanup", "execute", "ps", "read", "search", "stop", "wait", "write"}; !slices.Equal(names, want) {
		t.Errorf("tools are %v", names)
	}
}

// TestSearchIsOfferedWhereItIsWanted: a client that was set up for the seven
// tools of the specification finds those and nothing else.
func TestSearchIsOfferedWhereItIsWanted(t *testing.T) {
	b := newBench(t)
	b.config.Search = false
	client := b.connect()
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 7 || slices.ContainsFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == "search" }) {
		t.Errorf("%d tools", len(list.Tools))
	}
	if strings.Contains(client.InitializeResult().Instructions, "search it") {
		t.Error("the instructions speak of search")
	}
}

func TestServerIntroducesItself(t *testing.T) {
	client := newBench(t).connect()
	init := client.InitializeResult()
	if init.ServerInfo.Name != "yieldshell" || init.ServerInfo.Title != "YieldShell MCP" || init.ServerInfo.Version != "test" {
		t.Errorf("server info is %+v", init.ServerInfo)
	}
	for _, word := range []string{"execute", "wait", "read", "stop", "side_effects", "detached", "since_seq", "close_stdin", "until_output", "search", "tail"} {
		if !strings.Contains(init.Instructions, word) {
			t.Errorf("the instructions do not speak of %s", word)
		}
	}
	if c := string(must(json.Marshal(init.Capabilities))); c != `{"logging":{},"resources":{"subscribe":true},"tools":{}}` {
		t.Errorf("capabilities are %s", c)
	}
}

func TestReadyIsCalledOnceAClientIsThere(t *testing.T) {
	b := newBench(t)
	b.config.Ready = b.backend.Warm
	client := b.connect()
	for range 2 {
		if _, err := client.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.backend.Warmed(); n != 1 {
		t.Errorf("Ready was called %d times", n)
	}
}

func TestCallOverTheProtocol(t *testing.T) {
	b := newBench(t, prints("<&>\n", 3))
	client := b.connect()
	r, err := client.CallTool(t.Context(), &sdk.CallToolParams{
		Name: "execute", Arguments: map[string]any{"command": "x", "side_effects": []string{"NONE"}},
	})
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	if text := r.Content[0].(*sdk.TextContent).Text; !strings.Contains(text, `"stdout":"<&>\n"`) {
		t.Errorf("text is %s", text)
	}
	if s := r.StructuredContent.(map[string]any); s["exit_code"] != 3.0 || s["stdout"] != "<&>\n" {
		t.Errorf("structured content is %v", s)
	}
	r, err = client.CallTool(t.Context(), &sdk.CallToolParams{Name: "ps"}) // no arguments at all
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestInputSchemasAreForEveryClient pins down what model providers and clients
// accept: one type a value, lists with items, and few keywords.
func TestInputSchemasAreForEveryClient(t *testing.T) {
	good := []string{"type", "properties", "required", "items", "enum", "minimum", "minItems", "additionalProperties", "description"}
	var walk func(where string, node any)
	walk = func(where string, node any) {
		m := node.(map[string]any)
		for k := range m {
			if !slices.Contains(good, k) {
				t.Errorf("%s uses %s", where, k)
			}
		}
		kind, ok := m["type"].(string)
		if !ok {
			t.Errorf("%s: type is %v", where, m["type"])
		}
		if items, ok := m["items"]; ok {
			walk(where+"[]", items)
		} else if kind == "array" {
			t.Errorf("%s has no items", where)
		}
		if more, ok := m["additionalProperties"]; ok {
			walk(where+".*", more)
		}
		properties, _ := m["properties"].(map[string]any)
		for name, p := range properties {
			if !regexp.MustCompile(`^[a-z_]{1,64}$`).MatchString(name) {
				t.Errorf("name %s", name)
			}
			if p.(map[string]any)["description"] == nil {
				t.Errorf("%s.%s has no description", where, name)
			}
			walk(where+"."+name, p)
		}
	}
	for name, c := range newBench(t).config.callers() {
		var node any
		if err := json.Unmarshal(inputSchema(c.params), &node); err != nil {
			t.Fatal(err)
		}
		walk(name, node)
	}
}

func TestDescriptionsStateTheConfiguredDefaults(t *testing.T) {
	b := newBench(t)
	b.config.MaxYield = 5000e6
	schema := string(inputSchema(b.config.callers()["execute"].params))
	for _, part := range []string{"Default: 5000. Upper limit: 5000.", "Default: 3600000. 0: unlimited", "Default and upper limit: 100."} {
		if !strings.Contains(schema, part) {
			t.Errorf("%q is missing in %s", part, schema)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(mustEncode(millis(1234567890))), "1234.6"},
		{string(mustEncode(millis(0))), "0"},
		{string(mustEncode(millis(40_000))), "0"},
		{string(mustEncode(millis(55e9))), "55000"},
		{string(mustEncode(millis(3600e9 * 24 * 365))), "31536000000"},
		{string(mustEncode(handle{})), "null"},
		{string(mustEncode(handle{"<", true})), `"<"`},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestEveryToolTellsOfIgnoredArguments(t *testing.T) {
	b := newBench(t)
	defer b.close()
	for _, tool := range []string{"execute", "read", "write", "wait", "stop", "ps", "cleanup", "search"} {
		r := b.call(tool, `{"bogus_argument": 1, "execution_id": "nope", "input": "x"}`)
		if w := fmt.Sprint(r["warnings"]); !strings.Contains(w, "bogus_argument") {
			t.Errorf("%s: warnings are %s", tool, w)
		}
	}
}

func TestCancelledCallOverTheProtocol(t *testing.T) {
	b := newBench(t)
	client := b.connect()
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	inner := b.backend.Begin
	b.backend.Begin = func(p *processOf) error {
		defer close(begun)
		return inner(p)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := client.CallTool(ctx, &sdk.CallToolParams{
			Name: "execute", Arguments: map[string]any{"command": "x", "side_effects": "NONE"},
		})
		answered <- err
	}()
	<-begun
	cancel()
	if err := <-answered; err == nil {
		t.Error("the cancelled call was answered")
	}
	// The backend's start has begun, and ps shows what is entered after it.
	r := b.call("ps", `{}`)
	for deadline := time.Now().Add(time.Minute); len(r.rows()) == 0 && time.Now().Before(deadline); r = b.call("ps", `{}`) {
		runtime.Gosched()
	}
	if len(r.rows()) != 1 || r.rows()[0].(map[string]any)["status"] != "running" {
		t.Errorf("ps shows %v", r)
	}
}
