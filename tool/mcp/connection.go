package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/internal/netguard"
	"example.org/parley/tool"
)

// closeTime is a connection's time to end in good order, before its transport is closed.
const closeTime = time.Second

// transport is an SDK transport that can be ended in any state.
type transport interface {
	sdk.Transport
	close()
	why(err error) error    // adds what is known of the transport's own end
	ended() <-chan struct{} // closed when the transport has ended the connection; nil if the session notices
}

// connection is one session with a server, from its handshake to its end. It belongs to the link's goroutine; calls use
// it from others.
type connection struct {
	session   *sdk.ClientSession
	transport transport
	changed   chan struct{} // capacity 1: the server reported a changed list

	mu       sync.Mutex                           // guards all below
	calls    int                                  // in progress
	silence  bool                                 // one of them got no answer in time
	tokens   int                                  // issued, one for each call
	progress map[string]func(parley.ToolProgress) // of calls in progress, by token
}

// connect starts or dials the server and performs the handshake.
func (l *link) connect(ctx context.Context) (*connection, error) {
	c := &connection{changed: make(chan struct{}, 1), progress: map[string]func(parley.ToolProgress){}}
	if l.server.Command != "" {
		c.transport = &process{server: l.server, self: l.options.Self, log: l.log}
	} else {
		dialled, err := newRemote(l.server, l.bearer)
		if err != nil {
			return nil, err
		}
		c.transport = dialled
	}
	client := sdk.NewClient(
		&sdk.Implementation{Name: "parley", Title: "Parley", Version: l.options.Version},
		&sdk.ClientOptions{
			Logger: slog.New(quiet{l.log.Handler()}),
			// Calls that need a person or the project come back and are made again; older servers would ask while a
			// call goes on, so they are told of nothing.
			Capabilities: &sdk.ClientCapabilities{
				RootsV2: &sdk.RootCapabilities{}, //nolint:staticcheck // servers still ask for roots
				Elicitation: &sdk.ElicitationCapabilities{
					Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
				},
			},
			MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
				wakeUp(c.changed)
			},
			ProgressNotificationHandler: func(_ context.Context, request *sdk.ProgressNotificationClientRequest) {
				c.hear(request.Params)
			},
		},
	)
	client.AddReceivingMiddleware(refuseRoots)
	client.AddSendingMiddleware(offerNothing)
	// The SDK sometimes waits without a bound; closing the transport ends that.
	unhook := context.AfterFunc(ctx, c.transport.close)
	session, err := client.Connect(ctx, c.transport, &sdk.ClientSessionOptions{ProtocolVersion: l.server.Protocol})
	if !unhook() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.transport.close()
		return nil, c.transport.why(err)
	}
	c.session = session
	return c, nil
}

// refuseRoots answers roots/list like a client without roots: all workspaces share the connection, and no server learns
// their directories.
func refuseRoots(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		if method == "roots/list" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client has no roots"}
		}
		return next(ctx, method, request)
	}
}

// offerNothing introduces the client of an older version of the protocol, in which a server asks while a call goes on,
// as one that answers nothing.
func offerNothing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		if params, ok := request.GetParams().(*sdk.InitializeParams); ok && method == "initialize" {
			params.Capabilities = &sdk.ClientCapabilities{}
		}
		return next(ctx, method, request)
	}
}

// close ends the session, in good order if that is quick.
func (c *connection) close() {
	done := make(chan struct{})
	go func() { // ends with the transport at the latest
		defer close(done)
		_ = c.session.Close() // the connection is unusable, whatever it returns
	}()
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	c.transport.close()
	<-done
}

// call sends a request: for a tool's call, by the server's own name.
func (l *link) call(
	ctx context.Context,
	send request,
	name string,
	call tool.Call,
	state *inputState,
) (reply, error) {
	for again := false; ; again = true {
		c, err := l.connected(ctx)
		if err != nil {
			return reply{}, err
		}
		following, sent := withSent(ctx)
		got, err := c.call(following, l, send, name, call, state)
		switch {
		case err == nil:
			return got, nil
		case errors.Is(err, sdk.ErrSessionMissing), errors.Is(err, sdk.ErrConnectionClosed):
			l.drop(c)
			if sent.perhaps.Load() {
				return reply{}, l.failed(ctx, err)
			}
			// The server was restarted, or the connection had ended: the call did not run.
			if again {
				return reply{}, l.away(err)
			}
		default:
			var person *unauthorized
			if errors.As(c.transport.why(err), &person) {
				wakeUp(l.suspect) // the connection ends, and waits for that person too
				return reply{}, l.away(person)
			}
			return reply{}, l.failed(ctx, err)
		}
	}
}

