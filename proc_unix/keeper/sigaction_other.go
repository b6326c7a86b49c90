//go:build unix && (!linux || mips || mipsle || mips64 || mips64le)

package keeper

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// shield keeps the supervisor alive when a command signals its parent. It
// handles the signals instead of ignoring them: commands would inherit that.
// They start with the default disposition of every signal that is handled.
func shield() {
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM,
		unix.SIGABRT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
}
