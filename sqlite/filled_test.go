package sqlite

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// opened returns a store in its own directory.
func opened(tb testing.TB) *Store {
	tb.Helper()
	store, err := Open(context.Background(), tb.TempDir(), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// filled returns a session whose record has n messages, written directly to the tables: two thirds answers with usage,
// one third questions.
func filled(tb testing.TB, db *Store, n int) (store.Scope, parley.ID) {
	tb.Helper()
	ctx := context.Background()
	workspace, err := db.Workspace(ctx, parley.DefaultWorkspace)
	if err != nil {
		tb.Fatal(err)
	}
	scope, session, log, agent := store.Scope{WorkspaceID: workspace}, parley.NewID(), parley.NewID(), parley.NewID()
	err = db.write(ctx, func(tx *txn) error {
		if _, err := tx.exec(
			`INSERT INTO sessions (id, workspace_id, agent_id, owner_id, visibility, log_id, kind, mode, status,
				created_at, updated_at)
 VALUES (?, ?, ?, ?, 'private', ?, 'agent', 'foreground', 'completed', ?, ?)`,
			session,
			workspace,
			agent,
			agent,
			log,
			tx.now,
			tx.now,
		); err != nil {
			return err
		}
		if _, err := tx.exec(
			"INSERT INTO heads (session_id, workspace_id, log_id, next_sequence) VALUES (?, ?, ?, ?)",
			session,
			workspace,
			log,
			n+1,
		); err != nil {
			return err
		}
		words := strings.Repeat("All happy families are alike; ", 7)
		turn := parley.NewID()
		for i := 1; i <= n; i++ {
			role, author, usage, model := "assistant", "agent", arg(
				`{"input_tokens":120,"output_tokens":48,"cached_tokens":100,"cache_write_tokens":null,`+
					`"reasoning_tokens":null}`,
			), "sim/echo"
			if i%3 == 1 {
				role, author, usage, model, turn = "user", "person", nil, "", parley.NewID()
			}
			if _, err := tx.exec(
				`INSERT INTO messages (id, workspace_id, session_id, log_id, sequence, turn_id, step, role, status,
					author_kind, author_id,
 author_name, content, model, usage, content_hash, token_estimate, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, 1, ?, 'completed', ?, ?, 'Somebody', ?, ?, ?, ?, 55, ?, ?)`,
				parley.NewID(),
				workspace,
				session,
				log,
				i,
				turn,
				role,
				author,
				agent,
				`{"text":"`+words+strconv.Itoa(i)+`"}`,
				model,
				usage,
				parley.HashOf([]byte(strconv.Itoa(i))),
				tx.now,
				tx.now,
			); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return scope, session
}
