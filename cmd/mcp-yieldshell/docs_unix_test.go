//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentedCommands pastes what the documentation says about a person's
// commands into a shell, in a home of its own. TestMain has put the program on
// the PATH.
func TestDocumentedCommands(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	lines := documentedCommands(t, root)
	if len(lines) < 15 {
		t.Errorf("only %d commands were found: %q", len(lines), lines)
	}
	home := t.TempDir()
	for _, line := range lines {
		shell := exec.Command("/bin/sh", "-c", line)
		shell.Dir = home
		shell.Env = append(withoutConfiguration(os.Environ()), "HOME="+home, "XDG_CONFIG_HOME=", "CODEX_HOME=", "CLAUDE_CONFIG_DIR=")
		if output, err := shell.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, output)
		}
	}
}

// documentedCommands lists the commands in code blocks and between backquotes,
// without those that have a placeholder.
func documentedCommands(t *testing.T, root string) []string {
	t.Helper()
	written := regexp.MustCompile("(?m)^    (mcp-yieldshell (?:install|uninstall|doctor|version).*)$|`(mcp-yieldshell (?:install|uninstall|doctor|version)[^`]*)`")
	var lines []string
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/clients/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range written.FindAllStringSubmatch(string(text), -1) {
				line := strings.ReplaceAll(match[1]+match[2], "\n", " ")
				if line != "mcp-yieldshell install" && line != "mcp-yieldshell uninstall" && !strings.Contains(line, "CLIENT") && !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}
