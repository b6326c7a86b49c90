package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

type unclosable struct{ proc.Backend }

func (unclosable) Close() error { return errors.New("the port is stuck") }

func TestAnErrorOfClosingTheBackendIsLogged(t *testing.T) {
	var lines bytes.Buffer
	closeBackend(unclosable{}, newLogger(&lines, hclog.Warn, false))
	if !strings.Contains(lines.String(), "the port is stuck") {
		t.Errorf("the log is %q", lines.String())
	}
}
