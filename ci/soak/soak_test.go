//go:build linux

package main

import (
	"strings"
	"testing"
	"time"
)

// TestSoak is a few seconds of what the program does for minutes.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute to begin and end")
	}
	binary, err := build(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	failures, err := run(options{server: binary, duration: 5 * time.Second, seed: 1, out: &out})
	if err != nil || failures > 0 {
		t.Errorf("%d failures, %v:\n%s", failures, err, out.String())
	}
}
