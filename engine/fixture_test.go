package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/projectdir"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/live"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool/builtin"
	"example.org/parley/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is an engine over SQLite, with principals of every role.
type house struct {
	*engine.Engine
	store  *sqlite.Store
	hub    *live.Hub
	root   string // where projects may lie
	admin  parley.Principal
	member parley.Principal // owns what the tests make
	other  parley.Principal // another member
	reader parley.Principal
}

// runs says who runs the turns of a house.
type runs int

const (
	nobody runs = iota
	realWorker
)

func newHouse(t *testing.T, by runs) *house {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	root := t.TempDir()
	h := &house{store: store, root: root}
	options := engine.Options{Store: store, Models: models(t), Tools: builtin.Tools(), Projects: policyOf(t, root)}
	if by == realWorker {
		h.hub = live.New(store, live.Options{})
		run := worker.New(store, options.Models, options.Tools, h.hub, worker.Options{})
		store.Listen(h.hub)
		store.Listen(run)
		if err := run.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := run.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			h.hub.Close()
		})
		options.Runner, options.DryRunner = run, run
	}
	h.Engine = engine.New(options)
	h.admin = h.principal(t, "admin", parley.RoleAdmin)
	h.member = h.principal(t, "member", parley.RoleMember)
	h.other = h.principal(t, "other", parley.RoleMember)
	h.reader = h.principal(t, "reader", parley.RoleReader)
	return h
}

// policyOf returns a policy with the given roots.
func policyOf(t *testing.T, roots ...string) *projectdir.Policy {
	t.Helper()
	policy, err := projectdir.New(projectdir.Options{Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func models(t *testing.T) model.Source {
	t.Helper()
	registry, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
		{
			Name:         sim.ProviderName,
			Model:        sim.New(),
			DefaultModel: sim.DefaultModel,
			Models:       sim.Models(),
			Simulator:    true,
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// principal makes a key in the default workspace and returns its principal.
func (h *house) principal(t *testing.T, name string, role parley.PrincipalRole) parley.Principal {
	t.Helper()
	key, err := h.CreateKeyIn(t.Context(), "", engine.KeyInput{Name: name, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	principal, err := h.Authenticate(t.Context(), key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if principal.Role != role || principal.WorkspaceID.IsZero() {
		t.Fatalf("the key's principal is %+v", principal)
	}
	return principal
}

// open opens a session of the member's.
func (h *house) open(t *testing.T, input engine.SessionInput) parley.Session {
	t.Helper()
	opened, err := h.OpenSession(t.Context(), h.member, input, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	return opened.Session
}

func (h *house) post(t *testing.T, session parley.ID, input engine.MessageInput) store.Posted {
	t.Helper()
	posted, err := h.PostMessage(t.Context(), h.member, session, input, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	return posted
}

// finish waits for a turn of a house with a real worker.
func (h *house) finish(t *testing.T, posted store.Posted) parley.Turn {
	t.Helper()
	scope, err := h.AdmitWatcher(t.Context(), h.admin, posted.Message.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	watcher := h.hub.Watch(live.WatchRequest{
		Scope:     scope,
		Sessions:  []live.Place{{SessionID: posted.Message.SessionID, After: posted.EventSequence}},
		UntilTurn: posted.Turn.ID,
	})
	defer watcher.Close()
	for {
		frame, err := watcher.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if frame.Kind == live.EventFrame && frame.Event.Type.EndsTurn() {
			break
		}
	}
	turn, err := h.Turn(t.Context(), h.admin, posted.Turn.ID)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func text(words string) json.RawMessage {
	return append(parley.AppendJSONString([]byte(`{"text":`), words), '}')
}

func say(words string) engine.MessageInput { return engine.MessageInput{Content: text(words)} }

// wantCode fails unless the error has the code and, if field is not "", names the field.
func wantCode(t *testing.T, err error, code parley.Code, field string) {
	t.Helper()
	if got := parley.ErrorCode(err); got != code {
		t.Errorf("code %q (%v), want %q", got, err, code)
		return
	}
	var e *parley.Error
	if field != "" && (!errors.As(err, &e) || e.Field != field) {
		t.Errorf("the error %v names another field, want %s", err, field)
	}
}
