// Package mcp is the server as a client sees it: the seven tools of the
// specification's Tool Reference, and search, on the Model Context Protocol.
//
// One file holds one tool: its arguments with their descriptions, what it does
// with them, and the shape of its answer. Its description for the model is
// tools/NAME.md and the schema of its answer tools/NAME.output.json; the
// schema of its arguments follows from the table of parameters that also
// decodes them (args.go, schema.go). A call passes through
//
//	decode arguments → policy → registry → answer
//
// and nothing on this way is an error of the protocol: what a tool refuses is
// an answer too, with isError set and the reason in the tool's own shape.
// Every answer is structured content and, for clients that show only one of
// the two, the same JSON as text.
//
// While a call waits, the client is told of its progress if it gave a token
// (progress.go), and log messages if it asked for them (client.go). Executions
// are resources too, for clients that have those: resources.go reads them, and
// notices.go tells subscribers when they change.
//
// The package keeps no state but who has subscribed to what, and how many
// searches go on: executions belong to proc/execution, output to buffer, and
// decisions to mcp/policy. Its goroutines report the progress of one call, or
// write a part of a long list, and end before the call is answered; or they send
// the notices of one resource, as long as somebody has subscribed to it, and wait
// for the end of a session that ever did. It imports these with buffer/lazydfa,
// buffer/screen, mcp/jsonstr and proc, and the SDK, whose package of the same name
// is called sdk here.
package mcp
