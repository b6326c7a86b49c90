//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// scriptSuffix ends the names of files that can be run.
const scriptSuffix = ""

// TestProgramByItsLink: a package manager's link outlives an upgrade, so a
// client is given that.
func TestProgramByItsLink(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, filepath.Base(self))
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	p, err := findProgram()
	if err != nil || p.stable != link || !p.onPath || p.path != self {
		t.Errorf("%+v %v", p, err)
	}
	t.Setenv("PATH", t.TempDir())
	if p, err = findProgram(); err != nil || p.stable != self || p.onPath {
		t.Errorf("%+v %v", p, err)
	}
}

// TestLaunchersAreAsked: what npm, pip and Scoop put on the PATH is another
// file, and starts this program all the same.
func TestLaunchersAreAsked(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name, script, want string
		same               bool
	}{
		{"launcher", "echo '" + currentBuild().String() + "'", ", which is " + currentBuild().String(), true},
		{"older", "echo 'mcp-yieldshell 0.9 (x)'; echo more", ", which is mcp-yieldshell 0.9 (x)", false},
		{"unknowing", "echo usage", "", false},
		{"failing", "exit 3", "", false},
	} {
		path := filepath.Join(dir, test.name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		c := &checkup{program: program{path: "/nowhere"}}
		if got := c.compare(t.Context(), path); got.same != test.same || got.String() != path+test.want {
			t.Errorf("%s: %s, same %v", test.name, got, got.same)
		}
	}
}
