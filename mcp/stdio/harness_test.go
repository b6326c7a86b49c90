package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is how long anything may take before a test gives up.
const bound = 20 * time.Second

// testServer has the tools that the tests need. The tool hold waits until its
// call is cancelled or release is closed, and reports on held that it waits.
type testServer struct {
	*mcp.Server
	held    chan struct{}
	release chan struct{}
}

func newTestServer() *testServer {
	s := &testServer{
		Server:  mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil),
		held:    make(chan struct{}, 2*MaxInFlight),
		release: make(chan struct{}),
	}
	object := json.RawMessage(`{"type":"object"}`)
	text := func(t string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}, nil
	}
	add := func(name string, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: object}, h)
	}
	add("echo", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}},
			StructuredContent: req.Params.Arguments,
		}, nil
	})
	add("hold", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.held <- struct{}{}
		select {
		case <-s.release:
			return text("released")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	add("large", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Size int }
		if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
			return nil, err
		}
		return text(strings.Repeat("x", args.Size))
	})
	add("panic", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("secret\nof the handler")
	})
	return s
}

// A session is a server at work, seen from its client's side.
type session struct {
	t         *testing.T
	server    *testServer
	transport *Transport
	in        *os.File
	lines     chan string // what the server wrote; closed at its end
	ended     chan error  // what Run returned
}

// start runs a server over two pipes until the test ends.
func start(t *testing.T, opts Options, middleware ...mcp.Middleware) *session {
	t.Helper()
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	s := &session{
		t:         t,
		server:    newTestServer(),
		transport: New(stdin, stdout, opts),
		in:        in,
		lines:     make(chan string, 64),
		ended:     make(chan error, 1),
	}
	s.server.AddReceivingMiddleware(append([]mcp.Middleware{s.transport.Splice, Recover(nil, nil)}, middleware...)...)
	go func() {
		s.ended <- s.server.Run(context.Background(), s.transport)
		stdout.Close()
	}()
	go func() {
		defer close(s.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				s.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		for range s.lines {
		}
	})
	return s
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// send writes text as it is.
func (s *session) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		s.t.Fatal(err)
	}
}

// An answer is one line from the server, taken apart.
type answer struct {
	raw    string
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (a answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

func (s *session) line() string {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			s.t.Fatal("the server has ended")
		}
		return line
	case <-time.After(bound):
		s.t.Fatal("no answer")
	}
	return ""
}

func (s *session) recv() answer {
	s.t.Helper()
	return parseAnswer(s.t, s.line())
}

func parseAnswer(t *testing.T, line string) answer {
	t.Helper()
	if err := validAnswer([]byte(line)); err != nil {
		t.Fatalf("the server wrote %q: %v", line, err)
	}
	a := answer{raw: line}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("the server wrote %q: %v", line, err)
	}
	return a
}

// validAnswer checks that a line is a JSON-RPC response or notification.
func validAnswer(line []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	if string(m["jsonrpc"]) != `"2.0"` {
		return fmt.Errorf("jsonrpc is %s", m["jsonrpc"])
	}
	_, result := m["result"]
	_, failure := m["error"]
	_, id := m["id"]
	_, method := m["method"]
	if !method && (!id || result == failure) {
		return fmt.Errorf("neither a response nor a notification")
	}
	return nil
}

// ping checks that the session is alive and has nothing else to say.
func (s *session) ping() {
	s.t.Helper()
	s.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}` + "\n")
	if a := s.recv(); string(a.ID) != `"ping"` || a.Error != nil {
		s.t.Fatalf("in place of the answer to a ping came %s", a.raw)
	}
}

func (s *session) initialize(version string) answer {
	s.t.Helper()
	s.send(initLine(version))
	a := s.recv()
	if string(a.ID) != `"init"` || a.Error != nil {
		s.t.Fatalf("initialize gave %s", a.raw)
	}
	return a
}

func initLine(version string) string {
	return `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
}

func callLine(id, tool, args string) string {
	return callText(id, tool, args) + "\n"
}

func callText(id, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}

// end closes the input, and returns what the server still wrote and what Run
// returned.
func (s *session) end() (answers []answer, err error) {
	s.t.Helper()
	s.in.Close()
	for line := range s.lines {
		answers = append(answers, parseAnswer(s.t, line))
	}
	select {
	case err = <-s.ended:
	case <-time.After(bound):
		s.t.Fatal("Run does not return")
	}
	return answers, err
}

// await waits for a value from a channel.
func await[T any](t *testing.T, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(bound):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}
