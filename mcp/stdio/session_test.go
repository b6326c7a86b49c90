package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestDuplicateID(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-11-25")
	s.send(callLine("1", "hold", `{}`))
	await(t, s.server.held, "the first call")
	s.send(callLine("1", "echo", `{}`))
	if a := s.recv(); a.code() != -32600 || string(a.ID) != "null" || !strings.Contains(a.Error.Message, "id 1 is in use") {
		t.Errorf("the second request with id 1 gave %s", a.raw)
	}
	s.ping()
	close(s.server.release)
	if a := s.recv(); string(a.ID) != "1" || a.Error != nil {
		t.Errorf("the first request gave %s", a.raw)
	}
	for range 200 { // an id is free again as soon as its answer is out
		s.send(callLine("1", "echo", `{}`))
		if a := s.recv(); string(a.ID) != "1" || a.Error != nil {
			t.Fatalf("a later request gave %s", a.raw)
		}
	}
}

func TestCancelledCallIsAnswered(t *testing.T) {
	for _, id := range []string{`1`, `"x"`, `18446744073709551615`, `"\u0000#1"`} {
		t.Run(id, func(t *testing.T) {
			s := start(t, Options{DrainTimeout: time.Hour})
			s.initialize("2025-11-25")
			s.send(callLine(id, "hold", `{}`))
			await(t, s.server.held, "the call")
			s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"r"}}` + "\n")
			if a := s.recv(); string(a.ID) != id {
				t.Errorf("the cancelled call gave %s", a.raw)
			}
			if _, err := s.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The SDK would round the fraction and cancel request 1.
func TestFractionCancelsNothing(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-11-25")
	s.send(callLine("1", "hold", `{}`))
	await(t, s.server.held, "the call")
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}` + "\n")
	s.ping()
	s.ping()
	close(s.server.release)
	if a := s.recv(); string(a.ID) != "1" || !strings.Contains(a.raw, "released") {
		t.Errorf("the call gave %s", a.raw)
	}
}

func TestTooManyRequests(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-11-25")
	for i := range MaxInFlight {
		s.send(callLine(fmt.Sprint(i), "hold", `{}`))
		await(t, s.server.held, "a call")
	}
	if n := s.transport.InFlight(); n != MaxInFlight {
		t.Errorf("%d in flight, want %d", n, MaxInFlight)
	}
	s.send(callLine(`"extra"`, "echo", `{}`))
	if a := s.recv(); a.code() != -32000 || string(a.ID) != `"extra"` {
		t.Errorf("one request too many gave %s", a.raw)
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n")
	if a := s.recv(); string(a.ID) != `7` {
		t.Errorf("the cancelled call gave %s", a.raw)
	}
	close(s.server.release)
	for range MaxInFlight - 1 {
		if a := s.recv(); a.Error != nil {
			t.Fatal(a.raw)
		}
	}
	s.ping()
}

func TestBatch(t *testing.T) {
	const (
		ping1 = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		ping2 = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		note  = `{"jsonrpc":"2.0","method":"notifications/whatever"}`
		reply = `{"jsonrpc":"2.0","id":9,"result":{}}`
	)
	s := start(t, Options{})
	s.initialize("2025-03-26")
	for _, test := range []struct {
		name, line string
		want       []string // "id:code" of each answer, sorted
	}{
		{"two requests", "[" + ping1 + "," + ping2 + "]", []string{"1:0", "2:0"}},
		{"one request", "[" + ping1 + "]", []string{"1:0"}},
		{"white space", " [ " + ping1 + " , " + ping2 + " ] \r", []string{"1:0", "2:0"}},
		{"mixed", "[" + note + "," + ping1 + "," + reply + "]", []string{"1:0"}},
		{"notifications", "[" + note + "," + note + "]", nil},
		{"responses", "[" + reply + "]", nil},
		{"invalid elements", "[1,null,[],{}," + ping1 + "]", []string{"1:0", "null:-32600", "null:-32600", "null:-32600", "null:-32600"}},
		{"only invalid", `[1,{"jsonrpc":"2.0","id":5}]`, []string{"5:-32600", "null:-32600"}},
		{"a repeated id", "[" + ping1 + "," + ping1 + "]", []string{"1:0", "null:-32600"}},
		{"a call and a tool", "[" + ping1 + "," + callText("3", "echo", `{}`) + "]", []string{"1:0", "3:0"}},
		{"a panic", "[" + callText("3", "panic", `{}`) + "," + ping1 + "]", []string{"1:0", "3:-32603"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.t = t
			s.send(test.line + "\n")
			if test.want != nil {
				var answers []json.RawMessage
				line := s.line()
				if err := json.Unmarshal([]byte(line), &answers); err != nil {
					t.Fatalf("the batch gave %s", line)
				}
				var got []string
				for _, raw := range answers {
					a := parseAnswer(t, string(raw))
					got = append(got, fmt.Sprintf("%s:%d", a.ID, a.code()))
				}
				slices.Sort(got)
				if !slices.Equal(got, test.want) {
					t.Errorf("got %v, want %v", got, test.want)
				}
			}
			s.ping()
		})
	}
}

// TestRequestsThatTheSDKCannotRead: its errors have no code of their own, and
// the session goes on.
func TestRequestsThatTheSDKCannotRead(t *testing.T) {
	s := start(t, Options{})
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, // too early
	} {
		s.send(line + "\n")
		if a := s.recv(); a.Error == nil || a.code() != -32600 || a.Error.Message == "" {
			t.Errorf("%s gave %s", line, a.raw)
		}
	}
	s.initialize("2025-11-25")
	s.ping()
}

