//go:build unix

package procunix

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest"
)

func TestMain(m *testing.M) {
	if IsSupervisor() {
		Supervise()
	}
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
		return b
	}, helpers)
}
