package storetest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// told is what the feed was told about an item, and the watchers who hear it.
type told struct {
	Type       parley.EventType
	Status     string
	OwnerID    parley.ID
	Visibility parley.Visibility
}

// of returns what the feed was told about an item.
func (p *tape) of(item parley.ID) (news []told) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.commits {
		for _, f := range p.commits[i].Feed {
			data := string(f.Data)
			if !strings.Contains(data, `"item_id":"`+item.String()+`"`) {
				continue
			}
			_, status, _ := strings.Cut(data, `"status":"`)
			status, _, _ = strings.Cut(status, `"`)
			news = append(news, told{f.Type, status, f.OwnerID, f.Visibility})
			if !f.SessionID.IsZero() || !f.PrincipalID.IsZero() {
				news = append(news, told{Status: "names a session or a principal"})
			}
		}
	}
	return news
}

func wantTold(t reporter, what string, got []told, want ...told) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the feed was told of %s (-want +got):\n%s", what, diff)
	}
}

// knowledgeTold: the feed hears every change of an item once, and nothing of refused changes.
func knowledgeTold(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	tape := w.record()
	made := told{parley.FeedKnowledgeCreated, "active", parley.ID{}, parley.VisibilityWorkspace}
	changed := made
	changed.Type = parley.FeedKnowledgeUpdated
	superseded, forgotten := changed, changed
	superseded.Status, forgotten.Status = "superseded", "forgotten"

	first := w.learn(t, agent.ID, "The gate opens at nine.")
	w.learn(t, agent.ID, "the gate opens at NINE")
	next := w.learn(t, agent.ID, "The gate opens at ten.", supersedes(first.ID))
	wantTold(t, "an item that was confirmed and superseded", tape.of(first.ID), made, changed, superseded)
	pinned := next
	pinned.Pinned = true
	after, err := w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{pinned})
	must(t, "UpdateKnowledge", err)
	_, err = w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{pinned})
	refused(t, "a change of an older state", err, parley.CodeConflict)
	after[0].Status = parley.KnowledgeForgotten
	_, err = w.store.UpdateKnowledge(w.ctx, after)
	must(t, "UpdateKnowledge", err)
	wantTold(t, "an item that was pinned and forgotten", tape.of(next.ID), made, changed, forgotten)
	_, replayed, err := w.store.CreateKnowledge(w.ctx, store.NewKnowledge{Item: next})
	if err != nil || !replayed || len(tape.of(next.ID)) != 3 {
		t.Errorf("after a repeat (%t, %v) the feed was told %+v", replayed, err, tape.of(next.ID))
	}
}

// knowledgeToldReaders: an item's changes are told only to those who may read every session that it comes from.
func knowledgeToldReaders(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	ada, bea := parley.NewID(), parley.NewID()
	mine := w.session(t, func(s *parley.Session) { s.OwnerID, s.Visibility = ada, parley.VisibilityPrivate })
	open := w.session(t, func(s *parley.Session) { s.OwnerID, s.Visibility = bea, parley.VisibilityWorkspace })
	hers := w.session(t, func(s *parley.Session) { s.OwnerID, s.Visibility = bea, parley.VisibilityPrivate })
	said := func(session parley.ID) func(*parley.KnowledgeItem) {
		return from(session, w.exchange(t, session, "a", "b").Message)
	}
	for _, one := range []struct {
		text       string
		sources    []parley.ID
		owner      parley.ID
		visibility parley.Visibility
	}{
		{"from an open session", []parley.ID{open}, parley.ID{}, parley.VisibilityWorkspace},
		{"from Ada's and an open one", []parley.ID{mine, open}, ada, parley.VisibilityPrivate},
		{"from Ada's and Bea's", []parley.ID{hers, mine}, parley.ID{}, parley.VisibilityPrivate},
	} {
		tape := w.record()
		var sources []func(*parley.KnowledgeItem)
		for _, session := range one.sources {
			sources = append(sources, said(session))
		}
		item := w.learn(t, agent.ID, one.text, sources...)
		item.Pinned = true
		_, err := w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{item})
		must(t, "UpdateKnowledge", err)
		wantTold(t, one.text, tape.of(item.ID),
			told{parley.FeedKnowledgeCreated, "active", one.owner, one.visibility},
			told{parley.FeedKnowledgeUpdated, "active", one.owner, one.visibility})
	}
	gone := w.learn(t, agent.ID, "from a deleted one", said(mine), said(open))
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, open))
	tape := w.record()
	_, err := w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{gone})
	must(t, "UpdateKnowledge", err)
	wantTold(t, "an item from a deleted session", tape.of(gone.ID))
}
