package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

type writeInput struct {
	id         handle
	input      string
	newline    bool
	closeStdin bool
}

type writeAnswer struct {
	ExecutionID handle  `json:"execution_id"`
	OK          bool    `json:"ok"`
	Error       *string `json:"error"`
	Written     int     `json:"written_bytes"`
	warned
}

func (a *writeAnswer) failed() bool { return !a.OK }

func (a *writeAnswer) write(o *object) {
	a.ExecutionID.write(o, "execution_id")
	o.flag("ok", a.OK)
	o.textOrNull("error", a.Error)
	o.integer("written_bytes", int64(a.Written))
	a.warned.write(o)
}

func (t *tools) write() tool[writeInput] {
	refuse := func(in writeInput, err error) answer {
		return &writeAnswer{ExecutionID: in.id, Error: textOrNull(err)}
	}
	return tool[writeInput]{
		name:     "write",
		title:    "Write to standard input",
		hints:    hints(false, true, false, true),
		defaults: func() writeInput { return writeInput{} },
		params: func(in *writeInput) []param {
			return []param{
				handleParam(&in.id),
				{
					name: "input", into: &in.input, required: true,
					about: "Text to write. It may be empty, to close standard input and no more.",
				},
				{
					name: "newline", into: &in.newline,
					about: "Write a line feed after the text. Default: false.",
				},
				{
					name: "close_stdin", into: &in.closeStdin,
					about: "Close standard input afterwards, so that the command sees its end. Default: false.",
				},
			}
		},
		refuse: refuse,
		run: func(ctx context.Context, in writeInput) answer {
			e, ok := t.Registry.Get(in.id.id)
			if !ok {
				return refuse(in, unknownHandle(in.id.id))
			}
			text := in.input
			if in.newline {
				text += "\n"
			}
			n, err := e.Write(ctx, []byte(text), in.closeStdin)
			return &writeAnswer{ExecutionID: in.id, OK: err == nil, Error: textOrNull(writeFailure(err, n, len(text))), Written: n}
		},
	}
}

// writeFailure words why a write failed. total is what it should have written.
func writeFailure(err error, written, total int) error {
	var ended *execution.NotRunningError
	switch {
	case err == nil, errors.As(err, &ended), errors.Is(err, execution.ErrStdinClosed):
		return err
	case errors.Is(err, proc.ErrBrokenPipe):
		err = fmt.Errorf("the command has closed its stdin, so nothing more can be written to it (%w)", err)
	case errors.Is(err, proc.ErrClosed):
		err = fmt.Errorf("stdin was closed during the write (%w)", err)
	}
	if written > 0 {
		return fmt.Errorf("%d of %d bytes were written: %w", written, total, err)
	}
	return err
}
