package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/artifact"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool"
	"example.org/parley/tool/document"
)

// leftAfterLooking is a store whose caller leaves once it has looked at an artifact; it answers all the same, and notes
// whether the content is read.
type leftAfterLooking struct {
	*sqlite.Store
	leave context.CancelFunc
	read  bool
}

func (s *leftAfterLooking) Artifact(ctx context.Context, scope store.Scope, id parley.ID) (parley.Artifact, error) {
	defer s.leave()
	return s.Store.Artifact(context.WithoutCancel(ctx), scope, id)
}

func (s *leftAfterLooking) WrittenVersion(
	ctx context.Context, workspaceID, id parley.ID, key store.Idempotency,
) (*parley.ArtifactVersion, error) {
	return s.Store.WrittenVersion(context.WithoutCancel(ctx), workspaceID, id, key)
}

func (s *leftAfterLooking) ArtifactVersion(
	ctx context.Context, scope store.Scope, id parley.ID, number int,
) (parley.ArtifactVersion, error) {
	return s.Store.ArtifactVersion(context.WithoutCancel(ctx), scope, id, number)
}

func (s *leftAfterLooking) Agent(ctx context.Context, workspaceID parley.ID, ref string) (parley.Agent, error) {
	return s.Store.Agent(context.WithoutCancel(ctx), workspaceID, ref)
}

func (s *leftAfterLooking) ArtifactContent(
	ctx context.Context, workspaceID parley.ID, hash parley.Hash,
) ([]store.ArtifactContent, error) {
	s.read = true
	return s.Store.ArtifactContent(ctx, workspaceID, hash)
}

// TestWorkOnLargeDocumentsTakesTurns: a change or a comparison of a large document, and an agent that reads one,
// wait for a place before its content is in memory.
func TestWorkOnLargeDocumentsTakesTurns(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session, err := h.OpenSession(t.Context(), h.member, engine.SessionInput{}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	long, err := json.Marshal(strings.Repeat("a line\n", 20_000))
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := h.CreateArtifact(t.Context(), h.member, engine.ArtifactInput{
		SessionID: session.Session.ID, Kind: parley.ArtifactText, Name: "long", Content: long,
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	places := artifact.NewPlaces()
	leave, err := places.Enter(t.Context(), &made, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	edits := []engine.TextEditInput{{Old: "a", New: "b", All: true}}
	called := func(name, arguments string) func(context.Context, *leftAfterLooking) error {
		return func(ctx context.Context, s *leftAfterLooking) error {
			wanted, _ := document.Tools(s, document.Options{Places: places}).Tool(name)
			_, err := wanted.Call(ctx, tool.Call{
				WorkspaceID: made.WorkspaceID, SessionID: made.SessionID, MessageID: parley.NewID(),
				Arguments: json.RawMessage(`{"id":"` + made.ID.String() + `"` + arguments + `}`),
			})
			return err
		}
	}
	verbs := func(s *leftAfterLooking) *engine.Engine {
		return engine.New(engine.Options{Store: s, Models: models(t), Documents: places})
	}
	for name, work := range map[string]func(context.Context, *leftAfterLooking) error{
		"a change": func(ctx context.Context, s *leftAfterLooking) error {
			_, _, err := verbs(s).WriteArtifact(
				ctx, h.member, made.ID, engine.VersionInput{Edits: edits}, store.Idempotency{})
			return err
		},
		"a restored version": func(ctx context.Context, s *leftAfterLooking) error {
			_, _, err := verbs(s).RestoreArtifact(ctx, h.member, made.ID, 1, store.Idempotency{})
			return err
		},
		"a difference": func(ctx context.Context, s *leftAfterLooking) error {
			_, err := verbs(s).DiffArtifact(ctx, h.member, made.ID, 1, 1)
			return err
		},
		"an agent's change":  called(document.Edit, `,"edits":[{"old":"a","new":"b","all":true}]`),
		"an agent's reading": called(document.Read, ""),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		watched := &leftAfterLooking{Store: h.store, leave: cancel}
		if err := work(ctx, watched); err == nil || watched.read {
			t.Errorf("%s: error %v, content was read: %t", name, err, watched.read)
		}
		cancel()
	}
}