func TestBatchWaitsForItsLast(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-03-26")
	s.send("[" + callText("1", "hold", `{}`) + "," + callText("2", "echo", `{}`) + "]\n")
	await(t, s.server.held, "the call")
	s.ping()
	s.send(callLine("1", "echo", `{}`))
	if a := s.recv(); a.code() != -32600 {
		t.Errorf("an id in use by the batch gave %s", a.raw)
	}
	close(s.server.release)
	if line := s.line(); !strings.HasPrefix(line, "[") || !strings.Contains(line, "released") {
		t.Errorf("the batch gave %s", line)
	}
	if _, err := s.end(); err != nil {
		t.Error(err)
	}
	if n := s.transport.InFlight(); n != 0 {
		t.Errorf("%d in flight at the end", n)
	}
}

func TestBatchTooLarge(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-03-26")
	s.send("[1" + strings.Repeat(",1", MaxInFlight) + "]\n")
	if a := s.recv(); a.code() != -32600 || !strings.Contains(a.raw, fmt.Sprint(MaxInFlight+1)) {
		t.Errorf("got %s", a.raw)
	}
	s.ping()
}

func TestBatchByVersion(t *testing.T) {
	meta := `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, test := range []struct {
		version, params string
		taken           bool
	}{
		{"", `"params":{}`, true},
		{"2024-11-05", `"params":{}`, true},
		{"2025-03-26", `"params":{}`, true},
		{"2025-06-18", `"params":{}`, false},
		{"2025-11-25", `"params":{}`, false},
		{"2099-01-01", `"params":{}`, false},
		{"", meta, false},
	} {
		t.Run(test.version, func(t *testing.T) {
			s := start(t, Options{})
			if test.version != "" {
				s.initialize(test.version)
			}
			s.send(`[{"jsonrpc":"2.0","id":1,"method":"ping",` + test.params + `},{"jsonrpc":"2.0","id":2,"method":"ping"}]` + "\n")
			line := s.line()
			if taken := strings.HasPrefix(line, "["); taken != test.taken {
				t.Errorf("got %s", line)
			}
			if !test.taken {
				if a := parseAnswer(t, line); a.code() != -32600 || string(a.ID) != "null" {
					t.Errorf("got %s", a.raw)
				}
			}
			s.ping()
		})
	}
}

func TestVersions(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05",
		"2025-03-26": "2025-03-26",
		"2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25",
		"2099-01-01": "2025-11-25",
		"":           "2025-11-25",
	} {
		t.Run(asked, func(t *testing.T) {
			s := start(t, Options{})
			a := s.initialize(asked)
			if got, _ := negotiatedVersion(a.Result); got != want {
				t.Errorf("negotiated %q, want %q", got, want)
			}
			s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
			if a := s.recv(); a.Error != nil || !strings.Contains(a.raw, `"hold"`) {
				t.Errorf("tools/list gave %s", a.raw)
			}
		})
	}
}

func TestStatelessVersion(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"}}`
	s := start(t, Options{})
	s.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + "}}\n")
	if a := s.recv(); a.Error != nil || !strings.Contains(a.raw, `"2026-07-28"`) {
		t.Errorf("server/discover gave %s", a.raw)
	}
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},` + meta + "}}\n")
	if a := s.recv(); a.Error != nil || !strings.Contains(a.raw, `"resultType":"complete"`) {
		t.Errorf("tools/call gave %s", a.raw)
	}
}

// A subscription has no answer until the session ends, so the end must not
// wait for one.
func TestSubscriptionDoesNotHoldTheEnd(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	s := start(t, Options{DrainTimeout: time.Hour})
	s.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + "}}\n")
	if line := s.line(); !strings.Contains(line, "acknowledged") {
		t.Fatalf("got %s", line)
	}
	if n := s.transport.InFlight(); n != 1 {
		t.Errorf("%d in flight, want the subscription", n)
	}
	if _, err := s.end(); err != nil {
		t.Error(err)
	}
}

func TestSDKClient(t *testing.T) {
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	server := newTestServer()
	ended := make(chan error, 1)
	go func() { ended <- server.Run(context.Background(), New(stdin, stdout, Options{})) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	cs, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"n": i}})
			if err != nil {
				t.Error(err)
				return
			}
			if text := res.Content[0].(*mcp.TextContent).Text; text != fmt.Sprintf(`{"n":%d}`, i) {
				t.Errorf("call %d gave %s", i, text)
			}
		})
	}
	wg.Wait()
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	if err := await(t, ended, "Run"); err != nil {
		t.Error(err)
	}
}

// What printf '...' | server shows: everything that was read is answered.
func TestEndOfInput(t *testing.T) {
	script := initLine("2025-11-25") +
		callLine("2", "echo", `{"a":1}`) +
		`{"jsonrpc":"2.0","id":3,"method":"tools/list"}` + "\n" +
		"garbage\n" +
		callLine("4", "large", `{"size":100000}`) +
		`{"jsonrpc":"2.0","id":5,"method":"ping"}` // no newline
	for i := range 100 {
		var out bytes.Buffer
		server := newTestServer()
		err := server.Run(context.Background(), New(strings.NewReader(script), &out, Options{DrainTimeout: time.Hour}))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for line := range strings.Lines(out.String()) {
			ids = append(ids, string(parseAnswer(t, line).ID))
		}
		slices.Sort(ids)
		if want := []string{`"init"`, "2", "3", "4", "5", "null"}; !slices.Equal(ids, want) {
			t.Fatalf("run %d answered %v, want %v", i, ids, want)
		}
	}
}

func TestEndOfInputAtOnce(t *testing.T) {
	s := start(t, Options{DrainTimeout: time.Hour})
	if answers, err := s.end(); len(answers) != 0 || err != nil {
		t.Errorf("got %v, %v", answers, err)
	}
}

func TestPendingCallsAnswerEarly(t *testing.T) {
	var s *session
	ready := make(chan struct{})
	s = start(t, Options{
		DrainTimeout: time.Millisecond,
		FinalTimeout: time.Hour,
		OnDrained:    func() { <-ready; close(s.server.release) },
	})
	s.initialize("2025-11-25")
	s.send(callLine("1", "hold", `{}`))
	await(t, s.server.held, "the call")
	close(ready)
	answers, err := s.end()
	if err != nil || len(answers) != 1 || !strings.Contains(answers[0].raw, "released") {
		t.Errorf("got %v, %v", answers, err)
	}
}

func TestCallThatDoesNotEndIsCancelled(t *testing.T) {
	s := start(t, Options{DrainTimeout: time.Millisecond, FinalTimeout: time.Millisecond})
	s.initialize("2025-11-25")
	s.send(callLine("1", "hold", `{}`))
	await(t, s.server.held, "the call")
	if answers, err := s.end(); len(answers) != 0 || err != nil {
		t.Errorf("got %v, %v", answers, err)
	}
}

func TestEndInput(t *testing.T) {
	s := start(t, Options{DrainTimeout: time.Hour})
	s.initialize("2025-11-25")
	s.send(callLine("1", "hold", `{}`))
	await(t, s.server.held, "the call")
	s.transport.EndInput()
	s.transport.EndInput()
	close(s.server.release)
	if a := s.recv(); string(a.ID) != "1" || a.Error != nil {
		t.Errorf("the call gave %s", a.raw)
	}
	if err := await(t, s.ended, "Run"); err != nil {
		t.Error(err)
	}
}

func TestBrokenOutput(t *testing.T) {
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	broken := make(chan error, 2)
	server := newTestServer()
	ended := make(chan error, 1)
	tr := New(stdin, stdout, Options{OnBroken: func(err error) { broken <- err }})
	go func() { ended <- server.Run(context.Background(), tr) }()
	if _, err := io.WriteString(in, initLine("2025-11-25")+callLine("1", "hold", `{}`)); err != nil {
		t.Fatal(err)
	}
	await(t, server.held, "the call")
	out.Close()
	if _, err := io.WriteString(in, "garbage\n"+callLine("2", "echo", `{}`)); err != nil {
		t.Fatal(err)
	}
	err := await(t, broken, "OnBroken")
	if runErr := await(t, ended, "Run"); !errors.Is(runErr, errors.Unwrap(err)) {
		t.Errorf("Run returned %v, OnBroken got %v", runErr, err)
	}
	if len(broken) != 0 {
		t.Error("OnBroken was called twice")
	}
	in.Close()
}

// A stall is a client that does not read.
type stall struct {
	blocked chan struct{} // receives at each write
	resume  chan struct{} // closed to let writes through
	bytes.Buffer
}

func newStall() *stall {
	return &stall{blocked: make(chan struct{}, 1<<16), resume: make(chan struct{})}
}

func (s *stall) Write(p []byte) (int, error) {
	s.blocked <- struct{}{}
	<-s.resume
	return s.Buffer.Write(p)
}

// startStalled runs a server whose client does not read.
func startStalled(t *testing.T, opts Options) (in io.WriteCloser, out *stall, server *testServer, ended chan error) {
	t.Helper()
	stdin, stdinW := pipe(t)
	out, server, ended = newStall(), newTestServer(), make(chan error, 1)
	go func() { ended <- server.Run(context.Background(), New(stdin, out, opts)) }()
	t.Cleanup(func() {
		stdinW.Close()
		select {
		case <-out.resume:
		default:
			close(out.resume)
		}
	})
	return stdinW, out, server, ended
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func TestStalledClientCanCancel(t *testing.T) {
	in, out, server, ended := startStalled(t, Options{DrainTimeout: time.Millisecond, FinalTimeout: time.Millisecond})
	cancelled := make(chan struct{})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method == "tools/call" && ctx.Err() != nil {
				close(cancelled)
			}
			return res, err
		}
	})
	write(t, in, `{"jsonrpc":"2.0","id":0,"method":"ping"}`+"\n")
	await(t, out.blocked, "a blocked write")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	write(t, in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold",`+meta+"}}\n")
	await(t, server.held, "the call")
	write(t, in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
	await(t, cancelled, "the cancellation")
	in.Close()
	await(t, ended, "Run, behind a blocked write")
}

func TestStalledClientCostsBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maxQueued = 64 << 10
		r, w := io.Pipe()
		out := newStall()
		tr := New(r, out, Options{MaxQueued: maxQueued})
		ended := make(chan error, 1)
		go func() { ended <- newTestServer().Run(context.Background(), tr) }()
		fed := make(chan int, 1)
		go func() {
			total := 0
			for {
				n, err := io.WriteString(w, strings.Repeat("garbage\n", 1<<10))
				total += n
				if err != nil {
					fed <- total
					return
				}
			}
		}()
		synctest.Wait() // the inbox fills up behind the queue, and nothing moves
		tr.conn.mu.Lock()
		queued, inboxed := tr.conn.queued, tr.conn.inboxed
		tr.conn.mu.Unlock()
		if queued <= maxQueued || queued > maxQueued+4<<10 {
			t.Errorf("%d bytes are queued", queued)
		}
		if inboxed <= maxInbox || inboxed > maxInbox+4<<10 {
			t.Errorf("the inbox has %d bytes", inboxed)
		}
		tr.EndInput()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		r.Close()
		if total := <-fed; total > 1<<20 {
			t.Errorf("%d bytes were read from a client that does not read", total)
		}
		close(out.resume)
	})
}

// While Read is paused, the end of the input is seen, though requests that
// were not taken are before it.
func TestEndOfInputBehindAFullQueue(t *testing.T) {
	in, out, _, ended := startStalled(t, Options{
		MaxQueued: 1 << 10, DrainTimeout: time.Millisecond, FinalTimeout: time.Millisecond,
	})
	write(t, in, strings.Repeat("garbage\n", 200))
	await(t, out.blocked, "a blocked write")
	in.Close()
	await(t, ended, "Run")
}

