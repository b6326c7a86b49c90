package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestUnusableShellsAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, mode := range map[string]os.FileMode{"plain": 0o644, "noshebang": 0o755} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte("echo hi\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, shell := range []string{"/no/such/shell", "nosuchshell_xyz", s.Dir + "/plain", "/tmp", s.Dir, "", "  ", "/bin/bash -e", "sh -c", "a\x00b", "/bin/sh/x", "..", "./"} {
		refused(t, s.Execute("echo x > ran", args{"shell": shell}), "shell")
	}
	begun := time.Now()
	if r := s.Execute("echo x", args{"shell": s.Dir + "/noshebang"}); r.Status != "completed" {
		refused(t, r, "shell")
	}
	quickly(t, "a shell without an interpreter", begun, prompt)
	if _, err := os.Stat(s.Dir + "/ran"); err == nil {
		t.Error("a refused command ran")
	}
	completed(t, s.Execute("echo alive", nil), "alive\n")
}

func TestTheRequestedShellRunsTheCommand(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, shell := range []string{"/bin/bash", "bash"} {
		completed(t, s.Execute("a=(1 2 3); echo ${#a[@]} $0", args{"shell": shell}), "3 "+shell+"\n")
	}
	completed(t, s.Execute(`echo "${BASH_VERSION:+bash}"`, nil), "\n")
	completed(t, s.Execute("echo $0", args{"shell": nil}), "/bin/sh\n")
	if python, err := run("sh", "-c", "command -v python3"); err == nil && python != "" {
		completed(t, s.Execute("print(6*7)", args{"shell": "python3"}), "42\n")
	}
	begun := time.Now()
	s.Execute("print 7", args{"shell": "/usr/bin/perl"}) // perl -c checks the file: an answer is all that can be asked
	quickly(t, "perl", begun, prompt)
}

func TestARelativeShellIsFoundFromTheCommandsFolder(t *testing.T) {
	t.Parallel()
	s := start(t)
	if err := os.Symlink("/bin/sh", filepath.Join(s.Dir, "mysh")); err != nil {
		t.Fatal(err)
	}
	r := s.Execute("echo ran", args{"shell": "./mysh"})
	if r.Status != "completed" {
		refused(t, r, "shell")
		return
	}
	completed(t, r, "ran\n")
}

func TestPolicyExpressionsCoverTheShell(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_DENY_COMMAND_REGEX=bash")
	completed(t, s.Execute("echo ok", nil), "ok\n")
	refused(t, s.Execute("echo ok", args{"shell": "/bin/bash"}), "shell")
	refused(t, s.Execute("echo ok", args{"shell": "bash"}), "shell")
	refused(t, s.Execute("bash -c 'echo no'", nil), "command")
	s = start(t, "YIELDSHELL_ALLOW_COMMAND_REGEX=^echo |^/bin/sh$")
	completed(t, s.Execute("echo ok", args{"shell": "/bin/sh"}), "ok\n")
	refused(t, s.Execute("echo ok", args{"shell": "/bin/bash"}), "shell")
}
