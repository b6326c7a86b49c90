package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/mcp"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
)

// Names of the configuration variables that no check of package policy owns.
const (
	maxOutputBytesVariable   = "YIELDSHELL_MAX_OUTPUT_BYTES"
	tailBytesVariable        = "YIELDSHELL_TAIL_BYTES"
	maxBufferBytesVariable   = "YIELDSHELL_MAX_BUFFER_BYTES"
	maxProcessesVariable     = "YIELDSHELL_MAX_PROCESSES"
	defaultYieldVariable     = "YIELDSHELL_DEFAULT_YIELD_MS"
	maxYieldVariable         = "YIELDSHELL_MAX_YIELD_MS"
	defaultTimeoutVariable   = "YIELDSHELL_DEFAULT_TIMEOUT_MS"
	processRetentionVariable = "YIELDSHELL_PROCESS_RETENTION_MS"
	maxRetainedVariable      = "YIELDSHELL_MAX_RETAINED_PROCESSES"
	searchVariable           = "YIELDSHELL_SEARCH"
	spillDirVariable         = "YIELDSHELL_SPILL_DIR"
	maxSpillVariable         = "YIELDSHELL_MAX_SPILL_BYTES"
	maxSpillTotalVariable    = "YIELDSHELL_MAX_SPILL_TOTAL_BYTES"
	renderVariable           = "YIELDSHELL_RENDER"
	logLevelVariable         = "YIELDSHELL_LOG_LEVEL"
	logFormatVariable        = "YIELDSHELL_LOG_FORMAT"
)

// configVariables lists every variable that is read, to tell typing mistakes.
func configVariables() []string {
	return []string{
		policy.DefaultCwdVariable, policy.AllowedCwdsVariable,
		maxOutputBytesVariable, tailBytesVariable, maxBufferBytesVariable, maxProcessesVariable,
		defaultYieldVariable, maxYieldVariable, defaultTimeoutVariable,
		processRetentionVariable, maxRetainedVariable,
		spillDirVariable, maxSpillVariable, maxSpillTotalVariable, renderVariable,
		policy.DenyCommandVariable, policy.AllowCommandVariable, policy.RedactVariable,
		policy.BlockedSideEffectsVariable,
		searchVariable, logLevelVariable, logFormatVariable,
	}
}

// Limits that values are clamped to. They lie far beyond any sensible setting
// and keep sums and products within an int and a time.Duration.
const (
	mostBytes    = 1 << 30 // 1 GiB, for a response and for each ring buffer
	mostDisk     = 1 << 50 // 1 PiB, for output on disk
	mostCount    = math.MaxInt32
	mostDuration = math.MaxInt64 / int64(time.Millisecond) / 2 // ms, 146 years
)

