package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/mcp"
)

func TestCallNamesEveryTool(t *testing.T) {
	ctx := context.Background()
	near, far := sdk.NewInMemoryTransports()
	server, err := mcp.NewServer(mcp.Config{}).Connect(ctx, far, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(ctx, near, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list, err := client.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, tool := range list.Tools {
		tools = append(tools, tool.Name)
	}
	call, _ := findCommand("call")
	words := slices.Sorted(slices.Values(call.words))
	if !slices.Equal(words, tools) {
		t.Errorf("call names %q, the tools are %q", words, tools)
	}
}

// TestEveryVariableIsDescribed holds the manual page and the README to the
// variables that are read.
func TestEveryVariableIsDescribed(t *testing.T) {
	var described []string
	for _, v := range variables() {
		described = append(described, v.name)
	}
	if !slices.Equal(described, configVariables()) {
		t.Errorf("the manual page describes %q, read are %q", described, configVariables())
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range configVariables() {
		if !strings.Contains(string(readme), "| `"+name+"` |") {
			t.Errorf("the README does not describe %s", name)
		}
	}
}

func TestUsageFitsATerminal(t *testing.T) {
	for line := range strings.Lines(usage()) {
		if len(line) > 100 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}

func TestRoffKeepsText(t *testing.T) {
	var page roff
	page.request("B", `a "b" -c`)
	page.text(".x\n'y'\n\\z\n")
	want := `.B "a \(dqb\(dq \-c"` + "\n" + `\&.x` + "\n" + `\&\(aqy\(aq` + "\n" + `\ez` + "\n"
	if page.String() != want {
		t.Errorf("got %q, want %q", page.String(), want)
	}
}

// TestCompletions asks each shell that is installed what it would offer.
func TestCompletions(t *testing.T) {
	stories := []struct {
		line string // what was typed
		want []string
	}{
		{"mcp-yieldshell c", []string{"call", "completion"}},
		{"mcp-yieldshell call ", []string{"execute", "read", "write", "wait", "stop", "ps", "cleanup", "search"}},
		{"mcp-yieldshell call --j", []string{"--json"}},
		{"mcp-yieldshell install --pr", []string{"--print", "--project"}},
		{"mcp-yieldshell uninstall claude", []string{"claude-code", "claude-desktop"}},
		{"mcp-yieldshell completion z", []string{"zsh"}},
		{"mcp-yieldshell version ", nil},
	}
	shells := []struct {
		name   string
		script string
		ask    func(t *testing.T, file, line string) string
	}{
		{"bash", bashCompletion(commands()), askBash},
		{"zsh", zshCompletion(commands()), askZsh},
		{"fish", fishCompletion(commands()), askFish},
		{"pwsh", powershellCompletion(commands()), askPowerShell},
	}
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			if _, err := exec.LookPath(shell.name); err != nil {
				t.Skip("not installed")
			}
			t.Chdir(t.TempDir()) // no file of ours may be offered
			file, err := filepath.Abs("completion")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(shell.script), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, story := range stories {
				got := strings.Fields(shell.ask(t, file, story.line))
				slices.Sort(got)
				want := slices.Sorted(slices.Values(story.want))
				// A shell may offer options along with words.
				got = slices.DeleteFunc(got, func(w string) bool { return w == "--json" && !slices.Contains(want, w) })
				if !slices.Equal(got, want) {
					t.Errorf("after %q it offers %q, want %q", story.line, got, want)
				}
			}
		})
	}
}

// askBash calls the function as bash does, in the bash of the test's machine.
func askBash(t *testing.T, file, line string) string {
	return outputOf(t, "bash", "--norc", "-c", `
		set -u
		. "$1"
		read -ra COMP_WORDS <<<"$2"
		case $2 in *' ') COMP_WORDS+=('') ;; esac
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_mcp_yieldshell
		printf '%s\n' "${COMPREPLY[@]}"`, "bash", file, line)
}

// askZsh runs the function with a _describe that prints what it is given: the
// real one works only in a line that is being edited.
func askZsh(t *testing.T, file, line string) string {
	return outputOf(t, "zsh", "-f", "-c", `
		compdef() { }
		. $1
		words=(${=2})
		[[ $2 == *' ' ]] && words+=('')
		CURRENT=$#words
		_describe() {
			local candidate
			for candidate in ${(P)2}; do
				candidate=${candidate%%:*}
				[[ $candidate == ${words[CURRENT]}* ]] && print -r -- $candidate
			done
			return 0
		}
		_mcp-yieldshell || true`, "zsh", file, line)
}

func askFish(t *testing.T, file, line string) string {
	out := outputOf(t, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, line)
	var words strings.Builder
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words.WriteString(word + "\n")
	}
	return words.String()
}

func askPowerShell(t *testing.T, file, line string) string {
	return outputOf(t, "pwsh", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command",
		`Get-Content -Raw '`+file+`' | Invoke-Expression
		(TabExpansion2 -inputScript '`+line+`' -cursorColumn `+strconv.Itoa(len(line))+`).CompletionMatches.CompletionText`)
}

func outputOf(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}
