//go:build dragonfly || netbsd || openbsd || (freebsd && !amd64 && !arm64 && !riscv64)

package tree

// These systems tell neither a process's descendants nor its orphans to
// anybody: what is owned is the shell's process group.

// Adopts reports whether orphans become children of the process that calls
// AdoptOrphans, so that its tree is empty when it has no child.
const Adopts = false

// AdoptOrphans does nothing here.
func AdoptOrphans() error { return nil }

type tracker struct{}

func (*tracker) begin(*Tree)              {}
func (*tracker) update(*Tree)             {}
func (*tracker) collect(t *Tree) []Member { return group(t.shell) }
