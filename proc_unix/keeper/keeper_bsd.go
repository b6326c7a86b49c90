//go:build unix && !linux

package keeper

import "golang.org/x/sys/unix"

// The supervisor sets the descriptors it receives close-on-exec itself; it
// forks from the same goroutine.
const (
	receiveFlags = 0
	sendFlags    = unix.MSG_NOSIGNAL
)

// signalsBlocked: there is no portable way to ask, and launchers that leave
// signals blocked are rare.
func signalsBlocked() bool { return false }

func clearSignalMask() {}

// showName: ps shows the first argument, which is the name already.
func showName() {}

// CloseOnExec keeps every descriptor from first on from commands.
func CloseOnExec(first int) { closeOnExecIn("/dev/fd", first) }
