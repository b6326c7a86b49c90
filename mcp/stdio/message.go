package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// codeTooManyRequests is in the range that JSON-RPC leaves to
// implementations.
const codeTooManyRequests = -32000

// Methods that the transport has to know.
const (
	methodInitialize   = "initialize"
	methodCallTool     = "tools/call"
	methodReadResource = "resources/read"
	methodListen       = "subscriptions/listen"
	methodCancelled    = "notifications/cancelled"
	notifications      = "notifications/" // what the names of notifications begin with
)

// lastBatchVersion is the last version of MCP with JSON-RPC batches. Versions
// are dates, so they compare as text.
const lastBatchVersion = "2025-03-26"

// metaVersion is where a request of a stateless protocol version names it.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// A refusal is the answer to something that is not a message.
type refusal struct {
	id jsonrpc.ID // the zero ID is null
	jsonrpc.Error
}

func refuse(id jsonrpc.ID, code int64, format string, args ...any) *refusal {
	return &refusal{id, jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

func (r *refusal) encode() []byte {
	return encodeResponse(&jsonrpc.Response{ID: r.id, Error: &r.Error})
}

// An item is what one line, or one element of a batch, held. One of its
// fields is set; none is if there is nothing to do.
type item struct {
	msg   jsonrpc.Message
	bad   *refusal
	batch []item
}

func (i item) empty() bool { return i.msg == nil && i.bad == nil && i.batch == nil }

var byteOrderMark = []byte("\xEF\xBB\xBF")

// trim takes the line apart from what some writers put around a message.
func trim(line []byte) []byte {
	line = bytes.Trim(line, " \t\r\n")
	line = bytes.TrimPrefix(line, byteOrderMark)
	return bytes.TrimLeft(line, " \t\r")
}

// parse reads one line. The item refers to the line's memory, and strings in
// it may be changed in place: the line must not be used again. A batch holds
// at most maxBatch elements.
func (s *scanner) parse(line []byte, maxBatch int) item {
	line = trim(line)
	if len(line) == 0 {
		return item{}
	}
	s.reset(validUTF8(line))
	switch s.peek() {
	case '{':
		return s.parseObject()
	case '[':
		return s.parseBatch(maxBatch)
	}
	err := s.skip()
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return item{bad: parseError(err)}
	}
	return item{bad: refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "invalid request: a message must be a JSON object")}
}

func parseError(err error) *refusal {
	return refuse(jsonrpc.ID{}, jsonrpc.CodeParseError, "parse error: %v", err)
}

func (s *scanner) parseObject() item {
	var env envelope
	err := s.object(&env)
	if err == nil {
		err = s.end()
	}
	switch {
	case errors.Is(err, errTooDeep):
		return item{bad: refuse(env.echo(), jsonrpc.CodeInvalidRequest, "invalid request: %v", err)}
	case err != nil:
		return item{bad: parseError(err)}
	}
	return env.decode()
}

func (s *scanner) parseBatch(maxBatch int) item {
	batch := []item{} // not nil: that is how a batch is told
	total := 0
	s.pos++
	s.space()
	for s.peek() != ']' || total > 0 {
		element, err := s.parseElement()
		if err != nil {
			if errors.Is(err, errTooDeep) {
				return item{bad: refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "invalid request: %v", err)}
			}
			return item{bad: parseError(err)}
		}
		if total++; total <= maxBatch {
			batch = append(batch, element)
		}
		s.space()
		if s.peek() == ']' {
			break
		}
		if s.peek() != ',' {
			return item{bad: parseError(s.unexpected("',' or ']'"))}
		}
		s.pos++
		s.space()
	}
	s.pos++
	if err := s.end(); err != nil {
		return item{bad: parseError(err)}
	}
	if total == 0 {
		return item{bad: refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "invalid request: the batch is empty")}
	}
	if total > maxBatch {
		return item{bad: refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest,
			"invalid request: the batch has %d messages; at most %d are taken", total, maxBatch)}
	}
	return item{batch: batch}
}

// parseElement reads one element of a batch. Its error concerns the line.
func (s *scanner) parseElement() (item, error) {
	if s.peek() == '{' {
		var env envelope
		if err := s.object(&env); err != nil {
			return item{}, err
		}
		return env.decode(), nil
	}
	err := s.skip()
	return item{bad: refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "invalid request: a message must be a JSON object")}, err
}

