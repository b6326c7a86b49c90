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
// after it; the execution still owns them, as far as the system tells of them
// (docs/platforms.md).
//
// Goroutines: each execution has one that follows its events, one for each
// output pipe and, while initial input is delivered, one for standard input.
// All of them end when nothing that the execution owned is left. More run for a
// time only: that of a timeout or a stop, which ends what the execution owns even
// if the call that asked for it is cancelled; one for each execution that the
// shutdown ends; and those of a call, which end with it: while it waits for a
// port, looks at kept output, drains both pipes, or lists executions with
// detached processes.
//
// The package imports proc, buffer with its packages lazydfa, screen and spill,
// and the standard library. It knows nothing of MCP and has no platform branches.
package execution
