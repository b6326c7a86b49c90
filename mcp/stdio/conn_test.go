package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func mustConnect(t *testing.T, tr *Transport) mcp.Connection {
	t.Helper()
	c, err := tr.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustRead(t *testing.T, c mcp.Connection) *jsonrpc.Request {
	t.Helper()
	msg, err := c.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		t.Fatalf("read %#v", msg)
	}
	return req
}

func result(req *jsonrpc.Request) *jsonrpc.Response {
	return &jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{}`)}
}

func TestConnectTwice(t *testing.T) {
	tr := New(strings.NewReader(""), io.Discard, Options{})
	defer mustConnect(t, tr).Close()
	if _, err := tr.Connect(context.Background()); err == nil {
		t.Error("a second Connect succeeded")
	}
}

// The two timeouts of the end of input, to the instant.
func TestDrainTimes(t *testing.T) {
	const first, final = 500 * time.Millisecond, 2 * time.Second
	for _, test := range []struct {
		name               string
		answered           time.Duration // after the input's end; 0 is never
		wantDrained, wantE time.Duration
	}{
		{"answered early", 300 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond},
		{"answered late", time.Second, first, time.Second},
		{"never answered", 0, first, first + final},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var drained []time.Duration
				tr := New(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"x"}`), io.Discard, Options{
					OnDrained: func() { drained = append(drained, time.Since(began)) },
				})
				c := mustConnect(t, tr)
				defer c.Close()
				req := mustRead(t, c)
				wrote := make(chan error, 1)
				if test.answered > 0 {
					time.AfterFunc(test.answered, func() { wrote <- c.Write(context.Background(), result(req)) })
				} else {
					wrote <- nil
				}
				if _, err := c.Read(context.Background()); err != io.EOF {
					t.Errorf("Read returned %v", err)
				}
				if got := time.Since(began); got != test.wantE {
					t.Errorf("the end came after %v, want %v", got, test.wantE)
				}
				if len(drained) != 1 || drained[0] != test.wantDrained {
					t.Errorf("OnDrained was called after %v, want %v", drained, test.wantDrained)
				}
				if err := <-wrote; err != nil { // before Close, which would end it
					t.Error(err)
				}
			})
		})
	}
}

func TestCloseReleasesReadAndWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		out := newStall()
		c := mustConnect(t, New(r, out, Options{}))
		read, written := make(chan error, 1), make(chan error, 1)
		go func() { _, err := c.Read(context.Background()); read <- err }()
		go func() { written <- c.Write(context.Background(), &jsonrpc.Request{Method: "note"}) }()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-read; err != io.EOF {
			t.Errorf("Read returned %v", err)
		}
		if err := <-written; !errors.Is(err, mcp.ErrConnectionClosed) {
			t.Errorf("Write returned %v", err)
		}
		if err := c.Write(context.Background(), &jsonrpc.Request{Method: "note"}); !errors.Is(err, mcp.ErrConnectionClosed) {
			t.Errorf("a later Write returned %v", err)
		}
		c.Close()
		w.Close()
		close(out.resume)
	})
}

func TestReadContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := mustConnect(t, New(r, io.Discard, Options{}))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := c.Read(ctx); err != context.DeadlineExceeded {
			t.Errorf("Read returned %v", err)
		}
		go io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"x"}`+"\n")
		if req := mustRead(t, c); req.Method != "x" {
			t.Errorf("read %v", req)
		}
		c.Close()
		w.Close()
	})
}

// A write whose context ends is withdrawn if it has not begun, and completed
// if it has. Either way the next one works, and no frame is cut.
func TestWriteContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		out := newStall()
		tr := New(r, out, Options{})
		c := mustConnect(t, tr)
		for _, method := range []string{"begun", "withdrawn"} {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if err := c.Write(ctx, &jsonrpc.Request{Method: method}); err != context.DeadlineExceeded {
				t.Errorf("Write returned %v", err)
			}
		}
		close(out.resume)
		if err := c.Write(context.Background(), &jsonrpc.Request{Method: "last"}); err != nil {
			t.Error(err)
		}
		want := `{"jsonrpc":"2.0","method":"begun"}` + "\n" + `{"jsonrpc":"2.0","method":"last"}` + "\n"
		if got := out.String(); got != want {
			t.Errorf("wrote %q", got)
		}
		if tr.conn.queued != 0 {
			t.Errorf("%d bytes are still on the books", tr.conn.queued)
		}
		c.Close()
		w.Close()
	})
}

func TestShortWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := mustConnect(t, New(r, shortWriter{}, Options{}))
		if err := c.Write(context.Background(), &jsonrpc.Request{Method: "note"}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("Write returned %v", err)
		}
		if _, err := c.Read(context.Background()); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("Read returned %v", err)
		}
		c.Close()
		w.Close()
	})
}

type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestInputError(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("garbage\n"), errReader{broken})
	var out bytes.Buffer
	c := mustConnect(t, New(r, &out, Options{}))
	defer c.Close()
	if _, err := c.Read(context.Background()); err != broken {
		t.Errorf("Read returned %v", err)
	}
	if !strings.Contains(out.String(), "-32700") {
		t.Errorf("wrote %q", out.String())
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestEncodeResponse(t *testing.T) {
	id, err := jsonrpc.MakeID("<a>")
	if err != nil {
		t.Fatal(err)
	}
	wire := &jsonrpc.Error{Code: -1, Message: "<m>"}
	for _, test := range []struct {
		name string
		resp jsonrpc.Response
		want string
	}{
		{"result", jsonrpc.Response{ID: id, Result: json.RawMessage(`{"a":"<"}`)}, `{"jsonrpc":"2.0","id":"\u003ca\u003e","result":{"a":"<"}}`},
		{"no result", jsonrpc.Response{ID: id}, `{"jsonrpc":"2.0","id":"\u003ca\u003e","result":null}`},
		{"a result on several lines", jsonrpc.Response{Result: json.RawMessage("{\n\"a\":\r1}")}, `{"jsonrpc":"2.0","id":null,"result":{"a":1}}`},
		{"a wire error", jsonrpc.Response{Error: wire}, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"<m>"}}`},
		{"a wrapped error", jsonrpc.Response{Error: errors.Join(wire)}, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"<m>"}}`},
		{"another error", jsonrpc.Response{Error: io.EOF}, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"EOF"}}`},
		{"data on several lines", jsonrpc.Response{Error: &jsonrpc.Error{Data: json.RawMessage("[\n1]")}}, `{"jsonrpc":"2.0","id":null,"error":{"code":0,"message":"","data":[1]}}`},
		{"data that is not JSON", jsonrpc.Response{Error: &jsonrpc.Error{Data: json.RawMessage("[")}}, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(encodeResponse(&test.resp)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
