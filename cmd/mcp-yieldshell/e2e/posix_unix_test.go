//go:build unix

package e2e

const posix = true

// underWine reports whether the server, if it runs on Windows, does so on Wine
// and not on Windows.
func underWine() bool { return true }
