package protocol

import (
	"context"

	"example.org/parley"
	"example.org/parley/engine"
)

// SentAgain returns the first message of the user in a session if the principal, who wrote it, sends it again: a client
// that lost its answer does. id is the client's name for what is sent, and same compares it. nil if it is another one
// or has no id, or if its turn is gone with the session that a fork was made of.
func SentAgain(
	ctx context.Context,
	verbs *engine.Engine,
	principal parley.Principal,
	session parley.ID,
	id string,
	same func(first *parley.Message) bool,
) (*parley.Message, error) {
	if id == "" {
		return nil, nil
	}
	page, err := verbs.Messages(ctx, principal, session, engine.MessageList{
		Paging: engine.Paging{Limit: 1}, Roles: []parley.Role{parley.RoleUser},
	})
	if err != nil || len(page.Data) == 0 {
		return nil, err
	}
	first := &page.Data[0]
	if first.TurnID.IsZero() || first.Author.ID != principal.ID || !same(first) {
		return nil, nil
	}
	switch _, err := verbs.Turn(ctx, principal, first.TurnID); {
	case parley.ErrorCode(err) == parley.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return first, nil
}
