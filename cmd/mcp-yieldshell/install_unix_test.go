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
