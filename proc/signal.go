package proc

import (
	"fmt"
	"strings"
)

// Signal is the canonical name of a signal, such as "SIGTERM". Its number is
// the backend's business.
type Signal string

// Signals that the server itself sends.
const (
	SIGTERM Signal = "SIGTERM"
	SIGKILL Signal = "SIGKILL"
	SIGINT  Signal = "SIGINT"
)

// ParseSignal reads a signal's name in upper or lower case, with or without
// "SIG". It accepts no number and nothing around the name.
func ParseSignal(name string) (Signal, error) {
	s := Signal(strings.ToUpper(name))
	if !strings.HasPrefix(string(s), "SIG") {
		s = "SIG" + s
	}
	if !knownSignal(s) {
		//lint:ignore ST1005 clients know this text
		return "", fmt.Errorf("Invalid signal %q: use a name such as SIGTERM, SIGINT, SIGHUP or SIGKILL", name)
	}
	return s, nil
}

// knownSignal reports whether POSIX or one of the supported systems defines
// the name. Windows checks names against the same list.
func knownSignal(s Signal) bool {
	switch s {
	case "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGIOT", "SIGBUS", "SIGFPE",
		"SIGKILL", "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT",
		"SIGCHLD", "SIGCLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU",
		"SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPOLL", "SIGPWR", "SIGSYS",
		"SIGEMT", "SIGINFO", "SIGTHR", "SIGLIBRT":
		return true
	}
	return false
}
