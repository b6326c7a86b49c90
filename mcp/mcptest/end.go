package mcptest

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// EOF closes the server's stdin and returns at once.
func (s *Server) EOF() {
	s.remember()
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if !closed {
		_ = s.stdin.Close() // the server may have gone: nothing is lost
	}
}

// Close closes the server's stdin, waits for the server to end by itself and
// returns its exit status.
func (s *Server) Close() int {
	s.t.Helper()
	s.EOF()
	return s.Wait()
}

// Signal sends the server a signal.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	s.remember()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatalf("signal the server: %v", err)
	}
}

// Kill kills the server and waits until it has gone.
func (s *Server) Kill() {
	s.t.Helper()
	s.mu.Lock()
	s.killed = true
	s.mu.Unlock()
	s.Signal(os.Kill)
	s.Wait()
	s.EOF()
}

// Wait waits until the server has ended and returns its exit status, which is
// -1 if a signal ended it.
func (s *Server) Wait() int {
	s.t.Helper()
	select {
	case <-s.outcome:
	case <-time.After(endBound):
		s.t.Fatalf("the server did not end within %v; stderr: %.2000s", endBound, s.Stderr())
	}
	var exit *exec.ExitError
	if s.waitErr != nil && !errors.As(s.waitErr, &exit) {
		s.t.Fatalf("wait for the server: %v", s.waitErr)
	}
	return s.cmd.ProcessState.ExitCode()
}

// Ended is closed when the server has ended.
func (s *Server) Ended() <-chan struct{} { return s.outcome }

// remember notes the processes below the server, so that those which outlive
// it are found when they are no longer below it.
func (s *Server) remember() {
	select {
	case <-s.outcome:
		return
	default:
	}
	var below []member
	for _, pid := range Descendants(s.PID()) {
		below = append(below, member{pid, Born(pid)})
	}
	s.mu.Lock()
	s.members = append(s.members, below...)
	s.mu.Unlock()
}

// Family describes the server's processes for the message of a failed test:
// those below it, and those that hold its stdout or stderr. Under Wine, where
// what a process starts is not below it, the commands do hold them.
func (s *Server) Family() string {
	pids := append(Descendants(s.PID()), holders(s.outputs)...)
	slices.Sort(pids)
	return describe(slices.Compact(pids))
}

// member is a process of the server. Its id alone may soon be another's.
type member struct {
	pid  int
	born int64
}

// survivors waits until the processes have gone and returns the ids of those
// that have not within the bound.
func survivors(bound time.Duration, members []member) (left []int) {
	Soon(bound, func() bool {
		left = nil
		for _, m := range members {
			if Alive(m.pid) && Born(m.pid) == m.born {
				left = append(left, m.pid)
			}
		}
		return len(left) == 0
	})
	return left
}

// finish ends the server with the test and reports what was wrong with the
// session.
func (s *Server) finish() {
	s.EOF()
	select {
	case <-s.outcome:
	case <-time.After(3 * time.Second):
		s.hurry()
	}
	s.reportLeftovers()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.problems {
		s.t.Error(p)
	}
	stderr := s.stderr.String()
	for _, bad := range []string{"DATA RACE", "panic:", "fatal error:", "\ngoroutine "} {
		if strings.Contains(stderr, bad) {
			s.t.Errorf("%s on the server's stderr: %.6000s", bad, stderr)
			break
		}
	}
	if s.t.Failed() && stderr != "" {
		s.t.Logf("the server's stderr: %.4000s", stderr)
	}
}

// hurry ends a server that takes its time because a command ignores the
// request to end: a second request shortens the grace.
func (s *Server) hurry() {
	_ = s.cmd.Process.Signal(hurrySignal)
	select {
	case <-s.outcome:
	case <-time.After(endBound):
		s.t.Errorf("the server did not end and was killed")
		_ = s.cmd.Process.Kill()
		<-s.outcome
	}
}

// reportLeftovers fails the test if a process of the server outlives it, or
// holds its stdout or stderr.
func (s *Server) reportLeftovers() {
	ended := make(chan struct{})
	go func() {
		s.read.Wait()
		close(ended)
	}()
	s.mu.Lock()
	members := s.members
	s.mu.Unlock()
	if left := survivors(aftermathBound, members); len(left) > 0 {
		s.t.Errorf("processes outlived the server: %s", describe(left))
	}
	select {
	case <-ended:
	case <-time.After(aftermathBound):
		s.t.Errorf("something still holds the server's stdout or stderr: %s", describe(holders(s.outputs)))
	}
}
