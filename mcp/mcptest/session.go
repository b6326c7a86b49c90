package mcptest

import (
	"encoding/json"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Args are the arguments of a tool call.
type Args map[string]any

// Pending is a request that has been sent.
type Pending struct {
	// ID is the request's id as JSON.
	ID string

	t      testing.TB
	s      *Server
	tool   string
	once   sync.Once
	done   chan struct{}
	answer Message
	at     time.Time
}

func (p *Pending) deliver(m Message) {
	p.once.Do(func() {
		p.answer, p.at = m, time.Now()
		close(p.done)
	})
}

// Done is closed when the answer is there, or stdout has ended.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Answer waits for the response and returns it whatever it says.
func (p *Pending) Answer() Message {
	p.t.Helper()
	select {
	case <-p.done:
		return p.answer
	case <-time.After(callBound):
		p.t.Fatalf("request %s (%s) was not answered within %v; stderr: %.2000s", p.ID, p.tool, callBound, p.s.Stderr())
		panic("unreachable")
	}
}

// At is when the answer came. It waits for it.
func (p *Pending) At() time.Time {
	p.t.Helper()
	p.Answer()
	return p.at
}

// Result waits for the answer to a tool call. A JSON-RPC error fails the test.
func (p *Pending) Result() *Result {
	p.t.Helper()
	m := p.Answer()
	if m.Error != nil {
		p.t.Fatalf("%s: JSON-RPC error %v; stderr: %.2000s", p.tool, m.Error, p.s.Stderr())
	}
	r, err := parseResult(m.Result)
	if err != nil {
		p.t.Fatalf("%s: %v", p.tool, err)
	}
	r.t = p.t
	return r
}

// Expect announces an answer to a request that the test sends itself, by the
// id's JSON: 7 or "x" with its quotes.
func (s *Server) Expect(id string) *Pending { return s.expect(id, "") }

func (s *Server) expect(id, tool string) *Pending {
	p := &Pending{ID: id, t: s.t, s: s, tool: tool, done: make(chan struct{})}
	s.mu.Lock()
	s.pending[id] = p
	s.mu.Unlock()
	return p
}

// SendRaw writes bytes to the server's stdin, without a newline of its own.
func (s *Server) SendRaw(data []byte) {
	s.t.Helper()
	if _, err := s.stdin.Write(data); err != nil {
		s.t.Fatalf("write to the server: %v; stderr: %.2000s", err, s.Stderr())
	}
}

func (s *Server) send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = s.stdin.Write(append(line, '\n'))
	return err
}

// Notify sends a notification.
func (s *Server) Notify(method string, params any) {
	s.t.Helper()
	if err := s.send(request(nil, method, params)); err != nil {
		s.t.Fatalf("notify %s: %v", method, err)
	}
}

// Cancel tells the server that the answer to a request is no longer wanted.
func (s *Server) Cancel(p *Pending) {
	s.t.Helper()
	s.Notify("notifications/cancelled", Args{"requestId": json.RawMessage(p.ID), "reason": "test"})
}

func request(id any, method string, params any) map[string]any {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if id != nil {
		m["id"] = id
	}
	if params != nil {
		m["params"] = params
	}
	return m
}

func (s *Server) start(method, tool string, params any) *Pending {
	s.t.Helper()
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	s.mu.Unlock()
	p := s.expect(strconv.FormatInt(id, 10), tool)
	if err := s.send(request(id, method, params)); err != nil {
		s.t.Fatalf("send %s: %v; stderr: %.2000s", method, err, s.Stderr())
	}
	return p
}

// Request sends a request and waits for the answer.
func (s *Server) Request(method string, params any) (json.RawMessage, *RPCError) {
	s.t.Helper()
	m := s.start(method, "", params).Answer()
	return m.Result, m.Error
}

// MustRequest is Request for one that has to succeed.
func (s *Server) MustRequest(method string, params any) json.RawMessage {
	s.t.Helper()
	result, err := s.Request(method, params)
	if err != nil {
		s.t.Fatalf("%s: %v; stderr: %.2000s", method, err, s.Stderr())
	}
	return result
}

