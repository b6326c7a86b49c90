package selftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be a process of a tree.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == HelpCommand {
		os.Exit(Help(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// grow starts a tree without any server.
func grow(t *testing.T) (*tree, *exec.Cmd) {
	t.Helper()
	grown, err := newTree()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(grown.close)
	parent := exec.Command(os.Args[0], HelpCommand, roleParent, grown.listener.Addr().String())
	parent.Stderr = os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stepBound)
	defer cancel()
	if err := grown.waitJoined(ctx); err != nil {
		t.Fatal(err)
	}
	return grown, parent
}

// TestSurvivorsAreSeen: without a server that owns them, processes survive
// their parent, and the test must see that and end them.
func TestSurvivorsAreSeen(t *testing.T) {
	grown, parent := grow(t)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	for _, m := range grown.members {
		if m.role == roleParent {
			<-m.ended
		}
	}
	left := grown.waitEnded(0)
	var roles []string
	for _, m := range left {
		roles = append(roles, m.role)
	}
	if got := strings.Join(roles, " "); got != "child escaped" && got != "escaped child" {
		t.Errorf("still there: %s", got)
	}
	grown.close()
	if left := grown.waitEnded(endBound); len(left) > 0 {
		t.Errorf("not ended when the test was over: %v", left)
	}
}

func TestPromises(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		limited bool
	}{
		{"everything is promised", Options{Tree: true, SurvivesServerKill: true}, false},
		{"nothing is promised of a server's death", Options{Tree: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			ended, there := make(chan struct{}), make(chan struct{})
			close(ended)
			stub := &tree{members: []member{{roleParent, 1, ended}, {roleChild, os.Getpid(), there}}}
			_, err := test.options.endedWithin(time.Millisecond, stub, time.Now(), "%s %s", test.options.SurvivesServerKill)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("child (process %d)", os.Getpid())) || errors.As(err, new(limit)) != test.limited {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	var results []Result
	Run(t.Context(), Options{Program: os.Args[0] + "-missing", Stderr: io.Discard}, func(r Result) {
		results = append(results, r)
	})
	if len(results) != 1 || results[0].Step != "start" || results[0].Err == nil {
		t.Errorf("%+v", results)
	}
}
