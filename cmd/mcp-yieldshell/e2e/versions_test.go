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

// handshakes are the protocol versions that have one.
var handshakes = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// stateless is the version in which each request says who it is from.
const stateless = "2026-07-28"

// A versioned is a session of one protocol version, seen as bytes: what it
// sends is what the specification of that version shows.
type versioned struct {
	*mcptest.Server
	t       *testing.T
	version string
	id      int
}

func startVersion(t *testing.T, version string, env ...string) *versioned {
	t.Helper()
	v := &versioned{
		Server:  mcptest.Start(t, mcptest.Options{Command: program, Env: variables(env), Uninitialized: true}),
		t:       t,
		version: version,
		id:      1000,
	}
	if version != stateless {
		v.Initialize(version)
	}
	return v
}

// send makes a request with a meta of its own, and returns its answer to come.
func (v *versioned) send(method string, params, meta args) *mcptest.Pending {
	v.t.Helper()
	all := args{}
	for name, value := range params {
		all[name] = value
	}
	full := args{}
	for name, value := range meta {
		full[name] = value
	}
	if v.version == stateless {
		full["io.modelcontextprotocol/protocolVersion"] = stateless
		full["io.modelcontextprotocol/clientCapabilities"] = args{}
		full["io.modelcontextprotocol/clientInfo"] = args{"name": "versions", "version": "1"}
	}
	if len(full) > 0 {
		all["_meta"] = full
	}
	v.id++
	line, err := json.Marshal(args{"jsonrpc": "2.0", "id": v.id, "method": method, "params": all})
	if err != nil {
		v.t.Fatal(err)
	}
	p := v.Expect(fmt.Sprint(v.id))
	v.SendRaw(append(line, '\n'))
	return p
}

func (v *versioned) use(tool string, arguments, meta args) *mcptest.Result {
	v.t.Helper()
	return v.send("tools/call", args{"name": tool, "arguments": arguments}, meta).Result()
}

// Tools do the same in every version.
func TestToolsAreTheSameInEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range append(slices.Clone(handshakes), stateless) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			v := startVersion(t, version)
			var list struct{ Tools []mcptest.Tool }
			if err := json.Unmarshal(v.send("tools/list", nil, nil).Answer().Result, &list); err != nil {
				t.Fatal(err)
			}
			if len(list.Tools) < 7 {
				t.Errorf("%d tools", len(list.Tools))
			}
			r := v.use("execute", command("echo hello", nil), nil)
			eq(t, "status", r.Status, "completed")
			eq(t, "stdout", strings.TrimSpace(r.Stdout), "hello")
			eq(t, "unknown", v.use("read", args{"execution_id": "nope"}, nil).IsError, true)

			r = v.use("execute", command(sleeper(), args{"yield_ms": 1000}), nil)
			eq(t, "status", r.Status, "backgrounded")
			id := args{"execution_id": r.ExecutionID}
			wait := v.send("tools/call", args{"name": "wait", "arguments": id}, nil)
			v.send("ping", nil, nil).Answer() // it is unknown in the last version, and answered all the same
			v.Cancel(wait)
			wait.Answer()
			eq(t, "status", v.use("read", id, nil).Status, "running")
			eq(t, "stopped", v.use("stop", id, nil).Stopped, true)
			eq(t, "rows", len(v.use("ps", args{}, nil).Executions), 2)
			eq(t, "removed", v.use("cleanup", args{"completed_older_than_ms": 0, "stopped_older_than_ms": 0}, nil).Removed, 2)
			eq(t, "exit status", v.Close(), 0)
		})
	}
}

func isProgress(m mcptest.Message) bool { return m.Method == "notifications/progress" }

func isLog(m mcptest.Message) bool { return m.Method == "notifications/message" }

