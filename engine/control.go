package engine

import (
	"context"

	"parley"
)

// SendInput says how a queued message is to be heard now.
type SendInput struct {
	How parley.During `json:"how,omitempty" enum:"steer,interrupt" doc:"steer, the default, shows it to the running turn at its next step; interrupt cancels that turn and runs the message."`
}

// MoveInput says where in the queue a message is to stand.
type MoveInput struct {
	Before parley.ID `json:"before,omitzero" doc:"The queued message that it is to stand before; null puts it last."`
}

// SendMessage has a queued message heard now, as parley.ControlStore.SendQueued
// says.
func (e *Engine) SendMessage(ctx context.Context, principal parley.Principal, id parley.ID, input SendInput) (parley.Posted, error) {
	verb := PostMessages
	if input.How == "" {
		input.How = parley.DuringSteer
	}
	switch input.How {
	case parley.DuringSteer:
	case parley.DuringInterrupt:
		verb = CancelTurns
	default:
		return parley.Posted{}, parley.InvalidField("how", "%q is not one of steer, interrupt", parley.Clip(string(input.How), 32))
	}
	scope, err := authorise(principal, verb)
	if err != nil {
		return parley.Posted{}, err
	}
	run := e.offer(scope.WorkspaceID, input.How == parley.DuringInterrupt)
	posted, err := e.store.SendQueued(ctx, scope, id, input.How, run.processID())
	if err != nil {
		run.settle(nil)
		return parley.Posted{}, err
	}
	run.settle(posted.Claim)
	return posted, nil
}

// MoveMessage gives a queued message another place in its queue.
func (e *Engine) MoveMessage(ctx context.Context, principal parley.Principal, id parley.ID, input MoveInput) (parley.Message, error) {
	scope, err := authorise(principal, PostMessages)
	if err != nil {
		return parley.Message{}, err
	}
	return e.store.MoveQueued(ctx, scope, id, input.Before)
}
