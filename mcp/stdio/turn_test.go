package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTaker adds a tool that takes turns and answers with size bytes. It counts
// those that had their turn, and those that were told that nobody waits.
func addTaker(s *testServer, size int) (took, refused *atomic.Int64) {
	took, refused = new(atomic.Int64), new(atomic.Int64)
	s.AddTool(&mcp.Tool{Name: "take", Description: "take", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := TakeTurn(ctx); err != nil {
				refused.Add(1)
				return nil, err
			}
			took.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", size)}}}, nil
		})
	return took, refused
}

// A client that asks for a thousand answers and reads none makes the server
// hold few. When it reads on, it gets them all.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, calls = 10_000, 1000
		r, w := io.Pipe()
		out := newStall()
		tr := New(r, out, Options{MaxQueued: 10 * size, DrainTimeout: time.Hour})
		server := newTestServer()
		server.AddReceivingMiddleware(tr.Splice, tr.Turns)
		took, refused := addTaker(server, size)
		ended := make(chan error, 1)
		go func() { ended <- server.Run(context.Background(), tr) }()
		fed := make(chan struct{})
		go func() {
			defer close(fed)
			for i := range calls {
				write(t, w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"take","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n", i))
			}
		}()
		synctest.Wait() // nothing moves any more
		if n := took.Load(); n < 10 || n > 12+2*maxTurns {
			t.Errorf("%d answers were made for a client that does not read", n)
		}
		close(out.resume)
		<-fed
		w.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), "xxx\""); n != calls || took.Load() != calls || refused.Load() != 0 {
			t.Errorf("%d answers, %d turns, %d refused", n, took.Load(), refused.Load())
		}
	})
}

// A call that waits for its turn is cancelled like any other.
func TestTurnOfACancelledCall(t *testing.T) {
	tr := New(nil, nil, Options{MaxQueued: 1})
	c := tr.conn
	call := func(ctx context.Context) error {
		_, err := tr.Turns(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			return nil, TakeTurn(ctx)
		})(ctx, methodCallTool, nil)
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, queued := range []int{0, 2} {
		c.queued = queued
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%d bytes are queued: got %v", queued, err)
		}
		if len(c.turns) != 0 {
			t.Errorf("%d bytes are queued: the turn was not given back", queued)
		}
	}
	c.shut()
	if err := call(context.Background()); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("got %v from a connection that was closed", err)
	}
}

func TestTurnWithoutATransport(t *testing.T) {
	if err := TakeTurn(t.Context()); err != nil {
		t.Error(err)
	}
}

// A batch cannot wait for room, which there is only when it is complete.
func TestBatchOfLargeAnswers(t *testing.T) {
	s := start(t, Options{MaxQueued: 50_000})
	s.initialize("2025-03-26")
	var calls []string
	for i := range 20 {
		calls = append(calls, callText(fmt.Sprint(i), "large", `{"size":10000}`))
	}
	s.send("[" + strings.Join(calls, ",") + "]\n")
	var answers []answer
	if err := json.Unmarshal([]byte(s.line()), &answers); err != nil {
		t.Fatal(err)
	}
	served := 0
	for _, a := range answers {
		if a.Error == nil {
			served++
		} else if a.code() != codeTooManyRequests {
			t.Errorf("got %+v", a.Error)
		}
	}
	if len(answers) != 20 || served != 4 {
		t.Errorf("%d of %d were served", served, len(answers))
	}
	s.ping()
}

// A client that has hung up and does not read is not waited for, even if it
// has sent more than the server takes in; one that reads gets everything.
func TestHangUpBehindAFullInbox(t *testing.T) {
	for _, reads := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			out := newStall()
			hungUp := make(chan struct{})
			drain := time.Millisecond
			if reads {
				drain = time.Hour
			}
			tr := New(r, out, Options{
				MaxQueued: 1 << 10, DrainTimeout: drain, FinalTimeout: time.Nanosecond,
				HangUp:    func() error { <-hungUp; return nil },
				OnDrained: func() {},
			})
			ended := make(chan error, 1)
			go func() { ended <- newTestServer().Run(context.Background(), tr) }()
			const lines = 5000
			go func() {
				for range lines {
					if _, err := io.WriteString(w, "garbage\n"); err != nil {
						return
					}
				}
				w.Close()
			}()
			synctest.Wait()
			close(hungUp)
			if reads {
				close(out.resume)
			}
			begun := time.Now()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if n := strings.Count(out.String(), "\n"); reads && n != lines {
				t.Errorf("a client that reads got %d answers of %d", n, lines)
			}
			if took := time.Since(begun); !reads && (took < stallTimeout || took > 2*stallTimeout) {
				t.Errorf("ended after %v", took)
			}
			r.Close()
			if !reads {
				close(out.resume)
			}
		})
	}
}
