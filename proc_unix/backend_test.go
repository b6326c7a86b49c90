//go:build unix

package procunix

import (
	"testing"
	"time"
)

// Whoever starts processes may hang in the system, for instance while a sweep
// is going on.
func TestCloseDoesNotWaitForeverForASupervisorThatIsBeingStarted(t *testing.T) {
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	b.kinMu.Lock() // a sweep, which no supervisor may be started during
	b.Warm()
	closed := make(chan error, 1)
	go func() { closed <- b.closeWithin(10 * time.Millisecond) }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("close: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("close waits for the start")
	}
	b.kinMu.Unlock()
	b.pool.spawning.Wait()
	b.supervisors.Wait() // what was started too late was let go
}
