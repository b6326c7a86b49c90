package procwindows

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// launchOf is a launch of a command in a job, with pipes of its own.
func launchOf(t *testing.T, j *job, command string) launch {
	t.Helper()
	program, err := systemFile("cmd.exe")
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPipes(func() *textDecoder { return newTextDecoder(nil) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.closeAll)
	return launch{
		program: program, line: cmdLine(program, command), dir: os.TempDir(), env: environBlock(os.Environ()), title: "test",
		stdin: p.far[0], stdout: p.far[1], stderr: p.far[2], job: j,
	}
}

func jobFor(t *testing.T) *job {
	t.Helper()
	j, err := newJob()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// awaitEmpty fails if the job keeps a process.
func awaitEmpty(t *testing.T, j *job) {
	t.Helper()
	pids, err := j.pids()
	if err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pids, bound)
}

// TestResumeThatFails: a process that does not begin as it must is ended.
func TestResumeThatFails(t *testing.T) {
	j := jobFor(t)
	s, err := launchOf(t, j, "set /p x=").create() // waits for its stdin, without a child
	if err != nil {
		t.Fatal(err)
	}
	if _, err := windows.ResumeThread(s.thread); err != nil { // somebody was faster
		t.Fatal(err)
	}
	if err := s.resume(); err == nil {
		t.Error("it was resumed twice")
	}
	awaitEmpty(t, j)
}

// TestAssignmentThatFails: a command that cannot be put into its job does not
// run, not even for a moment, and leaves no handle.
func TestAssignmentThatFails(t *testing.T) {
	j := jobFor(t)
	// The handle may look into the job, but put nobody in.
	const lookOnly = 0x0004 // JOB_OBJECT_QUERY
	var weak windows.Handle
	self := windows.CurrentProcess()
	if err := windows.DuplicateHandle(self, j.handle, self, &weak, lookOnly, false, 0); err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(weak)
	ran := filepath.Join(t.TempDir(), "ran")
	l := launchOf(t, &job{handle: weak}, tool("touch", `"`+ran+`"`))
	const tries = 10 // more than the runtime may open handles for itself meanwhile
	before := 0
	for i := range 1 + tries {
		if i == 1 { // the first opens some that stay
			before = handles(t)
		}
		if s, err := l.create(); err == nil {
			err = s.resume()
			t.Fatalf("it was started: %v", err)
		}
	}
	if n := handles(t) - before; n >= tries {
		t.Errorf("%d handles are left of %d starts", n, tries)
	}
	awaitEmpty(t, j)
	if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command ran: %v", err)
	}
}

// TestVerificationThatFails: membership that cannot be told is no membership.
func TestVerificationThatFails(t *testing.T) {
	j := jobFor(t)
	s, err := launchOf(t, j, tool("hold")).create()
	if err != nil {
		t.Fatal(err)
	}
	if err := (launch{job: new(job)}).verify(s); !errors.Is(err, proc.ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := s.abandon(); err != nil {
		t.Error(err)
	}
	awaitEmpty(t, j)
}

// TestHandlesOfExecutions: none is left of one that has ended and was closed.
func TestHandlesOfExecutions(t *testing.T) {
	b := backendFor(t)
	run := func() {
		c := start(t, b, proc.Spec{Command: "echo x"})
		c.await(proc.TreeEmpty)
		for _, end := range []interface{ Close() error }{c.Process, c.Stdin(), c.Stdout(), c.Stderr()} {
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
		c.pumps.Wait()
	}
	run() // what it opens may stay
	const n = 20
	before := handles(t)
	for range n {
		run()
	}
	if left := handles(t) - before; left >= n {
		t.Errorf("%d handles are left of %d executions", left, n)
	}
}
