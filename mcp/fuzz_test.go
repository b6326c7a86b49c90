package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/yieldshell/mcp-yieldshell/proc/proctest/fake"
)

// Whatever the arguments are, a tool answers in its own shape, and what it
// takes time for is over within the time that clients give a request.
func FuzzTools(f *testing.F) {
	names := slices.Sorted(maps.Keys(Config{}.callers()))
	for i := range names {
		for _, arguments := range []string{
			``, `null`, `[]`, `{}`, `{"execution_id":"ID"}`, `"{\"execution_id\":\"ID\"}"`,
			`{"execution_id":"ID","since_seq":2,"max_output_bytes":3,"streams":"stdout"}`,
			`{"execution_id":"ID","tail_lines":"1","timeout_ms":1e99,"signal":"int","force_after_ms":-5,"input":"\u0000\ud800"}`,
			`{"command":"x","side_effects":"[\"NONE\"]","env":{"A":1},"stdin":"in","close_stdin":"false","yield_ms":null,"timeout_ms":"5"}`,
			`{"command":"x","side_effects":["NONE","OTHER"],"cwd":"/nonexistent","shell":"","name":7}`,
			`{"limit":"1e3","include_completed":"","completed_older_than_ms":0,"stopped_older_than_ms":-1}`,
		} {
			f.Add(uint8(i), []byte(arguments))
		}
	}
	f.Fuzz(func(t *testing.T, tool uint8, data []byte) {
		if len(data) > 1<<14 {
			t.Skip("no more is found in long ones")
		}
		name := names[int(tool)%len(names)]
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, func(p *fake.Process) { p.Print("a\nb\nü"); p.PrintError("err") })
			defer b.close()
			id := b.call("execute", `{"command":"first","side_effects":["NONE"],"yield_ms":1,"close_stdin":false}`).id()
			begun := time.Now()
			a := b.config.callers()[name].answer(t.Context(), bytes.ReplaceAll(data, []byte("ID"), []byte(id)))
			if took := time.Since(begun); took > RequestCeiling {
				t.Errorf("%s took %v", name, took)
			}
			text := []byte(render(a))
			if plain := must(encode(a)); !bytes.Equal(text, plain) {
				t.Fatalf("%s was written as %s, and is %s", name, text, plain)
			}
			var value any
			if err := json.Unmarshal(text, &value); err != nil || !utf8.Valid(text) {
				t.Fatalf("%s answers %q: %v", name, text, err)
			}
			if err := b.outputSchema(name).Validate(value); err != nil {
				t.Errorf("%s answers %s: %v", name, text, err)
			}
			if a.failed() && problemOf(a) == "" {
				t.Errorf("%s fails without a word", name)
			}
		})
	})
}
