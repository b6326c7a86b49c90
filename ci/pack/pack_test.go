package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func testRelease(t *testing.T) release {
	return release{
		version: "1.2.3-rc.1", time: time.Unix(1_700_000_000, 0).UTC(),
		repository: "Some-Owner/mcp-yieldshell", pypi: "mcp-yieldshell", npm: "mcp-yieldshell",
		out: t.TempDir(), license: []byte("the licence"),
	}
}

// packAll packs every target, the binary of which is its own name.
func packAll(t *testing.T, r release) {
	t.Helper()
	for _, each := range targets() {
		binary := []byte(each.os + "/" + each.arch)
		for _, pack := range []func(release, target, []byte) error{packWheel, packNPMTarget, packBundle} {
			if err := pack(r, each, binary); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := packNPMMain(r); err != nil {
		t.Fatal(err)
	}
}

func TestEveryTargetOfTheReleaseIsPacked(t *testing.T) {
	r := testRelease(t)
	packAll(t, r)
	for folder, want := range map[string]int{"pypi": 8, "npm": 11, "mcpb": 6} {
		names, err := filepath.Glob(filepath.Join(r.out, folder, "*"))
		if err != nil || len(names) != want {
			t.Errorf("%s holds %d packages, want %d: %q (%v)", folder, len(names), want, names, err)
		}
	}
	if _, err := findTarget("plan9", "amd64"); err == nil {
		t.Error("a target that no table names is found")
	}
}

// TestSameInputSameBytes packs twice.
func TestSameInputSameBytes(t *testing.T) {
	one, two := testRelease(t), testRelease(t)
	packAll(t, one)
	packAll(t, two)
	err := fs.WalkDir(os.DirFS(one.out), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		a, errA := os.ReadFile(filepath.Join(one.out, path))
		b, errB := os.ReadFile(filepath.Join(two.out, path))
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs", path)
		}
		return errors.Join(errA, errB)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWheel(t *testing.T) {
	r := testRelease(t)
	windows, err := findTarget("windows", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if err := packWheel(r, windows, []byte("MZ")); err != nil {
		t.Fatal(err)
	}
	files := unzip(t, filepath.Join(r.out, "pypi", "mcp_yieldshell-1.2.3rc1-py3-none-win_amd64.whl"))
	script := "mcp_yieldshell-1.2.3rc1.data/scripts/mcp-yieldshell.exe"
	if files[script].mode != 0o755 || string(files[script].data) != "MZ" {
		t.Errorf("the script is %v %q", files[script].mode, files[script].data)
	}
	record := string(files["mcp_yieldshell-1.2.3rc1.dist-info/RECORD"].data)
	// The digest is sha256sum's of "MZ", in URL-safe base 64.
	if want := script + ",sha256=m421EO9CuO1Uo3EmNv2lWk-M_NVJPiC3SrAM1POXny0,2\n"; !strings.HasPrefix(record, want) {
		t.Errorf("RECORD begins with %q, want %q", strings.SplitAfter(record, "\n")[0], want)
	}
	for name := range files {
		if !strings.Contains(record, name+",") {
			t.Errorf("RECORD lacks %s", name)
		}
	}
	metadata := string(files["mcp_yieldshell-1.2.3rc1.dist-info/METADATA"].data)
	for _, want := range []string{
		"\nName: mcp-yieldshell\n", "\nVersion: 1.2.3rc1\n", "\n\n# YieldShell MCP\n",
		"<!-- mcp-name: io.github.Some-Owner/mcp-yieldshell -->", "<https://github.com/Some-Owner/mcp-yieldshell>",
	} {
		if !strings.Contains(metadata, want) {
			t.Errorf("METADATA lacks %q:\n%s", want, metadata)
		}
	}
}

func TestPEP440(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3rc1", "1.2.3-alpha.12": "1.2.3a12", "1.2.3-beta2": "1.2.3b2",
		"0.0.1-dev.1700000000": "0.0.1.dev1700000000",
		"v1.2.3":               "", "1.2": "", "1.2.3-rc": "", "1.2.3-next.1": "", "1.2.3+x": "",
	} {
		got, err := pep440(version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
}

// TestNPMMainNamesEveryTarget holds the main package, the packages with the
// binaries and the launcher to the same names.
func TestNPMMainNamesEveryTarget(t *testing.T) {
	r := testRelease(t)
	packAll(t, r)
	main := untar(t, filepath.Join(r.out, "npm", "mcp-yieldshell-1.2.3-rc.1.tgz"))
	var p packageJSON
	if err := json.Unmarshal(main["package/package.json"].data, &p); err != nil {
		t.Fatal(err)
	}
	if p.MCPName != "io.github.Some-Owner/mcp-yieldshell" {
		t.Errorf("mcpName is %q", p.MCPName)
	}
	if script := string(main["package/launcher.js"].data); !strings.Contains(script, "`@some-owner/mcp-yieldshell-${process.platform}-${process.arch}`") {
		t.Errorf("the launcher looks elsewhere:\n%s", script)
	}
	for name, version := range p.OptionalDepend {
		files := untar(t, filepath.Join(r.out, "npm", strings.ReplaceAll(name[1:], "/", "-")+"-"+version+".tgz"))
		var binary packageJSON
		if err := json.Unmarshal(files["package/package.json"].data, &binary); err != nil {
			t.Fatal(err)
		}
		if binary.Name != name || binary.Version != version || binary.Name != "@some-owner/mcp-yieldshell-"+binary.OS[0]+"-"+binary.CPU[0] {
			t.Errorf("%s %s is %s %s for %s %s", name, version, binary.Name, binary.Version, binary.OS, binary.CPU)
		}
		file := "package/mcp-yieldshell"
		if binary.OS[0] == "win32" {
			file += ".exe"
		}
		if files[file].mode != 0o755 {
			t.Errorf("%s: the mode of %s is %v", name, file, files[file].mode)
		}
	}
	if len(p.OptionalDepend) != len(targets()) {
		t.Errorf("%d optional dependencies for %d targets", len(p.OptionalDepend), len(targets()))
	}
}

func TestBundle(t *testing.T) {
	r := testRelease(t)
	packAll(t, r)
	files := unzip(t, filepath.Join(r.out, "mcpb", "mcp-yieldshell_1.2.3-rc.1_windows_amd64.mcpb"))
	var m manifest
	if err := json.Unmarshal(files["manifest.json"].data, &m); err != nil {
		t.Fatal(err)
	}
	if files[m.Server.EntryPoint].mode != 0o755 || m.Server.Config.Command != "${__dirname}/"+m.Server.EntryPoint {
		t.Errorf("the entry point %s is %v, the command %s", m.Server.EntryPoint, files[m.Server.EntryPoint].mode, m.Server.Config.Command)
	}
	if len(m.Tools) != 7 || !slices.ContainsFunc(m.Tools, func(tool bundleTool) bool {
		return tool == bundleTool{"execute", "Run a shell command."}
	}) {
		t.Errorf("tools %q", m.Tools)
	}
	for name := range m.UserConfig {
		used := false
		for _, value := range m.Server.Config.Env {
			used = used || value == "${user_config."+name+"}"
		}
		if !used {
			t.Errorf("no variable takes %s", name)
		}
	}
}

func TestServerJSON(t *testing.T) {
	r := testRelease(t)
	var lines strings.Builder
	for _, target := range targets() {
		lines.WriteString(strings.Repeat("0a", 32) + "  " + r.bundleName(target) + "\n")
	}
	path := filepath.Join(r.out, "checksums.txt")
	if err := os.WriteFile(path, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	sums, err := readChecksums(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeServerJSON(r, []string{"mcpb", "npm"}, sums); err != nil {
		t.Fatal(err)
	}
	var s serverJSON
	if err := decodeFile(filepath.Join(r.out, "server.json"), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Packages) != 7 || s.Packages[0].Identifier != "mcp-yieldshell" || s.Packages[0].FileSHA256 != "" {
		t.Errorf("packages %+v", s.Packages)
	}
	want := "https://github.com/Some-Owner/mcp-yieldshell/releases/download/v1.2.3-rc.1/mcp-yieldshell_1.2.3-rc.1_darwin_amd64.mcpb"
	if s.Packages[1].Identifier != want || s.Packages[1].FileSHA256 != strings.Repeat("0a", 32) {
		t.Errorf("the first bundle is %+v, want %s", s.Packages[1], want)
	}
	if len(s.Description) > 100 {
		t.Errorf("the description has %d characters, the registry takes 100", len(s.Description))
	}
	if err := writeServerJSON(r, []string{"mcpb"}, nil); err == nil {
		t.Error("a bundle without a digest is listed")
	}
}

func TestSchemaIsHeeded(t *testing.T) {
	folder := t.TempDir()
	schema, document := filepath.Join(folder, "schema.json"), filepath.Join(folder, "document.json")
	if err := os.WriteFile(schema, []byte(`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/D", "definitions": {"D": {"type": "object", "required": ["a"]}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{`{"a": 1}`: true, `{"b": 1}`: false} {
		if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := checkSchema([]string{"-schema", schema, document}); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func unzip(t *testing.T, path string) map[string]file {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := map[string]file{}
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if !f.Modified.Equal(time.Unix(1_700_000_000, 0)) {
			t.Errorf("%s bears the time %v", f.Name, f.Modified)
		}
		files[f.Name] = file{f.Name, f.Mode(), data}
	}
	return files
}

func untar(t *testing.T, path string) map[string]file {
	t.Helper()
	compressed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer compressed.Close()
	z, err := gzip.NewReader(compressed)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]file{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = file{h.Name, h.FileInfo().Mode(), data}
	}
}
