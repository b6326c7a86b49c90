package mcp

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/screen"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// executionsURI is what the URIs of all resources begin with. The execution's
// id follows, and for its output a slash and the stream's name.
const executionsURI = "yieldshell://executions/"

// maxResource bounds the output in a resource, in bytes. Unlike the answers of
// tools, the SDK encodes it, which takes several copies.
const maxResource = 128 << 10

// A resource is what a URI names.
type resource struct {
	execution *execution.Execution
	streams   buffer.Selection // Both for the status
}

// resource finds what a URI names.
func (t *tools) resource(uri string) (resource, bool) {
	id, ok := strings.CutPrefix(uri, executionsURI)
	if !ok {
		return resource{}, false
	}
	r := resource{streams: buffer.Both}
	id, stream, narrow := strings.Cut(id, "/")
	if narrow {
		if stream != "stdout" && stream != "stderr" {
			return resource{}, false
		}
		r.streams = selectionOf(stream)
	}
	r.execution, ok = t.Registry.Get(id)
	return r, ok
}

// addResources offers the executions as resources.
func (t *tools) addResources(server *sdk.Server) {
	for _, template := range []sdk.ResourceTemplate{
		{
			URITemplate: executionsURI + "{id}", Name: "execution", Title: "Status of an execution", MIMEType: "application/json",
			Description: "What ps says of the execution with this execution_id. Subscribers hear of its end, and now and then of its output.",
		},
		{
			URITemplate: executionsURI + "{id}/stdout", Name: "stdout", Title: "Standard output of an execution", MIMEType: "text/plain",
			Description: "The newest output, as much as one answer may carry, at most 128 KiB. The tool read has all that is kept.",
		},
		{
			URITemplate: executionsURI + "{id}/stderr", Name: "stderr", Title: "Standard error of an execution", MIMEType: "text/plain",
			Description: "The newest output, as much as one answer may carry, at most 128 KiB. The tool read has all that is kept.",
		},
	} {
		server.AddResourceTemplate(&template, t.readResource)
	}
}

func (t *tools) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	r, ok := t.resource(req.Params.URI)
	if !ok {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	}
	if !t.turn(ctx) {
		return nil, fmt.Errorf("read resource: %w", context.Canceled)
	}
	content := &sdk.ResourceContents{URI: req.Params.URI}
	if r.streams == buffer.Both {
		content.Text = statusText(r.execution.Summary(ctx))
	} else {
		t.setOutput(content, r)
	}
	return &sdk.ReadResourceResult{
		Cacheable: sdk.Cacheable{CacheScope: "private"},
		Contents:  []*sdk.ResourceContents{content},
	}, nil
}

// statusText is an execution as ps describes it.
func statusText(s execution.Summary) string {
	row := rowOf(&s, time.Now())
	var o object
	o.begin()
	row.write(&o)
	o.end()
	return string(o.json)
}

// setOutput sets the newest output of a stream, and says where it is.
func (t *tools) setOutput(content *sdk.ResourceContents, r resource) {
	limit := min(t.MaxOutputBytes, maxResource)
	page := r.execution.Tail(math.MaxInt32, limit, r.streams)
	content.Text = page.Stdout + page.Stderr // one of them was selected
	if t.Render == RenderText {
		content.Text = screen.Newest(screen.Text(content.Text), limit)
	}
	content.Meta = sdk.Meta{
		"yieldshell/start_seq":  page.Start,
		"yieldshell/latest_seq": page.Latest,
		"yieldshell/complete":   !page.Capped && !page.Evicted,
	}
}
