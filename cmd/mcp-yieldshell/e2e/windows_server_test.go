package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// startWindows starts a server for a test whose commands need Windows. The
// client may be on Windows as well or, with Wine, on Linux.
func startWindows(t *testing.T, env ...string) *mcptest.Server {
	t.Helper()
	needWindows(t)
	return startAny(t, env...)
}

func needWindows(t *testing.T) {
	t.Helper()
	if posixServer() {
		t.Skip("needs a server on Windows")
	}
}

// notOnWine skips a test of something that Wine does differently.
func notOnWine(t *testing.T, why string) {
	t.Helper()
	needWindows(t)
	if underWine() {
		t.Skip("Wine: " + why)
	}
}

// serverPath is a path of the client's as the server knows it.
func serverPath(path string) string {
	if !posix || posixServer() {
		return path
	}
	return "Z:" + strings.ReplaceAll(path, "/", `\`)
}

// windowsHelper is a command line that runs the helper of that name (see
// onWindows). A client on Linux is told where the helper is by
// YIELDSHELL_TEST_HELPER.
func windowsHelper(t *testing.T, words string) string {
	t.Helper()
	path := os.Getenv("YIELDSHELL_TEST_HELPER")
	if path == "" {
		if posix {
			t.Skip("YIELDSHELL_TEST_HELPER is not set")
		}
		path = self(t)
	}
	return `"` + path + `" ` + words
}

// asHelper is the environment that makes the test binary a helper.
func asHelper() args { return args{"E2E_HELPER": "windows"} }

// upLine is what a helper that stays says first.
const upLine = "up\n"
