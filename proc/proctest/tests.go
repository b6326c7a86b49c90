package proctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

func (s *suite) testExit(t *testing.T) {
	for _, code := range []int64{0, 1, 7, 126, 127, 255} {
		r := s.startHelper(t, "exit", fmt.Sprint(code))
		if r.PID() <= 0 {
			t.Errorf("process id %d", r.PID())
		}
		if got := r.ended(); got != (proc.Exit{Code: code}) {
			t.Errorf("exit %d: got %+v", code, got)
		}
	}
}

func (s *suite) testStreams(t *testing.T) {
	r := s.startHelper(t, "say", "to stdout", "to stderr")
	r.ended()
	r.pumps.Wait() // nobody holds the pipes: both come to their end
	if out, err := r.stdout.String(), r.stderr.String(); out != "to stdout" || err != "to stderr" {
		t.Errorf("stdout %q, stderr %q", out, err)
	}
	if r.stdout.err != nil || r.stderr.err != nil {
		t.Errorf("CopyTo: %v, %v", r.stdout.err, r.stderr.err)
	}
	if eof, err := r.Stdout().Drain(context.Background()); !eof || err != nil {
		t.Errorf("drain at the end: %v, %v", eof, err)
	}
}

func (s *suite) testSurroundings(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := s.start(t, proc.Spec{Command: s.helper("pwd"), Dir: dir})
	r.ended()
	r.pumps.Wait()
	if got := strings.TrimSpace(r.stdout.String()); got != dir {
		t.Errorf("working directory %q, want %q", got, dir)
	}

	t.Setenv("PROCTEST_SECRET", "of the server")
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "PROCTEST_SECRET=") })
	env = append(env, "PROCTEST_VALUE=a=b c", "PROCTEST_EMPTY=")
	r = s.start(t, proc.Spec{Command: s.helper("environ"), Env: env})
	r.ended()
	r.pumps.Wait()
	got := strings.Split(strings.ReplaceAll(r.stdout.String(), "\r", ""), "\n")
	for _, want := range []string{"PROCTEST_VALUE=a=b c", "PROCTEST_EMPTY="} {
		if !slices.Contains(got, want) {
			t.Errorf("environment lacks %q", want)
		}
	}
	for _, kv := range got {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "PROCTEST_SECRET", "GOMAXPROCS", "GOGC":
			if !slices.Contains(env, kv) {
				t.Errorf("environment has %q", kv)
			}
		}
	}
}

func (s *suite) testDash(t *testing.T) {
	for _, command := range []string{"-c nonsense", "+x nonsense"} {
		r := s.start(t, proc.Spec{Command: command})
		if exit := r.ended(); exit.Code == 0 {
			t.Errorf("%q: %+v", command, exit)
		}
	}
}

func (s *suite) testStdin(t *testing.T) {
	r := s.startHelper(t, "cat")
	if n, err := r.Stdin().Write(context.Background(), []byte("one\n")); n != 4 || err != nil {
		t.Fatalf("write: %d, %v", n, err)
	}
	r.stdout.await(t, 1)
	text := strings.Repeat("x", 1<<20) + "\n"
	if n, err := r.Stdin().Write(context.Background(), []byte(text)); n != len(text) || err != nil {
		t.Fatalf("write: %d, %v", n, err)
	}
	for range 2 {
		if err := r.Stdin().Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if exit := r.ended(); exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
	r.pumps.Wait()
	if got := r.stdout.String(); got != "one\n"+text {
		t.Errorf("%d bytes came back, want %d", len(got), len(text)+4)
	}
	if n, err := r.Stdin().Write(context.Background(), []byte("late")); n != 0 || !errors.Is(err, proc.ErrClosed) {
		t.Errorf("write after close: %d, %v", n, err)
	}
}

func (s *suite) testStdinBlocked(t *testing.T) {
	r := s.startHelper(t, "hold")
	r.stdout.await(t, 1)
	big := make([]byte, 4<<20)
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	n, err := r.Stdin().Write(ctx, big)
	if n <= 0 || n >= len(big) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("write to one that does not read: %d, %v", n, err)
	}
	if n, err := r.Stdin().Write(ctx, big); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("write with an ended context: %d, %v", n, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := r.Stdin().Write(context.Background(), big)
		done <- err
	}()
	if err := r.Stdin().Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	select {
	case err := <-done:
		if err == nil {
			t.Error("a write that was closed has succeeded")
		}
	case <-time.After(bound):
		t.Error("close did not end the write")
	}
	r.kill()
}