// Config is the server's configuration: the table "Configuration Variables" of
// the specification, and what this server has in addition. A variable that is
// set to the empty string counts as unset.
type Config struct {
	// Dirs holds YIELDSHELL_DEFAULT_CWD and YIELDSHELL_ALLOWED_CWDS. Whether the
	// directories exist is asked when a command starts, not here.
	Dirs policy.Dirs
	// Commands holds YIELDSHELL_DENY_COMMAND_REGEX and
	// YIELDSHELL_ALLOW_COMMAND_REGEX.
	Commands policy.Commands
	// Blocked holds MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS.
	Blocked policy.Blocklist
	// Redact holds YIELDSHELL_REDACT_ENV_REGEX, which is searched in the names
	// of variables; nil turns redaction off.
	Redact *policy.Expression
	// Secrets are the variables of the environment at the start that Redact
	// finds. Those too short to be hidden are among them: buffer sorts them out.
	Secrets []buffer.Secret

	// Search offers the tool search.
	Search bool
	// MaxOutputBytes is the default and greatest size of a response's output.
	MaxOutputBytes int
	// TailBytes is the greatest size of the newest lines that a capped response
	// has in addition. Zero switches them off.
	TailBytes int
	// MaxBufferBytes is the capacity of each stream's ring buffer.
	MaxBufferBytes int
	// MaxProcesses is how many executions may live at once.
	MaxProcesses int

	// DefaultYield is the yield_ms of a call without one. Zero yields at once.
	DefaultYield time.Duration
	// MaxYield is the configured maximum of yield_ms, before the transport's
	// ceiling of 55 s. Zero makes every call yield at once.
	MaxYield time.Duration
	// DefaultTimeout is the timeout_ms of a call without one. Zero is unlimited.
	DefaultTimeout time.Duration
	// Retention is the age at which ended executions are removed. Zero removes
	// them before the next start.
	Retention time.Duration
	// MaxRetained is how many ended executions are kept. Zero keeps none.
	MaxRetained int

	// SpillDir is the folder for output that leaves memory, an absolute path;
	// empty for none.
	SpillDir string
	// MaxSpill and MaxSpillTotal are the most bytes in it, for each execution and
	// for all of this server.
	MaxSpill, MaxSpillTotal int64

	// Render is the default of the argument render.
	Render string

	// LogLevel and LogJSON hold YIELDSHELL_LOG_LEVEL and YIELDSHELL_LOG_FORMAT.
	LogLevel hclog.Level
	LogJSON  bool

	// Warnings are for the log, one line each: values that fell back to a
	// default or were clamped, and variables whose name is a typing mistake.
	Warnings []string
}

