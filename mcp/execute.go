package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// Statuses of execute that no record has.
const (
	backgrounded  = "backgrounded"
	failedToStart = "failed_to_start"
)

type executeInput struct {
	command     string
	sideEffects []string
	cwd         string
	env         map[string]string
	shell       string
	stdin       string
	closeStdin  bool
	name        *string
	yield       time.Duration
	timeout     time.Duration
	until       until
	max         int64
	render      string
}

// executeAnswer has all fields for every status but failed_to_start, which has
// no identifiers and no times.
type executeAnswer struct {
	Status      string  `json:"status"`
	ExecutionID string  `json:"execution_id,omitempty"`
	ProcessID   int     `json:"process_id,omitempty"`
	Error       string  `json:"error,omitempty"`
	Message     string  `json:"message,omitempty"`
	Duration    *millis `json:"duration_ms,omitempty"`
	outcomeFields
	exitFields
	outputFields
	StdinError string   `json:"stdin_error,omitempty"`
	Detached   []member `json:"detached,omitempty"`
	warned
}

func (a *executeAnswer) failed() bool { return a.Status == failedToStart }

func (a *executeAnswer) write(o *object) {
	o.text("status", a.Status)
	o.someText("execution_id", a.ExecutionID)
	if a.ProcessID != 0 {
		o.integer("process_id", int64(a.ProcessID))
	}
	o.someText("error", a.Error)
	o.someText("message", a.Message)
	if a.Duration != nil {
		o.millis("duration_ms", *a.Duration)
	}
	a.outcomeFields.write(o)
	a.exitFields.write(o)
	a.outputFields.write(o)
	o.someText("stdin_error", a.StdinError)
	o.members("detached", a.Detached)
	a.warned.write(o)
}

func (t *tools) execute() tool[executeInput] {
	return tool[executeInput]{
		name:  "execute",
		title: "Run a shell command",
		hints: hints(false, true, false, true),
		defaults: func() executeInput {
			return executeInput{closeStdin: true, yield: t.DefaultYield, timeout: t.DefaultTimeout, render: t.Render}
		},
		params: t.executeParams,
		refuse: func(_ executeInput, err error) answer { return t.notStarted(err, t.Secrets) },
		run:    t.runExecute,
	}
}

func (t *tools) executeParams(in *executeInput) []param {
	return []param{
		{
			name: "command", into: &in.command, required: true,
			about: "The command, as it would be typed into the shell. Here-documents, pipes and several lines are fine.",
			check: func() error { return runnable("command", in.command) },
		},
		{
			name: "side_effects", into: &in.sideEffects, required: true, enum: policy.SideEffects(),
			about: `Every side effect that the command may plausibly have. ["NONE"], alone, for a command that only reads. A call that declares a category which the operator blocks is refused with advice on what to do instead.`,
		},
		{
			name: "cwd", into: &in.cwd,
			about: "Directory to run in. Default: the server's default directory. The operator may limit it to allowed roots.",
			check: func() error { return withoutNUL("cwd", in.cwd) },
		},
		{
			name: "env", into: &in.env,
			about: `Environment variables to add to the inherited ones, such as {"PORT": "3000"}. An empty value sets an empty variable.`,
		},
		{
			name: "shell", into: &in.shell,
			about: "Shell to run the command with: a name or path such as bash, pwsh or /bin/zsh. Default: the platform's shell.",
			check: func() error { return runnable("shell", in.shell) },
		},
		{
			name: "stdin", into: &in.stdin,
			about: "Text for the command's standard input, delivered as soon as it runs. Default: none.",
		},
		{
			name: "close_stdin", into: &in.closeStdin,
			about: "Close standard input after stdin, so that the command sees its end. Default: true. Use false to send input later with write.",
		},
		{
			name: "name", into: &in.name,
			about: "A label for people, which ps shows.",
		},
		{
			name: "yield_ms", into: &in.yield,
			about: fmt.Sprintf("Milliseconds to wait for the command to end before it moves to the background; 0 for at once. Default: %d. Upper limit: %d.",
				t.yieldFor(t.DefaultYield).Milliseconds(), t.yieldFor(RequestCeiling).Milliseconds()),
		},
		in.until.outputParam("yield_until_output", "Do not wait for the end, but answer as soon as output matches this regular expression (RE2 syntax; ^ and $ are line ends, (?i) ignores case), such as ready|listening for a server. The answer's match has the line. yield_ms stays the limit."),
		in.until.portParam("yield_until_port", "Do not wait for the end, but answer as soon as something accepts connections on this TCP port of this machine (127.0.0.1 or ::1). yield_ms stays the limit."),
		{
			name: "timeout_ms", into: &in.timeout, minimum: new(int64),
			about: fmt.Sprintf("Milliseconds the command may run in all, in the background too, before it is ended with everything that it started. Default: %d. 0: unlimited.",
				t.DefaultTimeout.Milliseconds()),
		},
		t.maxParam(&in.max),
		t.renderParam(&in.render),
	}
}

