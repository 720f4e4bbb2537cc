package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// ShareList lists the shares of a session.
type ShareList struct {
	Data []parley.Share `json:"data"`
}

// ShareSession lets a session, the reader, read another one; made is false if the share already exists.
func (e *Engine) ShareSession(
	ctx context.Context,
	principal parley.Principal,
	sessionID, readerID parley.ID,
) (share parley.Share, made bool, err error) {
	ctx, call, err := e.enter(
		ctx,
		principal,
		"shareSession",
		ShareForReading,
		in(sessionID, readerID),
		in(readerID, sessionID),
	)
	if err != nil {
		return share, false, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if sessionID == readerID {
		return share, false, parley.InvalidField("reader", "a session can always read itself; name another one")
	}
	return e.store.Share(
		ctx,
		scope,
		parley.Share{SessionID: sessionID, ReaderID: readerID, SharedBy: principal.Author()},
	)
}

// UnshareSession ends a share. It returns CodeNotFound if there is none.
func (e *Engine) UnshareSession(
	ctx context.Context,
	principal parley.Principal,
	sessionID, readerID parley.ID,
) (err error) {
	ctx, call, err := e.enter(
		ctx,
		principal,
		"unshareSession",
		ShareForReading,
		in(sessionID, readerID),
		in(readerID, sessionID),
	)
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.Unshare(ctx, scope, sessionID, readerID)
}

// Shares lists the readers of a session or, if reads is set, the sessions that it reads, oldest share first.
func (e *Engine) Shares(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	reads bool,
) (_ ShareList, err error) {
	ctx, call, err := e.enter(ctx, principal, "listShares", ReadSessions, of(sessionID))
	if err != nil {
		return ShareList{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	query := store.ShareQuery{SessionID: sessionID}
	if reads {
		query = store.ShareQuery{ReaderID: sessionID}
	}
	shares, err := e.store.Shares(ctx, scope, query)
	return ShareList{Data: orEmpty(shares)}, err
}
