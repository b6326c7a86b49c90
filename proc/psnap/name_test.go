package psnap

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := Name(os.Getpid()); got == "" || !strings.HasPrefix(filepath.Base(exe), strings.TrimSuffix(got, ".exe")) {
		t.Errorf("this process is called %q, which runs %s", got, exe)
	}
	for _, pid := range []int{-1, 0, math.MaxInt32} {
		if got := Name(pid); got != "" {
			t.Errorf("process %d is called %q", pid, got)
		}
	}
}