// runnable refuses a text that cannot be run.
func runnable(name, text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("%s must not be empty", name)
	}
	return withoutNUL(name, text)
}

// withoutNUL refuses a text that the system would cut at its first NUL, so
// that something else would be run than what was asked for and judged.
func withoutNUL(name, text string) error {
	if strings.Contains(text, "\x00") {
		return fmt.Errorf("%s must not contain a NUL character", name)
	}
	return nil
}

// yieldFor applies the limits of yield_ms.
func (t *tools) yieldFor(asked time.Duration) time.Duration {
	return max(0, min(asked, t.MaxYield, RequestCeiling))
}

func (t *tools) runExecute(ctx context.Context, in executeInput) answer {
	request, err := t.request(in)
	if err != nil {
		return t.notStarted(err, request.Secrets)
	}
	if ctx.Err() != nil {
		return t.notStarted(errors.New("the call was cancelled before the command was started"), nil)
	}
	taken := t.portTaken(in.until.port)
	e, err := t.Registry.Start(request)
	if err != nil {
		return t.notStarted(startFailure(err), request.Secrets)
	}
	clientOf(ctx).log(ctx, "info", "execution started", fields{"execution_id": e.ID(), "process_id": e.PID()})
	conditions := execution.Conditions{Output: e.Expected(), Port: int(in.until.port)}
	if conditions.Output != nil {
		defer conditions.Output.Stop()
	}
	stopReports := reportProgress(ctx, e)
	// A cancelled call leaves its command running in the background.
	reason, _ := e.WaitInline(ctx, t.yieldFor(in.yield), conditions)
	stopReports()
	s := e.Summary(ctx)
	a := t.started(ctx, e, s, view{max: in.max, render: in.render})
	if in.until.asked() {
		a.outcomeFields = outcomeFields{waitResult(reason, s), matchOf(reason, conditions)}
		a.Message = sentences(a.Message, taken)
	}
	return a
}

// request passes the call through policy. With an error it still has the
// secrets that the error must not show.
func (t *tools) request(in executeInput) (execution.Request, error) {
	r := execution.Request{
		Command:     in.command,
		DisplayName: in.name,
		Shell:       in.shell,
		Stdin:       in.stdin,
		CloseStdin:  in.closeStdin,
		Timeout:     in.timeout,
		Expect:      in.until.re,
		Secrets:     t.Secrets.With(t.secretsIn(in.env)),
	}
	if err := t.Blocked.Check(in.sideEffects); err != nil {
		return r, err
	}
	if err := t.Commands.CheckCommand(in.command); err != nil {
		return r, err
	}
	if in.shell != "" {
		if err := t.Commands.CheckShell(in.shell); err != nil {
			return r, err
		}
	}
	var err error
	if r.Dir, err = t.Dirs.Resolve(in.cwd); err != nil {
		return r, err
	}
	if err := policy.CheckEnv(in.env); err != nil {
		return r, err
	}
	r.Env = policy.MergeEnv(t.Environ(), in.env)
	return r, nil
}

// secretsIn returns the variables of a call's env whose values are hidden.
func (t *tools) secretsIn(env map[string]string) []buffer.Secret {
	var secrets []buffer.Secret
	for name, value := range env {
		if t.Sensitive != nil && t.Sensitive(name) {
			secrets = append(secrets, buffer.Secret{Name: name, Value: value})
		}
	}
	return secrets
}

// startFailure words why the command could not be started, for a reader who
// knows the arguments and not the server.
func startFailure(err error) error {
	var start *proc.StartError
	if !errors.As(err, &start) {
		return err
	}
	switch start.Op {
	case "shell", "cwd", "command":
		return err // it begins with the argument's name
	}
	return fmt.Errorf("the command could not be started: %w", err)
}

// notStarted is the answer to an execute that was refused.
func (t *tools) notStarted(err error, secrets *buffer.Secrets) answer {
	var none string
	return &executeAnswer{
		Status:       failedToStart,
		Error:        secrets.Redact(err.Error()),
		outputFields: outputFields{Stdout: &none, Stderr: &none, StartSeq: 1, NextSeq: 1, LatestSeq: 1},
	}
}

// started describes the execution as execute leaves it.
func (t *tools) started(ctx context.Context, e *execution.Execution, s execution.Summary, v view) *executeAnswer {
	duration := millis(s.Duration)
	a := &executeAnswer{
		Status:       string(s.Status),
		ExecutionID:  s.ID,
		ProcessID:    s.PID,
		Error:        failureOf(&s),
		Message:      standing(ctx, e, s),
		Duration:     &duration,
		exitFields:   exitOf(&s),
		outputFields: t.output(ctx, e, v),
		StdinError:   textOrEmpty(s.StdinErr),
		Detached:     membersOf(s.Detached),
		warned:       warningsOf(&s),
	}
	if s.Status == execution.Running {
		a.Status = backgrounded
		a.Message = strings.TrimSpace(fmt.Sprintf("Execution is running in the background. Use read, wait, or stop with execution_id %q. %s", s.ID, a.Message))
	}
	return a
}
