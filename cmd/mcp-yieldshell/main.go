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
	if args[0] == selftest.HelpCommand {
		return selftest.Help(args[1:])
	}
	if c, ok := findCommand(args[0]); ok {
		return c.run(ctx, args[1:], sys)
	}
	fmt.Fprintf(sys.stderr, "mcp-yieldshell: unknown command %q; the commands are %s, and without one it serves MCP on stdin and stdout\n",
		strings.ToValidUTF8(args[0], "\uFFFD"), commandNames())
	return exitUsage
}