// A client that was slow and reads again gets every answer.
func TestSlowClientGetsEverything(t *testing.T) {
	in, out, _, ended := startStalled(t, Options{MaxQueued: 1 << 10, DrainTimeout: time.Hour})
	const n = 500
	for range n {
		write(t, in, "garbage\n")
	}
	await(t, out.blocked, "a blocked write")
	close(out.resume)
	in.Close()
	if err := await(t, ended, "Run"); err != nil {
		t.Error(err)
	}
	if got := strings.Count(out.String(), "\n"); got != n {
		t.Errorf("%d answers, want %d", got, n)
	}
}

// Read goes on when the queue has drained, without anything new coming in.
func TestReadResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		out := newStall()
		c := mustConnect(t, New(r, out, Options{MaxQueued: 1}))
		go io.WriteString(w, "garbage\n"+`{"jsonrpc":"2.0","method":"note"}`+"\n")
		read := make(chan error, 1)
		go func() { _, err := c.Read(context.Background()); read <- err }()
		synctest.Wait()
		if len(read) != 0 {
			t.Error("Read took a message while too much was queued")
		}
		close(out.resume)
		synctest.Wait()
		if len(read) != 1 {
			t.Error("Read did not go on")
		}
		c.Close()
		w.Close()
	})
}

func TestConcurrentCalls(t *testing.T) {
	s := start(t, Options{})
	s.initialize("2025-11-25")
	const n = 500
	go func() {
		for i := range n {
			tool, args := "echo", `{}`
			if i%5 == 0 {
				tool, args = "large", `{"size":70000}`
			}
			io.WriteString(s.in, callLine(fmt.Sprint(i), tool, args))
			if i%7 == 0 {
				io.WriteString(s.in, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)+"\nx\n")
			}
		}
	}()
	seen := map[string]bool{}
	garbage := 0
	for len(seen) < n || garbage < (n+6)/7 {
		a := s.recv()
		if string(a.ID) == "null" {
			garbage++
		} else if seen[string(a.ID)] {
			t.Fatalf("id %s is answered twice", a.ID)
		} else {
			seen[string(a.ID)] = true
		}
	}
	s.ping()
	if n := s.transport.InFlight(); n > 1 { // the ping's answer is out before the books are
		t.Errorf("%d in flight", n)
	}
}
