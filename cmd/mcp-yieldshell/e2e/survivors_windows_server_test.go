package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// windowsShape is a command whose processes are hard to get hold of on Windows.
// HELPER stands for the helper's program, SERVER for the server's, and MARK
// for a word on the command line of every process that is counted.
type windowsShape struct {
	name    string
	command string
	holders int  // how many processes stay
	over    bool // completes at once and leaves a detached process
	nested  bool // the holder's output goes to a file
}

var windowsShapes = []windowsShape{
	{name: "in the foreground", holders: 1, command: `HELPER hold MARK`},
	{name: "start /b", holders: 2, command: `start /b "" HELPER hold MARK & HELPER hold MARK`},
	{name: "start /b of an ended shell", holders: 1, command: `start /b "" HELPER hold MARK`},
	{name: "nested shells", holders: 2, command: `start /b cmd /d /c HELPER hold MARK & cmd /d /c HELPER hold MARK`},
	{name: "a batch file", holders: 2, command: "start /b \"\" HELPER hold MARK\nHELPER hold MARK"},
	{name: "detached", holders: 1, over: true, command: `HELPER spawn 0x8 hold MARK`},
	{name: "detached twice", holders: 1, over: true, command: `HELPER spawn 0x8 spawn 0x8 hold MARK`},
	{name: "detached beside the shell", holders: 2, command: `HELPER spawn 0x8 hold MARK & HELPER hold MARK`},
	{name: "a hidden console of its own", holders: 2, command: `HELPER spawn 0x08000000 hold MARK & HELPER hold MARK`},
	{name: "a process group of its own", holders: 2, command: `HELPER spawn 0x200 hold MARK & HELPER hold MARK`},
	{name: "deaf to Ctrl-C", holders: 2, command: `start /b "" HELPER deaf MARK & HELPER deaf MARK`},
	{name: "a tree of 40", holders: 40, command: `HELPER tree 3 MARK`},
	{name: "a server within", holders: 1, nested: true, command: `HELPER nest SERVER MARK`},
}

type windowsEnding struct {
	name       string
	limit      int // timeout_ms of the execution
	serverEnds bool
	run        func(t *testing.T, s *mcptest.Server, r *mcptest.Result)
}

var windowsEndings = []windowsEnding{
	{name: "stop", run: func(t *testing.T, s *mcptest.Server, r *mcptest.Result) {
		begun := time.Now()
		eq(t, "stopped", s.Call("stop", r.On(args{"force_after_ms": 2000})).Stopped, true)
		quickly(t, "stop", begun, 2*time.Second+prompt)
	}},
	// What is deaf gets 10 s, at the end of stdin as well.
	{name: "timeout", limit: 5000, run: func(t *testing.T, s *mcptest.Server, r *mcptest.Result) {
		w := s.Call("wait", r.On(args{"timeout_ms": 50000}))
		eq(t, "status", w.Status, "timed_out")
	}},
	{name: "end of stdin", serverEnds: true, run: func(t *testing.T, s *mcptest.Server, _ *mcptest.Result) {
		begun := time.Now()
		eq(t, "exit status", s.Close(), 0)
		quickly(t, "the end", begun, 10*time.Second+prompt)
	}},
	// From Windows this is TerminateProcess, from Linux it is SIGKILL.
	{name: "server killed", serverEnds: true, run: func(_ *testing.T, s *mcptest.Server, _ *mcptest.Result) {
		s.Kill()
	}},
}

func TestNothingSurvivesOnWindows(t *testing.T) {
	t.Parallel()
	needWindows(t)
	slots := make(chan struct{}, 6) // a machine with two processors has its hands full
	for _, sh := range windowsShapes {
		for _, end := range windowsEndings {
			if sh.over && end.limit > 0 {
				continue // the timeout does not count for what a completed command left
			}
			t.Run(sh.name+"/"+end.name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				surviveWindows(t, sh, end)
			})
		}
	}
}

func surviveWindows(t *testing.T, sh windowsShape, end windowsEnding) {
	m := marker(t)
	command := strings.NewReplacer(
		"HELPER ", windowsHelper(t, ""),
		"SERVER", `"`+serverPath(program[len(program)-1])+`"`,
		"MARK", m,
	).Replace(sh.command)
	s := startWindows(t)
	var r *mcptest.Result
	given := args{"yield_ms": 0, "env": asHelper()}
	for try := 1; ; try++ {
		if end.limit > 0 { // on a busy machine it may come before all is up
			given["timeout_ms"] = end.limit * try * try
		}
		r = s.Execute(command, given)
		if allHold(s, r, sh) {
			break
		}
		// Wine's cmd loses a child now and then when many start at once.
		if try == 3 || end.limit == 0 && !underWine() {
			t.Fatalf("not all processes have started: %+v", s.Row(r.ExecutionID))
		}
		s.Call("stop", r.On(args{"signal": "SIGKILL"}))
		os.Remove(filepath.Join(s.Dir, "up")) // of a nested one, if it came so far
	}
	if seen := len(mcptest.Marked(m)); seen < sh.holders && s.Row(r.ExecutionID).Status == "running" {
		t.Errorf("%d processes are seen from outside", seen)
	}
	if sh.over {
		eq(t, "wait_result", s.Call("wait", r.On(nil)).WaitResult, "exited")
		row := s.Row(r.ExecutionID)
		eq(t, "status", row.Status, "completed")
		eq(t, "number of detached", len(row.Detached), 1)
	}
	end.run(t, s, r)
	mcptest.WaitUnmarked(t, goneBound, m)
	if end.serverEnds {
		return
	}
	row := s.Row(r.ExecutionID)
	if row.Status == "running" || len(row.Detached) > 0 {
		t.Errorf("after the end: %+v", row)
	}
	if limit, ok := given["timeout_ms"].(int); ok {
		if took := *row.EndedAt - row.StartedAt; took > float64(limit)/1000+15 {
			t.Errorf("it ended after %.1f s, with a timeout of %d ms", took, limit)
		}
	}
	completed(t, s.Execute("echo next", nil), "next\r\n")
}

// allHold waits until every holder of the shape is there. It reports false if
// one does not come: the timeout may end the execution before, on a busy
// machine.
func allHold(s *mcptest.Server, r *mcptest.Result, sh windowsShape) (there bool) {
	mcptest.Soon(time.Minute, func() bool {
		row := s.Row(r.ExecutionID)
		there = int(row.StdoutBytes) >= sh.holders*len(upLine)
		if sh.nested {
			up, err := os.ReadFile(filepath.Join(s.Dir, "up"))
			there = err == nil && string(up) == upLine
		}
		return there || row.Status != "running" && len(row.Detached) == 0
	})
	return there
}