func TestProgressIsReported(t *testing.T) {
	t.Parallel()
	for _, version := range append(slices.Clone(handshakes), stateless) {
		for _, token := range []any{"a token", 7, nil} {
			t.Run(fmt.Sprint(version, token), func(t *testing.T) {
				t.Parallel()
				v := startVersion(t, version)
				meta := args{}
				if token != nil {
					meta["progressToken"] = token
				}
				begun := time.Now()
				r := v.use("execute", command(sleeper(), args{"yield_ms": 2500}), meta)
				v.use("wait", args{"execution_id": r.ExecutionID, "timeout_ms": 1500}, meta)
				most := int(time.Since(begun) / time.Second)
				reports := v.Messages(isProgress)
				if token == nil {
					eq(t, "reports without a token", len(reports), 0)
					return
				}
				if len(reports) < 2 || len(reports) > most {
					t.Errorf("%d reports, want 2 to %d", len(reports), most)
				}
				last := 0.0
				for i, m := range reports {
					var p struct {
						ProgressToken any
						Progress      float64
						Message       string
					}
					if err := json.Unmarshal(m.Params, &p); err != nil {
						t.Fatal(err)
					}
					eq(t, "token", fmt.Sprint(p.ProgressToken), fmt.Sprint(token))
					contains(t, "message", p.Message, " s, ", "bytes of output: ready")
					if i < 2 && p.Progress <= last {
						t.Errorf("progress goes from %v to %v", last, p.Progress)
					}
					last = p.Progress
				}
				eq(t, "stopped", v.use("stop", args{"execution_id": r.ExecutionID}, nil).Stopped, true)
			})
		}
	}
}

func TestMessagesAreLoggedWhenAskedFor(t *testing.T) {
	t.Parallel()
	for _, version := range append(slices.Clone(handshakes), stateless) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			v := startVersion(t, version, "YIELDSHELL_REDACT_ENV_REGEX=SECRET", "A_SECRET=hunter2hunter2")
			meta := args{}
			v.use("execute", command("echo quiet", nil), meta)
			eq(t, "messages that nobody asked for", len(v.Messages(isLog)), 0)
			if version == stateless {
				meta["io.modelcontextprotocol/logLevel"] = "info"
			} else if m := v.send("logging/setLevel", args{"level": "info"}, nil).Answer(); m.Error != nil {
				t.Fatal(m.Error)
			}
			r := v.use("execute", command("echo hunter2hunter2", nil), meta)
			v.use("read", args{"execution_id": "nope"}, meta)
			var seen []string
			for _, m := range v.Messages(isLog) {
				var p struct {
					Level, Logger string
					Data          map[string]any
				}
				if err := json.Unmarshal(m.Params, &p); err != nil {
					t.Fatal(err)
				}
				eq(t, "logger", p.Logger, "yieldshell")
				seen = append(seen, fmt.Sprint(p.Level, " ", p.Data["message"], " ", p.Data["execution_id"], " ", p.Data["error"]))
			}
			eq(t, "messages", strings.Join(seen, "; "), fmt.Sprintf(
				"info execution started %s <nil>; warning the call did not do what it asked <nil> Unknown execution_id: nope", r.ExecutionID))
			if strings.Contains(string(v.Stdout()), "hunter2") || strings.Contains(v.Stderr(), "hunter2") {
				t.Error("a secret came out")
			}
		})
	}
}

// cancelBound is how long a cancelled call may take to be over.
const cancelBound = 10 * time.Millisecond

// The client of a cancelled call does not want its answer, but that it comes
// shows when the call was over. On a machine that is busy many are late, the
// quickest are not. It runs before the tests that keep the machine busy.
func TestACancelledCallIsOverAtOnce(t *testing.T) {
	for _, version := range []string{"2025-11-25", stateless} {
		t.Run(version, func(t *testing.T) {
			v := startVersion(t, version)
			id := args{"execution_id": v.use("execute", command(sleeper(), args{"yield_ms": 0}), nil).ExecutionID}
			var took []time.Duration
			for i := range 20 {
				tool, arguments := "wait", id
				if i%2 == 0 {
					tool, arguments = "execute", command(sleeper(), nil)
				}
				p := v.send("tools/call", args{"name": tool, "arguments": arguments}, args{"progressToken": i})
				v.use("ps", args{}, nil) // the call has begun, or is about to
				begun := time.Now()
				v.Cancel(p)
				took = append(took, p.At().Sub(begun))
			}
			slices.Sort(took)
			t.Logf("median %v, worst %v", took[len(took)/2], took[len(took)-1])
			if took[len(took)/4] > cancelBound && !raceDetector {
				t.Errorf("three of four took more than %v: %v", cancelBound, took)
			}
		})
	}
}
