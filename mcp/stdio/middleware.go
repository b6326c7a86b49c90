package stdio

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPanicText is how much of a panic's value is logged, in bytes.
const maxPanicText = 500

// Recover returns a receiving middleware that turns a panic in a handler into
// a JSON-RPC internal error without details. The SDK would let it end the
// process. It does not reach a goroutine that the handler started.
//
// warn gets one line with the method and the panic's value, trace the stack.
// Either may be nil.
func Recover(warn, trace func(string)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			defer func() {
				value := recover()
				if value == nil {
					return
				}
				if warn != nil {
					warn(panicLine(method, value))
				}
				if trace != nil {
					trace(string(debug.Stack()))
				}
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}()
			return next(ctx, method, req)
		}
	}
}

// panicLine describes a panic on one line.
func panicLine(method string, value any) string {
	text := strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	if len(text) > maxPanicText {
		text = strings.ToValidUTF8(text[:maxPanicText], "") + "..."
	}
	return fmt.Sprintf("panic while handling %s: %s", method, text)
}

// JoinContext returns a receiving middleware that ends the context of every
// handler when server ends, with the same cause. The SDK ends it only when the
// client cancels the call or goes away.
func JoinContext(server context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			stop := context.AfterFunc(server, func() { cancel(context.Cause(server)) })
			defer stop()
			return next(ctx, method, req)
		}
	}
}
