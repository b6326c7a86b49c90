package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/cmd/mcp-yieldshell/selftest"
)

// Exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1   // the tool reported an error
	exitUsage       = 2   // bad arguments or configuration
	exitInterrupted = 130 // Ctrl-C, as a shell reports it
)

func main() {
	helpIfAsked()
	os.Exit(run(context.Background(), os.Args[1:], system{
		lookupEnv: os.LookupEnv,
		environ:   os.Environ,
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    os.Stderr,
	}))
}

// system is what the program uses of the process that it runs in.
type system struct {
	lookupEnv func(string) (string, bool)
	environ   func() []string
	stdin     *os.File
	stdout    *os.File
	stderr    io.Writer
}

func run(ctx context.Context, args []string, sys system) int {
	if len(args) == 0 {
		return serve(ctx, sys)
	}
	switch args[0] {
	case "call":
		return call(ctx, args[1:], sys)
	case "install":
		return install(args[1:], sys)
	case "uninstall":
		return uninstall(args[1:], sys)
	case "doctor":
		return doctor(ctx, args[1:], sys)
	case selftest.HelpCommand:
		return selftest.Help(args[1:])
	case "version", "--version", "-version", "-v", "-V":
		fmt.Fprintln(sys.stdout, currentBuild().String())
		return exitOK
	case "help", "--help", "-help", "-h", "-?":
		fmt.Fprint(sys.stdout, usage)
		return exitOK
	}
	fmt.Fprintf(sys.stderr, "mcp-yieldshell: unknown command %q; the commands are call, install, uninstall, doctor, version and help, and without one it serves MCP on stdin and stdout\n",
		strings.ToValidUTF8(args[0], "\uFFFD"))
	return exitUsage
}

const usage = `mcp-yieldshell - a shell server for AI agents (Model Context Protocol on stdio)

  mcp-yieldshell                          serve on stdin and stdout; an MCP client starts it so
  mcp-yieldshell call TOOL ['JSON']       start a server, call one tool, print the result
                      --json              print the result as JSON
                      -                   in place of JSON: read it from stdin
  mcp-yieldshell install CLIENT           put the server into a client's configuration
  mcp-yieldshell uninstall CLIENT         take it out again
  mcp-yieldshell doctor [--json]          check that everything works, and say what does not
  mcp-yieldshell version                  print the version
  mcp-yieldshell help                     print this

The tools: execute read write wait stop ps cleanup. An example:

  mcp-yieldshell call execute '{"command": "echo hello", "side_effects": ["NONE"]}'

A call ends with its server, and with it everything that it started. Its exit
status is 0, or 1 if the tool reported an error, 2 if the call was misspelt,
130 if it was interrupted. The server reads its configuration from the
environment (YIELDSHELL_*); the README lists the variables.
`
