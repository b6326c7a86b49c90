package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// maxStalledGrowth is how much memory a client that does not read may cost, in
// kilobytes.
const maxStalledGrowth = 64 << 10

// A stalledClient has a session with a server, and reads only when asked to.
type stalledClient struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	ended  chan struct{}
	id     int
}

func startStalled(t *testing.T, env ...string) *stalledClient {
	t.Helper()
	needPOSIX(t)
	c := &stalledClient{t: t, cmd: exec.Command(program[0]), ended: make(chan struct{})}
	c.cmd.Env = mcptest.Environ(variables(env))
	c.cmd.Dir = t.TempDir()
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdin, c.cmd.Stdout, c.stdout = stdin, theirs, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	go func() {
		_ = c.cmd.Wait() // the exit status is asked for where it matters
		close(c.ended)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // unless it has ended
		<-c.ended
		out.Close()
	})
	c.send("initialize", args{"protocolVersion": "2025-11-25", "capabilities": args{}, "clientInfo": args{"name": "stalled", "version": "1"}})
	c.receive()
	return c
}

// send sends a request.
func (c *stalledClient) send(method string, params args) {
	c.t.Helper()
	c.id++
	line, err := json.Marshal(args{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.stdin.Write(append(line, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

func (c *stalledClient) call(tool string, a args) {
	c.t.Helper()
	c.send("tools/call", args{"name": tool, "arguments": a})
}

// receive reads one answer.
func (c *stalledClient) receive() (answer struct {
	ID     int
	Result struct{ StructuredContent mcptest.Fields }
}) {
	c.t.Helper()
	line, err := c.stdout.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	if err != nil {
		c.t.Fatalf("%v in %.200s", err, line)
	}
	return answer
}

// execute starts a command in the background, and reads the answer.
func (c *stalledClient) execute(text string) (executionID string) {
	c.t.Helper()
	c.call("execute", command(text, args{"yield_ms": 0}))
	return c.receive().Result.StructuredContent.ExecutionID
}

// fill makes requests until neither the client's pipe nor the server take
// more, at most n of them.
func (c *stalledClient) fill(n int, tool string, a args) {
	c.t.Helper()
	c.flood(n, "tools/call", args{"name": tool, "arguments": a})
}

// flood is fill for requests of any kind.
func (c *stalledClient) flood(n int, method string, params args) {
	c.t.Helper()
	var lines strings.Builder
	for range n {
		c.id++
		line, err := json.Marshal(args{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
		if err != nil {
			c.t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	pipe := c.stdin.(*os.File)
	if err := pipe.SetWriteDeadline(time.Now().Add(3 * time.Second)); err != nil {
		c.t.Fatal(err)
	}
	_, _ = io.WriteString(pipe, lines.String()) // that it takes no more is the point
}

// grown is by how much the server's memory has grown at most, once it grows no
// more.
func (c *stalledClient) grown(before int) int {
	c.t.Helper()
	last, same := 0, 0
	mcptest.Until(c.t, 60*time.Second, "memory that grows no more", func() bool {
		peak := kilobytes(c.t, c.cmd.Process.Pid, "status", "VmHWM:")
		if same++; peak != last {
			last, same = peak, 0
		}
		return same == 30
	})
	return last - before
}

func (c *stalledClient) memory() int {
	return kilobytes(c.t, c.cmd.Process.Pid, "status", "VmRSS:")
}

// end checks that the server ends by itself, as it must whoever does not read.
func (c *stalledClient) end(how string, bound time.Duration, members ...int) {
	c.t.Helper()
	select {
	case <-c.ended:
		eq(c.t, "exit status", c.cmd.ProcessState.ExitCode(), 0)
	case <-time.After(bound):
		c.t.Fatalf("the server did not end within %v after %s", bound, how)
	}
	mcptest.WaitGone(c.t, 5*time.Second, members...)
}

func checkGrowth(t *testing.T, what string, grown int) {
	t.Helper()
	t.Logf("%s: grown by %d kB", what, grown)
	limit := maxStalledGrowth
	if raceDetector { // it makes five to six times as much of it
		limit *= 8
	}
	if grown > limit {
		t.Errorf("%s: the server has grown by %d kB, more than %d", what, grown, limit)
	}
}

// Commands are drained whatever the client does.
func TestAStalledClientHoldsUpNoCommand(t *testing.T) {
	t.Parallel()
	c := startStalled(t)
	c.fill(5000, "ps", args{})
	done := filepath.Join(c.cmd.Dir, "done")
	// This one was asked for before the client stalled.
	d := startStalled(t)
	id := d.execute(fmt.Sprintf("sleep 1; head -c 50000000 /dev/zero | tr '\\0' x; echo $$ > %s; exec sleep 1000", done))
	d.fill(5000, "read", args{"execution_id": id, "since_seq": 1})
	shell := mcptest.ReadPID(t, done)
	members := mcptest.Descendants(d.cmd.Process.Pid)
	d.stdin.Close()
	d.end("the end of its input", 25*time.Second, append(members, shell)...)
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c.end("SIGINT", 25*time.Second)
}

// The largest answers that can be asked for, in the ways in which many of them
// can come at once.
func TestAStalledClientCostsLittleMemory(t *testing.T) {
	t.Parallel()
	for _, size := range []int{20_000, 1_000_000} {
		env := []string{fmt.Sprintf("YIELDSHELL_MAX_OUTPUT_BYTES=%d", size), "YIELDSHELL_MAX_BUFFER_BYTES=1000000"}
		full := fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; read x", size)
		for what, flood := range map[string]func(c *stalledClient, id string){
			"reads": func(c *stalledClient, id string) {
				c.fill(20_000, "read", args{"execution_id": id, "since_seq": 1})
			},
			"resources": func(c *stalledClient, id string) {
				c.flood(20_000, "resources/read", args{"uri": "yieldshell://executions/" + id + "/stdout"})
			},
		} {
			t.Run(fmt.Sprintf("%s of %d bytes", what, size), func(t *testing.T) {
				t.Parallel()
				c := startStalled(t, env...)
				id := c.execute(full + "; exec sleep 1000")
				c.call("wait", args{"execution_id": id, "timeout_ms": 1000, "max_output_bytes": 1, "since_seq": 1})
				c.receive()
				before := c.memory()
				flood(c, id)
				checkGrowth(t, what, c.grown(before))
				c.stdin.Close()
				c.end("the end of its input", 25*time.Second)
			})
		}
		t.Run(fmt.Sprintf("waits for %d bytes", size), func(t *testing.T) {
			t.Parallel()
			c := startStalled(t, env...)
			fifo := filepath.Join(c.cmd.Dir, "fifo")
			id := c.execute(fmt.Sprintf("mkfifo %s; head -c %d /dev/zero | tr '\\0' x; read x <%s", fifo, size, fifo))
			c.call("wait", args{"execution_id": id, "timeout_ms": 1000, "max_output_bytes": 1, "since_seq": 1})
			c.receive()
			before := c.memory()
			c.fill(1000, "wait", args{"execution_id": id, "since_seq": 1})
			go os.WriteFile(fifo, []byte("\n"), 0o666) // all waits are answered at once
			c.fill(2000, "wait", args{"execution_id": id, "since_seq": 1})
			checkGrowth(t, "waits", c.grown(before))
			c.stdin.Close()
			c.end("the end of its input", 25*time.Second)
		})
	}
}
