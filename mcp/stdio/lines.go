package stdio

import (
	"bufio"
	"bytes"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxHead is how much of a line that is too long is searched for its id.
const maxHead = 4 << 10

// itemOverhead is about what a message takes in memory beside its text, which
// is most of what a short line takes.
const itemOverhead = 512

// readLoop reads lines into the inbox until the input ends. A last line
// without a newline counts.
func (c *conn) readLoop() {
	br := bufio.NewReaderSize(c.r, readBuffer)
	var s scanner
	for {
		text, whole, err := readLine(br, c.opts.MaxLine)
		l := line{size: len(text) + itemOverhead}
		if whole {
			l.item = s.parse(text, MaxInFlight)
		} else {
			l.item = item{bad: refuse(s.parseHead(text), jsonrpc.CodeInvalidRequest,
				"invalid request: the line is longer than %d bytes", c.opts.MaxLine)}
		}
		l.size += len(l.batch) * itemOverhead
		if !l.empty() && !c.push(l) {
			return
		}
		if err != nil {
			c.endInput(err)
			return
		}
	}
}

// readLine reads up to and including the next newline. The line belongs to the
// caller, which lets the messages in it refer to it. Of a line with more than
// limit bytes before its newline only the head is kept, and whole is false.
// With an error comes what was read before it.
func readLine(br *bufio.Reader, limit int) (text []byte, whole bool, err error) {
	whole = true
	for {
		chunk, err := br.ReadSlice('\n')
		switch {
		case whole && len(text)+len(bytes.TrimSuffix(chunk, []byte{'\n'})) > limit:
			whole = false
			head := append(bytes.Clone(text[:min(len(text), maxHead)]), chunk...)
			text = head[:min(len(head), maxHead)]
		case whole:
			text = append(text, chunk...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, whole, err
		}
	}
}
