//go:build dragonfly || netbsd || openbsd || (freebsd && !amd64 && !arm64 && !riscv64)

package procunix

import (
	"syscall"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// These systems tell neither a process's descendants nor its orphans to
// anybody: what is owned is the shell's process group.

const adopts = false

func adoptOrphans() error { return nil }

func guarantees() proc.Guarantees {
	return proc.Guarantees{Tree: false, SurvivesServerKill: true}
}

func shellAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

type tracker struct{}

func (*tracker) begin(*tree)              {}
func (*tracker) update(*tree)             {}
func (*tracker) collect(t *tree) []member { return groupMember(t.shell) }
