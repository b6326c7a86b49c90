package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients"
)

// program is where this program is.
type program struct {
	path   string // the file that runs
	stable string // the path to give to others
	name   string // its name on the PATH
	onPath bool   // that name finds it
}

// findProgram tells where this program is. A package manager keeps each
// version in a folder of its own and puts a link on the PATH: the link outlives
// an upgrade, and so it is what others are given.
func findProgram() (program, error) {
	path, err := os.Executable()
	if err != nil {
		return program{}, fmt.Errorf("finding this program: %w", err)
	}
	name := strings.TrimSuffix(filepath.Base(path), executableSuffix)
	p := program{path: path, stable: path, name: name}
	found, err := exec.LookPath(name)
	if err != nil || !filepath.IsAbs(found) || !sameFile(found, path) {
		return p, nil
	}
	p.stable, p.onPath = found, true
	return p, nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	aInfo, err := os.Stat(a)
	if err != nil {
		return false
	}
	bInfo, err := os.Stat(b)
	return err == nil && os.SameFile(aInfo, bInfo)
}

// lasting reports why a client should not be told to start this file: it will
// be gone.
func (p program) lasting() error {
	parts := strings.Split(filepath.ToSlash(p.path), "/")
	switch {
	case slices.ContainsFunc(parts, isBuildFolder):
		return fmt.Errorf("%s is in a folder of 'go run' and will be gone soon; run 'go install ./cmd/mcp-yieldshell' and then the installed program", p.path)
	case slices.Contains(parts, "_npx"):
		return fmt.Errorf("%s is in the cache of npx and may vanish; run 'npm install --global mcp-yieldshell' first", p.path)
	case slices.Contains(parts, "uv") && slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, "archive-v") }):
		return fmt.Errorf("%s is in the cache of uvx and may vanish; run 'uv tool install mcp-yieldshell' first", p.path)
	}
	return nil
}

// isBuildFolder tells the folders that 'go run' keeps programs in: go-build,
// the cache, and go-build with a number.
func isBuildFolder(name string) bool {
	number, found := strings.CutPrefix(name, "go-build")
	return found && strings.Trim(number, "0123456789") == ""
}

// thisHost is the system and the user that the program runs for.
func thisHost(sys system) (clients.Host, error) {
	getenv := func(name string) string {
		value, _ := sys.lookupEnv(name)
		return value
	}
	home := getenv(homeVariable)
	if !filepath.IsAbs(home) {
		return clients.Host{}, errors.New(homeVariable + " must be set to the home directory, where clients keep their files")
	}
	return newHost(home, getenv), nil
}