// Initialize shakes hands and returns the server's answer.
func (s *Server) Initialize(protocol string) json.RawMessage {
	s.t.Helper()
	if protocol == "" {
		protocol = "2025-06-18"
	}
	result := s.MustRequest("initialize", Args{
		"protocolVersion": protocol,
		"capabilities":    Args{},
		"clientInfo":      Args{"name": "mcptest", "version": "1"},
	})
	s.Notify("notifications/initialized", nil)
	return result
}

// Tool is an entry of tools/list.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// Tools lists the server's tools.
func (s *Server) Tools() []Tool {
	s.t.Helper()
	var list struct {
		Tools      []Tool `json:"tools"`
		NextCursor string `json:"nextCursor"`
	}
	if err := json.Unmarshal(s.MustRequest("tools/list", Args{}), &list); err != nil {
		s.t.Fatalf("tools/list: %v", err)
	}
	if list.NextCursor != "" {
		s.t.Fatalf("tools/list comes in pages")
	}
	return list.Tools
}

func (s *Server) learnSchemas() {
	s.t.Helper()
	for _, tool := range s.Tools() {
		if tool.OutputSchema == nil {
			continue
		}
		var sc schema
		if err := json.Unmarshal(tool.OutputSchema, &sc); err != nil {
			s.t.Fatalf("output schema of %s: %v", tool.Name, err)
		}
		s.mu.Lock()
		s.schemas[tool.Name] = &sc
		s.mu.Unlock()
	}
}

// validate checks a tool's answer: the structured content is an object that
// fits the output schema, and the text says the same.
func (s *Server) validate(tool string, m Message) {
	s.mu.Lock()
	sc := s.schemas[tool]
	s.mu.Unlock()
	if sc == nil || m.Result == nil {
		return
	}
	r, err := parseResult(m.Result)
	if err != nil {
		s.problem("%s: %v", tool, err)
		return
	}
	var value any
	if err := json.Unmarshal(r.structured, &value); err != nil {
		s.problem("%s: structuredContent: %v", tool, err)
		return
	}
	if err := sc.check(value, tool); err != nil {
		s.problem("output schema: %v in %.500s", err, r.structured)
	}
}

// Go starts a tool call without waiting for its answer.
func (s *Server) Go(tool string, args Args) *Pending {
	s.t.Helper()
	if args == nil {
		args = Args{}
	}
	return s.start("tools/call", tool, Args{"name": tool, "arguments": args})
}

// Call calls a tool and waits for its answer.
func (s *Server) Call(tool string, args Args) *Result {
	s.t.Helper()
	return s.Go(tool, args).Result()
}

// GoExecute starts an execute without waiting for its answer. The side
// effects are NONE unless args say otherwise.
func (s *Server) GoExecute(command string, args Args) *Pending {
	s.t.Helper()
	all := Args{"command": command, "side_effects": []string{"NONE"}}
	maps.Copy(all, args)
	return s.Go("execute", all)
}

// Execute runs a command and waits for the answer.
func (s *Server) Execute(command string, args Args) *Result {
	s.t.Helper()
	return s.GoExecute(command, args).Result()
}

// On adds the execution's id to the arguments of a call.
func (r *Result) On(args Args) Args {
	all := Args{"execution_id": r.ExecutionID}
	maps.Copy(all, args)
	return all
}

// Rows lists the executions that ps reports.
func (s *Server) Rows() []Row {
	s.t.Helper()
	return s.Call("ps", Args{"limit": 1000}).Executions
}

// Row is the entry of ps with this id.
func (s *Server) Row(executionID string) Row {
	s.t.Helper()
	var ids []string
	for _, row := range s.Rows() {
		if row.ExecutionID == executionID {
			return row
		}
		ids = append(ids, row.ExecutionID)
	}
	s.t.Fatalf("ps does not list %q: %v", executionID, ids)
	panic("unreachable")
}

// Until asks again and again until the condition holds, and fails the test if
// it does not within the bound. It is for what no event announces.
func Until(t testing.TB, bound time.Duration, what string, holds func() bool) {
	t.Helper()
	if !Soon(bound, holds) {
		t.Fatalf("%s: not within %v", what, bound)
	}
}

// Soon asks again and again until the condition holds, and reports false if it
// does not within the bound.
func Soon(bound time.Duration, holds func() bool) bool {
	deadline := time.Now().Add(bound)
	for pause := time.Millisecond; !holds(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}
