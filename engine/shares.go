package engine

import (
	"context"

	"parley"
)

// ShareList is the shares of a session.
type ShareList struct {
	Data []parley.Share `json:"data"`
}

// ShareSession lets a session, the reader, read another one; made is false for a
// share that is there already.
func (e *Engine) ShareSession(ctx context.Context, principal parley.Principal, sessionID, readerID parley.ID) (share parley.Share, made bool, err error) {
	scope, err := authorise(principal, ShareForReading)
	if err != nil {
		return share, false, err
	}
	if sessionID == readerID {
		return share, false, parley.InvalidField("reader", "a session reads itself anyway; name another one")
	}
	return e.store.Share(ctx, scope, parley.Share{SessionID: sessionID, ReaderID: readerID, SharedBy: principal.Author()})
}

// UnshareSession ends a share. CodeNotFound for one that is not there.
func (e *Engine) UnshareSession(ctx context.Context, principal parley.Principal, sessionID, readerID parley.ID) error {
	scope, err := authorise(principal, ShareForReading)
	if err != nil {
		return err
	}
	return e.store.Unshare(ctx, scope, sessionID, readerID)
}

// Shares lists who reads a session or, reads set, what the session reads, oldest
// share first.
func (e *Engine) Shares(ctx context.Context, principal parley.Principal, sessionID parley.ID, reads bool) (ShareList, error) {
	scope, err := authorise(principal, ReadSessions)
	if err != nil {
		return ShareList{}, err
	}
	query := parley.ShareQuery{SessionID: sessionID}
	if reads {
		query = parley.ShareQuery{ReaderID: sessionID}
	}
	shares, err := e.store.Shares(ctx, scope, query)
	return ShareList{Data: orEmpty(shares)}, err
}
