//go:build unix && !linux

package procunix

import (
	"os"
	"syscall"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
)

// guarantees: the tree is exact where the kernel keeps it.
func guarantees() proc.Guarantees {
	return proc.Guarantees{Tree: tree.Adopts, SurvivesServerKill: true}
}

// executable is the running program. After its file has been replaced the next
// supervisor is the new one.
func executable() (string, error) { return os.Executable() }

// supervisorAttr gives the supervisor a session of its own.
func supervisorAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// children matters only where a sweep looks at this process's children.
func children() map[tree.Identity]bool { return nil }
