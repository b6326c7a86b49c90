package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestCommandsHaveThreeDescriptors(t *testing.T) {
	t.Parallel()
	for name, wrapper := range map[string][]string{
		"normally":     nil,
		"with more":    {"bash", "-c", `exec 7>lock 9</etc/hosts 63</etc/hosts; exec "$@"`, "bash"},
		"with 3 and 4": {"bash", "-c", `exec 3</etc/hosts 4</etc/hosts 5</etc/hosts; exec "$@"`, "bash"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startUnder(t, wrapper)
			s.Execute("sleep 1000", args{"yield_ms": 0})
			for range 3 {
				// A glob would open the folder, and see that.
				completed(t, s.Execute("i=0; while [ $i -lt 100 ]; do [ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done; :", nil), "0\n1\n2\n")
			}
		})
	}
}

func TestCommandsShareNoPipeWithTheServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("for f in 0 1 2; do readlink /proc/$$/fd/$f; done", nil)
	own := make(map[string]bool)
	for fd := range 3 {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", s.PID(), fd))
		if err != nil {
			t.Fatal(err)
		}
		own[link] = true
	}
	links := strings.Fields(r.Stdout)
	eq(t, "descriptors", len(links), 3)
	for _, link := range links {
		if own[link] || !strings.HasPrefix(link, "pipe:") {
			t.Errorf("a command has %s; the server has %v", link, own)
		}
	}
	reader := s.Execute("cat", args{"close_stdin": false, "yield_ms": 50})
	for range 20 {
		s.Rows()
	}
	eq(t, "stopped", s.Call("stop", reader.On(nil)).Stopped, true)
}

func TestSupervisorsHoldNoPipeOfTheProtocol(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Execute("sleep 1000", args{"yield_ms": 0})
	own := make(map[string]bool)
	for fd := range 2 {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", s.PID(), fd))
		if err != nil {
			t.Fatal(err)
		}
		own[link] = true
	}
	list := supervisors(s.PID())
	if len(list) == 0 {
		t.Fatal("no supervisor")
	}
	for _, pid := range list {
		folder := fmt.Sprintf("/proc/%d/fd", pid)
		fds, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if link, _ := os.Readlink(folder + "/" + fd.Name()); own[link] {
				t.Errorf("supervisor %d holds %s as %s", pid, link, fd.Name())
			}
		}
	}
}

func TestTheShellLeadsASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("exec cat /proc/self/stat", nil)
	fields := strings.Fields(r.Stdout[strings.LastIndex(r.Stdout, ")")+1:])
	pid := strconv.Itoa(r.ProcessID)
	eq(t, "process group", fields[2], pid)
	eq(t, "session", fields[3], pid)
	eq(t, "terminal", fields[4], "0")
	if mcptest.Alive(r.ProcessID) {
		t.Error("process_id is alive after the end")
	}
}

func TestALockIsFreeWhenItsHolderHasEnded(t *testing.T) {
	t.Parallel()
	needProgram(t, "flock")
	s := start(t)
	for range 5 {
		completed(t, s.Execute("flock -n lock echo held", nil), "held\n")
	}
}
