package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// seenBy changes the visibility of a session.
func (w *world) seenBy(t reporter, id parley.ID, visibility parley.Visibility) {
	t.Helper()
	_, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Visibility: &visibility})
	must(t, "UpdateSession", err)
}

// worksFor returns a tool session that an owner made below a session.
func (w *world) worksFor(t reporter, parent, owner parley.ID, visibility parley.Visibility) parley.ID {
	t.Helper()
	return w.session(t, func(s *parley.Session) {
		s.Kind, s.ParentSessionID, s.OwnerID, s.Visibility = parley.KindTool, parent, owner, visibility
	})
}

// childVisibility: changing a session's visibility changes that of its tool sessions, but never shows those of other
// owners.
func childVisibility(t *testing.T, w *world) {
	const private, shared = parley.VisibilityPrivate, parley.VisibilityWorkspace
	parent, calls := w.asking(t, 1)
	root := parent.Fence.SessionID
	child := parley.ChildID(calls[0].message)
	fork := w.session(t, func(s *parley.Session) { s.ParentSessionID = child })
	w.seenBy(t, root, shared)
	deepest := w.worksFor(t, child, w.owner.ID, shared)
	stranger := parley.NewID()
	theirs := w.worksFor(t, root, stranger, shared)
	belowTheirs := w.worksFor(t, theirs, stranger, shared)
	for _, step := range []struct{ of, own, others parley.Visibility }{{shared, shared, shared},
		{private, private, private}, {shared, shared, private}} {
		w.seenBy(t, root, step.of)
		want := map[parley.ID]parley.Visibility{
			root:        step.of,
			child:       step.own,
			deepest:     step.own,
			theirs:      step.others,
			belowTheirs: step.others,
			fork:        private,
		}
		for id, visibility := range want {
			if got := w.sessionState(t, id).Visibility; got != visibility {
				t.Errorf("with the root %s, %s is %s, want %s", step.of, id, got, visibility)
			}
		}
	}
	w.seenBy(t, child, private) // less than its parent may be
	if got := w.sessionState(t, deepest).Visibility; got != private {
		t.Errorf("below a session that became private, a tool session is %s", got)
	}
	visibility := shared
	_, err := w.store.UpdateSession(w.ctx, w.scope, deepest, store.SessionChange{Visibility: &visibility})
	refused(t, "showing a tool session of a private one", err, parley.CodeConflict)
	made := w.newSession()
	made.Kind, made.ParentSessionID, made.Visibility = parley.KindTool, child, shared
	_, err = w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: made}, parley.ID{})
	refused(t, "making a visible one below a private one", err, parley.CodeConflict)
}

// childVisibilityRaces: a session that a worker opens has its parent's visibility at that moment.
func childVisibilityRaces(t *testing.T, w *world) { visibilityWhileChildren(t, w, w) }

func visibilityWhileChildren(t *testing.T, w, other *world) {
	const rounds, made = 6, 3
	for range rounds {
		claim := w.started(t, "go")
		parent := claim.Fence.SessionID
		calls := w.callAgents(t, claim.Fence, 1, made)
		w.seenBy(t, parent, parley.VisibilityWorkspace)
		wanted := make([]store.NewSession, made)
		for i := range wanted {
			wanted[i] = w.child(calls[i])
			wanted[i].Session.Visibility = parley.VisibilityWorkspace
		}
		atOnce(made+1, func(i int) {
			var err error
			if i == made {
				private := parley.VisibilityPrivate
				_, err = other.store.UpdateSession(w.ctx, w.scope, parent, store.SessionChange{Visibility: &private})
			} else {
				_, err = w.store.OpenChild(w.ctx, claim.Fence, wanted[i])
			}
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		for _, child := range wanted {
			if got := w.sessionState(t, child.Session.ID).Visibility; got != parley.VisibilityPrivate {
				t.Errorf("a tool session of a private one is %s", got)
			}
		}
	}
}