func (c *connection) call(
	ctx context.Context,
	l *link,
	send request,
	name string,
	call tool.Call,
	state *inputState,
) (reply, error) {
	params := &sdk.CallToolParams{Name: name}
	if state != nil {
		if err := state.fill(params); err != nil {
			return reply{}, err
		}
	}
	c.mu.Lock()
	c.calls++
	c.tokens++
	token := strconv.Itoa(c.tokens)
	if call.Progress != nil {
		c.progress[token] = call.Progress
		params.SetProgressToken(token)
	}
	c.mu.Unlock()
	if len(call.Arguments) > 0 {
		params.Arguments = call.Arguments
	}
	params.Meta = identity(params.Meta, call)
	got, err := send(withHold(netguard.WithHeader(ctx, call.Headers()), call.Holds), c.session, params)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	delete(c.progress, token)
	c.silence = c.silence || errors.Is(ctx.Err(), context.DeadlineExceeded)
	if c.silence && c.calls == 0 { // a restart loses nobody else's answer
		c.silence = false
		wakeUp(l.suspect)
	}
	return got, err
}

// The names in a call's _meta that correspond to the Headers sent to an endpoint.
const (
	metaIdempotencyKey = "parley/idempotency-key"
	metaCallID         = "parley/call-id"
	metaSessionID      = "parley/session-id"
	metaTraceParent    = "traceparent"
)

// identity adds the call's identity to its _meta.
func identity(meta sdk.Meta, call tool.Call) sdk.Meta {
	headers := call.Headers()
	for name, header := range map[string]string{
		metaIdempotencyKey: tool.IdempotencyKeyHeader, metaCallID: tool.CallIDHeader,
		metaSessionID: tool.SessionIDHeader, metaTraceParent: tool.TraceParentHeader,
	} {
		if headers[header] == "" {
			continue
		}
		if meta == nil {
			meta = sdk.Meta{}
		}
		meta[name] = headers[header]
	}
	return meta
}

// hear passes on a call's progress. Progress of a finished call is dropped.
func (c *connection) hear(notice *sdk.ProgressNotificationParams) {
	if notice == nil {
		return
	}
	token, _ := notice.ProgressToken.(string)
	c.mu.Lock()
	tell := c.progress[token]
	c.mu.Unlock()
	if tell != nil {
		tell(parley.ToolProgress{Progress: notice.Progress, Total: notice.Total, Message: withoutNUL(notice.Message)})
	}
}

// drop retires a connection before its end is noticed.
func (l *link) drop(c *connection) {
	l.turn(func() {
		if l.current == c {
			l.current = nil
		}
	})
}

// failed returns what a model is told of a call without a result.
func (l *link) failed(ctx context.Context, err error) error {
	refusal, refused := refusalOf(err)
	var slow errSlow
	switch {
	case errors.As(context.Cause(ctx), &slow):
		return parley.Errorf(parley.CodeUnavailable, "%s", slow.Error())
	case ctx.Err() != nil:
		return ctx.Err()
	case refused && refusal.Code == codeNoRoom:
		return parley.Errorf(parley.CodeUnavailable, "%s", withoutNUL(refusal.Message))
	case refused:
		return parley.Errorf(
			parley.CodeConflict,
			"The tool server %s refused the call: %s",
			quoted(l.server.Name),
			withoutNUL(refusal.Message),
		)
	case unreadable(err):
		l.log.Warn("an MCP server gave a result that cannot be read", "error", l.server.redact(err.Error()))
		return parley.Errorf(
			parley.CodeConflict,
			"The tool server %s ran the call, but its result does not follow the protocol and cannot be read.",
			quoted(l.server.Name),
		)
	}
	l.log.Warn("an MCP call failed", "error", l.server.redact(err.Error()))
	return parley.WrapError(
		parley.CodeUnavailable,
		err,
		fmt.Sprintf(
			"The connection to the tool server %s broke before it answered. Whether the call took effect is unknown.",
			quoted(l.server.Name),
		),
	)
}

// unreadable reports whether an answer came and could not be decoded: wrong JSON types, bytes that are not base64, or
// content of an unknown kind, for which the SDK has no type.
func unreadable(err error) bool {
	var (
		kind   *json.UnmarshalTypeError
		syntax *json.SyntaxError
		bytes  base64.CorruptInputError
	)
	return errors.As(err, &kind) || errors.As(err, &syntax) || errors.As(err, &bytes) ||
		strings.Contains(err.Error(), "unrecognized content type")
}

// The SDK's own codes for calls without an answer: the client or the server is closing, or the transport has refused.
const (
	codeClientCloses = -32003
	codeServerCloses = -32004
	codeNotSent      = -32005
)

// refusalOf returns the server's own error; false for an error of the connection.
func refusalOf(err error) (*jsonrpc.Error, bool) {
	var refusal *jsonrpc.Error
	if !errors.As(err, &refusal) {
		return nil, false
	}
	switch refusal.Code {
	case codeClientCloses, codeServerCloses, codeNotSent:
		return nil, false
	}
	return refusal, true
}

// wakeUp leaves a token in a channel of capacity 1.
func wakeUp(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// quiet is a handler that logs everything as debug: the SDK's errors concern a server, and the link reports their
// consequences.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	record.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
