package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// callBound is more than any request may take: the server answers within
	// 55 s plus the time to end and drain a command.
	callBound = 80 * time.Second
	// endBound is more than the server's shutdown may take.
	endBound = 30 * time.Second
	// aftermathBound is how long after the server's end, however it came,
	// its processes may still be there.
	aftermathBound = 5 * time.Second
)

// Options say how to start a server.
type Options struct {
	// Command is the server's program and arguments.
	Command []string
	// Wrapper are words to put before Command, such as "env", "-i", or
	// "sh", "-c", `trap '' PIPE; exec "$@"`, "sh".
	Wrapper []string
	// Env adds to the environment of the test, from which every variable
	// that configures the server has been removed: names that begin with
	// YIELDSHELL_ or MCP_YIELDSHELL_.
	Env map[string]string
	// Dir is the server's working directory; a new empty folder if empty.
	Dir string
	// Protocol is the MCP version to ask for; 2025-06-18 if empty.
	Protocol string
	// Uninitialized leaves the handshake to the test.
	Uninitialized bool
}

// Server is a server process and the session with it.
type Server struct {
	// Dir is the server's working directory.
	Dir string

	t       testing.TB
	cmd     *exec.Cmd
	stdin   *os.File
	outcome chan struct{} // closed once cmd.Wait has returned
	waitErr error
	read    sync.WaitGroup // the readers of stdout and stderr

	mu       sync.Mutex
	nextID   int64
	pending  map[string]*Pending
	answered map[string]bool
	unasked  []Message
	arrived  chan struct{} // closed and replaced whenever a message came
	stdout   bytes.Buffer
	stderr   bytes.Buffer
	problems []string
	schemas  map[string]*schema
	closed   bool
	killed   bool
	members  []member // processes of the server, seen before its end

	outputs []os.FileInfo // of the pipes that are its stdout and stderr
}

// Message is a JSON-RPC message from the server.
type Message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *RPCError       `json:"error"`
}

// RPCError is the error of a JSON-RPC response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Start starts a server, shakes hands with it, and ends it with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{
		Dir:      o.Dir,
		t:        t,
		outcome:  make(chan struct{}),
		pending:  make(map[string]*Pending),
		answered: make(map[string]bool),
		arrived:  make(chan struct{}),
		schemas:  make(map[string]*schema),
	}
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if err := s.launch(o); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	t.Cleanup(s.finish)
	if !o.Uninitialized {
		s.Initialize(o.Protocol)
		s.learnSchemas()
	}
	return s
}

func (s *Server) launch(o Options) error {
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inR.Close(), inW.Close())
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inR.Close(), inW.Close(), outR.Close(), outW.Close())
	}
	s.stdin = inW
	words := append(append([]string{}, o.Wrapper...), o.Command...)
	for try := 1; ; try++ {
		s.cmd = exec.Command(words[0], words[1:]...)
		s.cmd.Dir = s.Dir
		s.cmd.Env = Environ(o.Env)
		s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = inR, outW, errW
		if err = s.cmd.Start(); !transient(err) || try == 3 {
			break
		}
	}
	err = errors.Join(err, inR.Close(), outW.Close(), errW.Close())
	if err != nil {
		return errors.Join(err, inW.Close(), outR.Close(), errR.Close())
	}
	for _, f := range []*os.File{outR, errR} {
		if info, err := f.Stat(); err == nil {
			s.outputs = append(s.outputs, info)
		}
	}
	s.read.Go(func() { s.readStdout(outR) })
	s.read.Go(func() { s.readStderr(errR) })
	go func() {
		s.waitErr = s.cmd.Wait()
		close(s.outcome)
	}()
	return nil
}

// Environ is the environment of the test without the server's configuration,
// and with extra added.
func Environ(extra map[string]string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "YIELDSHELL_") || strings.HasPrefix(name, "MCP_YIELDSHELL_") {
			continue
		}
		if _, replaced := extra[name]; !replaced {
			env = append(env, v)
		}
	}
	for name, value := range extra {
		env = append(env, name+"="+value)
	}
	return env
}

