package mcp

//lint:file-ignore SA1019 the logging of MCP is deprecated, and clients ask for it still

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client is who made a call, and may be told of it before it is answered.
// The zero client is told nothing.
type client struct {
	session *sdk.ServerSession
	// token is what the client wants the call's progress under, nil if it
	// does not want to know.
	token any
}

type clientKey struct{}

// withClient returns a context for work on the client's behalf.
func withClient(ctx context.Context, c client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// clientOf returns the client whose call ctx belongs to.
func clientOf(ctx context.Context) client {
	c, _ := ctx.Value(clientKey{}).(client)
	return c
}

// fields are the members of a log message.
type fields map[string]any

// log sends a log message, if the client has asked for messages of this level:
// with logging/setLevel or, from protocol version 2026-07-28 on, with the
// request. Like an answer it waits for a client that does not read, and for no
// longer than the call may last.
//
// It never holds output, an environment or a secret: a client may keep its log
// in a place of its own.
func (c client) log(ctx context.Context, level sdk.LoggingLevel, message string, data fields) {
	if c.session == nil {
		return
	}
	data["message"] = message
	// An error means that the call was cancelled or the client has gone, of
	// which the answer takes notice.
	_ = c.session.Log(ctx, &sdk.LoggingMessageParams{Level: level, Logger: "yieldshell", Data: data})
}

// logAnswer tells of a call that was done, or not.
func (c client) logAnswer(ctx context.Context, tool string, a answer) {
	if a.failed() {
		c.log(ctx, "warning", "the call did not do what it asked", fields{"tool": tool, "error": problemOf(a)})
		return
	}
	c.log(ctx, "debug", "the call was done", fields{"tool": tool})
}

// problemOf is the error in an answer that has failed. Every shape of answer
// has one of this name.
func problemOf(a answer) string {
	var shape struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal([]byte(render(a)), &shape) // it is JSON, whatever else it may be
	return shape.Error
}

// refuseUnknownLevels refuses a logging/setLevel that names no level, which
// the SDK would take for the lowest (specification of MCP, server/utilities/
// logging, "Error Handling").
func refuseUnknownLevels(next sdk.MethodHandler) sdk.MethodHandler {
	levels := []sdk.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if p, ok := req.GetParams().(*sdk.SetLoggingLevelParams); ok && !slices.Contains(levels, p.Level) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: unknown log level " + quote(string(p.Level))}
		}
		return next(ctx, method, req)
	}
}
