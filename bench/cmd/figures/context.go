package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.org/parley"
	windows "example.org/parley/prompt"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// contextSizes are the lengths of the measured sessions.
var contextSizes = []int{1_000, 10_000, 100_000} //nolint:gochecknoglobals // never written

// contextViews are the policies of the measured requests.
var contextViews = []struct { //nolint:gochecknoglobals // never written
	name   string
	policy parley.Policy
	budget windows.Budget
}{
	{"recent(10)", parley.Policy{Kind: parley.PolicyRecent, Limit: 10}, windows.Budget{}},
	{"recent(50)", parley.Policy{Kind: parley.PolicyRecent, Limit: 50}, windows.Budget{}},
	{"all, in 4,000 tokens", parley.Policy{Kind: parley.PolicyAll}, windows.Budget{Tokens: 4000}},
}

// contextFigures measures building a session's request, up to its encoding: the window is read and chosen as for each
// step, and the messages are assembled.
func contextFigures(ctx context.Context, l *lab, out io.Writer) error {
	took := map[string]map[int]time.Duration{}
	for _, messages := range contextSizes {
		rows, err := contextOf(ctx, filepath.Join(l.dir, "context"), messages, 40*l.rounds)
		if err != nil {
			return err
		}
		for name, duration := range rows {
			if took[name] == nil {
				took[name] = map[int]time.Duration{}
			}
			took[name][messages] = duration
		}
	}
	least, most := contextSizes[0], contextSizes[len(contextSizes)-1]
	for _, view := range contextViews {
		of := took[view.name]
		fmt.Fprintf(
			out,
			"building a request of %d messages under %s: %v (bound 2 ms), %.2f× that of %d (bound 1.5×)\n",
			most,
			view.name,
			of[most],
			ratio(of[most], of[least]),
			least,
		)
	}
	return nil
}

// contextOf measures a session with the given number of messages in a store of its own.
func contextOf(ctx context.Context, dir string, messages, rounds int) (took map[string]time.Duration, err error) {
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close(), os.RemoveAll(dir)) }()
	session, err := longRecord(ctx, db, messages)
	if err != nil {
		return nil, err
	}
	took = map[string]time.Duration{}
	for _, view := range contextViews {
		var anchor int64
		var all []time.Duration
		for range rounds {
			began := time.Now()
			now, err := db.Session(ctx, store.Scope{WorkspaceID: session.WorkspaceID}, session.ID)
			if err != nil {
				return nil, err
			}
			now.Context.Anchor = anchor
			selection, err := windows.Window(
				windows.View{
					Policy:  view.policy,
					Session: now,
					Budget:  view.budget,
					Tail: func(before int64, limit int) ([]parley.Message, bool, error) {
						return db.ContextTail(ctx, session.WorkspaceID, session.ID, before, limit, parley.MaxPageBytes)
					},
				},
			)
			if err != nil {
				return nil, err
			}
			if _, _, err := windows.Build(
				windows.Settings{Model: "sim/echo"},
				selection,
				nil,
				windows.Tools{},
				nil,
			); err != nil {
				return nil, err
			}
			all, anchor = append(all, time.Since(began)), selection.Anchor
		}
		took[view.name] = medianOf(all)
	}
	return took, nil
}

// longRecord records messages in a session, without turns.
func longRecord(ctx context.Context, db *sqlite.Store, messages int) (parley.Session, error) {
	workspace, err := db.Workspace(ctx, parley.DefaultWorkspace)
	if err != nil {
		return parley.Session{}, err
	}
	owner, err := db.LocalOwner(ctx, workspace)
	if err != nil {
		return parley.Session{}, err
	}
	agent, err := db.Agent(ctx, workspace, parley.BuiltinAgentSlug)
	if err != nil {
		return parley.Session{}, err
	}
	scope := store.Scope{WorkspaceID: workspace}
	opened, err := db.EnsureSession(ctx, scope, store.NewSession{Session: parley.Session{
		ID: parley.NewID(), WorkspaceID: workspace, AgentID: agent.ID, OwnerID: owner.ID,
		Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground,
	}}, parley.ID{})
	if err != nil {
		return parley.Session{}, err
	}
	content, err := parley.EncodeContent(
		parley.UserContent{Text: "the quick brown fox jumps over the lazy dog, and then it does so again and again"},
	)
	if err != nil {
		return parley.Session{}, err
	}
	work := make(chan struct{}, seedClients)
	failures := make(chan error, seedClients)
	for range seedClients {
		go func() { // ends with the work
			for range work {
				message := store.NewMessage{
					ID:      parley.NewID(),
					Role:    parley.RoleUser,
					Author:  owner.Author(),
					Content: content,
				}
				if _, err := db.PostMessage(ctx, scope, opened.Session.ID, message, parley.ID{}); err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	go func() { // ends when all messages are handed out or the writers have ended
		defer close(work)
		for range messages {
			select {
			case work <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	var errs []error
	for range seedClients {
		errs = append(errs, <-failures)
	}
	return opened.Session, errors.Join(errs...)
}
