package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// SendInput says how a queued message is to be sent now.
type SendInput struct {
	How parley.During `json:"how,omitempty" enum:"steer,interrupt" doc:"steer, the default, shows it to the running turn at its next step; interrupt cancels that turn and runs the message."`
}

// MoveInput says where in the queue a message goes.
type MoveInput struct {
	Before parley.ID `json:"before,omitzero" doc:"The queued message to put it before; null puts it last."`
}

// SendMessage sends a queued message now, as store.Control.SendQueued says.
func (e *Engine) SendMessage(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input SendInput,
) (_ store.Posted, err error) {
	verb := PostMessages
	if input.How == "" {
		input.How = parley.DuringSteer
	}
	switch input.How {
	case parley.DuringSteer:
	case parley.DuringInterrupt:
		verb = CancelTurns
	default:
		return store.Posted{}, parley.InvalidField(
			"how",
			"%q is not one of steer, interrupt",
			parley.Clip(string(input.How), 32),
		)
	}
	ctx, call, err := e.enter(ctx, principal, "sendMessage", verb, on(id))
	if err != nil {
		return store.Posted{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	run := e.offer(scope.WorkspaceID, input.How == parley.DuringInterrupt)
	posted, err := e.store.SendQueued(ctx, scope, id, input.How, run.processID())
	if err != nil {
		run.settle(nil)
		return store.Posted{}, err
	}
	call.about(in(posted.Message.SessionID, id))
	run.settle(posted.Claim)
	return posted, nil
}

// MoveMessage moves a queued message within its queue.
func (e *Engine) MoveMessage(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input MoveInput,
) (_ parley.Message, err error) {
	ctx, call, err := e.enter(ctx, principal, "moveMessage", PostMessages, on(id))
	if err != nil {
		return parley.Message{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	moved, err := e.store.MoveQueued(ctx, scope, id, input.Before)
	if err == nil {
		call.about(in(moved.SessionID, id))
	}
	return moved, err
}

// ResumeInput is the body of a retry or a continuation. It has no fields.
type ResumeInput struct{}

// resumeTurn is RetryTurn or ContinueTurn of store.Control.
type resumeTurn func(context.Context, store.Scope, parley.ID, parley.ID, store.TurnAgain,
	parley.ID) (store.TurnResumed, error)

// RetryTurn resumes a failed or cancelled turn, as store.Control.RetryTurn says.
func (e *Engine) RetryTurn(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	idempotency store.Idempotency,
) (store.TurnResumed, error) {
	return e.resume(ctx, principal, id, idempotency, "retryTurn", e.store.RetryTurn)
}

// ContinueTurn resumes a turn that stopped at a limit, as store.Control.ContinueTurn says.
func (e *Engine) ContinueTurn(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	idempotency store.Idempotency,
) (store.TurnResumed, error) {
	return e.resume(ctx, principal, id, idempotency, "continueTurn", e.store.ContinueTurn)
}

func (e *Engine) resume(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	idempotency store.Idempotency,
	action string,
	resume resumeTurn,
) (_ store.TurnResumed, err error) {
	ctx, call, err := e.enter(ctx, principal, action, PostMessages, on(id))
	if err != nil {
		return store.TurnResumed{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := checkIdempotency(idempotency); err != nil {
		return store.TurnResumed{}, err
	}
	turn, err := e.store.Turn(ctx, scope, id)
	if err != nil {
		return store.TurnResumed{}, err
	}
	call.about(in(turn.SessionID, id))
	run := e.offer(scope.WorkspaceID, true)
	resumed, err := resume(
		ctx,
		scope,
		turn.SessionID,
		id,
		store.TurnAgain{TurnID: parley.NewID(), Idempotency: idempotency},
		run.processID(),
	)
	if err != nil {
		run.settle(nil)
		return store.TurnResumed{}, err
	}
	run.settle(resumed.Claim)
	return resumed, nil
}
