package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// KeepForeignIDs records what a client of another protocol calls things in a session: Protocol, Name and TargetID of
// each. A name that the session already has stays unchanged. The post that the names belong to has its own entry in the
// audit; they leave none.
func (e *Engine) KeepForeignIDs(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	ids []parley.ForeignID,
) (err error) {
	ctx, call, err := e.enter(ctx, principal, "postMessage", PostMessages, of(sessionID))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	if len(ids) > parley.MaxForeignIDsAtOnce {
		return parley.InvalidField("foreign_id", "at most %d at once", parley.MaxForeignIDsAtOnce)
	}
	kept := make([]parley.ForeignID, len(ids))
	for i, id := range ids {
		id.PrincipalID = principal.ID
		if err := id.Validate(); err != nil {
			return err
		}
		kept[i] = id
	}
	return e.store.KeepForeignIDs(store.WithAudit(ctx, nil), call.Scope, sessionID, kept)
}

// ForeignIDs looks the principal's own names up one after the other, and returns what has the first one that is known,
// newest first: nothing, one, or several sessions, at most parley.MaxForeignCandidates.
func (e *Engine) ForeignIDs(
	ctx context.Context,
	principal parley.Principal,
	protocol string,
	names []string,
) (_ []parley.ForeignID, err error) {
	ctx, call, err := e.enter(ctx, principal, "listSessions", ReadSessions)
	if err != nil {
		return nil, err
	}
	defer call.end(ctx, &err)
	if len(names) > parley.MaxForeignIDsAtOnce {
		return nil, parley.InvalidField("foreign_id", "at most %d at once", parley.MaxForeignIDsAtOnce)
	}
	found, err := e.store.ForeignIDs(ctx, call.Scope, protocol, principal.ID, names)
	if err == nil && len(found) == 1 {
		call.about(of(found[0].SessionID))
	}
	return found, err
}
