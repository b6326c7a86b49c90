package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options say what to try.
type Options struct {
	// Program is the server's executable, which must hand HelpCommand to Help.
	Program string
	// Env is the server's environment.
	Env []string
	// Dir is where the server and its commands run.
	Dir string
	// Stderr takes what the server logs.
	Stderr io.Writer
	// Prepare is called with the server's command before it starts.
	Prepare func(*exec.Cmd)
	// Tree and SurvivesServerKill are what the system promises, see
	// proc.Guarantees. What it does not promise is no failure.
	Tree, SurvivesServerKill bool
}

// A Result is what came of one step.
type Result struct {
	Step string // start, echo, stop, throughput or survivors
	Text string // what was seen, in words
	// Err is set if it is not what it should be.
	Err error
	// Limited: it is not what it should be, but this system promises no more.
	Limited bool
}

const (
	// stepBound is how long a step may take.
	stepBound = 30 * time.Second
	// endBound is how soon processes must be gone.
	endBound = 5 * time.Second
	// graceBound is how long the server has to end when the test is over.
	graceBound = 5 * time.Second
	// floodTime is how long the command prints that the throughput is measured
	// with.
	floodTime = 300 * time.Millisecond
	// commandRuns is how many commands the time of one is taken from.
	commandRuns = 9
)

// Run takes all steps and reports each. It ends early when the server cannot
// be started.
func Run(ctx context.Context, o Options, report func(Result)) {
	step := func(name string, try func(context.Context, *server) (string, error)) bool {
		ctx, cancel := context.WithTimeout(ctx, stepBound)
		defer cancel()
		begun := time.Now()
		s, err := o.open(ctx)
		if err != nil {
			report(Result{Step: name, Err: err})
			return false
		}
		defer s.close()
		s.started = time.Since(begun)
		text, err := try(ctx, s)
		report(Result{Step: name, Text: text, Err: err, Limited: errors.As(err, new(limit))})
		return true
	}
	if !step("start", start) {
		return
	}
	step("echo", echo)
	step("throughput", throughput)
	step("stop", o.stop)
	step("survivors", o.survivors)
}

// limit is an error that the system makes no promise against.
type limit struct{ error }

// server is a server and a session with it.
type server struct {
	*sdk.ClientSession
	command *exec.Cmd
	started time.Duration
}

func (o Options) open(ctx context.Context) (*server, error) {
	command := exec.Command(o.Program)
	command.Env, command.Dir, command.Stderr = o.Env, o.Dir, o.Stderr
	if o.Prepare != nil {
		o.Prepare(command)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "mcp-yieldshell-doctor", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.CommandTransport{Command: command, TerminateDuration: graceBound}, nil)
	if err != nil {
		return nil, fmt.Errorf("the server does not start: %w", err)
	}
	return &server{ClientSession: session, command: command}, nil
}

// close ends the server. What it says to that is of no interest: it may have
// been killed.
func (s *server) close() { _ = s.Close() }

// answer holds what the steps look at in an answer.
type answer struct {
	ExecutionID string `json:"execution_id"`
	Status      string `json:"status"`
	ExitCode    *int64 `json:"exit_code"`
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	LatestSeq   int64  `json:"latest_seq"`
	Error       string `json:"error"`
	Stopped     bool   `json:"stopped"`
}

func (s *server) call(ctx context.Context, tool string, arguments map[string]any) (answer, error) {
	result, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", tool, err)
	}
	text, err := json.Marshal(result.StructuredContent)
	var a answer
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err == nil && result.IsError {
		err = errors.New(a.Error)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", tool, err)
	}
	return a, nil
}

// execute runs a command to its end.
func (s *server) execute(ctx context.Context, command string, env map[string]string) (answer, error) {
	a, err := s.call(ctx, "execute", map[string]any{
		"command": command, "side_effects": []string{"NONE"}, "env": env, "yield_ms": 25_000,
	})
	switch {
	case err != nil:
		return a, err
	case a.Status != "completed" || a.ExitCode == nil || *a.ExitCode != 0:
		return a, fmt.Errorf("the command ended as %s: %s", a.Status, a.Error)
	}
	return a, nil
}

