//go:build unix

package procunix

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/wire"
)

// A short command can be over, and its supervisor retired and gone, before the
// goroutine that started it runs again. That is a command that has run.
func TestAStartThatWasAnsweredBeforeTheSupervisorEnded(t *testing.T) {
	gone := make(chan struct{})
	close(gone)
	s := &supervisor{gone: gone, cause: errDied}
	for range 200 { // select takes any case that is ready
		p := newProcess(s, nil)
		p.started <- answer{kind: wire.KindStarted, value: 42}
		if errno, err := s.awaitStart(p); errno != 0 || err != nil || p.pid != 42 {
			t.Fatalf("awaitStart = %v, %v with pid %d; want 0, nil with pid 42", errno, err, p.pid)
		}
	}
	p := newProcess(s, nil)
	p.started <- answer{kind: wire.KindFailed, value: int(unix.ENOENT)}
	if errno, err := s.awaitStart(p); errno != unix.ENOENT || err != nil {
		t.Errorf("awaitStart = %v, %v; want ENOENT, nil", errno, err)
	}
	if _, err := s.awaitStart(newProcess(s, nil)); err != errDied {
		t.Errorf("awaitStart without an answer = %v; want %v", err, errDied)
	}
}
