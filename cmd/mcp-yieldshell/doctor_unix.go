//go:build unix

package main

import procunix "github.com/yieldshell/mcp-yieldshell/proc_unix"

// pathAdvice passes on this terminal's PATH.
const pathAdvice = `'mcp-yieldshell install CLIENT --env PATH="$PATH"' gives a client's commands the PATH of this terminal`

// defaultShell is the shell that commands run in, with what makes it end.
func defaultShell(func(string) (string, bool)) (name string, args []string) {
	return procunix.DefaultShell, []string{"-c", "exit 0"}
}
