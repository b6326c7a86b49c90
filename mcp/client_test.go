package mcp

//lint:file-ignore SA1019 the logging of MCP is deprecated, and clients ask for it still

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

// listener is a session whose client notes what it is told.
type listener struct {
	*sdk.ClientSession
	begun    time.Time
	progress []string // "TOKEN AT: MESSAGE", at in milliseconds
	logged   []string // "LEVEL: MESSAGE"
	level    string   // sent with each request
}

// versions are those that the SDK speaks.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", stateless}

// stateless is the version in which each request says who it is from.
const stateless = "2026-07-28"

// inSession runs a test of tools over the protocol, under a clock of its own.
func inSession(t *testing.T, version string, f func(t *testing.T, b *bench, l *listener), scripts ...func(*fake.Process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, scripts...)
		l := &listener{begun: time.Now()}
		l.ClientSession = b.connectWith(&sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
				p := r.Params
				if want := time.Since(l.begun).Seconds(); p.Progress <= 0 || p.Progress > want {
					t.Errorf("progress is %v after %v s", p.Progress, want)
				}
				l.progress = append(l.progress, fmt.Sprintf("%v %d: %s", p.ProgressToken, time.Since(l.begun).Milliseconds(), p.Message))
			},
			LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
				l.logged = append(l.logged, fmt.Sprintf("%s: %s", r.Params.Level, r.Params.Data.(map[string]any)["message"]))
			},
		}, version)
		if got := l.InitializeResult().ProtocolVersion; got != version {
			t.Fatalf("the session is of version %s", got)
		}
		f(t, b, l)
	})
}

// call calls a tool under a progress token, nil for none.
func (l *listener) call(t *testing.T, token any, tool string, arguments map[string]any) map[string]any {
	t.Helper()
	p := &sdk.CallToolParams{Name: tool, Arguments: arguments, Meta: sdk.Meta{}}
	if token != nil {
		p.Meta["progressToken"] = token
	}
	if l.level != "" {
		p.Meta[sdk.MetaKeyLogLevel] = l.level
	}
	r, err := l.CallTool(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // until the client has handled what came before the answer
	return r.StructuredContent.(map[string]any)
}

func plain(more map[string]any) map[string]any {
	all := map[string]any{"command": "cmd", "side_effects": []string{"NONE"}}
	for name, value := range more {
		all[name] = value
	}
	return all
}

// works prints a line, then another after 1.5 s, and ends after 3.5 s.
func works(p *fake.Process) {
	time.AfterFunc(1500*time.Millisecond, func() { p.Print("one\n 50%\r\x1b[1;32m 99%\x1b[0m\n") })
	time.AfterFunc(3500*time.Millisecond, func() { p.Exit(0) })
}

func TestProgress(t *testing.T) {
	for _, version := range versions {
		inSession(t, version, func(t *testing.T, b *bench, l *listener) {
			if r := l.call(t, "tok", "execute", plain(nil)); r["status"] != "completed" {
				t.Fatalf("got %v", r)
			}
			want := []string{
				"tok 1000: 1 s, no output yet",
				"tok 2000: 2 s, 25 bytes of output: 99%",
				"tok 3000: 3 s, 25 bytes of output: 99%",
			}
			if !slices.Equal(l.progress, want) {
				t.Errorf("version %s: got %q, want %q", version, l.progress, want)
			}
		}, works)
	}
}

// A wait's reports say how long the execution has been running, not the wait.
func TestProgressOfWait(t *testing.T) {
	inSession(t, stateless, func(t *testing.T, b *bench, l *listener) {
		id := l.call(t, nil, "execute", plain(map[string]any{"yield_ms": 700}))["execution_id"]
		l.call(t, 7, "wait", map[string]any{"execution_id": id, "timeout_ms": 2100})
		if want := []string{"7 1700: 2 s, 25 bytes of output: 99%", "7 2700: 3 s, 25 bytes of output: 99%"}; !slices.Equal(l.progress, want) {
			t.Errorf("got %q, want %q", l.progress, want)
		}
	}, works)
}

func TestNoProgressWithoutAToken(t *testing.T) {
	inSession(t, stateless, func(t *testing.T, b *bench, l *listener) {
		l.call(t, nil, "execute", plain(nil))
		if len(l.progress) != 0 {
			t.Errorf("got %q", l.progress)
		}
	}, works)
}

func TestTokensOfOtherTypesAreNone(t *testing.T) {
	for _, token := range []any{nil, true, []any{}, map[string]any{}} {
		p := &sdk.CallToolParamsRaw{Meta: sdk.Meta{"progressToken": token}}
		if got := tokenOf(p); got != nil {
			t.Errorf("%v is taken for %v", token, got)
		}
	}
}

func TestLogging(t *testing.T) {
	refused := "warning: the call did not do what it asked"
	for _, c := range []struct {
		level string
		want  []string
	}{
		{"", nil},
		{"debug", []string{"info: execution started", "debug: the call was done", refused}},
		{"info", []string{"info: execution started", refused}},
		{"warning", []string{refused}},
		{"emergency", nil},
	} {
		for _, version := range versions {
			inSession(t, version, func(t *testing.T, b *bench, l *listener) {
				if version == stateless {
					l.level = c.level
				} else if c.level != "" {
					if err := l.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: sdk.LoggingLevel(c.level)}); err != nil {
						t.Fatal(err)
					}
				}
				l.call(t, nil, "execute", plain(nil))
				l.call(t, nil, "read", map[string]any{"execution_id": "nope"})
				if !slices.Equal(l.logged, c.want) {
					t.Errorf("version %s, level %q: got %q, want %q", version, c.level, l.logged, c.want)
				}
			}, prints("hi\n", 0))
		}
	}
}

func TestUnknownLogLevelsAreRefused(t *testing.T) {
	inSession(t, "2025-11-25", func(t *testing.T, b *bench, l *listener) {
		err := l.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "bogus"})
		if err == nil || !strings.Contains(err.Error(), `unknown log level "bogus"`) {
			t.Errorf("got %v", err)
		}
		l.call(t, nil, "read", map[string]any{"execution_id": "nope"})
		if len(l.logged) != 0 {
			t.Errorf("it took effect: %q", l.logged)
		}
	})
}

// Every answer that can fail has an error for the log.
func TestProblemOf(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		for name, c := range b.config.callers() {
			a := c.answer(t.Context(), []byte(`{"execution_id":"nope","input":"x","limit":[],"completed_older_than_ms":-1}`))
			if !a.failed() || problemOf(a) == "" {
				t.Errorf("%s: failed %v, problem %q", name, a.failed(), problemOf(a))
			}
		}
	})
}

func TestPlainLine(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", ""},
		{"hello\n", "hello"},
		{"hello\r\n", "hello"},
		{"10%\r20%\r30%", "30%"},
		{"10%\r20%\r", "20%"},
		{"\x1b[1;31merror\x1b[0m: \x1b]0;t\x07x", "error: ]0;tx"},
		{"a\tb\x00c\u009b", "abc"},
		{"\x1b[", ""},
		{"\x1b[12\nx", "x"},
		{"  ü ✓  ", "ü ✓"},
	} {
		if got := plainLine(c.line); got != c.want {
			t.Errorf("%q: got %q, want %q", c.line, got, c.want)
		}
	}
}
