package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
)

// load runs LoadConfig on an environment of these variables alone.
func load(variables map[string]string) (Config, error) {
	getenv := func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
	var environ []string
	for name, value := range variables {
		environ = append(environ, name+"="+value)
	}
	return LoadConfig(getenv, environ)
}

func mustLoad(t *testing.T, variables map[string]string) Config {
	t.Helper()
	c, err := load(variables)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	empty := make(map[string]string)
	for _, name := range configVariables() {
		empty[name] = ""
	}
	for what, variables := range map[string]map[string]string{"unset": nil, "empty": empty} {
		c := mustLoad(t, variables)
		if c.MaxOutputBytes != 20_000 || c.TailBytes != 4000 || c.MaxBufferBytes != 262_144 || c.MaxProcesses != 50 || c.MaxRetained != 100 {
			t.Errorf("%s: sizes %d %d %d %d", what, c.MaxOutputBytes, c.MaxBufferBytes, c.MaxProcesses, c.MaxRetained)
		}
		if c.DefaultYield != 30*time.Second || c.MaxYield != 300*time.Second || c.DefaultTimeout != time.Hour || c.Retention != time.Hour {
			t.Errorf("%s: times %v %v %v %v", what, c.DefaultYield, c.MaxYield, c.DefaultTimeout, c.Retention)
		}
		if !slices.Equal(c.Blocked.Names(), policy.DefaultBlocked()) {
			t.Errorf("%s: blocked %v", what, c.Blocked.Names())
		}
		if c.Dirs.Default != "" || c.Dirs.Roots != nil || c.Redact != nil || c.Secrets != nil {
			t.Errorf("%s: %+v", what, c)
		}
		if c.LogLevel != hclog.Warn || c.LogJSON || len(c.Warnings) != 0 {
			t.Errorf("%s: level %v, json %v, warnings %q", what, c.LogLevel, c.LogJSON, c.Warnings)
		}
		if err := c.Commands.CheckCommand("rm -rf /"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Each number of the specification's table, read back from the configuration.
func numbers(c Config) map[string]int64 {
	return map[string]int64{
		maxOutputBytesVariable:   int64(c.MaxOutputBytes),
		tailBytesVariable:        int64(c.TailBytes),
		maxBufferBytesVariable:   int64(c.MaxBufferBytes),
		maxProcessesVariable:     int64(c.MaxProcesses),
		maxRetainedVariable:      int64(c.MaxRetained),
		defaultYieldVariable:     c.DefaultYield.Milliseconds(),
		maxYieldVariable:         c.MaxYield.Milliseconds(),
		defaultTimeoutVariable:   c.DefaultTimeout.Milliseconds(),
		processRetentionVariable: c.Retention.Milliseconds(),
	}
}

func TestNumbers(t *testing.T) {
	const fallback = -1
	defaults := numbers(mustLoad(t, nil))
	positive := []string{maxOutputBytesVariable, maxBufferBytesVariable, maxProcessesVariable}
	for variable := range defaults {
		zero := int64(0)
		if slices.Contains(positive, variable) {
			zero = fallback
		}
		for _, test := range []struct {
			value string
			want  int64
			warns bool
		}{
			{"500", 500, false},
			{" 500\t", 500, false},
			{"+500", 500, false},
			{"0500", 500, false},
			{"1_000", 1000, false},
			{"0", zero, zero == fallback},
			{"-0", zero, zero == fallback},
			{"-1", fallback, true},
			{"-99999999999999999999999", fallback, true},
			{"abc", fallback, true},
			{"5e3", fallback, true},
			{"500.0", fallback, true},
			{"0x10", fallback, true},
			{"500ms", fallback, true},
			{"5 00", fallback, true},
			{"_5", fallback, true},
			{"5_", fallback, true},
			{"5__0", fallback, true},
			{"+-5", fallback, true},
			{" ", fallback, true},
			{"NaN", fallback, true},
		} {
			c := mustLoad(t, map[string]string{variable: test.value})
			want := test.want
			if want == fallback {
				want = defaults[variable]
			}
			if got := numbers(c)[variable]; got != want {
				t.Errorf("%s=%q: %d, want %d", variable, test.value, got, want)
			}
			if warned := len(c.Warnings) == 1 && strings.Contains(c.Warnings[0], variable); warned != test.warns {
				t.Errorf("%s=%q: warnings %q", variable, test.value, c.Warnings)
			}
		}
	}
}

func TestHugeNumbersAreClamped(t *testing.T) {
	for _, value := range []string{"9223372036854775807", "99999999999999999999999999"} {
		for variable := range numbers(Config{}) {
			c := mustLoad(t, map[string]string{variable: value})
			if got := numbers(c)[variable]; got < 1<<30 {
				t.Errorf("%s=%s: %d", variable, value, got)
			}
			if len(c.Warnings) != 1 {
				t.Errorf("%s=%s: warnings %q", variable, value, c.Warnings)
			}
		}
	}
	c := mustLoad(t, map[string]string{defaultTimeoutVariable: "9223372036854775807"})
	if c.DefaultTimeout+c.DefaultTimeout < c.DefaultTimeout {
		t.Error("the sum of two timeouts wraps")
	}
}

func TestPolicyVariables(t *testing.T) {
	c := mustLoad(t, map[string]string{
		"YIELDSHELL_DEFAULT_CWD":              "/work",
		"YIELDSHELL_ALLOWED_CWDS":             "/work",
		"YIELDSHELL_DENY_COMMAND_REGEX":       `rm\s+-rf`,
		"YIELDSHELL_ALLOW_COMMAND_REGEX":      "^(rm|ls)",
		"MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS": " OTHER, ",
		homeVariable:                          "/home/u",
	})
	if c.Dirs.Default != "/work" || !slices.Equal(c.Dirs.Roots, []string{"/work"}) || c.Dirs.Home != "/home/u" {
		t.Errorf("directories: %+v", c.Dirs)
	}
	for command, allowed := range map[string]bool{"rm -rf x": false, "ls": true, "cat": false} {
		if err := c.Commands.CheckCommand(command); (err == nil) != allowed {
			t.Errorf("%q: %v", command, err)
		}
	}
	if !slices.Equal(c.Blocked.Names(), []string{"OTHER"}) {
		t.Errorf("blocked: %v", c.Blocked.Names())
	}
}

func TestSecretsAreTakenAtTheStart(t *testing.T) {
	c := mustLoad(t, map[string]string{
		"YIELDSHELL_REDACT_ENV_REGEX": "(?i)token",
		"A_TOKEN":                     "12345678",
		"b_token_file":                "a longer value",
		"SHORT_TOKEN":                 "1234567",
		"CHARACTERS_TOKEN":            "üüüüüüü", // 14 bytes, 7 characters
		"EMPTY_TOKEN":                 "",
		"OTHER":                       "not a secret",
	})
	got := buffer.NewSecrets(c.Secrets).Redact("12345678 a longer value 1234567 üüüüüüü not a secret")
	if want := "[REDACTED:A_TOKEN] [REDACTED:b_token_file] 1234567 üüüüüüü not a secret"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !c.sensitive("NEW_TOKEN") || c.sensitive("OTHER") {
		t.Error("names in env arguments are judged otherwise")
	}
}

func TestErrors(t *testing.T) {
	for variable, value := range map[string]string{
		"YIELDSHELL_ALLOWED_CWDS":             " " + string(os.PathListSeparator) + " ",
		"YIELDSHELL_DENY_COMMAND_REGEX":       "(",
		"YIELDSHELL_ALLOW_COMMAND_REGEX":      "[",
		"YIELDSHELL_REDACT_ENV_REGEX":         "*",
		"MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS": "deletes_files",
		"YIELDSHELL_LOG_LEVEL":                "loud",
		"YIELDSHELL_LOG_FORMAT":               "xml\n",
		"YIELDSHELL_SEARCH":                   "maybe",
	} {
		_, err := load(map[string]string{variable: value})
		if err == nil {
			t.Errorf("%s=%q: no error", variable, value)
			continue
		}
		for _, part := range []string{variable, fmt.Sprintf("%q", value)} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s=%q: %q lacks %s", variable, value, err, part)
			}
		}
		if strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%s=%q: more than one line: %q", variable, value, err)
		}
	}
}

