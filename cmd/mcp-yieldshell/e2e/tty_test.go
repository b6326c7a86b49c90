package e2e

import (
	"strings"
	"testing"
	"time"
)

func TestCommandsHaveNoTerminal(t *testing.T) {
	t.Parallel()
	s := start(t)
	completed(t, s.Execute("for f in 0 1 2; do [ -t $f ] && echo tty || echo notty; done", nil), strings.Repeat("notty\n", 3))
	ended(t, s.Execute("tty", nil), "not a tty\n", 1)
	begun := time.Now()
	completed(t, s.Execute("seq 1 5000 | ${PAGER:-more} | tail -1", nil), "5000\n")
	quickly(t, "a pager", begun, prompt)
}

// A server may have a terminal of its own, with its stdin and stdout on pipes:
// then a command that opened it would stop, or ask the operator.
func TestTheServersTerminalIsOutOfReach(t *testing.T) {
	t.Parallel()
	needProgram(t, "script")
	// script gives the server a terminal; descriptors 3 and 4 are our pipes.
	s := startUnder(t, []string{"sh", "-c",
		`exec 3<&0 4>&1; script -qec "exec <&3 >&4 3<&- 4>&-; $(printf '%s ' "$@")" typescript </dev/null >terminal 2>&1`, "sh"})
	begun := time.Now()
	r := s.Execute("cat </dev/tty; echo rc=$?", nil)
	quickly(t, "cat", begun, prompt)
	eq(t, "status", r.Status, "completed")
	if strings.Contains(r.Stdout, "rc=0") {
		t.Errorf("/dev/tty can be read: %v", r)
	}
	r = s.Execute("(echo hello > /dev/tty) 2>/dev/null; echo rc=$?", nil)
	if strings.Contains(r.Stdout, "rc=0") {
		t.Errorf("/dev/tty can be written: %v", r)
	}
	completed(t, s.Execute("ps -o tty= -p $$ | tr -d ' '", nil), "?\n")
}
