package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients"
)

func TestLastingPrograms(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/local/bin/mcp-yieldshell":                                                   "",
		"/tmp/go-build123/b001/exe/mcp-yieldshell":                                        "go install",
		"/home/x/.cache/go-build/b3/b3c5-d/mcp-yieldshell":                                "go install",
		"/home/x/.npm/_npx/0a1b/node_modules/@ys/linux/mcp-yieldshell":                    "npm install",
		"/home/x/.cache/uv/archive-v0/abc/bin/mcp-yieldshell":                             "uv tool install",
		"/home/x/.local/share/uv/tools/mcp-yieldshell/bin/mcp-yieldshell":                 "",
		"/opt/homebrew/Cellar/mcp-yieldshell/1.0.0/bin/mcp-yieldshell":                    "",
		"/home/x/src/go-building/mcp-yieldshell":                                          "",
		"/home/x/AppData/Local/Microsoft/WinGet/Packages/yieldshell/mcp-yieldshell.exe":   "",
		"/home/x/AppData/Local/npm-cache/_npx/1f/node_modules/.bin/../mcp-yieldshell.exe": "npm install",
	} {
		err := program{path: path}.lasting()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestDifference(t *testing.T) {
	p := clients.Plan{
		File:    clients.File{Path: "/f"},
		Existed: true,
		Before:  []byte("a\r\n" + strings.Repeat("x", 1000) + "\r\nc\x1b[2J\r\n"),
		After:   []byte("a\r\n" + strings.Repeat("x", 1000) + "y\r\nc\x1b[2J\r\n"),
	}
	got := difference(p)
	cut := strings.Repeat("x", longestLine-1) + "..."
	want := "--- /f\n+++ /f\n@@ -1,3 +1,3 @@\n a\n-" + cut + "\n+" + cut + "\n c\uFFFD[2J\n"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	p.Existed, p.Before = false, nil
	if got := difference(p); !strings.HasPrefix(got, "--- "+os.DevNull+"\n") {
		t.Errorf("%q", got)
	}
}

func TestPathSources(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"LANG=C\nPATH=/a:/b\nX=PATH=/c\n":   "/a:/b",
		"PATH=\"/a:/b\"\n":                  "/a:/b",
		"  export PATH='/a'\n# PATH=/b\n":   "/a",
		"PATH=/a\nPATH=/b\n":                "/b",
		"PATH=$'/with space/bin:/b'\nA=1\n": "/with space/bin:/b",
	} {
		if got := pathFromLines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	const defs = "# ENV_PATH PATH=/no\nENV_SUPATH\tPATH=/sbin:/bin\nENV_PATH\tPATH=/bin\nUMASK 022\n"
	if got := pathFromLoginDefs(defs, false); got != "/bin" {
		t.Error(got)
	}
	if got := pathFromLoginDefs(defs, true); got != "/sbin:/bin" {
		t.Error(got)
	}
	if got := pathFromLoginDefs("UMASK 022\n", false); got != "" {
		t.Error(got)
	}
}

func TestOnlyOn(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(a, "git"), filepath.Join(a, "node"), filepath.Join(b, "git")} {
		if err := os.WriteFile(file+scriptSuffix, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	list := string(os.PathListSeparator)
	if got := strings.Join(onlyOn(a+list+b, b+list+"relative"), " "); got != "node" {
		t.Errorf("only on the first: %s", got)
	}
}

func TestSpoken(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 250 * time.Millisecond: "250 ms", 1500 * time.Millisecond: "1500 ms", time.Second: "1 second",
		90 * time.Second: "90 seconds", time.Hour: "1 hour", 48 * time.Hour: "2 days",
	} {
		if got := spoken(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestEveryVariableHasAnEffect keeps doctor complete when a variable is added.
func TestEveryVariableHasAnEffect(t *testing.T) {
	config, l := readConfig(func(string) (string, bool) { return "", false }, nil)
	effects := config.effects(func(string) bool { return false })
	for _, variable := range configVariables() {
		if effects[variable] == "" {
			t.Errorf("%s has none", variable)
		}
		delete(effects, variable)
	}
	if len(effects) > 0 || l.err() != nil {
		t.Errorf("these are no variables: %v; %v", effects, l.err())
	}
}

func TestEffects(t *testing.T) {
	environ := []string{"YIELDSHELL_DEFAULT_TIMEOUT_MS=0", "YIELDSHELL_MAX_YIELD_MS=1000", "MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS=,", "YIELDSHELL_REDACT_ENV_REGEX=KEY", "YIELDSHELL_LOG_FORMAT=json"}
	values := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	config, _ := readConfig(func(name string) (string, bool) { v, ok := values[name]; return v, ok }, environ)
	effects := config.effects(func(name string) bool { return values[name] != "" })
	for variable, want := range map[string]string{
		"YIELDSHELL_DEFAULT_TIMEOUT_MS":       "a command may run for ever",
		"YIELDSHELL_MAX_YIELD_MS":             "yield_ms may be up to 1 second",
		"YIELDSHELL_DEFAULT_YIELD_MS":         "a command moves to the background after 1 second",
		"MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS": "no side effect is refused",
		"YIELDSHELL_REDACT_ENV_REGEX":         "no variable of this environment matches, so nothing is hidden in output",
		"YIELDSHELL_LOG_FORMAT":               "the log is JSON, a line for each message",
	} {
		if got := effects[variable]; got != want {
			t.Errorf("%s: %s, want %s", variable, got, want)
		}
	}
}
