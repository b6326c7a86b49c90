package clients

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)

// planFor plans an entry for a file.
func planFor(t *testing.T, file File) Plan {
	t.Helper()
	c, _ := Find("cursor")
	p, err := c.Add(file, Entry{Command: self}, self)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names lists a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestWriteKeepsABackup(t *testing.T) {
	dir := t.TempDir()
	file := File{Path: filepath.Join(dir, "mcp.json")}
	write(t, file.Path, "{}")
	for _, want := range []string{"mcp.json.20261202-120000.bak", "mcp.json.20261202-120000-2.bak"} {
		before := read(t, file.Path)
		p := planFor(t, file)
		if !p.Changed() {
			p.After = []byte("{} // changed\n")
		}
		backup, err := p.Write(noon)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(backup) != want || read(t, backup) != before {
			t.Errorf("%s holds %q, want %s with %q", backup, read(t, backup), want, before)
		}
		if got := read(t, file.Path); got != string(p.After) {
			t.Errorf("written: %q", got)
		}
	}
	if got, want := names(t, dir), "mcp.json mcp.json.20261202-120000-2.bak mcp.json.20261202-120000.bak"; got != want {
		t.Errorf("left in the folder: %s, want %s", got, want)
	}
}

func TestWriteMakesFolders(t *testing.T) {
	file := File{Path: filepath.Join(t.TempDir(), "a", "b", "mcp.json")}
	p := planFor(t, file)
	backup, err := p.Write(noon)
	if err != nil || backup != "" {
		t.Fatal(backup, err)
	}
	if got := names(t, filepath.Dir(file.Path)); got != "mcp.json" {
		t.Error(got)
	}
}

func TestWriteNoticesAnotherWriter(t *testing.T) {
	dir := t.TempDir()
	file := File{Path: filepath.Join(dir, "mcp.json")}
	write(t, file.Path, "{}")
	p := planFor(t, file)
	write(t, file.Path, `{"mine": 1}`)
	if _, err := p.Write(noon); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if got := names(t, dir); got != "mcp.json" {
		t.Errorf("left behind: %s", got)
	}
	if got := read(t, file.Path); got != `{"mine": 1}` {
		t.Error(got)
	}
	// A file that appears is another's too.
	file.Path = filepath.Join(dir, "new.json")
	p = planFor(t, file)
	write(t, file.Path, "{}")
	if _, err := p.Write(noon); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

func TestNoFile(t *testing.T) {
	c, _ := Find("cursor")
	dir := t.TempDir()
	if _, err := c.Add(File{Path: dir}, Entry{Command: self}, self); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Error(err)
	}
	p, err := c.Remove(File{Path: filepath.Join(dir, "none")}, self)
	if err != nil || p.Changed() {
		t.Error(p, err)
	}
	broken := File{Path: filepath.Join(dir, "broken")}
	write(t, broken.Path, `{"mcpServers": {`)
	if _, err := c.Add(broken, Entry{Command: self}, self); err == nil || !strings.HasPrefix(err.Error(), broken.Path+": not valid JSON: line 1") {
		t.Error(err)
	}
	if got := read(t, broken.Path); got != `{"mcpServers": {` {
		t.Error(got)
	}
}
