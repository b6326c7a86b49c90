package execution

import "github.com/yieldshell/mcp-yieldshell/buffer"

// Next returns the output after the server-side cursor, at most max bytes of
// both streams, and moves the cursor behind it.
func (e *Execution) Next(max int) buffer.Page {
	e.cursorMu.Lock()
	defer e.cursorMu.Unlock()
	p := e.log.Page(e.cursor, max, buffer.Both)
	e.cursor = p.Next
	return p
}

// Page returns at most max bytes of the output from position from on. It
// leaves the server-side cursor alone.
func (e *Execution) Page(from uint64, max int, sel buffer.Selection) buffer.Page {
	return e.log.Page(from, max, sel)
}

// Tail returns the newest lines, at most max bytes of them. It leaves the
// server-side cursor alone.
func (e *Execution) Tail(lines, max int, sel buffer.Selection) buffer.Page {
	return e.log.Tail(lines, max, sel)
}
