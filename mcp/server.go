package mcp

import (
	"context"
	"embed"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/execution"
)

// RequestCeiling is how long a request may wait: MCP clients commonly give up
// on one after 60 s (specification, "Timing Parameters at a Glance").
const RequestCeiling = execution.RequestBound

// Config is what the tools need. It does not change after NewServer.
type Config struct {
	// Registry keeps the executions. The server does not shut it down.
	Registry *execution.Registry

	// Blocked holds the side effects that are refused.
	Blocked policy.Blocklist
	// Commands judges commands and explicit shells.
	Commands policy.Commands
	// Dirs finds working directories.
	Dirs policy.Dirs

	// Environ returns the parent environment of commands, as os.Environ does.
	Environ func() []string
	// Secrets are hidden in all output; nil hides none.
	Secrets *buffer.Secrets
	// Sensitive reports whether the value of the variable is hidden too when a
	// call's env sets it; nil means never.
	Sensitive func(name string) bool

	// MaxOutputBytes bounds the output in one answer, and is the default.
	MaxOutputBytes int
	// TailBytes bounds the newest lines that a capped answer has in addition;
	// zero switches them off.
	TailBytes int
	// Search offers the tool search, which is not among those of the
	// specification.
	Search bool
	// Render is the default of the argument render; empty is RenderRaw.
	Render string
	// DefaultYield is yield_ms where the call has none.
	DefaultYield time.Duration
	// MaxYield bounds yield_ms, below the ceiling of 55 s.
	MaxYield time.Duration
	// DefaultTimeout is timeout_ms of execute where the call has none; zero is
	// unlimited.
	DefaultTimeout time.Duration

	// Spilling says that output which leaves memory is kept on disk.
	Spilling bool

	// Guarantees is what the system promises of descendants: the instructions
	// claim no more.
	Guarantees proc.Guarantees

	// Turn, if set, waits until the call that the context belongs to may make
	// its answer, because the client has read enough of the earlier ones. An
	// error means that nobody waits for the answer any more.
	Turn func(context.Context) error

	// Version is the server's version.
	Version string
	// Logger takes the SDK's messages; nil drops them.
	Logger *slog.Logger
	// Ready is called once, when a client has made contact, to prepare the
	// first command; it may be nil. It must not block.
	Ready func()
}

// texts holds the instructions, and for each tool its description and its
// output schema.
//
//go:embed instructions.md search.md best-effort.md tools
var texts embed.FS

// text returns an embedded file, which is known to exist since the package was
// tested.
func text(name string) string {
	b, err := texts.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(b))
}

// NewServer returns an MCP server with the tools, and the executions as
// resources. It runs sessions on any transport; executions outlive sessions.
func NewServer(c Config) *sdk.Server {
	if c.Render == "" {
		c.Render = RenderRaw
	}
	t := newTools(c)
	notices := newNotices(t)
	server := sdk.NewServer(&sdk.Implementation{
		Name:    "yieldshell",
		Title:   "YieldShell MCP",
		Version: c.Version,
	}, &sdk.ServerOptions{
		Instructions: c.instructions(),
		Logger:       c.Logger,
		// The tools and the templates of resources never change, so no list of
		// them is announced as changed.
		Capabilities: &sdk.ServerCapabilities{
			Tools:     &sdk.ToolCapabilities{},
			Resources: &sdk.ResourceCapabilities{Subscribe: true},
			//lint:ignore SA1019 clients of the versions before 2026-07-28 look for it
			Logging: &sdk.LoggingCapabilities{},
		},
		SubscribeHandler:   notices.subscribe,
		UnsubscribeHandler: notices.unsubscribe,
	})
	notices.update = func(uri string) {
		// What fails is a session that has ended, or a client that does not read.
		_ = server.ResourceUpdated(context.Background(), &sdk.ResourceUpdatedNotificationParams{URI: uri})
	}
	server.AddReceivingMiddleware(refuseUnknownLevels, notices.received)
	server.AddSendingMiddleware(notices.sent)
	if c.Ready != nil {
		server.AddReceivingMiddleware(onContact(c.Ready))
	}
	register(server, t.execute())
	register(server, t.read())
	register(server, t.write())
	register(server, t.wait())
	register(server, t.stop())
	register(server, t.ps())
	register(server, t.cleanup())
	if c.Search {
		register(server, t.search())
	}
	t.addResources(server)
	return server
}

// instructions are what a client tells the model of the server.
func (c Config) instructions() string {
	lines := text("instructions.md")
	if c.Search {
		lines += "\n" + text("search.md")
	}
	if !c.Guarantees.Tree {
		lines += "\n" + text("best-effort.md")
	}
	return lines
}

// tools makes the tools' definitions.
type tools struct {
	Config
	// searching has an element for each search that is under way or whose
	// answer has not been made.
	searching chan struct{}
}

// maxSearches bounds the searches that go on at a time. They only take
// processor time, so more would end no sooner, but their findings take memory.
const maxSearches = 2

func newTools(c Config) *tools { return &tools{Config: c, searching: make(chan struct{}, maxSearches)} }

// onContact calls ready after the first request that says that a client is
// there to stay: the handshake's end, or, in protocol versions without a
// handshake, the first look at the tools.
func onContact(ready func()) sdk.Middleware {
	var once sync.Once
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			switch method {
			case "notifications/initialized", "server/discover", "tools/list":
				defer once.Do(ready)
			}
			return next(ctx, method, req)
		}
	}
}

// tool is one tool, with In for its arguments.
type tool[In any] struct {
	name  string
	title string
	hints sdk.ToolAnnotations

	// defaults are the arguments of a call that has none.
	defaults func() In
	// params is the table of arguments, which go into In.
	params func(*In) []param
	// refuse answers a call whose arguments are wrong. In holds those that
	// were understood.
	refuse func(In, error) answer
	// run does the work.
	run func(context.Context, In) answer
}

func register[In any](server *sdk.Server, t tool[In]) {
	defaults := t.defaults()
	t.hints.Title = t.title
	server.AddTool(&sdk.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  text("tools/" + t.name + ".md"),
		InputSchema:  inputSchema(t.params(&defaults)),
		OutputSchema: json.RawMessage(text("tools/" + t.name + ".output.json")),
		Annotations:  &t.hints,
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := client{session: req.Session, token: tokenOf(req.Params)}
		ctx = withClient(ctx, c)
		a := t.answer(ctx, req.Params.Arguments)
		c.logAnswer(ctx, t.name, a)
		return result(a), nil
	})
}

// answer does one call.
func (t tool[In]) answer(ctx context.Context, arguments json.RawMessage) answer {
	in := t.defaults()
	warnings, err := decode(arguments, t.params(&in))
	var a answer
	if err != nil {
		a = t.refuse(in, err)
	} else {
		a = t.run(ctx, in)
	}
	a.warn(warnings)
	return a
}

// hints for clients that ask their user before some calls. All tools but
// execute and write touch nothing outside this server.
func hints(readOnly, destructive, idempotent, openWorld bool) sdk.ToolAnnotations {
	return sdk.ToolAnnotations{
		ReadOnlyHint:    readOnly,
		DestructiveHint: &destructive,
		IdempotentHint:  idempotent,
		OpenWorldHint:   &openWorld,
	}
}

// handleParam is the argument execution_id.
func handleParam(into *handle) param {
	return param{
		name: "execution_id", into: into, required: true,
		about: "The execution_id that execute returned, unchanged. It is not the numeric process_id.",
	}
}
