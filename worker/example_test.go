package worker_test

import (
	"context"
	"fmt"
	"os"

	"parley"
	"parley/live"
	"parley/llm"
	"parley/llm/sim"
	"parley/sqlite"
	"parley/tool/builtin"
	"parley/worker"
)

// A worker runs what is posted to the store until it is stopped.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parley-example")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	models, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{{Name: sim.ProviderName, Model: sim.New(), DefaultModel: sim.DefaultModel, Simulator: true}}})
	check(err)
	hub := live.New(store, live.Options{})
	w := worker.New(store, models, builtin.Tools(), hub, worker.Options{})
	store.Listen(hub)
	store.Listen(w)
	check(w.Start(ctx))

	session, turn := post(ctx, store, "Hello, world")
	watch := hub.Watch(live.WatchRequest{
		Scope: parley.Scope{WorkspaceID: session.WorkspaceID}, Sessions: []live.Place{{SessionID: session.ID}}, UntilTurn: turn,
	})
	defer watch.Close()
	for {
		frame, err := watch.Next(ctx)
		if err != nil {
			break // io.EOF: the turn is over
		}
		if frame.Kind == live.DeltaFrame {
			fmt.Print(frame.Delta.Text)
		}
	}
	check(w.Stop(ctx))
	hub.Close()
	check(store.Close())
	// Output: Hello, world
}

// post opens a session of the built-in agent with a first message.
func post(ctx context.Context, store *sqlite.Store, text string) (parley.Session, parley.ID) {
	workspaceID, err := store.Workspace(ctx, parley.DefaultWorkspace)
	check(err)
	owner, err := store.LocalOwner(ctx, workspaceID)
	check(err)
	agent, err := store.Agent(ctx, workspaceID, parley.BuiltinAgentSlug)
	check(err)
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	check(err)
	opened, err := store.EnsureSession(ctx, parley.Scope{WorkspaceID: workspaceID}, parley.NewSession{
		Session: parley.Session{
			ID: parley.NewID(), WorkspaceID: workspaceID, AgentID: agent.ID, OwnerID: owner.ID,
			Kind: parley.KindAgent, Mode: parley.ModeForeground, Visibility: parley.VisibilityPrivate,
		},
		First: &parley.NewMessage{
			ID: parley.NewID(), TurnID: parley.NewID(), Role: parley.RoleUser, Author: owner.Author(), Content: content,
		},
	}, parley.ID{})
	check(err)
	return opened.Session, opened.Posted.Turn.ID
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