func (s *suite) testStdinBroken(t *testing.T) {
	r := s.startHelper(t, "exit", "0")
	r.ended()
	if n, err := r.Stdin().Write(context.Background(), make([]byte, 1<<20)); !errors.Is(err, proc.ErrBrokenPipe) {
		t.Errorf("write to nobody: %d, %v", n, err)
	}
}

func (s *suite) testVolume(t *testing.T) {
	const lines = 1 << 20
	r := s.startHelper(t, "fill", fmt.Sprint(lines))
	r.ended()
	r.pumps.Wait()
	got := r.stdout.String()
	if len(got) != 10*lines {
		t.Fatalf("%d bytes, want %d", len(got), 10*lines)
	}
	for _, i := range []int{0, 1, lines / 2, lines - 1} {
		if line := got[10*i : 10*i+9]; line != fmt.Sprintf("%09d", i) {
			t.Errorf("line %d is %q", i, line)
		}
	}
}

// testAttached: a process in the background keeps the session.
func (s *suite) testAttached(t *testing.T) {
	r := s.start(t, proc.Spec{Command: s.Background(s.helper("hold"))})
	pids := held(t, r.stdout.await(t, 1))
	if exit := r.next(proc.ShellExited).Exit; exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
	r.quiet()
	ms, err := r.Attached(context.Background())
	if err != nil || !slices.Contains(pidsOf(ms), pids[0]) || slices.Contains(pidsOf(ms), r.PID()) {
		t.Errorf("attached %v, %v; want %v and not the shell %d", ms, err, pids, r.PID())
	}
	for _, m := range ms {
		if m.PID == pids[0] && m.Name == "" {
			t.Error("no name for an attached process")
		}
	}
	if ms, err := r.Detached(context.Background()); err != nil || len(ms) > 0 {
		t.Errorf("detached %v, %v", ms, err)
	}
	if eof, err := r.Stdout().Drain(context.Background()); eof || err != nil {
		t.Errorf("drain: %v, %v", eof, err)
	}
	r.kill()
	r.next(proc.SessionEmpty)
	r.treeEmpty()
	s.gone(t, pids)
}

// testDetached: a daemon does not keep the session, but it stays owned.
func (s *suite) testDetached(t *testing.T) {
	if !s.backend.Guarantees().Tree {
		t.Skip("this system does not follow descendants exactly")
	}
	r := s.startHelper(t, "detach", "hold")
	pids := held(t, r.stdout.await(t, 1))
	r.next(proc.ShellExited)
	e := r.next(proc.SessionEmpty)
	if !slices.Equal(pidsOf(e.Detached), pids) || e.Detached[0].Name == "" {
		t.Errorf("detached %+v, want %v", e.Detached, pids)
	}
	r.quiet()
	if eof, err := r.Stdout().Drain(context.Background()); eof || err != nil {
		t.Errorf("drain with a holder: %v, %v", eof, err)
	}
	ms, err := r.Detached(context.Background())
	if err != nil || !slices.Equal(pidsOf(ms), pids) {
		t.Errorf("detached %+v, %v, want %v", ms, err, pids)
	}
	if ms, err := r.Attached(context.Background()); err != nil || len(ms) > 0 {
		t.Errorf("attached %+v, %v", ms, err)
	}
	r.kill()
	r.treeEmpty()
	s.gone(t, pids)
}

