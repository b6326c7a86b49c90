package main

import (
	"fmt"
	"log/slog"

	"github.com/hashicorp/go-hclog"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/spill"
	"github.com/yieldshell/mcp-yieldshell/mcp"
	"github.com/yieldshell/mcp-yieldshell/mcp/stdio"
	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
	"github.com/yieldshell/mcp-yieldshell/proc/loopback"
)

// registryOptions hands the registry its part of the configuration.
func (c Config) registryOptions(backend proc.Backend, kept *spill.Store, warn func(string, ...any)) execution.Options {
	return execution.Options{
		Backend:      backend,
		BufferBytes:  c.MaxBufferBytes,
		MaxProcesses: c.MaxProcesses,
		Retention:    c.Retention,
		MaxRetained:  c.MaxRetained,
		Ports:        loopback.Ports{},
		Spill:        kept,
		Warn:         warn,
	}
}

// openSpill opens the folder for output that leaves memory; it returns nil if
// there is none.
func (c Config) openSpill(warn func(string, ...any)) (*spill.Store, error) {
	if c.SpillDir == "" {
		return nil, nil
	}
	kept, err := spill.Open(spill.Options{Dir: c.SpillDir, PerFile: c.MaxSpill, Total: c.MaxSpillTotal, Warn: warn})
	if err != nil {
		return nil, fmt.Errorf("configuration: %s is %s; it must be a folder that this server can make and write to: %w",
			spillDirVariable, shown(c.SpillDir), err)
	}
	return kept, nil
}

func closeSpill(kept *spill.Store, log hclog.Logger) {
	if err := kept.Close(); err != nil {
		log.Warn("removing kept output failed; the next start tries again", "error", err)
	}
}

func closeBackend(backend proc.Backend, log hclog.Logger) {
	if err := backend.Close(); err != nil {
		log.Warn("closing the backend failed", "error", err)
	}
}

// toolOptions hands the tools theirs.
func (c Config) toolOptions(registry *execution.Registry, backend proc.Backend, sys system, log hclog.Logger) mcp.Config {
	return mcp.Config{
		Registry:       registry,
		Blocked:        c.Blocked,
		Commands:       c.Commands,
		Dirs:           c.Dirs,
		Environ:        sys.environ,
		Secrets:        buffer.NewSecrets(c.Secrets),
		Sensitive:      c.sensitive,
		MaxOutputBytes: c.MaxOutputBytes,
		TailBytes:      c.TailBytes,
		Search:         c.Search,
		Render:         c.Render,
		DefaultYield:   c.DefaultYield,
		MaxYield:       c.MaxYield,
		DefaultTimeout: c.DefaultTimeout,
		Guarantees:     backend.Guarantees(),
		Turn:           stdio.TakeTurn,
		Spilling:       c.SpillDir != "",
		Version:        currentBuild().Version,
		Logger:         slog.New(slogBridge{log: log}),
		Ready: func() {
			backend.Warm()
			reserveThreads(threadReserve())
		},
	}
}

// sensitive reports whether the values of a variable are hidden.
func (c Config) sensitive(name string) bool {
	if c.Redact == nil {
		return false
	}
	found, err := c.Redact.Search(name)
	return found || err != nil // a name that cannot be judged in time is hidden
}
