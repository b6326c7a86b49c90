package e2e

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// drip writes each word, bytes in hexadecimal, with a write of its own, to
// stderr if "2:" comes before them. A word "@FILE" waits until the file exists:
// so a test decides when the next bytes come. A word "50ms" waits for that long.
func drip(words []string) int {
	for _, word := range words {
		if file, ok := strings.CutPrefix(word, "@"); ok {
			for {
				if _, err := os.Stat(file); err == nil {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			continue
		}
		if pause, err := time.ParseDuration(word); err == nil {
			time.Sleep(pause)
			continue
		}
		to := os.Stdout
		if rest, ok := strings.CutPrefix(word, "2:"); ok {
			to, word = os.Stderr, rest
		}
		data, err := hex.DecodeString(word)
		if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// dripCommand is a command line that runs drip.
func dripCommand(t *testing.T, words ...string) string {
	t.Helper()
	return "E2E_HELPER=drip exec '" + self(t) + "' " + strings.Join(words, " ")
}

// dripping runs drip in the background.
func dripping(t *testing.T, s *mcptest.Server, words ...string) *mcptest.Result {
	t.Helper()
	if posixServer() {
		return s.Execute(dripCommand(t, words...), args{"yield_ms": 0})
	}
	return s.Execute(windowsHelper(t, strings.Join(words, " ")), args{"yield_ms": 0, "env": args{"E2E_HELPER": "drip"}})
}

// self is the path of the test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// release creates a file that a command waits for.
func release(t *testing.T, s *mcptest.Server, name string) {
	t.Helper()
	if err := os.WriteFile(s.Dir+"/"+name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
