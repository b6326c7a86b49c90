package stdio

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/mcp/jsonstr"
)

// minSplice is how many bytes a result has to hold, at least, for splicing to
// save more than it costs.
const minSplice = 2 << 10

// Splice is a receiving middleware that gets large results of tools past the
// SDK's encoder. That is encoding/json, which reads each byte of
// encoded JSON once for every marshaler around it, to validate and to
// compact it, byte by byte: five times in all, which took longer than all the
// rest of a call. With Splice the SDK encodes a stand-in with a mark in the
// place of the content, so that whatever it adds to a result stays, and Write
// puts the content there, in one pass.
//
// It concerns results whose content is plain text and whose structured content
// is a [jsonstr.JSON].
func (t *Transport) Splice(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if r, ok := res.(*mcp.CallToolResult); ok && err == nil && spliceable(r) {
			return &standIn{r, &t.conn.splices}, nil
		}
		return res, err
	}
}

func spliceable(r *mcp.CallToolResult) bool {
	if r == nil || r.NeedsInput() || r.InputRequests != nil {
		return false
	}
	structured, ok := r.StructuredContent.(jsonstr.JSON)
	if !ok || len(structured) == 0 {
		return false
	}
	size := len(structured)
	for _, c := range r.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok || text.Meta != nil || text.Annotations != nil {
			return false
		}
		size += len(text.Text)
	}
	return size >= minSplice
}

// A standIn encodes as the result without its content.
type standIn struct {
	*mcp.CallToolResult
	splices *splices
}

// MarshalJSON implements json.Marshaler. The SDK calls it right before it
// writes the response.
func (s *standIn) MarshalJSON() ([]byte, error) {
	hollow := *s.CallToolResult
	hollow.Content = []mcp.Content{&mcp.TextContent{Text: s.splices.add(s.CallToolResult)}}
	hollow.StructuredContent = nil
	return json.Marshal(&hollow)
}

// splices holds the results whose stand-ins are on their way to Write. One
// that does not get there, because the session ends first, stays until the
// connection goes.
type splices struct {
	mu      sync.Mutex
	prefix  string // of the marks: no text that a tool returns has it by chance
	last    uint64
	results map[string]*mcp.CallToolResult

	// frames has memory of what was written before: a large answer would
	// otherwise cost a garbage collection every few times.
	frames sync.Pool
}

// buffer returns an empty buffer.
func (s *splices) buffer() []byte {
	if buf, ok := s.frames.Get().(*[]byte); ok {
		return (*buf)[:0]
	}
	return nil
}

// recycle takes the memory of what encode has returned, and nobody uses.
func (s *splices) recycle(buf []byte) {
	if cap(buf) >= minSplice {
		s.frames.Put(&buf)
	}
}

// add returns the mark for a result.
func (s *splices) add(r *mcp.CallToolResult) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.results == nil {
		s.prefix = rand.Text() + "-"
		s.results = make(map[string]*mcp.CallToolResult)
	}
	s.last++
	mark := s.prefix + strconv.FormatUint(s.last, 10)
	s.results[mark] = r
	return mark
}

// What the SDK writes around a mark.
const (
	beforeMark = `[{"type":"text","text":"`
	afterMark  = `"}]`
)

// take finds the stand-in in an encoded result, and forgets it. It returns what
// stands before and after the content; r is nil if there is none.
func (s *splices) take(encoded []byte) (before []byte, r *mcp.CallToolResult, after []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.results) == 0 {
		return nil, nil, nil
	}
	start := bytes.Index(encoded, []byte(beforeMark+s.prefix))
	if start < 0 {
		return nil, nil, nil
	}
	mark, after, _ := bytes.Cut(encoded[start+len(beforeMark):], []byte(afterMark))
	r = s.results[string(mark)]
	delete(s.results, string(mark))
	return encoded[:start], r, after
}

// encode is encodeResponse, but puts the content in the place of its stand-in.
func (s *splices) encode(resp *jsonrpc.Response) []byte {
	if resp.Error != nil {
		return encodeResponse(resp)
	}
	before, r, after := s.take(resp.Result)
	if r == nil {
		return encodeResponse(resp)
	}
	structured := r.StructuredContent.(jsonstr.JSON) // spliceable has seen to it
	buf := slices.Grow(s.buffer(), len(resp.Result)+5*len(structured)/2+64)
	buf = appendHead(buf, resp.ID)
	buf = append(buf, before...)
	for i, c := range r.Content {
		buf = append(buf, "[,"[min(i, 1)])
		buf = append(buf, `{"type":"text","text":`...)
		buf = jsonstr.Append(buf, c.(*mcp.TextContent).Text)
		buf = append(buf, '}')
	}
	if len(r.Content) == 0 {
		buf = append(buf, '[')
	}
	buf = append(buf, `],"structuredContent":`...)
	if strings.Contains(string(structured), "\n") || strings.Contains(string(structured), "\r") {
		buf = appendLine(buf, []byte(structured))
	} else {
		buf = append(buf, structured...)
	}
	buf = append(buf, after...)
	return append(buf, '}')
}
