package keeper_test

import (
	"bytes"
	"testing"
)

// TestInitialisedEarly: an import too many costs each supervisor half a
// megabyte, and nothing else would tell.
func TestInitialisedEarly(t *testing.T) {
	out, err := again(t, "GODEBUG=inittrace=1").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	const us = "init github.com/yieldshell/mcp-yieldshell/proc_unix/keeper "
	keeper := bytes.Index(out, []byte(us))
	if keeper < 0 {
		t.Fatalf("not initialised:\n%s", out)
	}
	for _, later := range []string{"os", "fmt", "bytes", "strconv", "unicode"} {
		if i := bytes.Index(out, []byte("init "+later+" ")); i >= 0 && i < keeper {
			t.Errorf("after %s:\n%s", later, out)
		}
	}
}