func start(_ context.Context, s *server) (string, error) {
	return fmt.Sprintf("a server answers %s after its start", shownTime(s.started)), nil
}

func echo(ctx context.Context, s *server) (string, error) {
	const word = "yieldshell-42"
	var times []time.Duration
	for range commandRuns {
		begun := time.Now()
		a, err := s.execute(ctx, "echo "+word, nil)
		if err != nil {
			return "", err
		}
		if got := strings.TrimSpace(a.Stdout); got != word {
			return "", fmt.Errorf("'echo %s' printed %q", word, got)
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	return fmt.Sprintf("'echo' answers in %s, shell included (median of %d)", shownTime(times[len(times)/2]), len(times)), nil
}

func throughput(ctx context.Context, s *server) (string, error) {
	begun := time.Now()
	a, err := s.execute(ctx, floodCommand, map[string]string{programVariable: s.command.Path})
	if err != nil {
		return "", err
	}
	took := time.Since(begun)
	count, err := s.call(ctx, "read", map[string]any{"execution_id": a.ExecutionID, "streams": "stderr"})
	if err != nil {
		return "", err
	}
	var printed int64
	if _, err := fmt.Sscan(count.Stderr, &printed); err != nil {
		return "", fmt.Errorf("the command did not say how much it printed, but %q", count.Stderr)
	}
	if arrived := a.LatestSeq - 1 - int64(len(count.Stderr)); arrived != printed {
		return "", fmt.Errorf("a command printed %d bytes and %d arrived", printed, arrived)
	}
	return fmt.Sprintf("%d MB of output taken in at %.0f MB/s, every byte counted", printed/1e6, float64(printed)/1e6/took.Seconds()), nil
}

// stop starts a tree, stops it through the tool and waits for its end.
func (o Options) stop(ctx context.Context, s *server) (string, error) {
	t, id, err := plant(ctx, s)
	if err != nil {
		return "", err
	}
	defer t.close()
	begun := time.Now()
	a, err := s.call(ctx, "stop", map[string]any{"execution_id": id, "force_after_ms": 2000})
	if err != nil {
		return "", err
	}
	if !a.Stopped {
		return "", fmt.Errorf("stop did not end the command: %s", a.Error)
	}
	return o.ended(t, begun, "'stop' ended %s in %s", o.Tree)
}

// survivors starts a tree, kills the server and waits for the tree's end.
func (o Options) survivors(ctx context.Context, s *server) (string, error) {
	t, _, err := plant(ctx, s)
	if err != nil {
		return "", err
	}
	defer t.close()
	begun := time.Now()
	if err := s.command.Process.Kill(); err != nil {
		return "", fmt.Errorf("killing the server: %w", err)
	}
	return o.ended(t, begun, "when the server was killed, %s ended within %s", o.SurvivesServerKill)
}

// ended waits for the end of a tree. promised says whether all of it must end.
func (o Options) ended(t *tree, begun time.Time, text string, promised bool) (string, error) {
	return o.endedWithin(endBound, t, begun, text, promised)
}

func (o Options) endedWithin(bound time.Duration, t *tree, begun time.Time, text string, promised bool) (string, error) {
	left := t.waitEnded(bound)
	took := time.Since(begun)
	if len(left) == 0 {
		return fmt.Sprintf(text, treeInWords, shownTime(took)), nil
	}
	var names []string
	for _, m := range left {
		names = append(names, fmt.Sprintf("%s (process %d)", m.role, m.pid))
	}
	err := fmt.Errorf("still alive after %v: %s; they are ended now", bound, strings.Join(names, ", "))
	onlyEscaped := !slices.ContainsFunc(left, func(m member) bool { return m.role != roleEscaped })
	if !promised || !o.Tree && onlyEscaped {
		return "", limit{err}
	}
	return "", err
}

// shownTime rounds a time for people.
func shownTime(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
