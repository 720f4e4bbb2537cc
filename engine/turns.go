package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// TurnList selects turns, newest first by default.
type TurnList struct {
	Paging
	Statuses []parley.TurnStatus
	Number   int64 // only the session's turn with this number, from 1; 0: all
}

// CallList selects calls, newest first by default.
type CallList struct {
	Paging
	TurnIDs []parley.ID
}

// Turn reads a turn.
func (e *Engine) Turn(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Turn, err error) {
	ctx, call, err := e.enter(ctx, principal, "getTurn", ReadSessions, on(id))
	if err != nil {
		return parley.Turn{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	turn, err := e.store.Turn(ctx, scope, id)
	if err == nil {
		call.about(in(turn.SessionID, id))
	}
	return turn, err
}

// Turns lists the turns of a session.
func (e *Engine) Turns(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list TurnList,
) (_ Page[parley.Turn], err error) {
	ctx, call, err := e.enter(ctx, principal, "listTurns", ReadSessions, of(sessionID))
	if err != nil {
		return Page[parley.Turn]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	for _, status := range list.Statuses {
		switch status {
		case parley.TurnQueued,
			parley.TurnRunning,
			parley.TurnWaiting,
			parley.TurnCompleted,
			parley.TurnFailed,
			parley.TurnCancelled:
		default:
			return Page[parley.Turn]{}, parley.InvalidField(
				"status",
				"%q is not one of queued, running, waiting, completed, failed, cancelled",
				parley.Clip(string(status), 32),
			)
		}
	}
	from, order, limit, err := list.start("turns", Descending)
	if err != nil {
		return Page[parley.Turn]{}, err
	}
	queries := apart([]store.TurnQuery{{
		Number: list.Number, Ascending: order == Ascending, AfterID: from.ID, Limit: limit + 1,
	}}, list.Statuses, func(q *store.TurnQuery, status parley.TurnStatus) { q.Status = status })
	rows, err := joined(union[parley.Turn]{
		limit: limit + 1, size: sizeOf[parley.Turn],
		compare: byNumber(order, func(turn *parley.Turn) int64 { return turn.Ordinal }),
	}, queries, func(query store.TurnQuery) ([]parley.Turn, error) {
		return e.store.Turns(ctx, scope, sessionID, query)
	})
	if err != nil {
		return Page[parley.Turn]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Turn) cursor {
		return cursor{List: "turns", Order: order, ID: last.ID}
	}), nil
}

// Calls lists the model calls of a session.
func (e *Engine) Calls(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list CallList,
) (_ Page[parley.Call], err error) {
	ctx, call, err := e.enter(ctx, principal, "listCalls", ReadSessions, of(sessionID))
	if err != nil {
		return Page[parley.Call]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	from, order, limit, err := list.start("calls", Descending)
	if err != nil {
		return Page[parley.Call]{}, err
	}
	queries := apart([]store.CallQuery{{Ascending: order == Ascending, AfterID: from.ID, Limit: limit + 1}},
		list.TurnIDs, func(q *store.CallQuery, id parley.ID) { q.TurnID = id })
	rows, err := joined(union[parley.Call]{
		limit: limit + 1, size: sizeOf[parley.Call],
		compare: byNumber(order, func(call *parley.Call) int64 { return call.Ordinal }),
	}, queries, func(query store.CallQuery) ([]parley.Call, error) {
		return e.store.Calls(ctx, scope, sessionID, query)
	})
	if err != nil {
		return Page[parley.Call]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Call) cursor {
		return cursor{List: "calls", Order: order, ID: last.ID}
	}), nil
}

// Events reads durable events after a sequence, ascending; limit 0 means parley.DefaultPage.
func (e *Engine) Events(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	after int64,
	limit int,
) (_ []parley.Event, err error) {
	ctx, call, err := e.enter(ctx, principal, "watchSession", ReadSessions, of(sessionID))
	if err != nil {
		return nil, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if limit == 0 {
		limit = parley.DefaultPage
	}
	if limit < 0 || limit > parley.MaxPage {
		return nil, parley.InvalidField("limit", "must lie between 1 and %d", parley.MaxPage)
	}
	events, err := e.store.Events(ctx, scope, sessionID, max(after, 0), limit)
	return orEmpty(events), err
}

// AdmitWatcher checks that a principal may watch and sees every named session, and returns the scope to watch with.
func (e *Engine) AdmitWatcher(
	ctx context.Context, principal parley.Principal, sessions ...parley.ID,
) (store.Scope, error) {
	return e.admitWatcher(ctx, principal, "watchSession", sessions)
}

// AdmitFeed is AdmitWatcher for the workspace's feed and further sessions.
func (e *Engine) AdmitFeed(
	ctx context.Context, principal parley.Principal, sessions ...parley.ID,
) (store.Scope, error) {
	return e.admitWatcher(ctx, principal, "watchWorkspace", sessions)
}

// AdmitRaw checks that a principal may watch what providers send for the named sessions, and names the call for it in
// the audit.
func (e *Engine) AdmitRaw(ctx context.Context, principal parley.Principal, sessions ...parley.ID) (err error) {
	ctx, call, err := e.enter(ctx, principal, "watchSession", ReadRaw)
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	call.intent.Rename(watchRaw)
	for _, id := range sessions {
		if _, err := e.store.Session(ctx, call.Scope, id); err != nil {
			return err
		}
		call.about(of(id))
	}
	return nil
}

// watchRaw is the action of watching unprocessed text, in the audit: unlike others it is not an operation, but a
// parameter of some.
const watchRaw = "watchRaw"

func (e *Engine) admitWatcher(
	ctx context.Context, principal parley.Principal, action string, sessions []parley.ID,
) (_ store.Scope, err error) {
	ctx, call, err := e.enter(ctx, principal, action, ReadSessions)
	if err != nil {
		return store.Scope{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	for _, id := range sessions {
		if _, err := e.store.Session(ctx, scope, id); err != nil {
			return store.Scope{}, err
		}
		call.about(of(id))
	}
	return scope, nil
}
