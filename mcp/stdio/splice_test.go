package stdio

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/mcp/jsonstr"
)

// resultOf calls the tool in a session with or without Splice, and returns the
// result as the client sees it, and as it was written.
func resultOf(t *testing.T, splice bool, r *mcp.CallToolResult, request string) (decoded any, written string) {
	t.Helper()
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	transport := New(stdin, stdout, Options{})
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return r, nil })
	if splice {
		server.AddReceivingMiddleware(transport.Splice)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(context.Background(), transport)
		stdout.Close()
	}()
	fmt.Fprint(in, request)
	in.Close()
	var answer struct{ Result any }
	for d := json.NewDecoder(out); d.More(); {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		written = string(raw)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(written), &answer); err != nil {
		t.Fatalf("%v: %s", err, written)
	}
	if n := len(transport.conn.splices.results); n != 0 {
		t.Errorf("%d results are left", n)
	}
	return answer.Result, written
}

func TestSpliceChangesNothing(t *testing.T) {
	long := strings.Repeat("a \"line\"\\ <&> é \u2028\n", 500)
	quoted, err := json.Marshal(map[string]string{"text": long})
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	results := map[string]*mcp.CallToolResult{
		"large":        {Content: []mcp.Content{text(string(quoted))}, StructuredContent: jsonstr.JSON(quoted)},
		"error":        {Content: []mcp.Content{text(string(quoted))}, StructuredContent: jsonstr.JSON(quoted), IsError: true},
		"meta":         {Meta: mcp.Meta{"a": "b"}, Content: []mcp.Content{text(string(quoted))}, StructuredContent: jsonstr.JSON(quoted)},
		"two texts":    {Content: []mcp.Content{text(long), text("<")}, StructuredContent: jsonstr.JSON(quoted)},
		"no text":      {Content: []mcp.Content{}, StructuredContent: jsonstr.JSON(quoted)},
		"lines":        {Content: []mcp.Content{text(long)}, StructuredContent: jsonstr.JSON("{\n\"a\": [\r\n1]\n}")},
		"small":        {Content: []mcp.Content{text("{}")}, StructuredContent: jsonstr.JSON("{}")},
		"unstructured": {Content: []mcp.Content{text(long)}},
		"annotated":    {Content: []mcp.Content{&mcp.TextContent{Text: long, Meta: mcp.Meta{"x": 1}}}, StructuredContent: jsonstr.JSON(quoted)},
		"image":        {Content: []mcp.Content{&mcp.ImageContent{Data: []byte(long), MIMEType: "image/png"}}, StructuredContent: jsonstr.JSON(quoted)},
	}
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool","arguments":{}%s}}` + "\n"
	sessions := map[string]string{
		"2025-11-25": initLine("2025-11-25") + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + fmt.Sprintf(call, ""),
		"2026-07-28": fmt.Sprintf(call, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`),
	}
	for version, request := range sessions {
		for name, r := range results {
			t.Run(version+"/"+name, func(t *testing.T) {
				plain, written := resultOf(t, false, r, request)
				spliced, splicedWritten := resultOf(t, true, r, request)
				if !reflect.DeepEqual(plain, spliced) {
					t.Errorf("\n got %.300s\nwant %.300s", splicedWritten, written)
				}
				if plain == nil {
					t.Errorf("there is no result: %.300s", written)
				}
				if version == "2026-07-28" && plain.(map[string]any)["resultType"] != "complete" {
					t.Errorf("no resultType: %.300s", written)
				}
			})
		}
	}
}

// TestSpliceIsFound makes sure that the test above tests something.
func TestSpliceIsFound(t *testing.T) {
	r := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: strings.Repeat("<", minSplice)}},
		StructuredContent: jsonstr.JSON(`{}`),
	}
	request := initLine("2025-11-25") + callLine("2", "tool", "{}")
	if _, written := resultOf(t, true, r, request); !strings.Contains(written, "<") {
		t.Errorf("the SDK has encoded it: %.200s", written)
	}
	if _, written := resultOf(t, false, r, request); strings.Contains(written, "<") {
		t.Errorf("the SDK's encoding is the same: %.200s", written)
	}
}

func TestSpliceInABatch(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-03-26")
	arg := func(c string) string { return `{"text":"` + strings.Repeat(c, minSplice) + `"}` }
	s.send("[" + callText("1", "echo", arg("a")) + "," + callText("2", "echo", arg("b")) + "]\n")
	line := s.line()
	var answers []struct {
		ID     int
		Result struct {
			StructuredContent struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(line), &answers); err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if want := strings.Repeat(string(rune('a'+a.ID-1)), minSplice); a.Result.StructuredContent.Text != want {
			t.Errorf("answer %d holds %.20s", a.ID, a.Result.StructuredContent.Text)
		}
	}
	if len(answers) != 2 {
		t.Errorf("%d answers", len(answers))
	}
}
