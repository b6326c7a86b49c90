package proc

import (
	"context"
	"io"
)

// A Backend starts commands on one kind of system. Its methods may be called
// from any goroutine.
type Backend interface {
	// Start starts one command and returns once its process exists. It is
	// all-or-nothing: after an error, which is a *StartError, no process, no
	// descriptor and no pipe is left. The caller owns the Process.
	Start(Spec) (Process, error)

	// Warm prepares the next Start in the background, so that it is fast. It
	// returns at once and is never necessary.
	Warm()

	// Guarantees says what this system can promise about descendants.
	Guarantees() Guarantees

	// Close lets go of what Warm and earlier commands left behind. It is
	// called once, after every Process has been closed.
	Close() error
}

// Spec is one command to start.
type Spec struct {
	// Command is the text that the shell runs, as the user wrote it. Quoting
	// is the backend's business.
	Command string
	// Shell is the path or bare name of the shell, or empty for the
	// platform's default. A bare name is looked up on the PATH of Env.
	Shell string
	// Dir is the absolute path of the working directory.
	Dir string
	// Env is the complete environment, in the form "NAME=value", without
	// duplicates.
	Env []string
}

// Guarantees says what a backend can promise. It feeds messages to the user,
// which must never claim more.
type Guarantees struct {
	// Tree: every descendant is owned, also one that left the session.
	Tree bool
	// SurvivesServerKill: owned processes end even if the server is killed.
	SurvivesServerKill bool
}

// A Process is one started command and everything that it starts: the
// processes that the execution owns. Its methods may be called from any
// goroutine, and none of them blocks beyond its context.
type Process interface {
	// PID is the id of the shell. It stays the same after the shell ended.
	PID() int

	// Stdin, Stdout and Stderr are the server's ends of the three pipes. The
	// caller closes them.
	Stdin() Input
	Stdout() Output
	Stderr() Output

	// Events delivers what happens to the processes, in this order, each at
	// most once: ShellExited, SessionEmpty, TreeEmpty. Lost may take the
	// place of any of them and is the last. The channel is closed after
	// TreeEmpty or Lost. A slow receiver never blocks the backend.
	Events() <-chan Event

	// Signal sends the signal to everything that the execution owns, and
	// makes stopped processes run again so that they can act on it. It
	// returns ErrUnsupportedSignal, with nothing sent, for a signal that the
	// system does not have.
	Signal(context.Context, Signal) (SignalReport, error)

	// Kill ends everything that the execution owns, without mercy. It
	// returns when nothing is left, or nothing but processes that the server
	// may not signal, or with the context's error.
	Kill(context.Context) (KillReport, error)

	// Detached lists the owned processes that have left the shell's session.
	Detached(context.Context) ([]Member, error)

	// Attached lists the owned processes that are in the shell's session,
	// the shell itself excepted.
	Attached(context.Context) ([]Member, error)

	// Close gives the process back. If anything owned is alive, it is
	// killed. It does not close the pipes. It may be called more than once.
	Close() error
}

// Input is the server's end of the command's standard input.
type Input interface {
	// Write writes all of p, unless the context ends first or the pipe
	// breaks (ErrBrokenPipe). It returns how many bytes the pipe has taken.
	Write(ctx context.Context, p []byte) (int, error)
	// Close delivers end of file. It may be called while Write runs, which
	// then returns an error, and more than once.
	io.Closer
}

// Output is the server's end of one of the command's output pipes. Where the
// system can tell, the two outputs of a process are passed on in the order of
// arrival; for that, both should be copied from the beginning.
type Output interface {
	// CopyTo passes everything that arrives to sink, in order, until end of
	// file, which gives nil, or until Close. It is called once. The slice
	// belongs to CopyTo again when sink returns.
	CopyTo(sink func([]byte)) error

	// Drain returns when everything that the pipe held when Drain was called
	// has been passed to sink, or when CopyTo has ended. It does not wait for
	// end of file, since another process may hold the pipe for ever, but
	// reports whether the pipe is at its end: then CopyTo returns by itself.
	Drain(context.Context) (eof bool, err error)

	// Close ends CopyTo and releases the descriptor.
	io.Closer
}

// Member is one process that an execution owns.
type Member struct {
	PID  int
	Name string // base name of the program, or empty if it cannot be told
}

// Exit is how the shell ended.
type Exit struct {
	// Code is the exit code; minus the signal's number if a signal ended the
	// shell; the unsigned 32-bit value on Windows.
	Code int64
	// Signal is the name of the signal that ended the shell, or empty.
	Signal Signal
}

// EventKind tells the events of a Process apart.
type EventKind int

// The events of a Process.
const (
	// ShellExited: the shell has ended. Event.Exit says how.
	ShellExited EventKind = iota + 1
	// SessionEmpty: nothing but zombies is left in the shell's session.
	// Event.Detached lists what lives on elsewhere.
	SessionEmpty
	// TreeEmpty: nothing that the execution owned is left.
	TreeEmpty
	// Lost: the backend lost hold of the execution and has ended what it
	// could reach. Event.Err says why.
	Lost
)

// Event is one thing that happened to a Process.
type Event struct {
	Kind     EventKind
	Exit     Exit     // of ShellExited
	Detached []Member // of SessionEmpty
	Err      error    // of Lost
}

// SignalReport is what Signal did.
type SignalReport struct {
	// Reached counts the live processes that were signalled.
	Reached int
	// OnlyDefault: nothing but the shell was there, and it had no handler of
	// its own for the signal and did not ignore it. If such a shell then
	// ends with an exit code and without a signal, it had ended by itself.
	OnlyDefault bool
	// Denied lists the processes that the server may not signal.
	Denied []int
}

// KillReport is what Kill left.
type KillReport struct {
	// Unkillable lists the processes that the server may not signal, or that
	// the system did not end in time.
	Unkillable []int
}
