//go:build unix

package keeper_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
)

// parentVariable is the last variable of a supervisor's environment.
func parentVariable(t *testing.T) string {
	t.Helper()
	env := keeper.Environment()
	name, value, _ := strings.Cut(env[len(env)-1], "=")
	if value != strconv.Itoa(os.Getpid()) {
		t.Fatalf("%q does not end with this process's id", env)
	}
	return name
}

// again runs the test program with no test to run.
func again(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

func TestOnlyAServersChildIsASupervisor(t *testing.T) {
	name := parentVariable(t)
	for _, c := range []struct {
		of         string
		supervisor bool
	}{
		{strconv.Itoa(os.Getpid()), true},
		{strconv.Itoa(os.Getpid() + 1), false},
		{"", false},
		{"1", false},
		{strconv.Itoa(os.Getpid()) + " ", false},
	} {
		cmd := again(t, name+"="+c.of)
		null, err := os.Open(os.DevNull) // a socket that is closed
		if err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles = []*os.File{null}
		out, err := cmd.CombinedOutput()
		null.Close()
		if err != nil {
			t.Fatalf("of %q: %v\n%s", c.of, err, out)
		}
		if ranTests := bytes.Contains(out, []byte("PASS")); ranTests == c.supervisor {
			t.Errorf("of %q: it printed %q", c.of, out)
		}
	}
}