// LoadConfig reads the configuration from getenv, which reports a variable's
// value and whether it is set, and from environ, the whole environment as
// NAME=VALUE entries. It depends on nothing else.
//
// A number that is out of its range or no number falls back to its default
// with a warning, as the specification asks of most and as suits the rest. A
// policy that cannot be understood is an error: the server must not start with
// less protection than its operator asked for. So is everything that has to do
// with the disk. The error is one line. It tells
// the first mistake in full and the names of the other variables to correct.
func LoadConfig(getenv func(string) (string, bool), environ []string) (Config, error) {
	c, l := readConfig(getenv, environ)
	if err := l.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// readConfig is LoadConfig that goes on after errors, which the loader keeps.
func readConfig(getenv func(string) (string, bool), environ []string) (Config, *loader) {
	l := &loader{getenv: getenv}
	home := l.text(homeVariable)
	c := Config{
		Dirs: policy.Dirs{Default: l.text(policy.DefaultCwdVariable), Home: home},

		MaxOutputBytes: int(l.number(maxOutputBytesVariable, 1, 20_000, mostBytes)),
		TailBytes:      int(l.number(tailBytesVariable, 0, 4000, mostBytes)),
		MaxBufferBytes: int(l.number(maxBufferBytesVariable, 1, 262_144, mostBytes)),
		MaxProcesses:   int(l.number(maxProcessesVariable, 1, 50, mostCount)),
		DefaultYield:   l.milliseconds(defaultYieldVariable, 30_000),
		MaxYield:       l.milliseconds(maxYieldVariable, 300_000),
		DefaultTimeout: l.milliseconds(defaultTimeoutVariable, 3_600_000),
		Retention:      l.milliseconds(processRetentionVariable, 3_600_000),
		MaxRetained:    int(l.number(maxRetainedVariable, 0, 100, mostCount)),
	}
	var err error
	c.Dirs.Roots, err = policy.ParseRoots(l.text(policy.AllowedCwdsVariable))
	l.fail(policy.AllowedCwdsVariable, err)
	c.Blocked, err = policy.ParseBlocklist(l.text(policy.BlockedSideEffectsVariable))
	l.fail(policy.BlockedSideEffectsVariable, err)
	l.commands(&c)
	c.Search = l.search()
	c.Redact = l.expression(policy.RedactVariable)
	for name, value := range policy.EnvVariables(environ) {
		if c.sensitive(name) {
			c.Secrets = append(c.Secrets, buffer.Secret{Name: name, Value: value})
		}
	}
	l.spill(&c, home)
	c.Render = l.render()
	c.LogLevel = l.logLevel()
	c.LogJSON = l.logJSON()

	l.warnOfTypos(environ)
	c.Warnings = l.warnings
	return c, l
}

// loader collects what is wrong while variables are read.
type loader struct {
	getenv   func(string) (string, bool)
	errors   []variableError
	warnings []string
}

type variableError struct {
	variable string
	err      error
}

func (l *loader) fail(variable string, err error) {
	if err != nil {
		l.errors = append(l.errors, variableError{variable, err})
	}
}

func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

// err makes one line of all errors.
func (l *loader) err() error {
	if len(l.errors) == 0 {
		return nil
	}
	first, others := l.errors[0], l.errors[1:]
	if len(others) == 0 {
		return fmt.Errorf("configuration: %w", first.err)
	}
	names := make([]string, len(others))
	for i, other := range others {
		names[i] = other.variable
	}
	return fmt.Errorf("configuration: %w (also to be corrected: %s)", first.err, strings.Join(names, ", "))
}

// text returns a variable's value, "" when it is not set.
func (l *loader) text(variable string) string {
	value, _ := l.getenv(variable)
	return value
}

// number reads a whole number of at least least. Anything else falls back to
// the default, and a greater one than most is clamped, both with a warning.
func (l *loader) number(variable string, least, fallback, most int64) int64 {
	value := l.text(variable)
	if value == "" {
		return fallback
	}
	n, err := parseNumber(value)
	switch {
	case err != nil:
		l.warn("%s is %s, which is not a whole number; using the default %d", variable, shown(value), fallback)
		return fallback
	case n < least:
		l.warn("%s is %s, but must be at least %d; using the default %d", variable, shown(value), least, fallback)
		return fallback
	case n > most:
		l.warn("%s is %s; using the greatest possible value %d", variable, shown(value), most)
		return most
	}
	return n
}

// spill reads the variables for output on disk. A mistake in them is an error:
// what they ask for cannot be seen until output is missing or a disk is full.
func (l *loader) spill(c *Config, home string) {
	c.MaxSpill = l.diskSize(maxSpillVariable, 64<<20)
	c.MaxSpillTotal = l.diskSize(maxSpillTotalVariable, 1<<30)
	dir := l.text(spillDirVariable)
	if dir == "" {
		for _, variable := range []string{maxSpillVariable, maxSpillTotalVariable} {
			if l.text(variable) != "" {
				l.warn("%s has no effect without %s", variable, spillDirVariable)
			}
		}
		return
	}
	c.SpillDir = dir
	if rest, ok := strings.CutPrefix(dir, "~"); ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		c.SpillDir = home + rest
	}
	if !filepath.IsAbs(c.SpillDir) {
		l.fail(spillDirVariable, fmt.Errorf("%s is %s; it must be an absolute path, such as %s",
			spillDirVariable, shown(dir), filepath.Join(os.TempDir(), "yieldshell")))
		c.SpillDir = ""
	}
}

// diskSize reads a number of bytes.
func (l *loader) diskSize(variable string, fallback int64) int64 {
	value := l.text(variable)
	if value == "" {
		return fallback
	}
	n, err := parseNumber(value)
	if err != nil || n < 1 || n > mostDisk {
		l.fail(variable, fmt.Errorf("%s is %s; it must be a whole number of bytes from 1 to %d, without a unit (the default is %d)",
			variable, shown(value), int64(mostDisk), fallback))
		return fallback
	}
	return n
}

func (l *loader) milliseconds(variable string, fallback int64) time.Duration {
	return time.Duration(l.number(variable, 0, fallback, mostDuration)) * time.Millisecond
}

