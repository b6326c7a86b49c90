package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients"
)

// command is one of the program's commands. The table of them is the only
// place that names them: the usage, the manual page, the completions of the
// shells and main itself are made from it.
type command struct {
	name string
	// args is how the usage writes what follows the name.
	args string
	// summary says in one line what the command does.
	summary string
	options []option
	// words are what a shell may complete the first argument to.
	words []string
	// run gets what follows the name and returns the exit status.
	run func(ctx context.Context, args []string, sys system) int
}

// option is a flag of a command, with its dashes, or a lone dash.
type option struct {
	name    string
	value   string // what follows it, if something does
	summary string
}

// String is the option as people write it.
func (o option) String() string { return strings.TrimSpace(o.name + " " + o.value) }

// flags are the options that are written anywhere, so not the lone dash.
func (c command) flags() []option {
	return slices.DeleteFunc(slices.Clone(c.options), func(o option) bool { return o.name == "-" })
}

func commands() []command {
	return []command{
		{
			name:    "call",
			args:    "TOOL ['JSON' | -]",
			summary: "start a server, call one tool, print the result",
			options: []option{
				{"--json", "", "print the result as JSON"},
				{"-", "", "in place of JSON: read it from stdin"},
			},
			words: []string{"execute", "read", "write", "wait", "stop", "ps", "cleanup"},
			run:   call,
		},
		{
			name:    "install",
			args:    "CLIENT...",
			summary: "put the server into a client's configuration",
			options: slices.Concat([]option{
				{"--env", "NAME=VALUE", "a variable of the server; may be repeated"},
				{"--allow-cwd", "DIR", "commands must start in or below it; may be repeated"},
				{"--print", "", "print what an entry looks like, and write nothing"},
			}, fileOptions()),
			words: clients.IDs(),
			run:   withoutContext(install),
		},
		{
			name:    "uninstall",
			args:    "CLIENT...",
			summary: "take the server out of a client's configuration",
			options: fileOptions(),
			words:   clients.IDs(),
			run:     withoutContext(uninstall),
		},
		{
			name:    "doctor",
			summary: "check that everything works, and say what does not",
			options: []option{{"--json", "", "print the findings as JSON"}},
			run:     doctor,
		},
		{
			name:    "completion",
			args:    "bash|zsh|fish|powershell",
			summary: "print the completions for a shell",
			words:   []string{"bash", "zsh", "fish", "powershell"},
			run:     completion,
		},
		{
			name:    "man",
			summary: "print the manual page, for man -l -",
			run:     printing("man", func() string { return manual(currentBuild()) }),
		},
		{
			name:    "version",
			summary: "print the version",
			run:     printing("version", func() string { return currentBuild().String() + "\n" }),
		},
		{
			name:    "help",
			summary: "print this",
			run: func(_ context.Context, _ []string, sys system) int {
				fmt.Fprint(sys.stdout, usage())
				return exitOK
			},
		},
	}
}

// fileOptions are those of the commands that change a client's file.
func fileOptions() []option {
	return []option{
		{"--project", "", "the file of the project here, not the user's"},
		{"--dry-run", "", "show the difference, and write nothing"},
		{"--yes", "", "do not ask"},
	}
}

func withoutContext(run func([]string, system) int) func(context.Context, []string, system) int {
	return func(_ context.Context, args []string, sys system) int { return run(args, sys) }
}

// printing is a command that prints a text and takes no arguments.
func printing(name string, text func() string) func(context.Context, []string, system) int {
	return func(_ context.Context, args []string, sys system) int {
		if len(args) > 0 {
			fmt.Fprintf(sys.stderr, "mcp-yieldshell %s: unexpected argument %s; it takes none\n", name, shown(args[0]))
			return exitUsage
		}
		fmt.Fprint(sys.stdout, text())
		return exitOK
	}
}

// findCommand returns the command of that name, or of the flag that people
// write instead.
func findCommand(name string) (command, bool) {
	switch name {
	case "--version", "-version", "-v", "-V":
		name = "version"
	case "--help", "-help", "-h", "-?":
		name = "help"
	}
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// commandNames lists the names as a sentence does: "a, b and c".
func commandNames() string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// usage is what help prints.
func usage() string {
	var b strings.Builder
	b.WriteString("mcp-yieldshell - a shell server for AI agents (Model Context Protocol on stdio)\n\n")
	line := func(left, right string) {
		const column = 42
		if len(left) >= column {
			fmt.Fprintf(&b, "  %s\n", left)
			left = ""
		}
		fmt.Fprintf(&b, "  %-*s%s\n", column, left, right)
	}
	line("mcp-yieldshell", "serve on stdin and stdout; an MCP client starts it so")
	for _, c := range commands() {
		called := "mcp-yieldshell " + c.name + " "
		line(strings.TrimSpace(called+c.args), c.summary)
		for _, o := range c.options {
			line(strings.Repeat(" ", len(called))+o.String(), o.summary)
		}
	}
	call, _ := findCommand("call")
	fmt.Fprintf(&b, usageNotes, strings.Join(call.words, " "))
	return b.String()
}

// commandUsage is the usage of one command and its options.
func commandUsage(name string) string {
	c, _ := findCommand(name)
	args := c.args
	if args == "" && len(c.options) > 0 {
		args = "[FLAG...]"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "usage: mcp-yieldshell %s\n\n", strings.TrimSpace(c.name+" "+args))
	for _, o := range c.options {
		fmt.Fprintf(&b, "  %-18s%s\n", o, o.summary)
	}
	return b.String()
}

// usageNotes ends the usage. It takes the tools' names.
const usageNotes = `
The tools: %s. An example:

  mcp-yieldshell call execute '{"command": "echo hello", "side_effects": ["NONE"]}'

A call ends with its server, and with it everything that it started. Its exit
status is 0, or 1 if the tool reported an error, 2 if the call was misspelt,
130 if it was interrupted. The server reads its configuration from the
environment (YIELDSHELL_*); the README lists the variables.
`
