package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
)

// problem returns what is wrong with a variable: an error that stops the
// start, or a warning.
func (l *loader) problem(variable string) (problem, warning string) {
	for _, e := range l.errors {
		if e.variable == variable {
			return e.err.Error(), ""
		}
	}
	for _, w := range l.warnings {
		if strings.HasPrefix(w, variable+" ") {
			return "", w
		}
	}
	return "", ""
}

// namesVariable reports whether a warning is about a variable that is read.
func (l *loader) namesVariable(warning string) bool {
	name, _, _ := strings.Cut(warning, " ")
	return slices.Contains(configVariables(), name)
}

// effects says in words what the configuration does, by variable.
func (c Config) effects(isSet func(variable string) bool) map[string]string {
	return map[string]string{
		policy.DefaultCwdVariable:         c.defaultCwdEffect(),
		policy.AllowedCwdsVariable:        c.rootsEffect(),
		maxOutputBytesVariable:            fmt.Sprintf("an answer carries at most %d bytes of output", c.MaxOutputBytes),
		tailBytesVariable:                 c.tailEffect(),
		maxBufferBytesVariable:            fmt.Sprintf("the newest %d bytes of each stream are kept", c.MaxBufferBytes),
		maxProcessesVariable:              fmt.Sprintf("%d commands may run at once", c.MaxProcesses),
		defaultYieldVariable:              fmt.Sprintf("a command moves to the background after %s", spoken(min(c.DefaultYield, c.MaxYield, mcp.RequestCeiling))),
		maxYieldVariable:                  c.maxYieldEffect(),
		defaultTimeoutVariable:            c.timeoutEffect(),
		processRetentionVariable:          fmt.Sprintf("an ended command is forgotten after %s", spoken(c.Retention)),
		maxRetainedVariable:               fmt.Sprintf("%d ended commands are remembered", c.MaxRetained),
		spillDirVariable:                  either(c.SpillDir != "", "output that leaves memory is kept in files", "output that leaves memory is lost"),
		maxSpillVariable:                  c.spillEffect("each command's", c.MaxSpill),
		maxSpillTotalVariable:             c.spillEffect("all commands'", c.MaxSpillTotal),
		renderVariable:                    either(c.Render == mcp.RenderText, "answers show what a terminal would show", "answers carry every byte of output"),
		policy.DenyCommandVariable:        either(isSet(policy.DenyCommandVariable), "commands that match are refused", "no command is refused by its text"),
		policy.AllowCommandVariable:       either(isSet(policy.AllowCommandVariable), "commands that do not match are refused", "every command is allowed that is not denied"),
		policy.RedactVariable:             c.redactEffect(),
		policy.BlockedSideEffectsVariable: c.blockedEffect(),
		searchVariable:                    c.searchEffect(),
		logLevelVariable:                  fmt.Sprintf("the log has messages from %q on", c.LogLevel),
		logFormatVariable:                 c.logFormatEffect(),
	}
}

func (c Config) searchEffect() string {
	if c.Search {
		return "clients are offered the tool search as well"
	}
	return "clients are offered the seven tools without search"
}

func (c Config) spillEffect(whose string, most int64) string {
	if c.SpillDir == "" {
		return "nothing is kept in files"
	}
	return fmt.Sprintf("%d bytes of %s output are kept in files", most, whose)
}

func (c Config) defaultCwdEffect() string {
	if c.Dirs.Default == "" {
		return "commands start in the directory that the client starts the server in"
	}
	return "commands start there unless they name another directory"
}

func (c Config) rootsEffect() string {
	if len(c.Dirs.Roots) == 0 {
		return "commands may start in any directory"
	}
	return "commands may start only in or below: " + strings.Join(c.Dirs.Roots, ", ")
}

func (c Config) maxYieldEffect() string {
	if c.MaxYield > mcp.RequestCeiling {
		return fmt.Sprintf("yield_ms may be up to %s, the limit that clients set", spoken(mcp.RequestCeiling))
	}
	return fmt.Sprintf("yield_ms may be up to %s", spoken(c.MaxYield))
}

func (c Config) tailEffect() string {
	if c.TailBytes == 0 {
		return "an answer that cannot carry all output does not show its end"
	}
	return fmt.Sprintf("an answer that cannot carry all output has the last %d bytes at most, in whole lines", min(c.TailBytes, c.MaxOutputBytes/5))
}

func (c Config) timeoutEffect() string {
	if c.DefaultTimeout == 0 {
		return "a command may run for ever"
	}
	return fmt.Sprintf("a command is ended after %s", spoken(c.DefaultTimeout))
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func (c Config) redactEffect() string {
	if c.Redact == nil {
		return "nothing is hidden in output"
	}
	var names []string
	for _, s := range c.Secrets {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return "no variable of this environment matches, so nothing is hidden in output"
	}
	slices.Sort(names)
	return "the values of these variables are hidden in output: " + strings.Join(names, ", ")
}

func (c Config) blockedEffect() string {
	names := c.Blocked.Names()
	if len(names) == 0 {
		return "no side effect is refused"
	}
	return "commands that declare these are refused: " + strings.Join(names, ", ")
}

func (c Config) logFormatEffect() string {
	return either(c.LogJSON, "the log is JSON, a line for each message", "the log is text")
}

// spoken is a duration for people.
func spoken(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d >= unit.length && d%unit.length == 0 {
			if d == unit.length {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", d/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
