package engine_test

import (
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// Sessions with UnstoredTag are purged by requests of their owner: nobody else may mark one so, and what is forked from
// one is kept.
func TestOnlyOwnersMarkSessionsToBePurged(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	mark := engine.SessionPatch{Tags: parley.Change[[]string]{
		Set: true, Value: []string{"mine", " " + engine.UnstoredTag + " "},
	}}
	shared := h.open(t, engine.SessionInput{Visibility: parley.VisibilityWorkspace})
	_, err := h.UpdateSession(t.Context(), h.other, shared.ID, mark)
	wantCode(t, err, parley.CodeForbidden, "")
	others := engine.SessionPatch{Tags: parley.Change[[]string]{Set: true, Value: []string{"theirs"}}}
	if _, err := h.UpdateSession(t.Context(), h.other, shared.ID, others); err != nil {
		t.Errorf("another tag of a shared session: %v", err)
	}
	if _, err := h.UpdateSession(t.Context(), h.member, shared.ID, mark); err != nil {
		t.Errorf("by its owner: %v", err)
	}
	no := false
	h.post(t, shared.ID, engine.MessageInput{Content: text("Keep this."), Respond: &no})
	forked, err := h.Fork(t.Context(), h.other, shared.ID, engine.ForkInput{}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	if tags := forked.Session.Tags; len(tags) != 1 || tags[0] != "mine" {
		t.Errorf("a fork has the tags %q", tags)
	}
}
