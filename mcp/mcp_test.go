package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The expression engine's clock ends by itself a while after the last match.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

var update = flag.Bool("update", false, "write the golden files anew")

// bench is the tools on a fake system.
type bench struct {
	t       *testing.T
	backend *fake.Backend
	ports   *ports
	config  Config
	dir     string
	schemas map[string]*jsonschema.Resolved // of the answers, by tool
}

// newBench returns tools with small limits. Each script is played by the
// process that runs it, in the order of the starts; a process without one runs
// until it is told otherwise.
func newBench(t *testing.T, scripts ...func(*fake.Process)) *bench {
	t.Helper()
	blocked, err := policy.ParseBlocklist("")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, backend: &fake.Backend{}, ports: &ports{open: make(chan struct{})}, dir: t.TempDir(), schemas: map[string]*jsonschema.Resolved{}}
	next := 0
	b.backend.Begin = func(p *fake.Process) error {
		if next < len(scripts) {
			scripts[next](p)
		}
		next++
		return nil
	}
	b.config = Config{
		Registry: execution.New(execution.Options{
			Backend: b.backend, Ports: b.ports, BufferBytes: 1000, MaxProcesses: 50, Retention: time.Hour, MaxRetained: 100,
		}),
		Blocked:        blocked,
		Dirs:           policy.Dirs{Default: b.dir},
		Environ:        func() []string { return []string{"PATH=/bin", "KEPT=kept"} },
		MaxOutputBytes: 100,
		Search:         true,
		DefaultYield:   30 * time.Second,
		MaxYield:       300 * time.Second,
		DefaultTimeout: time.Hour,
		Version:        "test",
	}
	return b
}

// ports is one port, 8080, that is open once the channel is closed.
type ports struct{ open chan struct{} }

func (p *ports) Open(port int) bool {
	select {
	case <-p.open:
		return port == 8080
	default:
		return false
	}
}

func (p *ports) Await(ctx context.Context, port int) error {
	open := p.open
	if port != 8080 {
		open = nil
	}
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends all executions, so that no goroutine is left.
func (b *bench) close() { b.config.Registry.Shutdown(nil) }

// caller is a tool without its type of input.
type caller struct {
	answer func(context.Context, json.RawMessage) answer
	params []param
}

func callerOf[In any](tl tool[In]) caller {
	in := tl.defaults()
	return caller{tl.answer, tl.params(&in)}
}

// callers returns all tools by name.
func (c Config) callers() map[string]caller {
	t := newTools(c)
	return map[string]caller{
		"execute": callerOf(t.execute()),
		"read":    callerOf(t.read()),
		"write":   callerOf(t.write()),
		"wait":    callerOf(t.wait()),
		"stop":    callerOf(t.stop()),
		"ps":      callerOf(t.ps()),
		"cleanup": callerOf(t.cleanup()),
		"search":  callerOf(t.search()),
	}
}

// reply is an answer as the client sees it.
type reply map[string]any

func (r reply) id() string { return r.text("execution_id") }

func (r reply) text(field string) string {
	s, _ := r[field].(string)
	return s
}

func (r reply) failed() bool { return r["(isError)"].(bool) }

func (r reply) rows() []any { return r["executions"].([]any) }

// want compares one field; numbers may be given as int.
func (r reply) want(t *testing.T, field string, want any) {
	t.Helper()
	if n, ok := want.(int); ok {
		want = float64(n)
	}
	if got, there := r[field]; got != want || !there {
		t.Errorf("%s = %#v, want %#v in %v", field, got, want, r)
	}
}

// contains checks that a text field holds all parts.
func (r reply) contains(t *testing.T, field string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !bytes.Contains([]byte(r.text(field)), []byte(part)) {
			t.Errorf("%s lacks %q: %q", field, part, r.text(field))
		}
	}
}

// call does one call with arguments in JSON. It checks what holds for every
// answer: it validates against the output schema, and its structured content
// and its text are the same JSON.
func (b *bench) call(tool, arguments string) reply {
	b.t.Helper()
	return b.callContext(b.t.Context(), tool, arguments)
}

func (b *bench) callContext(ctx context.Context, tool, arguments string) reply {
	b.t.Helper()
	a := b.config.callers()[tool].answer(ctx, json.RawMessage(arguments))
	if got, want := render(a), string(must(encode(a))); got != want {
		b.t.Fatalf("%s %s:\n got %s\nwant %s", tool, arguments, got, want)
	}
	encoded, err := json.Marshal(result(a))
	if err != nil {
		b.t.Fatal(err)
	}
	var wire struct {
		Content  []struct{ Type, Text string }
		Content2 any `json:"structuredContent"`
		IsError  bool
	}
	if err := json.Unmarshal(encoded, &wire); err != nil {
		b.t.Fatal(err)
	}
	var fromText reply
	if len(wire.Content) != 1 || wire.Content[0].Type != "text" || json.Unmarshal([]byte(wire.Content[0].Text), &fromText) != nil {
		b.t.Fatalf("%s %s: content is %+v", tool, arguments, wire.Content)
	}
	if again, _ := json.Marshal(fromText); !bytes.Equal(again, must(json.Marshal(wire.Content2))) {
		b.t.Errorf("%s %s: text and structured content differ", tool, arguments)
	}
	if err := b.outputSchema(tool).Validate(wire.Content2); err != nil {
		b.t.Errorf("%s %s: %s does not validate: %v", tool, arguments, wire.Content[0].Text, err)
	}
	fromText["(isError)"] = wire.IsError
	return fromText
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (b *bench) outputSchema(tool string) *jsonschema.Resolved {
	b.t.Helper()
	if b.schemas[tool] == nil {
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(text("tools/"+tool+".output.json")), &s); err != nil {
			b.t.Fatalf("%s: %v", tool, err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			b.t.Fatalf("%s: %v", tool, err)
		}
		b.schemas[tool] = resolved
	}
	return b.schemas[tool]
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if !bytes.Equal(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")), got) {
		t.Errorf("%s differs; run the test with -update and look at the difference:\n%s", file, got)
	}
}

// prints is a script: print and end with the code.
func prints(text string, code int64) func(*fake.Process) {
	return func(p *fake.Process) {
		p.Print(text)
		p.Exit(code)
	}
}

func secretsOf(pairs ...string) *buffer.Secrets {
	var list []buffer.Secret
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, buffer.Secret{Name: pairs[i], Value: pairs[i+1]})
	}
	return buffer.NewSecrets(list)
}
