package procunix

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
)

// guarantees depends on /proc: without it, or with one of another PID
// namespace, only the shell's process group can be found.
func guarantees() proc.Guarantees {
	ok := tree.Ours()
	return proc.Guarantees{Tree: ok, SurvivesServerKill: ok}
}

// executable is the running program, also after its file has been replaced.
// Without /proc it is the file that it was started from.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// supervisorAttr gives the supervisor a session of its own, and lets the end of
// the server wake it in case it has been stopped: it has work to do then.
func supervisorAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}
