package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts run this test binary as mcp-yieldshell. A server
// that call starts is this binary too, and so are its supervisors.
func TestMain(m *testing.M) {
	helpIfAsked()
	testscript.Main(m, map[string]func(){"mcp-yieldshell": main})
}

// TestScripts runs the stories of a person at a terminal.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			for _, v := range os.Environ() {
				name, _, _ := strings.Cut(v, "=")
				if strings.Contains(name, "YIELDSHELL_") {
					env.Setenv(name, "")
				}
			}
			return nil
		},
	})
}
