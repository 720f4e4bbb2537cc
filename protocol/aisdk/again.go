package aisdk

import (
	"context"

	"example.org/parley"
	"example.org/parley/protocol"
)

// askedAnew returns the turn of what a request asks anew if an earlier one has asked it: a client that lost its answer
// sends it again. The fork of that one is the chat's session, so the key of the request no longer tells. known is the
// message in that session. An edit is the same with the same text, until its turn has failed; another answer is asked
// for only if the one that the client names is still there.
func (a *api) askedAnew(
	ctx context.Context, x *protocol.Exchange, c *chat, r *request, known *parley.Message,
) (turn begun, again bool, err error) {
	if known.SessionID != c.session || known.TurnID.IsZero() || known.Author.ID != x.Principal.ID {
		return turn, false, nil
	}
	session, err := a.engine.Session(ctx, x.Principal, c.session)
	if err != nil || session.ForkedThrough == nil || known.Sequence != *session.ForkedThrough+1 {
		return turn, false, err
	}
	turn = begun{session: known.SessionID, turn: known.TurnID}
	if r.Trigger != triggerRegenerate {
		input, err := a.input(ctx, x, c, r)
		if err != nil || string(input.Content) != string(known.Content) {
			return turn, false, err
		}
		asked, err := a.engine.Turn(ctx, x.Principal, known.TurnID)
		return turn, asked.Status != parley.TurnFailed && asked.Status != parley.TurnCancelled, err
	}
	named, err := parley.ParseID(r.MessageID)
	if err != nil {
		return turn, false, nil //nolint:nilerr // an id that the client has made
	}
	switch answered, err := a.engine.Turn(ctx, x.Principal, named); {
	case parley.ErrorCode(err) == parley.CodeNotFound:
		return turn, false, nil
	default:
		return turn, answered.SessionID != c.session, err
	}
}
