//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// client is a minimal MCP client, so that what is measured is the server.
type client struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu      sync.Mutex
	next    int
	pending map[int]chan []byte
}

type answer struct {
	Result struct {
		StructuredContent result `json:"structuredContent"`
		IsError           bool   `json:"isError"`
	} `json:"result"`
	Error *struct{ Message string } `json:"error"`
}

type result struct {
	Status      string `json:"status"`
	ExecutionID string `json:"execution_id"`
	ProcessID   int    `json:"process_id"`
	Error       any    `json:"error"`
	Stdout      string `json:"stdout"`
	LatestSeq   uint64 `json:"latest_seq"`
	StartSeq    uint64 `json:"start_seq"`
}

// startServer starts a server with additional environment variables and
// completes the handshake.
func startServer(path string, env ...string) *client {
	c := &client{cmd: exec.Command(path), pending: make(map[int]chan []byte)}
	c.cmd.Env = append(plainEnviron(), env...)
	c.cmd.Stderr = os.Stderr
	stdin, err := c.cmd.StdinPipe()
	check(err)
	stdout, err := c.cmd.StdoutPipe()
	check(err)
	check(c.cmd.Start())
	c.stdin = stdin
	go c.receive(bufio.NewReaderSize(stdout, 1<<20))
	c.handshake()
	return c
}

// plainEnviron is the environment without the server's configuration.
func plainEnviron() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.Contains(v, "YIELDSHELL_") {
			env = append(env, v)
		}
	}
	return env
}

func (c *client) handshake() {
	c.wait(c.send("initialize", map[string]any{
		"protocolVersion": "2025-11-25",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "bench", "version": "1"},
	}))
	c.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

// receive hands each answer to its caller as it came: decoding is not part of
// what is measured.
func (c *client) receive(r *bufio.Reader) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		c.mu.Lock()
		id := idOf(line)
		ch := c.pending[id]
		delete(c.pending, id)
		c.mu.Unlock()
		if ch != nil {
			ch <- line
		}
	}
}

// idOf finds the id of a message without decoding it: the server writes it
// before the result.
func idOf(line []byte) int {
	_, rest, ok := bytes.Cut(line[:min(len(line), 64)], []byte(`"id":`))
	if !ok {
		return 0
	}
	id := 0
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		id = 10*id + int(c-'0')
	}
	return id
}

func (c *client) write(message map[string]any) {
	line, err := json.Marshal(message)
	check(err)
	_, err = c.stdin.Write(append(line, '\n'))
	check(err)
}

func (c *client) send(method string, params any) chan []byte {
	ch := make(chan []byte, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.pending[id] = ch
	c.mu.Unlock()
	c.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return ch
}

// wait waits for an answer and decodes it.
func (c *client) wait(ch chan []byte) result {
	var a answer
	check(json.Unmarshal(<-ch, &a))
	if a.Error != nil {
		check(fmt.Errorf("the server answered: %s", a.Error.Message))
	}
	if a.Result.IsError {
		check(fmt.Errorf("the tool answered: %v", a.Result.StructuredContent.Error))
	}
	return a.Result.StructuredContent
}

func (c *client) start(tool string, args map[string]any) chan []byte {
	return c.send("tools/call", map[string]any{"name": tool, "arguments": args})
}

func (c *client) call(tool string, args map[string]any) result { return c.wait(c.start(tool, args)) }

func (c *client) ping() { <-c.send("ping", map[string]any{}) }

// execute runs a command; extra are more arguments, as pairs.
func (c *client) execute(command string, extra ...any) result {
	return c.wait(c.startExecute(command, extra...))
}

func (c *client) startExecute(command string, extra ...any) chan []byte {
	args := map[string]any{"command": command, "side_effects": []string{"NONE"}}
	for i := 0; i < len(extra); i += 2 {
		args[extra[i].(string)] = extra[i+1]
	}
	return c.start("execute", args)
}

func (c *client) pid() int { return c.cmd.Process.Pid }

func (c *client) close() {
	c.stdin.Close()
	c.cmd.Wait()
}

// supervisors lists the server's children.
func (c *client) supervisors() []int {
	var pids []int
	entries, err := os.ReadDir("/proc")
	check(err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if f[1] == strconv.Itoa(c.pid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}
