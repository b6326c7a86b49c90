package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// progressEvery is the least time between two reports of one call's progress,
// and before the first: most calls need none.
const progressEvery = time.Second

// maxLastLine bounds the line of output in a report, in bytes.
const maxLastLine = 200

// tokenOf is the call's progress token, nil if there is none or it is of a type
// that tokens do not have.
func tokenOf(p sdk.RequestParams) any {
	switch token := p.GetProgressToken().(type) {
	case string, float64:
		return token
	}
	return nil
}

// reportProgress tells the client how a call that waits for e gets on, until
// the function that it returns is called. After that no report is sent, so
// that none comes after the answer. A client that gave no token is told
// nothing, and costs nothing.
func reportProgress(ctx context.Context, e *execution.Execution) (stop func()) {
	c := clientOf(ctx)
	if c.token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.progress(ctx, e)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// progress reports until ctx ends. A client that reads slowly gets fewer
// reports: the next is made when the last one has been taken.
func (c client) progress(ctx context.Context, e *execution.Execution) {
	begun := time.Now()
	next := time.NewTimer(progressEvery)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		err := c.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: c.token,
			Progress:      time.Since(begun).Seconds(), // it has to grow, and nobody knows the total
			Message:       progressOf(e),
		})
		if err != nil {
			return // the client has gone
		}
		next.Reset(progressEvery)
	}
}

// progressOf says how long an execution has been running, how much it has
// printed, and the last line of that.
func progressOf(e *execution.Execution) string {
	duration, size := e.Activity()
	text := fmt.Sprintf("%.0f s, ", duration.Seconds())
	if size == 0 {
		return text + "no output yet"
	}
	text += fmt.Sprintf("%d bytes of output", size)
	page := e.Tail(1, maxLastLine, buffer.Both)
	if line := plainLine(page.Stdout + page.Stderr); line != "" {
		text += ": " + line
	}
	return text
}

// plainLine is what a terminal would show of a line: the last of what was
// written over and over with carriage returns, without control sequences.
func plainLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	var b strings.Builder
	for i := 0; i < len(line); {
		if n := controlSequence(line[i:]); n > 0 {
			i += n
			continue
		}
		b.WriteByte(line[i])
		i++
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, b.String()))
}

// controlSequence returns the length of the control sequence that the text
// begins with: ESC [, parameters and a final byte (ECMA-48, section 5.4).
func controlSequence(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x7e:
			return i
		}
	}
	return len(text)
}