func TestErrorNamesEveryVariableToCorrect(t *testing.T) {
	_, err := load(map[string]string{
		"YIELDSHELL_DENY_COMMAND_REGEX":  "(",
		"YIELDSHELL_ALLOW_COMMAND_REGEX": "[\n",
		"YIELDSHELL_LOG_LEVEL":           "loud",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"YIELDSHELL_DENY_COMMAND_REGEX", "YIELDSHELL_ALLOW_COMMAND_REGEX", "YIELDSHELL_LOG_LEVEL"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q lacks %s", err, name)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
}

func TestLogging(t *testing.T) {
	for value, want := range map[string]hclog.Level{
		"trace": hclog.Trace, "debug": hclog.Debug, "info": hclog.Info, "warn": hclog.Warn,
		"error": hclog.Error, "off": hclog.Off, " DEBUG ": hclog.Debug,
	} {
		if c := mustLoad(t, map[string]string{logLevelVariable: value}); c.LogLevel != want {
			t.Errorf("%q: %v, want %v", value, c.LogLevel, want)
		}
	}
	for value, want := range map[string]bool{"json": true, "text": false, "JSON": true} {
		if c := mustLoad(t, map[string]string{logFormatVariable: value}); c.LogJSON != want {
			t.Errorf("%q: %v, want %v", value, c.LogJSON, want)
		}
	}
}

func TestTyposAreWarnedOf(t *testing.T) {
	for name, want := range map[string]string{
		"YIELDSHELL_ALLOWED_CWD":          "did you mean YIELDSHELL_ALLOWED_CWDS?",
		"YIELDSHELL_DENY_COMAND_REGEX":    "did you mean YIELDSHELL_DENY_COMMAND_REGEX?",
		"YIELDSHELL_BLOCKED_SIDE_EFFECTS": "did you mean MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS?",
		"yieldshell_max_processes":        "did you mean YIELDSHELL_MAX_PROCESSES?",
		"YIELDSHELL_QQQQ":                 "no effect",
	} {
		c := mustLoad(t, map[string]string{name: "s3cret"})
		if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], name) || !strings.HasSuffix(c.Warnings[0], want) {
			t.Errorf("%s: %q", name, c.Warnings)
		}
		if strings.Contains(strings.Join(c.Warnings, ""), "s3cret") {
			t.Errorf("%s: the value is shown: %q", name, c.Warnings)
		}
	}
	if c := mustLoad(t, map[string]string{"OTHER_YIELDSHELL_X": "", "PATH": "/bin"}); len(c.Warnings) != 0 {
		t.Errorf("warnings %q", c.Warnings)
	}
}

