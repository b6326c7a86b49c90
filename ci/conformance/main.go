//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/mcp"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
	"github.com/yieldshell/mcp-yieldshell/mcp/stdio"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
	"github.com/yieldshell/mcp-yieldshell/proc/psnap"
	procunix "github.com/yieldshell/mcp-yieldshell/proc_unix"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("conformance: ")
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	backend, err := procunix.New()
	if err != nil {
		return err
	}
	defer backend.Close()
	backend.NameOf = psnap.Name
	registry := execution.New(execution.Options{
		Backend: backend, BufferBytes: 256 << 10, MaxProcesses: 50, Retention: time.Hour, MaxRetained: 100,
	})
	defer registry.Shutdown(nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(newServer(registry, backend)), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end, in order or not, is the end
		server.Close()
	}()
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// newServer returns the same server object that the released program serves.
func newServer(registry *execution.Registry, backend *procunix.Backend) *sdk.Server {
	server := mcp.NewServer(mcp.Config{
		Registry:       registry,
		Dirs:           policy.Dirs{},
		Environ:        os.Environ,
		MaxOutputBytes: 20_000,
		DefaultYield:   30 * time.Second,
		MaxYield:       300 * time.Second,
		DefaultTimeout: time.Hour,
		Guarantees:     backend.Guarantees(),
		Version:        "conformance",
		Ready:          backend.Warm,
	})
	server.AddReceivingMiddleware(stdio.Recover(func(s string) { log.Print(s) }, nil), stdio.JoinContext(context.Background()))
	return server
}

// firstStateless is the first protocol version without sessions.
const firstStateless = "2026-07-28"

// handler serves both kinds of versions on one endpoint, and refuses requests
// that a page of another origin makes a browser send.
func handler(server *sdk.Server) http.Handler {
	of := func(*http.Request) *sdk.Server { return server }
	sessions := sdk.NewStreamableHTTPHandler(of, nil)
	stateless := sdk.NewStreamableHTTPHandler(of, &sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(mux)
}
