package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/yieldshell/mcp-yieldshell/"

// mayImport is what each package may import beside the standard library, on any
// system: packages of this module by their folders, and prefixes of others.
// ARCHITECTURE.md has the picture, and each package's doc.go the reasons. The
// command may import anything.
var mayImport = map[string][]string{
	"proc":               {},
	"proc/execution":     {"proc", "buffer", "buffer/lazydfa", "buffer/screen", "buffer/spill"},
	"proc/loopback":      {"golang.org/x/sys/"},
	"proc/proctest":      {"proc"},
	"proc/proctest/fake": {"proc"},
	"proc/psnap":         {"github.com/shirou/gopsutil/"},
	"proc_unix":          {"proc", "proc_unix/keeper", "proc_unix/tree", "proc_unix/wire", "golang.org/x/sys/"},
	"proc_unix/keeper":   {"proc_unix/sys", "proc_unix/tree", "proc_unix/wire", "golang.org/x/sys/"},
	"proc_unix/tree":     {"proc_unix/sys", "golang.org/x/sys/"},
	"proc_unix/wire":     {},
	"proc_unix/sys":      {},
	"proc_windows":       {"proc", "golang.org/x/sys/"},

	"buffer":         {"buffer/lazydfa"},
	"buffer/lazydfa": {},
	"buffer/screen":  {},
	"buffer/spill":   {"buffer", "github.com/gofrs/flock", "golang.org/x/sys/"},

	"mcp":              {"mcp/jsonstr", "mcp/policy", "proc", "proc/execution", "buffer", "buffer/lazydfa", "buffer/screen", "github.com/modelcontextprotocol/go-sdk/"},
	"mcp/clients":      {"mcp/clients/edit"},
	"mcp/clients/edit": {"github.com/tailscale/hujson", "github.com/pelletier/go-toml/"},
	"mcp/jsonstr":      {},
	"mcp/mcptest":      {"github.com/shirou/gopsutil/", "golang.org/x/sys/"},
	"mcp/policy":       {"github.com/dlclark/regexp2/", "golang.org/x/sys/"},
	"mcp/stdio":        {"mcp/jsonstr", "github.com/modelcontextprotocol/go-sdk/"},

	"cmd/mcp-yieldshell/e2e":      {},
	"cmd/mcp-yieldshell/selftest": {"github.com/modelcontextprotocol/go-sdk/", "golang.org/x/sys/"},
}

// TestImportsPointDown reads the files of all systems, without their tests.
func TestImportsPointDown(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(relative))
		if dir == "cmd/mcp-yieldshell" || strings.HasPrefix(dir, "ci/") || strings.Contains(dir, "testdata") {
			return nil
		}
		allowed, known := mayImport[dir]
		if !known {
			t.Errorf("%s: nothing says what this package may import", dir)
			return nil
		}
		seen[dir] = true
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !importAllowed(name, allowed) {
				t.Errorf("%s imports %s", relative, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range mayImport {
		if !seen[dir] {
			t.Errorf("%s: there is no such package", dir)
		}
	}
}

func importAllowed(name string, allowed []string) bool {
	if own, ok := strings.CutPrefix(name, module); ok {
		return slices.Contains(allowed, own)
	}
	host, _, _ := strings.Cut(name, "/")
	return !strings.Contains(host, ".") || slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(name, a) })
}
