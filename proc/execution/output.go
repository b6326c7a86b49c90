package execution

import (
	"context"

	"github.com/yieldshell/mcp-yieldshell/buffer"
)

// Next returns the output after the server-side cursor, at most max bytes of
// both streams, and moves the cursor behind it. If that is not all, the page's
// ending has the newest lines, at most ending bytes of them.
func (e *Execution) Next(max, ending int) buffer.Page {
	e.cursorMu.Lock()
	defer e.cursorMu.Unlock()
	p := e.log.PageAndEnding(e.cursor, max, ending, buffer.Both)
	e.cursor = p.Next
	return p
}

// Page returns at most max bytes of the output from position from on, and an
// ending as Next does. It leaves the server-side cursor alone.
func (e *Execution) Page(from uint64, max, ending int, sel buffer.Selection) buffer.Page {
	return e.log.PageAndEnding(from, max, ending, sel)
}

// Search looks for lines in the output that is kept. It leaves the server-side
// cursor alone.
func (e *Execution) Search(ctx context.Context, q buffer.Query) (buffer.Findings, error) {
	return e.log.Search(ctx, q)
}

// Tail returns the newest lines, at most max bytes of them. It leaves the
// server-side cursor alone.
func (e *Execution) Tail(lines, max int, sel buffer.Selection) buffer.Page {
	return e.log.Tail(lines, max, sel)
}
