package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// postgres returns a command prefix that runs PostgreSQL's programs as a user
// that they accept, and a folder that this user may write.
func postgres(t *testing.T) (prefix, dir string) {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	if err != nil || len(found) == 0 {
		t.Skip("PostgreSQL is not installed")
	}
	// The path of a socket is short; t.TempDir's may be too long.
	dir, err = os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Dir(found[len(found)-1])
	if os.Getuid() != 0 {
		return "PATH=" + bin + ":$PATH; cd " + dir + "; ", dir
	}
	// It refuses to run as root.
	if out, err := run("chown", "nobody", dir); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return "PATH=" + bin + ":$PATH; cd " + dir + "; setpriv --reuid=nobody --clear-groups ", dir
}

func TestADatabaseLeftRunning(t *testing.T) {
	slow(t)
	t.Parallel()
	for name, log := range map[string]string{"with a log file": "-l log", "holding the pipes": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			prefix, dir := postgres(t)
			r := s.Execute(prefix+"initdb -D data -A trust -U postgres --no-sync", args{"yield_ms": 55000})
			if r.Status != "completed" || r.Exit() != "0" {
				t.Fatalf("initdb: %v", r)
			}
			begun := time.Now()
			r = s.Execute(fmt.Sprintf("%spg_ctl -D data %s -w -o \"-k %s -c listen_addresses=''\" start", prefix, log, dir), args{"yield_ms": 55000})
			quickly(t, "pg_ctl", begun, 25*time.Second)
			if r.Status != "completed" || r.Exit() != "0" {
				t.Fatalf("pg_ctl: %v", r)
			}
			contains(t, "stdout", r.Stdout, "server started")
			named := false
			for _, d := range r.Detached {
				named = named || strings.HasPrefix(d.Name, "postgres")
			}
			if !named {
				t.Errorf("detached does not name postgres: %v", r.Detached)
			}
			below := mcptest.Descendants(s.PID())
			completed(t, s.Execute(fmt.Sprintf("%spsql -h %s -U postgres -Atc 'select 40+2'", prefix, dir), nil), "42\n")
			eq(t, "status", s.Row(r.ExecutionID).Status, "completed")
			stop := s.Call("stop", r.On(nil))
			eq(t, "stopped", stop.Stopped, true)
			eq(t, "detached after stop", len(s.Row(r.ExecutionID).Detached), 0)
			var databases []int
			for _, pid := range below {
				if strings.Contains(mcptest.CommandLine(pid), "postgres") {
					databases = append(databases, pid)
				}
			}
			mcptest.WaitGone(t, goneBound, databases...)
			eq(t, "status after stop", s.Row(r.ExecutionID).Status, "completed")
		})
	}
}

func TestAnAgentLeftRunning(t *testing.T) {
	t.Parallel()
	needProgram(t, "ssh-agent")
	s := start(t)
	r := s.Execute("ssh-agent -s -a agent.sock", nil)
	eq(t, "status", r.Status, "completed")
	contains(t, "stdout", r.Stdout, "SSH_AUTH_SOCK")
	if len(r.Detached) != 1 || r.Detached[0].Name != "ssh-agent" {
		t.Fatalf("detached: %v", r.Detached)
	}
	ended(t, s.Execute("SSH_AUTH_SOCK=agent.sock ssh-add -l", nil), "The agent has no identities.\n", 1)
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	mcptest.WaitGone(t, goneBound, r.Detached[0].PID)
}
