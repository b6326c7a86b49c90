package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// TestAFullProcessTableEndsNoServer: a command may take all the processes that
// its user may have. The server then starts nothing, but lives, answers and
// stops what there is.
func TestAFullProcessTableEndsNoServer(t *testing.T) {
	t.Parallel()
	needPOSIX(t)
	needProgram(t, "prlimit")
	needProgram(t, "setpriv")
	binary := program[0]
	var wrapper []string
	if os.Getuid() == 0 { // who has no limit
		wrapper = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
		binary = publicCopy(t, binary)
	}
	s := mcptest.Start(t, mcptest.Options{Command: []string{binary}, Wrapper: wrapper, Dir: "/"})
	running := s.Execute("sleep 1000", args{"yield_ms": 0})
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(n uint64) {
		words := append(wrapper, "prlimit", fmt.Sprintf("--pid=%d", s.PID()), fmt.Sprintf("--nproc=%d:", n))
		cmd := exec.Command(words[0], words[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	limit(1)
	var calls []*mcptest.Pending
	for range 20 {
		calls = append(calls,
			s.GoExecute("sleep 0.1", nil), s.Go("ps", nil),
			s.Go("wait", running.On(args{"timeout_ms": 100})), s.Go("read", running.On(nil)))
	}
	failed := 0
	for _, p := range calls {
		if r := p.Result(); r.Status == "failed_to_start" {
			failed++
			contains(t, "error", r.Error, "resource temporarily unavailable")
		}
	}
	if failed == 0 {
		t.Error("the limit was never met")
	}
	eq(t, "stopped", s.Call("stop", running.On(nil)).Stopped, true)
	limit(before.Cur)
	completed(t, s.Execute("echo recovered", nil), "recovered\n")
}

// publicCopy copies a program to where every user may run it.
func publicCopy(t *testing.T, file string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // made by TempDir, too
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(public, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return public
}
