package worker_test

import (
	"context"
	"fmt"
	"os"

	"example.org/parley"
	"example.org/parley/live"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool/builtin"
	"example.org/parley/worker"
)

// A worker runs what is posted to the store until it is stopped.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parley-example")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	models, err := llm.NewRegistry(
		llm.Options{
			Providers: []llm.Provider{
				{Name: sim.ProviderName, Model: sim.New(), DefaultModel: sim.DefaultModel, Simulator: true},
			},
		},
	)
	check(err)
	hub := live.New(db, live.Options{})
	w := worker.New(db, models, builtin.Tools(), hub, worker.Options{})
	db.Listen(hub)
	db.Listen(w)
	check(w.Start(ctx))

	session, turn := post(ctx, db, "Hello, world")
	watch := hub.Watch(live.WatchRequest{
		Scope: store.Scope{
			WorkspaceID: session.WorkspaceID,
		},
		Sessions:  []live.Place{{SessionID: session.ID}},
		UntilTurn: turn,
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
	check(db.Close())
	// Output: Hello, world
}

// post opens a session of the built-in agent with a first message.
func post(ctx context.Context, db *sqlite.Store, text string) (parley.Session, parley.ID) {
	workspaceID, err := db.Workspace(ctx, parley.DefaultWorkspace)
	check(err)
	owner, err := db.LocalOwner(ctx, workspaceID)
	check(err)
	agent, err := db.Agent(ctx, workspaceID, parley.BuiltinAgentSlug)
	check(err)
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	check(err)
	opened, err := db.EnsureSession(ctx, store.Scope{WorkspaceID: workspaceID}, store.NewSession{
		Session: parley.Session{
			ID: parley.NewID(), WorkspaceID: workspaceID, AgentID: agent.ID, OwnerID: owner.ID,
			Kind: parley.KindAgent, Mode: parley.ModeForeground, Visibility: parley.VisibilityPrivate,
		},
		First: &store.NewMessage{
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
