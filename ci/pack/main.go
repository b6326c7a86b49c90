package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "pack: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("the commands are target, release and schema")
	}
	switch args[0] {
	case "target":
		return packTarget(args[1:])
	case "release":
		return packRelease(args[1:])
	case "schema":
		return checkSchema(args[1:])
	}
	return fmt.Errorf("unknown command %q; the commands are target, release and schema", args[0])
}

// release is what all packages of a release have in common.
type release struct {
	version    string    // semantic, without the v
	time       time.Time // of the commit; every file in a package bears it
	repository string    // OWNER/NAME on GitHub
	pypi       string    // the project's name on PyPI
	npm        string    // the package's name on npm
	out        string    // folder that gets the packages
	license    []byte
}

// releaseFlags declares the flags of a release; the function that it returns
// reads them.
func releaseFlags(f *flag.FlagSet) func() (release, error) {
	var r release
	f.StringVar(&r.version, "version", "", "`version` of the release, without the v")
	seconds := f.Int64("time", 0, "time of the commit, in Unix `seconds`")
	f.StringVar(&r.repository, "repository", "", "`OWNER/NAME` on GitHub")
	f.StringVar(&r.pypi, "pypi", "mcp-yieldshell", "`name` on PyPI")
	f.StringVar(&r.npm, "npm", "mcp-yieldshell", "`name` on npm")
	f.StringVar(&r.out, "out", "dist", "`folder` for the packages")
	return func() (release, error) {
		r.time = time.Unix(*seconds, 0).UTC()
		if owner, name, ok := strings.Cut(r.repository, "/"); !ok || owner == "" || name == "" {
			return release{}, fmt.Errorf("-repository is %q; it must be OWNER/NAME", r.repository)
		}
		var err error
		r.license, err = os.ReadFile("LICENSE")
		return r, err
	}
}

func (r release) owner() string {
	owner, _, _ := strings.Cut(r.repository, "/")
	return owner
}

func (r release) url() string { return "https://github.com/" + r.repository }

// registryName is the server's name in the MCP registry, which proves by it
// that a package belongs to the owner of the repository.
func (r release) registryName() string { return "io.github." + r.repository }

const (
	displayName = "YieldShell MCP"
	// summary has at most 100 characters, the MCP registry's limit.
	summary = "A shell server for AI agents: long commands move to the background, and nothing is left behind"
)

// keywords are what people search for.
func keywords() []string { return []string{"mcp", "shell", "terminal", "agent", "background"} }

func packTarget(args []string) error {
	f := flag.NewFlagSet("pack target", flag.ExitOnError)
	read := releaseFlags(f)
	system := f.String("os", "", "GOOS of the binary")
	arch := f.String("arch", "", "GOARCH of the binary")
	path := f.String("binary", "", "the binary's `file`")
	f.Parse(args) // exits on a mistake
	r, err := read()
	if err != nil {
		return err
	}
	t, err := findTarget(*system, *arch)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(*path)
	if err != nil {
		return err
	}
	for _, pack := range []func(release, target, []byte) error{packWheel, packNPMTarget, packBundle} {
		if err := pack(r, t, binary); err != nil {
			return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
	}
	return nil
}

func packRelease(args []string) error {
	f := flag.NewFlagSet("pack release", flag.ExitOnError)
	read := releaseFlags(f)
	checksums := f.String("checksums", "", "goreleaser's `file` of checksums")
	registries := f.String("registries", "npm,pypi,oci,mcpb", "`kinds` of packages that server.json lists")
	f.Parse(args) // exits on a mistake
	r, err := read()
	if err != nil {
		return err
	}
	sums, err := readChecksums(*checksums)
	if err != nil {
		return err
	}
	if err := packNPMMain(r); err != nil {
		return err
	}
	return writeServerJSON(r, strings.Split(*registries, ","), sums)
}
