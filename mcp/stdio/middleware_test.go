package stdio

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRecover(t *testing.T) {
	var lines, traces []string
	s := start(t, Options{}, Recover(
		func(line string) { lines = append(lines, line) },
		func(trace string) { traces = append(traces, trace) },
	))
	s.initialize("2025-11-25")
	s.send(callLine("1", "panic", `{}`))
	a := s.recv()
	if a.code() != -32603 || a.Error.Message != "internal error" || strings.Contains(a.raw, "secret") {
		t.Errorf("the client got %s", a.raw)
	}
	s.ping()
	if len(lines) != 1 || lines[0] != "panic while handling tools/call: secret of the handler" {
		t.Errorf("logged %q", lines)
	}
	if len(traces) != 1 || !strings.Contains(traces[0], "newTestServer") {
		t.Errorf("traced %q", traces)
	}
}

func TestPanicLineIsBounded(t *testing.T) {
	if line := panicLine("m", strings.Repeat("é", 1<<20)); len(line) > 2*maxPanicText {
		t.Errorf("the line has %d bytes", len(line))
	}
}

func TestJoinContext(t *testing.T) {
	cause := errors.New("the server ends")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	s := start(t, Options{}, JoinContext(ctx))
	s.initialize("2025-11-25")
	s.send(callLine("1", "hold", `{}`))
	await(t, s.server.held, "the call")
	cancel(cause)
	if a := s.recv(); !strings.Contains(a.raw, cause.Error()) {
		t.Errorf("the call gave %s", a.raw)
	}
	s.ping()
}

func TestJoinContextKeepsTheCallsOwn(t *testing.T) {
	handler := JoinContext(context.Background())(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := handler(ctx, "m", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
