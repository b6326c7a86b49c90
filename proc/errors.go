package proc

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnsupportedSignal: the system does not have this signal.
	ErrUnsupportedSignal = errors.New("signal is not supported on this system")
	// ErrGone: everything that the execution owned has ended.
	ErrGone = errors.New("nothing is left of the execution")
	// ErrClosed: the pipe or the process has been closed.
	ErrClosed = errors.New("closed")
	// ErrBrokenPipe: nobody has the reading end of the pipe open.
	ErrBrokenPipe = errors.New("broken pipe")
	// ErrTooLong: the command or its environment exceeds a limit of the
	// system.
	ErrTooLong = errors.New("too long for this system")
)

// StartError is the reason why a command could not be started. Op names what
// was wrong: "shell", "cwd", "command", "supervisor", "pipe" or "start".
type StartError struct {
	Op  string
	Err error
}

func (e *StartError) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }
