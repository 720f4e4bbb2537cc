package conversation_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool/builtin"
)

// TestAProgramIsAudited: what a program does without a server is audited like HTTP requests: changes in their
// transaction, reads when the home closes.
func TestAProgramIsAudited(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		audited(t, store)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		store, err := postgres.Open(t.Context(), databases.New(t), postgres.Options{MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		audited(t, store)
	})
}

type act struct {
	Action          string
	Session, Target parley.ID
}

func audited(t *testing.T, db store.Store) {
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	home, err := conversation.Start(ctx, conversation.Options{Store: db, Models: models(), Tools: builtin.Tools()})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	told := func() (acts []act) {
		t.Helper()
		entries, err := db.Audit(ctx, home.Owner.WorkspaceID, store.AuditQuery{Ascending: true, Limit: parley.MaxPage})
		must(err)
		for _, e := range entries {
			if e.PrincipalID != home.Owner.ID || e.RequestID.IsZero() {
				t.Errorf("an incomplete entry: %+v", e)
			}
			acts = append(acts, act{e.Action, e.SessionID, e.TargetID})
		}
		return acts
	}
	chat, reader := open(t, home, with("sim/echo")), open(t, home, engine.SessionInput{})
	turn, err := chat.Say(ctx, "hello")
	must(err)
	_, err = turn.All(ctx)
	must(err)
	must(chat.ShareWith(ctx, reader.ID))
	must(chat.Clear(ctx))
	if _, err := chat.Retry(ctx, turn.ID); parley.ErrorCode(err) != parley.CodeConflict {
		t.Fatalf("a completed turn was retried: %v", err)
	}
	changes := []act{
		{
			"createSession",
			chat.ID,
			parley.ID{},
		},
		{"createSession", reader.ID, parley.ID{}},
		{"postMessage", chat.ID, turn.Message.ID},
		{
			"shareSession",
			chat.ID,
			reader.ID,
		},
		{"shareSession", reader.ID, chat.ID},
		{"clearContext", chat.ID, parley.ID{}},
	}
	watched := act{"watchSession", chat.ID, parley.ID{}} // by All; the log may or may not have written it
	if diff := cmp.Diff(changes, slices.DeleteFunc(told(), func(a act) bool { return a == watched })); diff != "" {
		t.Errorf("before the log is written (-want +got):\n%s", diff)
	}
	_, err = chat.Session(ctx)
	must(err)
	_, err = home.Engine.Message(ctx, home.Owner, turn.Message.ID)
	must(err)
	if _, err := home.Engine.Message(ctx, home.Owner, parley.NewID()); parley.ErrorCode(err) != parley.CodeNotFound {
		t.Fatalf("no message: %v", err)
	}
	must(home.Close(context.Background()))
	all := append(slices.Insert(changes, 3, watched),
		act{"getSession", chat.ID, parley.ID{}}, act{"getMessage", chat.ID, turn.Message.ID})
	if diff := cmp.Diff(all, told()); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
}