func TestSpillVariables(t *testing.T) {
	c := mustLoad(t, nil)
	if c.SpillDir != "" || c.MaxSpill != 64<<20 || c.MaxSpillTotal != 1<<30 || c.Render != "raw" {
		t.Errorf("defaults: %q, %d, %d, %q", c.SpillDir, c.MaxSpill, c.MaxSpillTotal, c.Render)
	}
	dir := t.TempDir()
	c = mustLoad(t, map[string]string{
		spillDirVariable: dir, maxSpillVariable: " 1_000 ", maxSpillTotalVariable: "1125899906842624", renderVariable: " Text",
	})
	if c.SpillDir != dir || c.MaxSpill != 1000 || c.MaxSpillTotal != 1<<50 || c.Render != "text" || len(c.Warnings) != 0 {
		t.Errorf("got %q, %d, %d, %q, %q", c.SpillDir, c.MaxSpill, c.MaxSpillTotal, c.Render, c.Warnings)
	}
	c = mustLoad(t, map[string]string{spillDirVariable: "~/kept", homeVariable: dir})
	if c.SpillDir != dir+"/kept" {
		t.Errorf("below home: %q", c.SpillDir)
	}
	c = mustLoad(t, map[string]string{maxSpillVariable: "5", maxSpillTotalVariable: "5"})
	if len(c.Warnings) != 2 || !strings.Contains(c.Warnings[0], "has no effect without "+spillDirVariable) {
		t.Errorf("limits without a folder: %q", c.Warnings)
	}
	for _, bad := range []struct{ variable, value, right string }{
		{spillDirVariable, "kept", "an absolute path"},
		{spillDirVariable, "./kept", "an absolute path"},
		{spillDirVariable, "~somebody/kept", "an absolute path"},
		{maxSpillVariable, "0", "from 1 to"},
		{maxSpillVariable, "-1", "from 1 to"},
		{maxSpillVariable, "64M", "a whole number of bytes"},
		{maxSpillTotalVariable, "1e9", "a whole number of bytes"},
		{maxSpillTotalVariable, "1125899906842625", "from 1 to"},
		{renderVariable, "html", "raw or text"},
	} {
		_, err := load(map[string]string{bad.variable: bad.value})
		if err == nil || !strings.Contains(err.Error(), bad.variable+" is "+strconv.Quote(bad.value)) || !strings.Contains(err.Error(), bad.right) {
			t.Errorf("%s=%s: %v", bad.variable, bad.value, err)
		}
	}
}
