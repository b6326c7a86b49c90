package sys

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestNumbers(t *testing.T) {
	for _, n := range []struct{ got, want int }{
		{numPidfdSendSignal, unix.SYS_PIDFD_SEND_SIGNAL},
		{numPidfdOpen, unix.SYS_PIDFD_OPEN},
		{numCloseRange, unix.SYS_CLOSE_RANGE},
		{prSetName, unix.PR_SET_NAME},
		{prSetChildSubreaper, unix.PR_SET_CHILD_SUBREAPER},
		{sigSetMask, unix.SIG_SETMASK},
	} {
		if n.got != n.want {
			t.Errorf("%d, want %d", n.got, n.want)
		}
	}
}
