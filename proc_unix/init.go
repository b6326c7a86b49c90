//go:build unix

package procunix

import (
	"os"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
)

// A supervisor does not get as far as this, unless its server ended so early
// that keeper did not know it for one. It must not go on as something else.
func init() {
	if len(os.Args) == 1 && os.Args[0] == keeper.Name {
		keeper.Main()
	}
}
