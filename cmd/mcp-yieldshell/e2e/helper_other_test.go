//go:build !linux && !windows

package e2e

import (
	"fmt"
	"os"
)

// helper is what the test binary does when a command under test runs it.
func helper(name string, words []string) int {
	switch name {
	case "drip":
		return drip(words)
	case "listen":
		return listen(words)
	}
	fmt.Fprintln(os.Stderr, "unknown helper", name)
	return 2
}
