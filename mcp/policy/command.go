package policy

import (
	"errors"
	"fmt"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// The environment variables that hold the operator's expressions.
const (
	DenyCommandVariable  = "YIELDSHELL_DENY_COMMAND_REGEX"
	AllowCommandVariable = "YIELDSHELL_ALLOW_COMMAND_REGEX"
	// RedactVariable holds the expression for the names of variables whose
	// values are hidden.
	RedactVariable = "YIELDSHELL_REDACT_ENV_REGEX"
)

// MatchLimit is how long one match may take before it counts as refused.
//
// The engine notices the limit at ticks of a clock that runs at 100 ms, so
// that a match ends between one and two ticks after it began and never before
// the limit. The clock's goroutine ends by itself about a second after the last
// match: an idle server has none.
const MatchLimit = 100 * time.Millisecond

// engineTimeout makes the engine give up at the second tick after the start of
// a match: it adds one tick of its own to this value.
const engineTimeout = MatchLimit / 2

// maxBacktracking bounds the engine's stack, in slots of 8 bytes, for
// expressions that repeat a group over a very long command. The engine's own
// default of 100,000 would refuse commands of some 10 KB.
const maxBacktracking = 4 << 20

// ErrMatchLimit: a match took longer, or more memory, than it may.
var ErrMatchLimit = errors.New("matching took longer than the limit of 100 ms")

// Expression is a regular expression in the syntax of Python's re module,
// ready to be searched for. It is safe for concurrent use.
type Expression struct {
	source string
	engine *regexp2.Regexp
}

// CompileExpression translates and compiles an expression in Python's syntax.
// What Python refuses is refused, and so is the little that cannot be
// translated; the error quotes the expression and says why.
func CompileExpression(source string) (*Expression, error) {
	translated, err := translate(source)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %s: %w", quote(source), err)
	}
	engine, err := regexp2.Compile(translated, regexp2.OptionMaxBacktrackingStackSize(maxBacktracking))
	if err != nil {
		// The engine's text holds the translation, newlines and all.
		return nil, fmt.Errorf("regular expression %s cannot be compiled: %s", quote(source), quote(err.Error()))
	}
	engine.MatchTimeout = engineTimeout
	return &Expression{source: source, engine: engine}, nil
}

// String returns the expression as it was written.
func (e *Expression) String() string { return e.source }

// Search tells whether the expression matches anywhere in text, like Python's
// re.search. Bytes that are not UTF-8 are seen as U+FFFD, one for each. The
// only error is ErrMatchLimit.
func (e *Expression) Search(text string) (bool, error) {
	found, err := e.engine.MatchString(text)
	if err != nil {
		// The engine's text holds the whole input, so it is not passed on.
		return false, ErrMatchLimit
	}
	return found, nil
}

// Commands is the operator's policy about commands and shells. The zero value
// allows everything.
type Commands struct {
	deny, allow *Expression
}

// NewCommands compiles the values of YIELDSHELL_DENY_COMMAND_REGEX and
// YIELDSHELL_ALLOW_COMMAND_REGEX; an empty one is no rule. Errors name the
// variable.
func NewCommands(deny, allow string) (Commands, error) {
	var c Commands
	for _, rule := range []struct {
		variable, source string
		expression       **Expression
	}{
		{DenyCommandVariable, deny, &c.deny},
		{AllowCommandVariable, allow, &c.allow},
	} {
		if rule.source == "" {
			continue
		}
		compiled, err := CompileExpression(rule.source)
		if err != nil {
			return Commands{}, fmt.Errorf("%s: %w", rule.variable, err)
		}
		*rule.expression = compiled
	}
	return c, nil
}

// CheckCommand refuses a command that the deny expression matches, or that the
// allow expression does not.
func (c Commands) CheckCommand(command string) error {
	return c.check(judged{"command", "command denied by policy", "command not allowed by policy"}, command)
}

// CheckShell refuses an explicit shell by the same two expressions.
func (c Commands) CheckShell(shell string) error {
	const refused = "Shell rejected by policy"
	return c.check(judged{"shell", refused, refused}, shell)
}

// judged is an argument, and how its refusals begin.
type judged struct{ name, denied, notAllowed string }

func (c Commands) check(what judged, text string) error {
	if c.deny != nil {
		found, err := c.deny.Search(text)
		if err != nil {
			return what.slow(DenyCommandVariable, err)
		}
		if found {
			return fmt.Errorf("%s: it matches %s; the process was not started", what.denied, DenyCommandVariable)
		}
	}
	if c.allow != nil {
		found, err := c.allow.Search(text)
		if err != nil {
			return what.slow(AllowCommandVariable, err)
		}
		if !found {
			return fmt.Errorf("%s: it does not match %s; the process was not started", what.notAllowed, AllowCommandVariable)
		}
	}
	return nil
}

// slow is the refusal of a text that could not be judged in time: to let it
// pass would turn a slow match into a way around the policy.
func (what judged) slow(variable string, err error) error {
	return fmt.Errorf("%s, and so not allowed to start: %s could not be decided (%w); use a shorter or simpler %s", what.denied, variable, err, what.name)
}
