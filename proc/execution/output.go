package execution

import (
	"context"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/screen"
)

// Next returns the output after the server-side cursor, at most max bytes of
// both streams, and moves the cursor behind it. If that is not all, the page's
// ending has the newest lines, at most ending bytes of them.
func (e *Execution) Next(max, ending int) buffer.Page {
	e.cursorMu.Lock()
	defer e.cursorMu.Unlock()
	p, _ := e.next(max, ending)
	return p
}

// NextText is Next, but the page's text is what its bytes have added to a
// terminal on which everything before the cursor was shown. The page's positions
// count bytes as ever.
func (e *Execution) NextText(max, ending int) buffer.Page {
	e.cursorMu.Lock()
	defer e.cursorMu.Unlock()
	if e.screens == nil && e.cursor < e.log.Latest() {
		e.screens = e.before(e.cursor)
	}
	p, shown := e.next(max, ending)
	p.Stdout, p.Stderr = shown.Stdout, shown.Stderr
	return p
}

// next moves the cursor. It keeps the terminals, if there are any, in step, and
// returns what they show as the text of a page without positions. e.cursorMu is
// held.
func (e *Execution) next(max, ending int) (p, shown buffer.Page) {
	ended := e.Status().Terminal() // before the page: then all output is there
	p = e.log.PageAndEnding(e.cursor, max, ending, buffer.Both)
	e.cursor = p.Next
	if e.screens == nil {
		return p, buffer.Page{}
	}
	if p.Evicted {
		e.screens = new(screens) // nobody knows what the lost output did
	}
	shown = e.screens.write(p)
	if ended && !p.Capped {
		e.screens = nil // nearly always for good, and they are large
	}
	return p, shown
}

// screens are the terminals of the two streams.
type screens [2]screen.Terminal

func (s *screens) write(p buffer.Page) buffer.Page {
	return buffer.Page{Stdout: s[buffer.Stdout].Write(p.Stdout), Stderr: s[buffer.Stderr].Write(p.Stderr)}
}

// redrawn is how much of the output before the cursor is drawn when somebody
// asks for text who did not before, in bytes: more than a screen.
const redrawn = 64 << 10

// before returns terminals as the output before a position has left them.
func (e *Execution) before(cursor uint64) *screens {
	s := new(screens)
	from := e.log.Page(cursor-min(cursor-1, redrawn), 1, buffer.Both).Start // of a whole character
	if from >= cursor {
		return s
	}
	p := e.log.Page(from, int(cursor-from), buffer.Both)
	if p.Evicted || p.Next != cursor {
		return s // some of it is gone
	}
	if from > 1 { // not from the middle of a line
		p.Stdout = p.Stdout[strings.IndexByte(p.Stdout, '\n')+1:]
		p.Stderr = p.Stderr[strings.IndexByte(p.Stderr, '\n')+1:]
	}
	s.write(p)
	return s
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
