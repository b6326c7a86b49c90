package main

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	// logBacklog is how many lines wait for a stderr that is not read.
	logBacklog = 256
	// logFlushBound is how long the last lines may take at the end.
	logFlushBound = 250 * time.Millisecond
)

// logWriter passes lines on to stderr without ever waiting for it. Some clients
// never read a server's stderr: once that pipe is full, whoever writes to it
// directly hangs. Lines that do not fit are dropped and counted.
type logWriter struct {
	out     io.Writer
	lines   chan []byte
	dropped atomic.Int64
	closing chan struct{} // closed by Close
	ended   chan struct{} // closed when the last line has been written
}

// newLogWriter starts the goroutine that writes. Close ends it.
func newLogWriter(out io.Writer) *logWriter {
	l := &logWriter{
		out:     out,
		lines:   make(chan []byte, logBacklog),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
	}
	go l.run()
	return l
}

func (l *logWriter) run() {
	defer close(l.ended)
	for {
		select {
		case line := <-l.lines:
			l.pass(line)
			continue
		default:
		}
		select {
		case line := <-l.lines:
			l.pass(line)
		case <-l.closing: // and nothing is left
			return
		}
	}
}

// pass writes one line, and says how many are missing behind it. There is
// nowhere to report an error of stderr to.
func (l *logWriter) pass(line []byte) {
	_, _ = l.out.Write(line)
	if n := l.dropped.Swap(0); n > 0 {
		_, _ = fmt.Fprintf(l.out, "mcp-yieldshell: %d lines of the log were dropped because stderr was not read\n", n)
	}
}

// Write implements io.Writer. It takes one line, and never fails.
func (l *logWriter) Write(p []byte) (int, error) {
	select {
	case l.lines <- bytes.Clone(p):
	default:
		l.dropped.Add(1)
	}
	return len(p), nil
}

// Close waits until everything has been written, but not for long. What is
// written afterwards is lost.
func (l *logWriter) Close() {
	close(l.closing)
	bound := time.NewTimer(logFlushBound)
	defer bound.Stop()
	select {
	case <-l.ended:
	case <-bound.C:
	}
}
