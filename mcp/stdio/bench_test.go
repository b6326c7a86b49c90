package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var sizes = []int{200, 1 << 20}

// paddedCall returns a tools/call of about n bytes.
func paddedCall(n int) string {
	return callLine("1", "void", `{"text":"`+strings.Repeat("x", max(0, n-104))+`"}`)
}

// BenchmarkParse is the work on a line between the pipe and the SDK.
func BenchmarkParse(b *testing.B) {
	for _, size := range sizes {
		text := strings.TrimSpace(paddedCall(size))
		b.Run(fmt.Sprintf("%d/stdio", size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var s scanner
			for b.Loop() {
				if i := s.parse([]byte(text), 1); i.msg == nil {
					b.Fatal(i.bad)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/sdk", size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonrpc.DecodeMessage([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, size := range sizes {
		id, err := jsonrpc.MakeID(1.0)
		if err != nil {
			b.Fatal(err)
		}
		resp := &jsonrpc.Response{ID: id, Result: json.RawMessage(`{"text":"` + strings.Repeat("x", size) + `"}`)}
		b.Run(fmt.Sprintf("%d/stdio", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				encodeResponse(resp)
			}
		})
		b.Run(fmt.Sprintf("%d/sdk", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := jsonrpc.EncodeMessage(resp); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCall is a tools/call there and back through pipes and a server,
// with a tool that does nothing, against the SDK's own transport.
func BenchmarkCall(b *testing.B) {
	transports := map[string]func(r, w *os.File) mcp.Transport{
		"stdio": func(r, w *os.File) mcp.Transport { return New(r, w, Options{}) },
		"sdk":   func(r, w *os.File) mcp.Transport { return &mcp.IOTransport{Reader: r, Writer: w} },
	}
	for _, size := range sizes {
		for _, name := range []string{"stdio", "sdk"} {
			b.Run(fmt.Sprintf("%d/%s", size, name), func(b *testing.B) {
				benchmarkCall(b, transports[name], paddedCall(size))
			})
		}
	}
}

func benchmarkCall(b *testing.B, transport func(r, w *os.File) mcp.Transport, call string) {
	stdin, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	server := newTestServer()
	server.AddTool(&mcp.Tool{Name: "void", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	ended := make(chan error, 1)
	go func() { ended <- server.Run(context.Background(), transport(stdin, stdout)) }()
	r := bufio.NewReader(out)
	roundTrip := func(text string) {
		if _, err := io.WriteString(in, text); err != nil {
			b.Fatal(err)
		}
		if _, err := r.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	roundTrip(initLine("2025-11-25"))
	b.SetBytes(int64(len(call)))
	for b.Loop() {
		roundTrip(call)
	}
	in.Close()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	for _, f := range []*os.File{stdin, out, stdout} {
		f.Close()
	}
}
