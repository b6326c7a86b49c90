package clients

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients/edit"
)

// FuzzAdd puts an entry into whatever can be parsed: afterwards it is there,
// the other servers are as they were, a second time changes nothing, and it
// can be taken out.
func FuzzAdd(f *testing.F) {
	for i, text := range []string{
		`{"mcpServers": {"yieldshell": {"command": "uvx", "args": ["mcp-yieldshell"], "env": null}}}`,
		`{"mcpServers": {"o": {"command": "x", "env": {"A": "b"}}}, "z": 1}`,
		`{"mcpServers": {"yieldshell": {"command": "mcp-yieldshell", "env": {"A": 1}, "disabled": true}}}`,
		"{\"servers\": {\n\t\"o\": {}, // x\n}}",
		"[mcp_servers.yieldshell]\ncommand = \"mcp-yieldshell\"\n[mcp_servers.yieldshell.env]\nA = \"1\"\n",
		"mcp_servers = { o = { command = \"x\" } }",
		`{"mcp": {"servers": {"yieldshell": {"command": ["mcp-yieldshell"]}}, "yieldshell": {"command": ["mcp-yieldshell"]}}}`,
		`{"context_servers": {"yieldshell": {"command": {"path": "mcp-yieldshell", "env": {"A": "x"}}}}}`,
	} {
		f.Add(uint8(i), text)
	}
	all := All()
	entry := Entry{Command: self, Env: []Variable{{"A", "b"}, {"N", "1"}}}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		c := all[int(which)%len(all)]
		file := File{Path: filepath.Join(t.TempDir(), "f")}
		write(t, file.Path, text)
		before, err := c.Entries(file)
		if err != nil {
			return
		}
		p, err := c.Add(file, entry, self)
		if errors.Is(err, edit.ErrUnfaithful) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		write(t, file.Path, string(p.After))
		after, err := c.Entries(file)
		if err != nil {
			t.Fatal(err)
		}
		checkEntries(t, before, after)
		again, err := c.Add(file, entry, self)
		if err != nil || again.Changed() {
			t.Fatalf("again: %v\n%s\n%s", err, p.After, again.After)
		}
		removed, err := c.Remove(file, self)
		if err != nil {
			// Of two forms the weaker one may run something else.
			if errors.Is(err, ErrForeign) && c.native != nil {
				return
			}
			t.Fatal(err)
		}
		if bytes.Equal(removed.After, p.After) {
			t.Fatalf("nothing was removed:\n%s", p.After)
		}
	})
}

// checkEntries compares the servers before and after.
func checkEntries(t *testing.T, before, after []Named) {
	t.Helper()
	others := func(all []Named) string {
		var b strings.Builder
		for _, e := range all {
			if e.Name != Name {
				b.WriteString(e.Name + "\x00" + e.Words() + "\x00")
				for _, v := range e.Env {
					b.WriteString(v.Name + "=" + v.Value + "\x00")
				}
			}
		}
		return b.String()
	}
	if was, is := others(before), others(after); was != is {
		t.Errorf("the other servers were %q and are %q", was, is)
	}
	for _, e := range after {
		if e.Name == Name && e.Command == self && len(e.Args) == 0 {
			env := map[string]string{}
			for _, v := range e.Env {
				env[v.Name] = v.Value
			}
			if env["A"] != "b" || env["N"] != "1" {
				t.Errorf("its variables are %v", e.Env)
			}
			return
		}
	}
	t.Errorf("the entry is not there: %+v", after)
}
