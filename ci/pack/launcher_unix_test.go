//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// install lays the main package out as npm does, and beside it a script in
// place of this system's binary, unless that is empty. It returns the command
// that node runs.
func install(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	r := testRelease(t)
	if err := packNPMMain(r); err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	write := func(path, text string) {
		path = filepath.Join(modules, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	launcher := untar(t, filepath.Join(r.out, "npm", "mcp-yieldshell-1.2.3-rc.1.tgz"))["package/launcher.js"]
	write("mcp-yieldshell/launcher.js", string(launcher.data))
	if script != "" {
		platform, err := exec.Command(node, "-p", "process.platform + '-' + process.arch").Output()
		if err != nil {
			t.Fatal(err)
		}
		write("@some-owner/mcp-yieldshell-"+strings.TrimSpace(string(platform))+"/mcp-yieldshell", script)
	}
	return exec.Command(node, filepath.Join(modules, "mcp-yieldshell", "launcher.js"), "one", "two words")
}

func exitStatus(t *testing.T, err error) syscall.WaitStatus {
	t.Helper()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		t.Fatalf("it ended with %v", err)
	}
	return ended.Sys().(syscall.WaitStatus)
}

func TestLauncherPassesArgumentsInputAndStatus(t *testing.T) {
	c := install(t, `#!/bin/sh
read -r line
echo "$# $2 $line"
exit 7
`)
	c.Stdin = strings.NewReader("input\n")
	out, err := c.Output()
	if status := exitStatus(t, err); string(out) != "2 two words input\n" || status.ExitStatus() != 7 {
		t.Errorf("%q, status %d", out, status.ExitStatus())
	}
}

func TestLauncherPassesSignals(t *testing.T) {
	for script, want := range map[string]func(syscall.WaitStatus) bool{
		"trap 'exit 3' TERM; ": func(s syscall.WaitStatus) bool { return s.ExitStatus() == 3 },
		"":                     func(s syscall.WaitStatus) bool { return s.Signal() == syscall.SIGTERM },
	} {
		c := install(t, "#!/bin/sh\n"+script+"echo ready; read -r line\n")
		stdin, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if status := exitStatus(t, c.Wait()); !want(status) {
			t.Errorf("%q: %#x", script, status)
		}
		stdin.Close()
	}
}

func TestLauncherSaysWhatIsMissing(t *testing.T) {
	c := install(t, "")
	out, err := c.CombinedOutput()
	if status := exitStatus(t, err); status.ExitStatus() != 1 || !strings.Contains(string(out), "@some-owner/mcp-yieldshell-") {
		t.Errorf("status %d: %s", status.ExitStatus(), out)
	}
}
