// Package execution keeps the managed executions of one server: it starts
// commands through a proc.Backend, follows them to their end, keeps their
// output in a buffer.Log, applies timeouts, stops and limits, and forgets them
// when their time has come.
//
// An Execution's life:
//
//	running ── session empty ──▶ completed | stopped | timed_out
//	        └─ hold lost ──────▶ failed
//
// A terminal status never changes. Processes that left the session may live on
// after it; the execution still owns them (see the section Descendants of the
// documentation on platforms).
//
// Goroutines: each execution has one that follows its events, one for each
// output pipe and, while initial input is delivered, one for standard input.
// All of them end when nothing that the execution owned is left. A call that
// waits for a port has one more until it answers.
//
// The package imports proc, buffer with its packages spill and screen, and the
// standard library. It knows nothing
// of MCP and has no platform branches.
package execution
