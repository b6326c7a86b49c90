//go:build unix

package e2e

import "testing"

const posix = true

// underWine reports whether the server, if it runs on Windows, does so on Wine
// and not on Windows.
func underWine() bool { return true }

// typed runs a line as if it stood after "cmd /d /s /c", and reports whether
// that can be done here.
func typed(*testing.T, string) (stdout string, code uint32, can bool) { return "", 0, false }
