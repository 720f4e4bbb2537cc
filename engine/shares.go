package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// ShareSession lets a session, the reader, read another one. made is false if the share exists already.
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

// UnshareSession ends a share. CodeNotFound if it does not exist.
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

// Shares lists who reads a session or, if reads is set, what the session reads, oldest share first. Limit 0 means all.
func (e *Engine) Shares(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	reads bool,
	paging Paging,
) (_ Page[parley.Share], err error) {
	ctx, call, err := e.enter(ctx, principal, "listShares", ReadSessions, of(sessionID))
	if err != nil {
		return Page[parley.Share]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	list, query := "readers", store.ShareQuery{SessionID: sessionID}
	other := func(share parley.Share) parley.ID { return share.ReaderID }
	if reads {
		list, query = "reads", store.ShareQuery{ReaderID: sessionID}
		other = func(share parley.Share) parley.ID { return share.SessionID }
	}
	shares, err := e.store.Shares(ctx, scope, query)
	if err != nil {
		return Page[parley.Share]{}, err
	}
	return wholePage(list, shares, paging,
		func(share parley.Share, from cursor) bool {
			return share.CreatedAt > from.At ||
				share.CreatedAt == from.At && other(share).Compare(from.ID) > 0
		},
		func(last parley.Share) cursor { return cursor{List: list, At: last.CreatedAt, ID: other(last)} })
}
