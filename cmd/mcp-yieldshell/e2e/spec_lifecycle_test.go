package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestAnEmptySessionEndsQuietly(t *testing.T) {
	t.Parallel()
	s := mcptest.Start(t, mcptest.Options{Command: program, Uninitialized: true})
	begun := time.Now()
	eq(t, "exit status", s.Close(), 0)
	quickly(t, "the end", begun, prompt)
	eq(t, "stdout", string(s.Stdout()), "")
}

func TestEOFEndsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	for _, command := range []string{"exec sleep %s", "sleep %s & true", "sleep %s & wait", "setsid sleep %s & sleep 0.1"} {
		s.Execute(fmt.Sprintf(command, m), args{"yield_ms": 300})
	}
	mcptest.WaitMarked(t, prompt, m, 4)
	begun := time.Now()
	eq(t, "exit status", s.Close(), 0)
	quickly(t, "the end", begun, 5*time.Second)
	mcptest.WaitUnmarked(t, time.Second, m)
}

func TestShutdownIsBoundedAndConcurrent(t *testing.T) {
	slow(t)
	t.Parallel()
	s, m := start(t), marker(t)
	for range 4 {
		running(t, s, ": "+m+"; "+deaf, nil)
	}
	begun := time.Now()
	eq(t, "exit status", s.Close(), 0)
	notBefore(t, "the end", begun, 9500*time.Millisecond)
	quickly(t, "the end", begun, 17*time.Second)
	mcptest.WaitUnmarked(t, time.Second, m)
}

func TestPendingRequestsAreAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("echo first; exec sleep 1000", args{"yield_ms": 0})
	w := s.Go("wait", r.On(args{"since_seq": 1}))
	e := s.GoExecute("echo second; exec sleep 1000", nil)
	mcptest.Until(t, prompt, "both outputs", func() bool {
		rows := s.Rows()
		return len(rows) == 2 && rows[0].StdoutBytes > 0 && rows[1].StdoutBytes > 0
	})
	eq(t, "exit status", s.Close(), 0)
	eq(t, "wait", w.Result().Stdout, "first\n")
	result := e.Result()
	eq(t, "execute", result.Stdout, "second\n")
	eq(t, "execution_id of the execute", result.ExecutionID != "", true)
}

func TestOneShotThroughAPipe(t *testing.T) {
	t.Parallel()
	needPOSIX(t)
	var input bytes.Buffer
	say := func(message any) {
		line, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(line, '\n'))
	}
	say(args{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": args{"protocolVersion": "2025-06-18", "capabilities": args{}, "clientInfo": args{"name": "t", "version": "0"}}})
	say(args{"jsonrpc": "2.0", "method": "notifications/initialized"})
	say(args{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": args{"name": "execute", "arguments": args{"command": "sleep 0.2; echo pong", "side_effects": []string{"NONE"}}}})
	say(args{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": args{"name": "ps", "arguments": args{}}})
	c := exec.Command(program[0], program[1:]...)
	c.Env = mcptest.Environ(nil)
	c.Stdin = &input
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		var m mcptest.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		answers[string(m.ID)] = line
	}
	contains(t, "answer 1", answers["1"], "yieldshell")
	contains(t, "answer 2", answers["2"], "pong")
	contains(t, "answer 3", answers["3"], "executions")
}

func TestABrokenStdoutEndsTheServer(t *testing.T) {
	t.Parallel()
	m := marker(t)
	stay := command("exec sleep "+m, nil)
	if !posixServer() {
		stay = command(windowsHelper(t, "hold "+m), args{"env": asHelper()})
	}
	run, err := json.Marshal(args{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": args{"name": "execute", "arguments": stay}})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program[0], program[1:]...)
	c.Env = mcptest.Environ(nil)
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintf(stdin, "%s\n", run)
	if _, err := io.ReadFull(stdout, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	mcptest.WaitMarked(t, prompt, m, 1)
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := c.Process.Wait()
		ended <- err
	}()
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the server goes on without a stdout")
		_ = c.Process.Kill()
		<-ended
	}
	_ = stdin.Close()
	mcptest.WaitUnmarked(t, 5*time.Second, m)
}

func TestTerminalRecordsAreNotChangedByTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Execute("echo done", nil)
	long := s.Execute("exec sleep 1000", args{"yield_ms": 0})
	w := s.Go("wait", long.On(nil))
	row := s.Row(r.ExecutionID)
	eq(t, "status", row.Status, "completed")
	eq(t, "exit status", s.Close(), 0)
	if result := w.Result(); result.Status == "completed" {
		t.Errorf("an execution that was ended is completed: %v", result)
	}
}

func TestACommandCannotOutliveItsServerByHoldingItsPipes(t *testing.T) {
	t.Parallel()
	s, m := start(t), marker(t)
	s.Execute("setsid sleep "+m+" & sleep 0.1", nil)
	mcptest.WaitMarked(t, prompt, m, 1)
	s.Signal(os.Kill)
	s.Wait()
	mcptest.WaitUnmarked(t, 5*time.Second, m)
}
