// Package stdio is the server's end of the MCP stdio transport: JSON-RPC 2.0
// messages, one to a line, on a pair of byte streams. It takes the place of
// the SDK's own StdioTransport, which ends the session over a line that it
// cannot read, drops answers at end of input, and cannot end while a client
// has stopped reading.
//
// What it promises:
//
//   - Every line that is not a message is answered with a JSON-RPC error that
//     says what was wrong, and the session goes on.
//   - When the input ends, the calls that were already read are answered
//     before the session ends, within the bounds of [Options].
//   - A client that stops reading costs bounded memory, and never keeps the
//     session from ending.
//   - Calls do not make more answers than the client reads ([TakeTurn]).
//   - Every frame is written whole or not at all, unless the output itself
//     breaks.
//
// # Why a transport and not a filter in front of the SDK's
//
// A filter would have to parse each line a second time, could not tell when
// an answer has reached the kernel, and could not release a blocked write.
// Nothing is lost: what the SDK asks of a connection beyond [mcp.Connection]
// is one unexported hook that tells it the negotiated version, and that can be
// read from the answer to initialize as it passes by.
//
// # Goroutines
//
// A connection owns two, and a third once a client that does not read has sent
// more than is taken in: it waits for the client's hang-up. The reader reads lines and parses them into the
// inbox; it ends when its io.Reader returns an error, or at the first line
// after the connection was closed. The writer alone writes to the io.Writer;
// it ends when the connection is closed or the output broke. Either may be
// stuck in a system call on a descriptor that nobody serves, which is why no
// other goroutine ever makes one, and why Close waits for neither.
//
// # Imports
//
// The standard library, mcp/jsonstr, and the SDK's mcp and jsonrpc packages.
package stdio
