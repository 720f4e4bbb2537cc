// Package conversation is the Go library: Parley inside a Go program, without a server. It runs the
// engine, a worker and the hub over a store, and offers conversations: open one, post, range over
// the answer.
//
// It owns only the goroutines that it starts. The store belongs to the caller, is authoritative,
// and outlives it. The methods call the engine, as the server's API does, so they behave the same.
package conversation

import (
	"context"
	"log/slog"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/live"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/stream"
	"example.org/parley/tool"
	"example.org/parley/worker"
)

// Options are what a Home is made of. Store and Models are required.
type Options struct {
	Store     store.Store  // open, and told to nobody else yet
	Models    model.Source // see package llm
	Tools     tool.Source  // nil: none
	Workspace string       // parley.DefaultWorkspace by default; made if it is new
	Worker    worker.Options
	// Relay: see package sqlite (Streams) and postgres (Relay); without one, what agents outside stream is seen when
	// it settles
	Hub live.Options
	Log *slog.Logger // nil: slog.Default()
}

// Home is a running Parley: conversations live in it. It is safe for concurrent use.
type Home struct {
	Engine *engine.Engine // every verb of the API
	Owner  parley.Principal

	worker  *worker.Worker
	hub     *live.Hub
	streams *stream.Streams
	audit   *engine.AuditLog
}

// Start puts a Home together, takes over turns that an earlier process left
// unfinished, and begins to run turns. Close ends it.
func Start(ctx context.Context, options Options) (*Home, error) {
	if options.Log == nil {
		options.Log = slog.Default()
	}
	if options.Tools == nil {
		options.Tools = noTools{}
	}
	if options.Worker.Log == nil {
		options.Worker.Log = options.Log
	}
	if options.Hub.Log == nil {
		options.Hub.Log = options.Log
	}
	hub := live.New(
		options.Store,
		options.Hub,
	) //nolint:contextcheck // its poller lives until Close, not until ctx ends
	runner := worker.New(options.Store, options.Models, options.Tools, hub, options.Worker)
	options.Store.Listen(hub) // before the worker: a stream's events are known when it opens
	options.Store.Listen(runner)
	audit := engine.NewAuditLog(
		options.Store,
		options.Log,
	) //nolint:contextcheck // it lives until Close, not until ctx ends
	verbs := engine.New(engine.Options{
		Store:      options.Store,
		Models:     options.Models,
		Tools:      options.Tools,
		Middleware: options.Worker.Middleware,
		Runner:     runner,
		DryRunner:  runner,
		Audit:      audit,
		Log:        options.Log,
	})
	owner, err := verbs.LocalOwner(ctx, options.Workspace)
	if err == nil {
		err = runner.Start(ctx)
	}
	if err != nil {
		hub.Close()
		audit.Close() //nolint:contextcheck // as above
		return nil, err
	}
	return &Home{
		Engine:  verbs,
		Owner:   owner,
		worker:  runner,
		hub:     hub,
		streams: stream.New(verbs, hub),
		audit:   audit,
	}, nil
}

// As is the same Home for another principal, such as one whom Engine.Authenticate
// has found: what its conversations do is admitted, counted and audited as theirs.
// Closing either closes both.
func (h *Home) As(principal parley.Principal) *Home {
	other := *h
	other.Owner = principal
	return &other
}

// Close lets running turns finish (see worker.Options.Drain), writes down what was
// read, and ends what Start began. The store stays open.
func (h *Home) Close(ctx context.Context) error {
	err := h.worker.Stop(ctx)
	h.hub.Close()
	h.audit.Close() //nolint:contextcheck // it has a bound of its own
	return err
}

// Open creates a conversation. The zero input is one with the workspace's
// built-in agent; with a Key that exists it is that conversation.
func (h *Home) Open(ctx context.Context, input engine.SessionInput) (*Conversation, error) {
	opened, err := h.Engine.OpenSession(ctx, h.Owner, input, store.Idempotency{})
	if err != nil {
		return nil, err
	}
	return &Conversation{ID: opened.Session.ID, home: h}, nil
}

// Resume finds a conversation again, in this process or a later one.
// CodeNotFound when there is none such.
func (h *Home) Resume(ctx context.Context, id parley.ID) (*Conversation, error) {
	if _, err := h.Engine.Session(ctx, h.Owner, id); err != nil {
		return nil, err
	}
	return &Conversation{ID: id, home: h}, nil
}

// noTools is a source without tools.
type noTools struct{}

func (noTools) Tool(string) (tool.Tool, bool) { return nil, false }
func (noTools) Expects(string) bool           { return false }
func (noTools) Await(context.Context)         {}
func (noTools) Tools() []tool.Tool            { return nil }
func (noTools) Faults() []tool.Fault          { return nil }
