package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// newLogger returns the operator's log, of which out takes a line at a time.
func newLogger(out io.Writer, level hclog.Level, json bool) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:       "yieldshell",
		Level:      level,
		JSONFormat: json,
		Output:     out,
	})
}

// slogBridge lets the SDK, which wants a slog.Logger, write to the operator's
// log. The SDK reports every ended session as an error, so its messages rank
// one level lower here.
type slogBridge struct {
	log  hclog.Logger
	args []any
}

func (b slogBridge) Enabled(_ context.Context, l slog.Level) bool {
	return b.log.GetLevel() <= bridged(l)
}

func (b slogBridge) Handle(_ context.Context, r slog.Record) error {
	args := append([]any(nil), b.args...)
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, a.Key, a.Value.String())
		return true
	})
	b.log.Log(bridged(r.Level), r.Message, args...)
	return nil
}

func (b slogBridge) WithAttrs(attrs []slog.Attr) slog.Handler {
	args := append([]any(nil), b.args...)
	for _, a := range attrs {
		args = append(args, a.Key, a.Value.String())
	}
	return slogBridge{b.log, args}
}

func (b slogBridge) WithGroup(name string) slog.Handler {
	return slogBridge{b.log.Named(name), b.args}
}

func bridged(l slog.Level) hclog.Level {
	switch {
	case l >= slog.LevelError:
		return hclog.Info
	case l >= slog.LevelWarn:
		return hclog.Debug
	}
	return hclog.Trace
}