func (s *suite) testSignal(t *testing.T) {
	if !s.Signals {
		t.Skip("this system has no signals")
	}
	r := s.startHelper(t, "hold")
	r.stdout.await(t, 1)
	report, err := r.Signal(context.Background(), proc.SIGTERM)
	if err != nil || report.Reached < 1 || len(report.Denied) > 0 {
		t.Fatalf("signal: %+v, %v", report, err)
	}
	if exit := r.ended(); exit != (proc.Exit{Code: -15, Signal: proc.SIGTERM}) {
		t.Errorf("exit %+v", exit)
	}
}

func (s *suite) testSignalUnsupported(t *testing.T) {
	if s.Unsupported == "" {
		t.Skip("this system has every signal")
	}
	r := s.startHelper(t, "hold")
	r.stdout.await(t, 1)
	if _, err := r.Signal(context.Background(), s.Unsupported); !errors.Is(err, proc.ErrUnsupportedSignal) {
		t.Errorf("signal: %v", err)
	}
	r.quiet()
	r.kill()
	r.ended()
}

func (s *suite) testStubborn(t *testing.T) {
	r := s.startHelper(t, "stubborn")
	pids := held(t, r.stdout.await(t, 1))
	if _, err := r.Signal(context.Background(), proc.SIGTERM); err != nil {
		t.Fatalf("signal: %v", err)
	}
	if !s.Alive(pids[0]) {
		t.Error("a process that handles the signal has ended")
	}
	r.kill()
	r.ended()
	s.gone(t, pids)
}

func (s *suite) testKillTree(t *testing.T) {
	const n = 20
	r := s.start(t, proc.Spec{Command: s.Background(s.helper("fan", fmt.Sprint(n))) + "\n" + s.helper("stubborn")})
	pids := held(t, r.stdout.await(t, n+2))
	r.kill()
	r.ended()
	s.gone(t, append(pids, r.PID()))
}

// testEnded: what can be asked of something that has ended.
func (s *suite) testEnded(t *testing.T) {
	r := s.startHelper(t, "exit", "0")
	pid := r.PID()
	r.ended()
	ctx := context.Background()
	if report, err := r.Signal(ctx, proc.SIGTERM); !errors.Is(err, proc.ErrGone) || report.Reached > 0 {
		t.Errorf("signal: %+v, %v", report, err)
	}
	if report, err := r.Kill(ctx); err != nil || len(report.Unkillable) > 0 {
		t.Errorf("kill: %+v, %v", report, err)
	}
	for _, list := range []func(context.Context) ([]proc.Member, error){r.Attached, r.Detached} {
		if ms, err := list(ctx); err != nil || len(ms) > 0 {
			t.Errorf("members: %v, %v", ms, err)
		}
	}
	if r.PID() != pid {
		t.Errorf("process id changed from %d to %d", pid, r.PID())
	}
}

func (s *suite) testContext(t *testing.T) {
	r := s.startHelper(t, "hold")
	r.stdout.await(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := r.Signal(ctx, proc.SIGTERM)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("signal: %v", err)
	}
	if _, err = r.Kill(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("kill: %v", err)
	}
	if _, err = r.Detached(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("detached: %v", err)
	}
	r.quiet() // nothing was done
	r.kill()
	r.ended()
}

func (s *suite) testClose(t *testing.T) {
	r := s.start(t, proc.Spec{Command: s.Background(s.helper("hold"))})
	pids := held(t, r.stdout.await(t, 1))
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	r.ended()
	s.gone(t, pids)
}

// testCloseOutput: Close ends a CopyTo that waits, and a Drain.
func (s *suite) testCloseOutput(t *testing.T) {
	r := s.startHelper(t, "hold")
	r.stdout.await(t, 1)
	if err := r.Stdout().Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := r.Stdout().Drain(context.Background()); err != nil {
		t.Errorf("drain: %v", err)
	}
	r.kill()
	r.ended()
	r.pumps.Wait()
	if !errors.Is(r.stdout.err, proc.ErrClosed) {
		t.Errorf("CopyTo: %v", r.stdout.err)
	}
}

