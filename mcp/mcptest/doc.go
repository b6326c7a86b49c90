// Package mcptest starts an MCP server as a process and talks to it over its
// stdin and stdout, for tests.
//
// It speaks newline-delimited JSON-RPC 2.0 by itself. It uses no SDK, so that
// it cannot share a mistake with the server that it tests, and it trusts
// nothing: every byte of stdout is kept, and whatever is no JSON-RPC message,
// answers no request, answers one twice, or does not validate against the
// tool's output schema fails the test when the session ends. So does a
// process of the server that outlives it, a data race and a panic.
//
//	s := mcptest.Start(t, mcptest.Options{Command: []string{"./server"}})
//	r := s.Execute("echo hello", nil)
//	if r.Stdout != "hello\n" { ... }
//
// A Server belongs to one test and ends with it. Its methods fail that test,
// so they are called from the test's own goroutine; Go starts a call without
// waiting for the answer.
//
// The package also answers whether processes are alive, which the tests of
// survivors need: Alive, Marked, WaitGone, ReadPID.
//
// It imports the standard library only, except gopsutil for the processes of
// systems without a Linux /proc, and x/sys/windows to end one there.
package mcptest
