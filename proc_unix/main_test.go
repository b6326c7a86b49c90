//go:build unix

package procunix

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest"
	"github.com/yieldshell/mcp-yieldshell/proc/psnap"
)

func TestMain(m *testing.M) {
	proctest.HelperMain()
	serverMain()
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	proctest.Run(t, func(t testing.TB) proc.Backend {
		b, err := New()
		if err != nil {
			t.Fatal(err)
		}
		b.NameOf = psnap.Name
		return b
	}, helpers)
}
