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

// Options configure a Home. Store and Models are required.
type Options struct {
	Store     store.Store  // open, and without other listeners
	Models    model.Source // see package llm
	Tools     tool.Source  // nil: none
	Workspace string       // default: parley.DefaultWorkspace; created if missing
	Worker    worker.Options
	// Relay: see packages sqlite (Streams) and postgres (Relay). Without one, messages that outside agents stream
	// become visible when they settle
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

// Start assembles a Home, takes over turns that an earlier process left unfinished, and begins to run turns. Close ends
// it.
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
	options.Store.Listen(hub) // before the worker, so that a stream's events are known when it opens
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

// As returns the same Home for another principal, for example one found by Engine.Authenticate: what its conversations
// do is authorised, counted and audited as that principal's. Closing either Home closes both.
func (h *Home) As(principal parley.Principal) *Home {
	other := *h
	other.Owner = principal
	return &other
}

// Close lets running turns finish (see worker.Options.Drain), writes pending audit entries, and ends what Start began.
// The store stays open.
func (h *Home) Close(ctx context.Context) error {
	err := h.worker.Stop(ctx)
	h.hub.Close()
	h.audit.Close() //nolint:contextcheck // it has its own time limit
	return err
}

// Open creates a conversation. The zero input creates one with the workspace's built-in agent; with an existing Key it
// returns that conversation.
func (h *Home) Open(ctx context.Context, input engine.SessionInput) (*Conversation, error) {
	opened, err := h.Engine.OpenSession(ctx, h.Owner, input, store.Idempotency{})
	if err != nil {
		return nil, err
	}
	return &Conversation{ID: opened.Session.ID, home: h}, nil
}

// Resume finds a conversation, in this process or a later one. CodeNotFound if it does not exist.
func (h *Home) Resume(ctx context.Context, id parley.ID) (*Conversation, error) {
	if _, err := h.Engine.Session(ctx, h.Owner, id); err != nil {
		return nil, err
	}
	return &Conversation{ID: id, home: h}, nil
}

// Transform runs a transform. The turn is the one that writes it: its text streams as any answer does, and when it has
// ended, Engine.Transform tells what was written.
func (h *Home) Transform(ctx context.Context, input engine.RunTransformInput) (parley.Transform, *Turn, error) {
	made, _, err := h.Engine.RunTransform(ctx, h.Owner, input, store.Idempotency{})
	if err != nil {
		return parley.Transform{}, nil, err
	}
	return made, &Turn{ID: made.TurnID, conversation: &Conversation{ID: made.SessionID, home: h}}, nil
}

// noTools is a source without tools.
type noTools struct{}

func (noTools) Tool(string) (tool.Tool, bool) { return nil, false }
func (n noTools) For(parley.ID) tool.Source   { return n }
func (noTools) Expects(string) bool           { return false }
func (noTools) Await(context.Context)         {}
func (noTools) Tools() []tool.Tool            { return nil }
func (noTools) Faults() []tool.Fault          { return nil }