func (s *suite) testStartErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	junk := filepath.Join(dir, "junk.exe")
	if err := os.WriteFile(junk, []byte(s.NotAProgram), 0o755); err != nil {
		t.Fatal(err)
	}
	ok := proc.Spec{Command: s.helper("exit", "0"), Dir: dir, Env: os.Environ()}
	with := func(change func(*proc.Spec)) proc.Spec {
		spec := ok
		change(&spec)
		return spec
	}
	cases := []struct {
		name, op, says string
		spec           proc.Spec
	}{
		{"no such directory", "cwd", "nowhere", with(func(p *proc.Spec) { p.Dir = filepath.Join(dir, "nowhere") })},
		{"not a directory", "cwd", "file", with(func(p *proc.Spec) { p.Dir = file })},
		{"no such shell", "shell", "shell", with(func(p *proc.Spec) { p.Shell = filepath.Join(dir, "nothing") })},
		{"shell not on PATH", "shell", "shell", with(func(p *proc.Spec) { p.Shell = "no-such-shell-anywhere" })},
		{"shell is a directory", "shell", "shell", with(func(p *proc.Spec) { p.Shell = dir })},
		{"shell with arguments", "shell", "shell", with(func(p *proc.Spec) { p.Shell = os.Args[0] + " -e" })},
		{"shell is no program", "shell", "shell", with(func(p *proc.Spec) { p.Shell = junk })},
		{"NUL in the command", "command", "NUL", with(func(p *proc.Spec) { p.Command = "a\x00b" })},
	}
	if s.TooLong > 0 {
		cases = append(cases, struct {
			name, op, says string
			spec           proc.Spec
		}{"too long", "command", "too long", with(func(p *proc.Spec) { p.Command = strings.Repeat("a", s.TooLong) })})
	}
	check := func(spec proc.Spec) error {
		p, err := s.backend.Start(spec)
		if err == nil {
			p.Close()
			t.Fatalf("%+v has started", spec)
		}
		return err
	}
	for _, c := range cases { // once to warm up, so that only leaks count
		check(c.spec)
	}
	s.start(t, ok).ended()
	before := s.Descriptors()
	const rounds = 10
	for range rounds {
		for _, c := range cases {
			err := check(c.spec)
			var start *proc.StartError
			if !errors.As(err, &start) || start.Op != c.op {
				t.Errorf("%s: %v (%#v), want operation %q", c.name, err, err, c.op)
			} else if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want it to say %q", c.name, err, c.says)
			}
		}
	}
	// A runtime that has started threads meanwhile has some more; a leak makes
	// one in each round at least.
	if after := s.Descriptors(); after >= before+rounds {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if exit := s.start(t, ok).ended(); exit.Code != 0 {
		t.Errorf("a good one after the bad ones: %+v", exit)
	}
}

// testIsolation: nothing of one execution shows in the next one.
func (s *suite) testIsolation(t *testing.T) {
	s.backend.Warm()
	for i := range 20 {
		text := fmt.Sprintf("number %d", i)
		r := s.startHelper(t, "say", text, text)
		r.pumps.Go(func() { // a question that may come late must not hit the next one
			_, _ = r.Detached(context.Background())
		})
		if exit := r.ended(); exit.Code != 0 {
			t.Errorf("exit %+v", exit)
		}
		r.pumps.Wait()
		if r.stdout.String() != text || r.stderr.String() != text {
			t.Errorf("%s: stdout %q, stderr %q", text, r.stdout.String(), r.stderr.String())
		}
		r.close()
	}
}

func (s *suite) testConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for i := range s.Parallel {
		wg.Go(func() {
			text := fmt.Sprintf("number %d", i)
			r := s.startHelper(t, "say", text, text)
			r.ended()
			r.pumps.Wait()
			if r.stdout.String() != text || r.stderr.String() != text {
				t.Errorf("%s: stdout %q, stderr %q", text, r.stdout.String(), r.stderr.String())
			}
		})
	}
	wg.Wait()
}
