package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/mattn/go-isatty"

	"github.com/yieldshell/mcp-yieldshell/mcp"
	"github.com/yieldshell/mcp-yieldshell/mcp/stdio"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

const (
	// shutdownBound is more than the specification's bounds for ending an
	// execution add up to (10 s grace, 5 s kill, 3 s output): past it the
	// process ends whatever still hangs, and the supervisors do the rest.
	shutdownBound = 20 * time.Second
	// farewellBound is how long the last answers may take to be written once
	// everything has ended.
	farewellBound = time.Second
)

// serve speaks MCP on stdin and stdout until the client or a signal ends it.
func serve(ctx context.Context, sys system) int {
	config, err := LoadConfig(sys.lookupEnv, sys.environ())
	if err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell: %v\n", err)
		return exitUsage
	}
	lines := newLogWriter(sys.stderr)
	defer lines.Close()
	log := newLogger(lines, config.LogLevel, config.LogJSON)
	if log.GetLevel() > hclog.Debug {
		debug.SetTraceback("none") // one line, should there ever be a panic
	}
	for _, w := range config.Warnings {
		log.Warn(w)
	}
	if isatty.IsTerminal(sys.stdin.Fd()) {
		fmt.Fprintln(sys.stderr, "mcp-yieldshell serves MCP clients on stdin and stdout, and waits for one now; Ctrl-C ends it, 'mcp-yieldshell help' tells more")
	}
	catchBrokenPipe()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)

	backend, err := newBackend()
	if err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell: %v\n", err)
		return exitFailed
	}
	defer closeBackend(backend, log)
	kept, err := config.openSpill(log.Warn)
	if err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell: %v\n", err)
		return exitUsage
	}
	if kept != nil {
		defer closeSpill(kept, log)
	}
	registry := execution.New(config.registryOptions(backend, kept, log.Warn))
	end := newEnding(registry, log)
	transport := stdio.New(sys.stdin, newClientPipe(sys.stdout), stdio.Options{
		OnDrained: end.begin,
		OnBroken:  func(error) { end.begin() },
		HangUp:    hangUpOf(sys.stdin),
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := mcp.NewServer(config.toolOptions(registry, backend, sys, log))
	server.AddReceivingMiddleware(
		transport.Splice,
		transport.Turns,
		stdio.Recover(func(s string) { log.Error(s) }, func(s string) { log.Debug(s) }),
		stdio.JoinContext(ctx))
	end.serve(signals, transport, func() error { return server.Run(ctx, transport) })
	return exitOK
}

// ending is the server's way out. Whatever comes first begins it: the end of
// stdin, a broken stdout, a signal.
type ending struct {
	registry *execution.Registry
	log      hclog.Logger
	begun    chan struct{}
	begin    func()
}

func newEnding(r *execution.Registry, log hclog.Logger) *ending {
	e := &ending{registry: r, log: log, begun: make(chan struct{})}
	e.begin = sync.OnceFunc(func() {
		r.BeginShutdown() // requests that wait answer with what they have
		close(e.begun)
	})
	return e
}

// serve runs the session until the ending begins, then ends everything within
// bounds.
func (e *ending) serve(signals <-chan os.Signal, transport *stdio.Transport, session func() error) {
	served := make(chan error, 1)
	go func() {
		err := session()
		e.begin()
		served <- err
	}()
	select {
	case <-e.begun:
	case s := <-signals:
		e.log.Info("ending", "signal", s.String())
		e.begin()
	}
	// After a signal the client is still there, and it may take 10 s until
	// the last command has ended: requests are answered all the while.
	e.endExecutions(signals)
	transport.EndInput()
	select {
	case err := <-served:
		e.log.Debug("session ended", "reason", err)
	case <-time.After(farewellBound):
		// The client does not read: the process ends all the same.
	}
}

// endExecutions ends every execution. A signal cuts the grace short.
func (e *ending) endExecutions(signals <-chan os.Signal) {
	hurry, over := make(chan struct{}), make(chan struct{})
	go func() {
		e.registry.Shutdown(hurry)
		close(over)
	}()
	bound := time.NewTimer(shutdownBound)
	defer bound.Stop()
	for {
		select {
		case <-over:
			return
		case <-signals:
			close(hurry)
			signals = nil
		case <-bound.C:
			e.log.Warn("ending although some executions have not ended")
			return
		}
	}
}
