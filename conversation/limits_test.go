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
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool/builtin"
)

// holder returns a home for the holder of a new key with a rate per minute.
func holder(t *testing.T, home *conversation.Home, role parley.PrincipalRole, perMinute int) *conversation.Home {
	t.Helper()
	input := engine.KeyInput{Name: parley.NewID().String(), Role: role, RequestsPerMinute: perMinute}
	key, err := home.Engine.CreateKey(t.Context(), home.Owner, input)
	if err != nil {
		t.Fatal(err)
	}
	principal, err := home.Engine.Authenticate(t.Context(), key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return home.As(principal)
}

// public returns a session that the whole workspace sees.
func public() engine.SessionInput {
	input := with("sim/echo")
	input.Visibility = parley.VisibilityWorkspace
	return input
}

func wantCode(t *testing.T, what string, err error, code parley.Code) {
	t.Helper()
	if got := parley.ErrorCode(err); err == nil && code != "" || err != nil && got != code {
		t.Errorf("%s: %v, want code %q", what, err, code)
	}
}

// TestAProgramsUsersAreLimited: what a program does for the holder of a key counts against the key's rate, like HTTP
// requests.
func TestAProgramsUsersAreLimited(t *testing.T) {
	home := newHome(t)
	shared := open(t, home, public())
	for name, use := range map[string]func(context.Context, *conversation.Home) error{
		"models": func(ctx context.Context, h *conversation.Home) error {
			_, err := h.Engine.Models(ctx, h.Owner, engine.Paging{})
			return err
		},
		"providers": func(ctx context.Context, h *conversation.Home) error {
			_, err := h.Engine.Providers(ctx, h.Owner)
			return err
		},
		"tools": func(ctx context.Context, h *conversation.Home) error {
			_, err := h.Engine.Tools(ctx, h.Owner, engine.Paging{})
			return err
		},
		"metrics": func(ctx context.Context, h *conversation.Home) error { return h.Engine.AdmitMetrics(ctx, h.Owner) },
		"session": func(ctx context.Context, h *conversation.Home) error {
			_, err := h.Resume(ctx, shared.ID)
			return err
		},
		"dry run": func(ctx context.Context, h *conversation.Home) error {
			input := engine.MessageInput{Content: []byte(`{"text":"dry"}`)}
			_, err := h.Engine.DryRunMessage(ctx, h.Owner, shared.ID, input, engine.DryWatch{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := holder(t, home, parley.RoleAdmin, 1)
			wantCode(t, "the first use", use(t.Context(), h), "")
			wantCode(t, "the second", use(t.Context(), h), parley.CodeRateLimited)
		})
	}
	t.Run("watching", func(t *testing.T) {
		chat, err := holder(t, home, parley.RoleMember, 2).Resume(t.Context(), shared.ID) // one use
		if err != nil {
			t.Fatal(err)
		}
		turn, err := chat.Say(t.Context(), "hello") // two
		if err != nil {
			t.Fatal(err)
		}
		_, err = turn.All(t.Context())
		wantCode(t, "the third use watches", err, parley.CodeRateLimited)
	})
	t.Run("post and stream are one", func(t *testing.T) {
		chat, err := holder(t, home, parley.RoleMember, 2).Resume(t.Context(), shared.ID)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for piece, err := range chat.StreamText(t.Context(), "hello") {
			wantCode(t, "the second use", err, "")
			text += piece
		}
		if text != "hello" {
			t.Errorf("the answer is %q", text)
		}
		for _, err := range chat.StreamText(t.Context(), "hello") {
			wantCode(t, "the third", err, parley.CodeRateLimited)
		}
	})
}

// TestWatchingIsAdmitted: a principal that may no longer see a session gets nothing of the turn that it started there.
func TestWatchingIsAdmitted(t *testing.T) {
	home := newHome(t)
	owned := open(t, home, public())
	chat, err := holder(t, home, parley.RoleMember, 0).Resume(t.Context(), owned.ID)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := chat.Say(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := turn.All(t.Context()); text != "hello" || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	hide := parley.Change[parley.Visibility]{Set: true, Value: parley.VisibilityPrivate}
	private := engine.SessionPatch{Visibility: hide}
	if _, err := home.Engine.UpdateSession(t.Context(), home.Owner, owned.ID, private); err != nil {
		t.Fatal(err)
	}
	text, err := turn.All(t.Context())
	wantCode(t, "a hidden session", err, parley.CodeNotFound)
	if text != "" {
		t.Errorf("they saw %q", text)
	}
}

// TestAProgramsUsersAreAudited: what a program does for a principal is audited as theirs; a streamed post is one use,
// with the entry of its post.
func TestAProgramsUsersAreAudited(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	options := conversation.Options{Store: db, Models: models(), Tools: builtin.Tools()}
	home, err := conversation.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	user := holder(t, home, parley.RoleMember, 0)
	chat := open(t, user, with("sim/echo"))
	for _, err := range chat.StreamText(t.Context(), "hello") {
		wantCode(t, "the stream", err, "")
	}
	_, err = user.Engine.Models(t.Context(), user.Owner, engine.Paging{})
	wantCode(t, "models", err, "")
	if err := home.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	theirs := store.AuditQuery{PrincipalID: user.Owner.ID, Limit: parley.MaxPage}
	entries, err := db.Audit(t.Context(), user.Owner.WorkspaceID, theirs)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	slices.Sort(actions)
	if diff := cmp.Diff([]string{"createSession", "postMessage"}, actions); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
