//go:build unix

package procunix

import (
	"os"
	"os/signal"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest"
	"github.com/yieldshell/mcp-yieldshell/proc/psnap"
)

func TestMain(m *testing.M) {
	proctest.HelperMain()
	serverMain()
	heedIgnored()
	goleak.VerifyTestMain(m)
}

// heedIgnored is what a backend does for signals that the launcher ignored, such
// as nohup, for as long as it lives. After that the runtime ignores them again, and
// does not tell the next backend.
func heedIgnored() {
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
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
