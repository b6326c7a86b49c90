package mcp

import (
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// TestInstructionsClaimNoMore: where the system cannot follow every process,
// the model is told so, and only there.
func TestInstructionsClaimNoMore(t *testing.T) {
	const caveat = "does not let the server follow every process"
	if s := (Config{Guarantees: proc.Guarantees{Tree: true}}).instructions(); strings.Contains(s, caveat) {
		t.Errorf("a needless caveat in %q", s)
	}
	s := Config{}.instructions()
	if !strings.Contains(s, caveat) {
		t.Errorf("no caveat in %q", s)
	}
	for line := range strings.Lines(s) {
		if strings.Contains(line[1:], "- This system") {
			t.Errorf("the caveat has no line of its own: %q", line)
		}
	}
}
