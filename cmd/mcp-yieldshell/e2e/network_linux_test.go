package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// TestTheServerHasNoNetwork looks at the sockets of the server and its
// supervisors while it is at work: none is of the internet's families.
func TestTheServerHasNoNetwork(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Execute("echo hi", nil)
	s.Execute("sleep 1000", args{"yield_ms": 0})
	var table strings.Builder
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		text, err := os.ReadFile("/proc/self/net/" + name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		table.Write(text)
	}
	sockets := 0
	for _, pid := range append(mcptest.Descendants(s.PID()), s.PID()) {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			target, _ := os.Readlink(link) // it may be closed by now
			inode, ok := strings.CutPrefix(target, "socket:[")
			if !ok {
				continue
			}
			sockets++
			if strings.Contains(table.String(), " "+strings.TrimSuffix(inode, "]")+" ") {
				t.Errorf("process %d has a socket of the internet: %s", pid, target)
			}
		}
	}
	if sockets == 0 {
		t.Error("no socket was looked at, not even to a supervisor")
	}
}