// PID is the id of the process that was started: the server, or its wrapper.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stderr is everything that came on stderr so far.
func (s *Server) Stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

// Stdout is every byte that came on stdout so far.
func (s *Server) Stdout() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.stdout.Bytes())
}

// problem notes something that fails the test when the session ends.
func (s *Server) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) < 20 {
		s.problems = append(s.problems, fmt.Sprintf(format, args...))
	}
}

func (s *Server) readStdout(r *os.File) {
	defer r.Close()
	var line []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		s.mu.Lock()
		s.stdout.Write(chunk[:n])
		s.mu.Unlock()
		line = append(line, chunk[:n]...)
		for {
			one, rest, found := bytes.Cut(line, []byte("\n"))
			if !found {
				break
			}
			s.take(bytes.Clone(one))
			line = rest
		}
		if err != nil {
			s.endOfStdout(line)
			return
		}
	}
}

func (s *Server) endOfStdout(rest []byte) {
	s.mu.Lock()
	killed := s.killed
	orphans := s.pending
	s.pending = make(map[string]*Pending)
	s.mu.Unlock()
	if len(rest) > 0 && !killed {
		s.problem("stdout ends within a line: %.200q", rest)
	}
	for _, p := range orphans {
		p.deliver(Message{Error: &RPCError{Message: io.ErrUnexpectedEOF.Error()}})
	}
}

// take checks one line of stdout and passes the message on.
func (s *Server) take(line []byte) {
	var m Message
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(&m); err != nil || m.JSONRPC != "2.0" {
		s.problem("a line on stdout is no JSON-RPC message: %.200q", line)
		return
	}
	if _, err := d.Token(); err != io.EOF || !bytes.HasPrefix(line, []byte("{")) || bytes.HasSuffix(line, []byte("\r")) {
		s.problem("a line on stdout is not exactly one JSON object: %.200q", line)
	}
	if m.Method == "ping" && m.ID != nil {
		_ = s.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": struct{}{}})
		return
	}
	if m.Method != "" {
		s.keepUnasked(m)
		return
	}
	if (m.Result == nil) == (m.Error == nil) {
		s.problem("a response needs a result or an error: %.200q", line)
	}
	id := string(m.ID)
	s.mu.Lock()
	p := s.pending[id]
	delete(s.pending, id)
	again := s.answered[id]
	if id != "" && id != "null" {
		s.answered[id] = true
	}
	s.mu.Unlock()
	switch {
	case p != nil:
		s.validate(p.tool, m)
		p.deliver(m)
	case (id == "" || id == "null") && m.Error != nil:
		s.keepUnasked(m) // the answer to a line that could not be read
	case again:
		s.problem("a request was answered twice: %.200q", line)
	default:
		s.problem("an answer without a request: %.200q", line)
	}
}

func (s *Server) keepUnasked(m Message) {
	s.mu.Lock()
	s.unasked = append(s.unasked, m)
	close(s.arrived)
	s.arrived = make(chan struct{})
	s.mu.Unlock()
}

// WaitMessage waits for a notification, or an error without an id, that wanted
// accepts. Messages that came earlier count.
func (s *Server) WaitMessage(wanted func(Message) bool, bound time.Duration) (Message, bool) {
	deadline := time.NewTimer(bound)
	defer deadline.Stop()
	for seen := 0; ; {
		s.mu.Lock()
		fresh, arrived := s.unasked[seen:], s.arrived
		seen = len(s.unasked)
		s.mu.Unlock()
		for _, m := range fresh {
			if wanted(m) {
				return m, true
			}
		}
		select {
		case <-arrived:
		case <-deadline.C:
			return Message{}, false
		}
	}
}

// Messages lists the notifications, and errors without an id, that came so far
// and that wanted accepts.
func (s *Server) Messages(wanted func(Message) bool) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Message
	for _, m := range s.unasked {
		if wanted(m) {
			list = append(list, m)
		}
	}
	return list
}

func (s *Server) readStderr(r *os.File) {
	defer r.Close()
	chunk := make([]byte, 16<<10)
	for {
		n, err := r.Read(chunk)
		s.mu.Lock()
		s.stderr.Write(chunk[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}
