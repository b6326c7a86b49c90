package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is how often a call that waits says so.
const progressEvery = 2 * time.Second

var (
	// errMisconfigured: the server did not start, and has said why itself.
	errMisconfigured = errors.New("the server's configuration is wrong")
	errUnknownTool   = errors.New("unknown tool")
)

// call starts a server in this binary, calls one tool over a real stdio pipe
// and prints the result.
func call(ctx context.Context, args []string, sys system) int {
	flags := flag.NewFlagSet("mcp-yieldshell call", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	asJSON := flags.Bool("json", false, "print the result as JSON")
	words, err := parseAnywhere(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(sys.stdout, commandUsage("call"))
		return exitOK
	case err != nil:
		fmt.Fprintf(sys.stderr, "mcp-yieldshell call: %v; it takes --json only\n", err)
		return exitUsage
	case len(words) == 0:
		fmt.Fprint(sys.stderr, commandUsage("call"))
		return exitUsage
	case len(words) > 2:
		fmt.Fprintf(sys.stderr, "mcp-yieldshell call: unexpected argument %s; it takes a tool and one JSON object, in quotes\n", shown(words[2]))
		return exitUsage
	}
	arguments, err := toolArguments(words[1:], sys.stdin)
	if err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell call: %v\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	defer stop()
	result, err := callTool(ctx, words[0], arguments, sys)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(sys.stderr, "mcp-yieldshell call: interrupted; the server and what it ran have ended")
		return exitInterrupted
	case errors.Is(err, errMisconfigured):
		return exitUsage
	case errors.Is(err, errUnknownTool):
		fmt.Fprintf(sys.stderr, "mcp-yieldshell call: %v\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintf(sys.stderr, "mcp-yieldshell call: %v\n", err)
		return exitFailed
	}
	if err := printResult(sys.stdout, result, *asJSON); err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell call: %v\n", err)
		return exitFailed
	}
	if result.IsError {
		return exitFailed
	}
	return exitOK
}

// parseAnywhere takes flags before, between and after the words, as people
// write them; a word that is the lone "-" stays one.
func parseAnywhere(flags *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		args = flags.Args()
		if len(args) == 0 {
			return words, nil
		}
		words, args = append(words, args[0]), args[1:]
	}
}

// toolArguments reads the arguments' JSON object.
func toolArguments(words []string, stdin io.Reader) (json.RawMessage, error) {
	if len(words) == 0 {
		return json.RawMessage("{}"), nil
	}
	text := []byte(words[0])
	if words[0] == "-" {
		var err error
		if text, err = io.ReadAll(stdin); err != nil {
			return nil, fmt.Errorf("reading the arguments: %w", err)
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) { // its text is for programmers in Go
			err = fmt.Errorf("got a JSON %s", kind.Value)
		}
		return nil, fmt.Errorf("the arguments must be a JSON object such as {\"command\": \"ls\", \"side_effects\": [\"NONE\"]}: %w", err)
	}
	return text, nil
}

// callTool runs one session with a server of its own.
func callTool(ctx context.Context, tool string, arguments json.RawMessage, sys system) (*sdk.CallToolResult, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	server := exec.Command(self)
	server.Env = sys.environ()
	server.Stderr = sys.stderr
	detachFromTerminal(server)
	client := sdk.NewClient(&sdk.Implementation{Name: "mcp-yieldshell-call", Version: currentBuild().Version}, nil)
	session, err := client.Connect(ctx, &sdk.CommandTransport{Command: server, TerminateDuration: shutdownBound}, nil)
	if err != nil {
		if ended := server.ProcessState; ended != nil && ended.ExitCode() == exitUsage {
			return nil, errMisconfigured
		}
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	defer session.Close()
	defer reportWaiting(ctx, sys.stderr, tool)()
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, whyNotCalled(ctx, session, tool, err)
	}
	return result, nil
}

// whyNotCalled is the error of a call, in words that help if there is no such
// tool.
func whyNotCalled(ctx context.Context, session *sdk.ClientSession, tool string, err error) error {
	list, listErr := session.ListTools(ctx, nil)
	if listErr != nil {
		return err
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	switch {
	case slices.Contains(names, tool):
		return err
	case tool == "search":
		return fmt.Errorf("%w %q: it is offered with %s=on in the environment", errUnknownTool, tool, searchVariable)
	}
	return fmt.Errorf("%w %s%s; the tools are %s", errUnknownTool, shown(tool), didYouMean(tool, names), strings.Join(names, ", "))
}

// reportWaiting says on stderr that the call still waits, until the function
// that it returns is called.
func reportWaiting(ctx context.Context, stderr io.Writer, tool string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	begun := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(stderr, "%s: waiting for %.0f s\n", tool, time.Since(begun).Seconds())
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
