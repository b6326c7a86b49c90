package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Set by the linker in a release: -X main.version=1.2.3 and so on. A build
// from source leaves them empty and the build information speaks.
var (
	version string
	commit  string
	date    string
)

// build describes this binary.
type build struct {
	Version string
	Commit  string
	Date    string
}

// currentBuild prefers what the linker was told over what the Go command
// recorded.
func currentBuild() build {
	b := build{version, commit, date}
	info, ok := debug.ReadBuildInfo()
	if ok && b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = strings.TrimPrefix(info.Main.Version, "v") // as the linker is told it
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.Commit == "":
			b.Commit = s.Value
		case s.Key == "vcs.time" && b.Date == "":
			b.Date = s.Value
		}
	}
	return b
}

func (b build) String() string {
	s := "mcp-yieldshell " + b.Version
	if b.Commit != "" {
		s += " commit " + b.Commit
	}
	if b.Date != "" {
		s += " built " + b.Date
	}
	return s + fmt.Sprintf(" (%s, %s/%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
