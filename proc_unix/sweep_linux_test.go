package procunix

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestWatchForEndIsBounded(t *testing.T) {
	c := exec.Command("cat")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := sweeper{deadline: time.Now().Add(20 * time.Millisecond)}
	s.watchForEnd(c.Process.Pid) // returns although it lives
	if time.Now().Before(s.deadline) {
		t.Error("it did not wait until the deadline")
	}
	s.deadline = time.Now().Add(time.Minute)
	stdin.Close()
	s.watchForEnd(c.Process.Pid)
	if time.Now().After(s.deadline) {
		t.Error("it did not see the end")
	}
	// It has ended, and is still there to be reaped.
	if pid, err := unix.Wait4(c.Process.Pid, nil, unix.WNOHANG, nil); pid != c.Process.Pid {
		t.Errorf("reaping it: %d, %v", pid, err)
	}
	_ = c.Process.Release()
}