// parseHead looks for the id in the beginning of a line that is too long to
// be kept.
func (s *scanner) parseHead(head []byte) jsonrpc.ID {
	s.reset(validUTF8(trim(head)))
	var env envelope
	if s.peek() != '{' || s.object(&env) == nil {
		return jsonrpc.ID{}
	}
	return env.echo()
}

// echo returns the id that an answer to an invalid message carries: its own,
// if it has a valid one. A response has none for this purpose, since its id is
// one of ours, and the client would take ours for one of its own.
func (e *envelope) echo() jsonrpc.ID {
	if present(e.result) || present(e.failure) {
		return jsonrpc.ID{}
	}
	id, _ := decodeID(e.id)
	return id
}

// present reports whether a member is there and not null.
func present(raw []byte) bool { return len(raw) > 0 && raw[0] != 'n' }

// decode makes a message of an envelope.
func (e *envelope) decode() item {
	if reason := e.versionError(); reason != "" {
		return item{bad: refuse(e.echo(), jsonrpc.CodeInvalidRequest, "invalid request: %s", reason)}
	}
	if e.method == nil {
		return e.decodeResponse()
	}
	method, err := unquote(e.method)
	if err != nil {
		return item{bad: refuse(e.echo(), jsonrpc.CodeInvalidRequest, `invalid request: "method" must be a string`)}
	}
	req := &jsonrpc.Request{Method: method, Params: e.params}
	if e.id == nil || !present(e.id) && strings.HasPrefix(method, notifications) {
		return item{msg: req}
	}
	if req.ID, err = decodeID(e.id); err != nil {
		return item{bad: refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "invalid request: %v", err)}
	}
	return item{msg: req}
}

func (e *envelope) versionError() string {
	if string(e.version) == `"2.0"` {
		return ""
	}
	if version, err := unquote(e.version); err == nil && version == "2.0" {
		return ""
	}
	if e.version == nil {
		return `"jsonrpc" is missing; it must be "2.0"` + e.caseHint()
	}
	return `"jsonrpc" must be "2.0"`
}

func (e *envelope) caseHint() string {
	if e.miscased == "" {
		return ""
	}
	return fmt.Sprintf(" (keys are case-sensitive: %q should be %q)", e.miscased, strings.ToLower(e.miscased))
}

// decodeResponse reads a message without a method.
func (e *envelope) decodeResponse() item {
	failed := present(e.failure)
	if e.result == nil && !failed {
		return item{bad: refuse(e.echo(), jsonrpc.CodeInvalidRequest, `invalid request: "method" is missing%s`, e.caseHint())}
	}
	id, err := decodeID(e.id)
	if err != nil {
		if failed {
			// The client could not read something of ours. To answer an error
			// with an error would have no end.
			return item{}
		}
		return item{bad: refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "invalid response: %v", err)}
	}
	resp := &jsonrpc.Response{ID: id, Result: e.result}
	if failed {
		var wire jsonrpc.Error
		if json.Unmarshal(e.failure, &wire) != nil {
			wire = jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client sent an error that is not an error object"}
		}
		resp.Error = &wire
	}
	return item{msg: resp}
}

// Ids. The SDK knows strings and integers that float64 can hold. An id is
// opaque to a server, so a larger integer, which is valid, travels through the
// SDK as a string with a prefix that tells it from the client's own strings.
const (
	maxSafeInteger = 1 << 53
	idEscape       = "\x00"
	idNumber       = idEscape + "#"
	idString       = idEscape + "$"
)

var (
	errIDMissing = errors.New(`"id" is missing`)
	errIDKind    = errors.New(`"id" must be a string or an integer`)
)

// decodeID reads an id. The zero ID comes with an error.
func decodeID(raw []byte) (jsonrpc.ID, error) {
	if len(raw) == 0 {
		return jsonrpc.ID{}, errIDMissing
	}
	switch c := raw[0]; {
	case c == '"':
		s, err := unquote(raw)
		if err != nil {
			return jsonrpc.ID{}, err
		}
		if strings.HasPrefix(s, idEscape) {
			s = idString + s
		}
		return jsonrpc.MakeID(s)
	case c == '-' || '0' <= c && c <= '9':
		return decodeNumberID(string(raw))
	}
	return jsonrpc.ID{}, errIDKind
}

