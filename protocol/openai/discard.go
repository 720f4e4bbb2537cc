package openai

import (
	"context"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
)

// discardedTag marks the sessions of responses that are not stored. They are durable while they run.
const discardedTag = engine.UnstoredTag

func isUnstored(s *parley.Session) bool { return slices.Contains(s.Tags, discardedTag) }

// maxForgotten bounds the sessions that one request purges for others.
const maxForgotten = 8

// discard purges the session of a response that is not to be stored. If the client is gone, the turn ends first.
func (w *responding) discard() {
	ctx, stop := context.WithTimeout(context.WithoutCancel(w.x.R.Context()), history.MaxWait)
	defer stop()
	w.frames = nil // whoever reads has everything
	if w.reason != "" && !forClient(w.reason) {
		return // somebody is asked first
	}
	if !w.ended && w.watch.Relay(ctx, w, w.x.Leave) != nil || !w.ended {
		return // the process stops; see purgeForgotten
	}
	session := w.anchor.SessionID
	if s, err := w.api.engine.Session(ctx, w.x.Principal, session); err != nil || s.OwnerID != w.x.Principal.ID ||
		!isUnstored(&s) {
		return // the note is metadata, which anybody may have written
	}
	if k := keptOf(ctx); k != nil { // its client may go on with it
		session = k.keep(w.id(), session)
	}
	w.api.purge(ctx, w.x.Principal, session)
}

// purgeForgotten purges what a process that died had to discard, when the next response that is not stored begins.
func (a *api) purgeForgotten(ctx context.Context, principal parley.Principal) {
	page, err := a.engine.Sessions(ctx, principal, engine.SessionList{
		Paging: engine.Paging{Limit: maxForgotten, Order: engine.Ascending}, Tags: []string{discardedTag},
		Statuses: []parley.SessionStatus{
			parley.SessionCompleted, parley.SessionFailed, parley.SessionCancelled, parley.SessionPending,
		},
	})
	if err != nil {
		return // it is tried again with the next one
	}
	before := parley.TimeOf(time.Now().Add(-history.MaxWait)) // others may be read right now
	for i := range page.Data {
		if s := &page.Data[i]; s.UpdatedAt < before && s.OwnerID == principal.ID {
			_ = a.engine.DeleteSession(ctx, principal, s.ID)
		}
	}
}
