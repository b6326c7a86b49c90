package main

import (
	"fmt"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
)

// manual is the manual page in the man macros of roff.
func manual(b build) string {
	var page roff
	page.request("TH", "MCP-YIELDSHELL", "1", day(b.Date), "mcp-yieldshell "+b.Version, "User Commands")
	page.request("SH", "NAME")
	page.text(`mcp-yieldshell - a shell server for AI agents`)
	page.request("SH", "SYNOPSIS")
	page.request("B", "mcp-yieldshell")
	for _, c := range commands() {
		page.request("br")
		page.request("B", "mcp-yieldshell "+c.name)
		if args := synopsis(c); args != "" {
			page.text(args)
		}
	}
	page.request("SH", "DESCRIPTION")
	page.text(`Without arguments it serves the Model Context Protocol on standard input and
output: an MCP client starts it so. An agent runs commands through it; one that
is still running after a moment moves to the background by itself, and is read,
written to, waited for and stopped from there. The server ends, and ends what it
started, when its standard input does.`)
	page.request("SH", "COMMANDS")
	for _, c := range commands() {
		page.request("TP")
		page.request("B", strings.TrimSpace(c.name+" "+c.args))
		page.text(sentence(c.summary))
		for _, o := range c.options {
			page.request("RS")
			page.request("TP")
			page.request("B", o.String())
			page.text(sentence(o.summary))
			page.request("RE")
		}
	}
	page.request("SH", "ENVIRONMENT")
	page.text(`The server reads its configuration from these variables. What is no number, or
out of range, falls back to its default, with a warning. Every other mistake, and any
in the numbers for the disk, stops the start.`)
	for _, v := range variables() {
		page.request("TP")
		page.request("B", v.name)
		page.text(sentence(v.summary))
	}
	page.request("SH", "EXIT STATUS")
	page.text(`0 if all went well; 1 if what was asked for failed: a tool reported an error,
doctor found a problem, a client's file could not be changed, the server could
not start; 2 for a mistake in the arguments or the configuration; 130 if it was
interrupted.`)
	page.request("SH", "EXAMPLES")
	page.request("EX")
	page.text(`mcp-yieldshell call execute '{"command": "echo hello", "side_effects": ["NONE"]}'
mcp-yieldshell call --json ps
mcp-yieldshell install --allow-cwd "$HOME" claude-code`)
	page.request("EE")
	page.request("SH", "SECURITY")
	page.text(`The server runs any command that it is given, as its own user. Run it in a
container, a sandbox or a machine made for it.`)
	return page.String()
}

// variable is an environment variable of the server, for people to read.
type variable struct {
	name    string
	summary string
}

// variables describes what configVariables lists, in the same order.
func variables() []variable {
	return []variable{
		{policy.DefaultCwdVariable, "where commands start; the default is the current directory"},
		{policy.AllowedCwdsVariable, "folders, separated by : (; on Windows), that commands must start in or below"},
		{maxOutputBytesVariable, "the most output in one answer; the default is 20000"},
		{tailBytesVariable, "the most of tail, at most a fifth of an answer's limit, 0 for none; the default is 4000"},
		{maxBufferBytesVariable, "output kept for each stream of each execution; the default is 262144"},
		{maxProcessesVariable, "executions that may run at once; the default is 50"},
		{defaultYieldVariable, "default of yield_ms; 30000 if unset"},
		{maxYieldVariable, "limit of yield_ms, which never passes 55000; the default is 300000"},
		{defaultTimeoutVariable, "default of timeout_ms, 0 for none; 3600000 if unset"},
		{processRetentionVariable, "age in ms at which an ended execution is forgotten; the default is 3600000"},
		{maxRetainedVariable, "ended executions that are kept; the default is 100"},
		{spillDirVariable, "a folder for output that leaves memory, an absolute path; none if unset"},
		{maxSpillVariable, "the most bytes in it for each execution; the default is 67108864"},
		{maxSpillTotalVariable, "the most bytes in it for all executions; the default is 1073741824"},
		{renderVariable, "default of render: raw (the default) or text"},
		{policy.DenyCommandVariable, "commands and shells that match this expression are refused"},
		{policy.AllowCommandVariable, "if set, others than those that match this expression are refused"},
		{policy.RedactVariable, "variables whose values (8 characters and more) are hidden in output"},
		{policy.BlockedSideEffectsVariable, "categories of side effects that are refused, separated by commas; , for none"},
		{searchVariable, "on offers the tool search; the default is off"},
		{logLevelVariable, "level of the log on stderr: trace, debug, info, warn (the default), error or off"},
		{logFormatVariable, "format of the log: text (the default) or json"},
	}
}

// synopsis is what follows a command's name in the synopsis.
func synopsis(c command) string {
	var words []string
	for _, o := range c.flags() {
		words = append(words, "["+o.String()+"]")
	}
	return strings.TrimSpace(strings.Join(words, " ") + " " + c.args)
}

// sentence makes a sentence of a summary.
func sentence(summary string) string {
	return strings.ToUpper(summary[:1]) + summary[1:] + "."
}

// day is the date of a time in RFC 3339.
func day(time string) string {
	date, _, _ := strings.Cut(time, "T")
	return date
}

// roff builds a page: requests, and text that is escaped.
type roff struct{ strings.Builder }

// request writes a line such as .SH NAME. Arguments with spaces stay one.
func (r *roff) request(name string, args ...string) {
	r.WriteString("." + name)
	for _, a := range args {
		fmt.Fprintf(r, " \"%s\"", strings.ReplaceAll(escapeRoff(a), `"`, `\(dq`))
	}
	r.WriteByte('\n')
}

// text writes lines; one that starts with a control character is protected.
func (r *roff) text(lines string) {
	for line := range strings.Lines(escapeRoff(lines)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, `\(aq`) {
			line = `\&` + line
		}
		r.WriteString(line + "\n")
	}
}

// escapeRoff keeps what people paste as it is: a plain hyphen and quote would
// be set as typographic ones.
func escapeRoff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}
