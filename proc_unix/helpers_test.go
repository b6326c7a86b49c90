//go:build unix

package procunix

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc/proctest"
	"github.com/yieldshell/mcp-yieldshell/proc/psnap"
)

var helpers = proctest.Helpers{
	Parallel:    40,
	Quote:       quote,
	Background:  func(command string) string { return command + " &" },
	Alive:       alive,
	Descriptors: descriptors,
	Signals:     true,
	Unsupported: "SIGLIBRT",
	TooLong:     4 << 20,
	NotAProgram: "neither a program nor a script\n",
}

func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// alive reports whether a process is there and not a zombie.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if _, noProc := os.Stat("/proc/self/stat"); noProc != nil {
			return unix.Kill(pid, 0) == nil
		}
		return false
	}
	rest := data[bytes.LastIndexByte(data, ')')+1:]
	return !bytes.HasPrefix(rest, []byte(" Z")) && !bytes.HasPrefix(rest, []byte(" X"))
}

func descriptors() int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		panic(err)
	}
	return len(entries)
}

func newTestBackend(t testing.TB) *Backend {
	t.Helper()
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	b.NameOf = psnap.Name
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