func decodeNumberID(raw string) (jsonrpc.ID, error) {
	f, err := strconv.ParseFloat(raw, 64)
	if err == nil && f == math.Trunc(f) && math.Abs(f) <= maxSafeInteger-1 {
		return jsonrpc.MakeID(f)
	}
	if strings.ContainsAny(raw, ".eE") {
		return jsonrpc.ID{}, errIDKind
	}
	return jsonrpc.MakeID(idNumber + raw)
}

// appendID writes an id as the client wrote it.
func appendID(buf []byte, id jsonrpc.ID) []byte {
	switch v := id.Raw().(type) {
	case int64:
		return strconv.AppendInt(buf, v, 10)
	case string:
		if number, ok := strings.CutPrefix(v, idNumber); ok {
			return append(buf, number...)
		}
		quoted, err := json.Marshal(strings.TrimPrefix(v, idString))
		if err == nil { // a string always has a JSON form
			return append(buf, quoted...)
		}
	}
	return append(buf, "null"...)
}

// cancelled checks a notifications/cancelled, and spells the id in it as the
// SDK knows it. It returns nil if the notification names no valid id: the SDK
// would round a fraction and cancel another request.
func cancelled(req *jsonrpc.Request) jsonrpc.Message {
	var params map[string]json.RawMessage // a struct would match any case
	if json.Unmarshal(req.Params, &params) != nil {
		return nil
	}
	id, err := decodeID(params["requestId"])
	if err != nil {
		return nil
	}
	if s, ok := id.Raw().(string); ok && strings.HasPrefix(s, idEscape) {
		quoted, err := json.Marshal(map[string]string{"requestId": s})
		if err != nil {
			return nil
		}
		req.Params = quoted
	}
	return req
}

// encodeResponse writes a response on one line, without the newline. Unlike
// jsonrpc.EncodeMessage it keeps a null id, copies a result, which the SDK has
// just marshalled, without parsing it again, and cannot fail: the SDK ends the
// session over a response that it cannot write.
func encodeResponse(resp *jsonrpc.Response) []byte {
	buf := make([]byte, 0, len(resp.Result)+64)
	if resp.Error != nil {
		buf = append(appendID(append(buf, beforeID...), resp.ID), `,"error":`...)
		buf = append(buf, encodeError(resp.Error)...)
	} else {
		buf = appendHead(buf, resp.ID)
		buf = appendLine(buf, resp.Result)
	}
	return append(buf, '}')
}

const beforeID = `{"jsonrpc":"2.0","id":`

// appendHead writes what stands before a result.
func appendHead(buf []byte, id jsonrpc.ID) []byte {
	return append(appendID(append(buf, beforeID...), id), `,"result":`...)
}

// appendLine appends JSON text without any line break between its tokens.
func appendLine(buf, raw []byte) []byte {
	if len(raw) == 0 {
		return append(buf, "null"...)
	}
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(buf, raw...)
	}
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil {
		return append(buf, "null"...)
	}
	return append(buf, line.Bytes()...)
}

// encodeError writes an error object. An error that wraps a *jsonrpc.Error
// keeps its code and its own text, as in the SDK. One without a code, which the
// SDK gives for requests that it can make nothing of, is an invalid request.
func encodeError(err error) []byte {
	wire, direct := err.(*jsonrpc.Error) //nolint:errorlint // a wrapped one keeps the text around it
	if !direct {
		wire = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
		var inner *jsonrpc.Error
		if errors.As(err, &inner) {
			wire.Code = inner.Code
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(wire) != nil {
		return []byte(`{"code":-32603,"message":"internal error"}`)
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

// encodeBatch writes the responses to a batch on one line.
func encodeBatch(answers [][]byte) []byte {
	buf := append([]byte{'['}, bytes.Join(answers, []byte{','})...)
	return append(buf, ']')
}

// negotiatedVersion reads the version from the result of initialize.
func negotiatedVersion(result json.RawMessage) (string, bool) {
	var init struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	err := json.Unmarshal(result, &init)
	return init.ProtocolVersion, err == nil && init.ProtocolVersion != ""
}

// statelessVersion reads the version that a request names itself, as from
// 2026-07-28 on.
func statelessVersion(msg jsonrpc.Message) string {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return ""
	}
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return ""
	}
	version, err := unquote(params.Meta[metaVersion])
	if err != nil {
		return ""
	}
	return version
}