// parseNumber reads a decimal number as Python's int does, since operators
// wrote their settings for that: white space around it, a sign and single
// underscores between digits are fine; fractions, exponents and units are not.
// A number beyond 64 bits becomes the nearest that fits.
func parseNumber(text string) (int64, error) {
	text = strings.TrimSpace(text)
	plain := strings.ReplaceAll(text, "_", "")
	if plain != text {
		bare := strings.TrimLeft(text, "+-")
		if strings.HasPrefix(bare, "_") || strings.HasSuffix(bare, "_") || strings.Contains(bare, "__") {
			return 0, strconv.ErrSyntax
		}
	}
	n, err := strconv.ParseInt(plain, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return n, nil
	}
	return n, err
}

// commands compiles the two expressions one by one, so that each mistake is
// found.
func (l *loader) commands(c *Config) {
	deny, allow := l.text(policy.DenyCommandVariable), l.text(policy.AllowCommandVariable)
	_, err := policy.NewCommands(deny, "")
	l.fail(policy.DenyCommandVariable, err)
	_, err = policy.NewCommands("", allow)
	l.fail(policy.AllowCommandVariable, err)
	if commands, err := policy.NewCommands(deny, allow); err == nil {
		c.Commands = commands
	}
}

func (l *loader) expression(variable string) *policy.Expression {
	source := l.text(variable)
	if source == "" {
		return nil
	}
	expression, err := policy.CompileExpression(source)
	if err != nil {
		l.fail(variable, fmt.Errorf("%s: %w", variable, err))
		return nil
	}
	return expression
}

func (l *loader) render() string {
	value := l.text(renderVariable)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", mcp.RenderRaw:
		return mcp.RenderRaw
	case mcp.RenderText:
		return mcp.RenderText
	}
	l.fail(renderVariable, fmt.Errorf("%s is %s; it must be raw or text", renderVariable, shown(value)))
	return mcp.RenderRaw
}

func (l *loader) logLevel() hclog.Level {
	value := l.text(logLevelVariable)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "trace":
		return hclog.Trace
	case "debug":
		return hclog.Debug
	case "info":
		return hclog.Info
	case "", "warn":
		return hclog.Warn
	case "error":
		return hclog.Error
	case "off":
		return hclog.Off
	}
	l.fail(logLevelVariable, fmt.Errorf("%s is %s; it must be trace, debug, info, warn, error or off", logLevelVariable, shown(value)))
	return hclog.Warn
}

// search is off by default: clients that were set up for the seven tools of the
// specification find those and nothing else.
func (l *loader) search() bool {
	value := l.text(searchVariable)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "on":
		return true
	case "", "off":
		return false
	}
	l.fail(searchVariable, fmt.Errorf("%s is %s; it must be on or off", searchVariable, shown(value)))
	return false
}

func (l *loader) logJSON() bool {
	value := l.text(logFormatVariable)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "json":
		return true
	case "", "text":
		return false
	}
	l.fail(logFormatVariable, fmt.Errorf("%s is %s; it must be text or json", logFormatVariable, shown(value)))
	return false
}

// warnOfTypos points out variables that look like ours and are not read. Their
// values are not shown: a misnamed variable may hold anything.
func (l *loader) warnOfTypos(environ []string) {
	known := configVariables()
	for name := range policy.EnvVariables(environ) {
		upper := strings.ToUpper(name)
		if !strings.HasPrefix(upper, "YIELDSHELL_") && !strings.HasPrefix(upper, "MCP_YIELDSHELL_") {
			continue
		}
		// Some systems ignore case in names, so ask whether it has an effect.
		if _, read := l.getenv(upper); read && slices.Contains(known, upper) {
			continue
		}
		hint := ""
		if near := policy.Nearest(name, known); len(near) > 0 {
			hint = "; did you mean " + near[0] + "?"
		}
		l.warn("%s is not a variable of this server and has no effect%s", shown(name), hint)
	}
}

// shown quotes a value for a message, on one line and not too long.
func shown(value string) string {
	const longest = 60
	if runes := []rune(value); len(runes) > longest {
		value = string(runes[:longest]) + "..."
	}
	return strconv.Quote(value)
}
