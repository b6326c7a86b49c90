package main

import (
	"context"
	"fmt"
	"strings"
)

// completion prints the script that completes the program's command line in
// one of the shells. Each is made from the table of commands, completes names,
// options and words of a fixed set, and offers no files.
func completion(_ context.Context, args []string, sys system) int {
	scripts := map[string]func([]command) string{
		"bash":       bashCompletion,
		"zsh":        zshCompletion,
		"fish":       fishCompletion,
		"powershell": powershellCompletion,
	}
	if len(args) != 1 {
		fmt.Fprintln(sys.stderr, "usage: mcp-yieldshell completion bash|zsh|fish|powershell")
		return exitUsage
	}
	script, ok := scripts[args[0]]
	if !ok {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell completion: unknown shell %s; the shells are bash, zsh, fish, powershell\n", shown(args[0]))
		return exitUsage
	}
	fmt.Fprint(sys.stdout, script(commands()))
	return exitOK
}

// candidates are the words that may follow a command.
func (c command) candidates() []string {
	var words []string
	for _, o := range c.flags() {
		words = append(words, o.name)
	}
	return append(words, c.words...)
}

// bashCompletion needs nothing of bash-completion and runs in bash 3.2, the
// one of macOS.
func bashCompletion(commands []command) string {
	var names []string
	var cases strings.Builder
	for _, c := range commands {
		names = append(names, c.name)
		if words := c.candidates(); len(words) > 0 {
			fmt.Fprintf(&cases, "\t%s) words='%s' ;;\n", c.name, strings.Join(words, " "))
		}
	}
	return `# bash completion for mcp-yieldshell
_mcp_yieldshell() {
	local words='` + strings.Join(names, " ") + `'
	if [ "$COMP_CWORD" -gt 1 ]; then
		case ${COMP_WORDS[1]} in
` + indent(cases.String()) + `		*) words= ;;
		esac
	fi
	# shellcheck disable=SC2207 # the words hold no spaces and no patterns
	COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _mcp_yieldshell mcp-yieldshell
`
}

// zshCompletion works as a file on the fpath and when it is sourced.
func zshCompletion(commands []command) string {
	var names, cases strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&names, "\t\t%s\n", zshQuote(c.name+":"+c.summary))
		if len(c.candidates()) == 0 {
			continue
		}
		fmt.Fprintf(&cases, "\t%s)\n\t\tchoices=(\n", c.name)
		for _, o := range c.flags() {
			fmt.Fprintf(&cases, "\t\t\t%s\n", zshQuote(o.name+":"+o.summary))
		}
		for _, w := range c.words {
			fmt.Fprintf(&cases, "\t\t\t%s\n", zshQuote(w))
		}
		cases.WriteString("\t\t)\n\t\t;;\n")
	}
	return `#compdef mcp-yieldshell
_mcp-yieldshell() {
	local -a choices
	if (( CURRENT == 2 )); then
		choices=(
` + indent(names.String()) + `		)
		_describe command choices
		return
	fi
	case $words[2] in
` + cases.String() + `	esac
	(( $#choices )) && _describe argument choices
}
if [ "$funcstack[1]" = _mcp-yieldshell ]; then
	_mcp-yieldshell "$@"
else
	compdef _mcp-yieldshell mcp-yieldshell
fi
`
}

func fishCompletion(commands []command) string {
	var b strings.Builder
	b.WriteString("# fish completion for mcp-yieldshell\ncomplete -c mcp-yieldshell -f\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c mcp-yieldshell -n __fish_use_subcommand -a %s -d %s\n", c.name, fishQuote(c.summary))
	}
	for _, c := range commands {
		after := fishQuote("__fish_seen_subcommand_from " + c.name)
		for _, o := range c.flags() {
			exclusive := "" // -x: a value follows, and no file is one
			if o.value != "" {
				exclusive = " -x"
			}
			fmt.Fprintf(&b, "complete -c mcp-yieldshell -n %s -l %s%s -d %s\n", after, strings.TrimPrefix(o.name, "--"), exclusive, fishQuote(o.summary))
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c mcp-yieldshell -n %s -a %s\n", after, fishQuote(strings.Join(c.words, " ")))
		}
	}
	return b.String()
}

func powershellCompletion(commands []command) string {
	var b strings.Builder
	b.WriteString(`# PowerShell completion for mcp-yieldshell
Register-ArgumentCompleter -Native -CommandName mcp-yieldshell -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $elements = @($commandAst.CommandElements | ForEach-Object { $_.Extent.Text })
    $position = $elements.Count
    if ($wordToComplete) { $position-- }
    if ($position -le 1) {
        $candidates = @(
`)
	candidate := func(word, summary string) {
		fmt.Fprintf(&b, "            ,@(%s, %s)\n", powershellQuote(word), powershellQuote(summary))
	}
	for _, c := range commands {
		candidate(c.name, c.summary)
	}
	b.WriteString("        )\n    } else {\n        $candidates = @(switch ($elements[1]) {\n")
	for _, c := range commands {
		if len(c.candidates()) == 0 {
			continue
		}
		fmt.Fprintf(&b, "        %s {\n", powershellQuote(c.name))
		for _, o := range c.flags() {
			candidate(o.name, o.summary)
		}
		for _, w := range c.words {
			candidate(w, w)
		}
		b.WriteString("        }\n")
	}
	b.WriteString(`        })
    }
    $candidates | Where-Object { $_[0].StartsWith($wordToComplete) } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
    }
}
`)
	return b.String()
}

func zshQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func powershellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// indent adds a tab before each line.
func indent(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString("\t" + line)
	}
	return b.String()
}
