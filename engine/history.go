package engine

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// BranchInput says in what a fork differs from the session that it comes from.
type BranchInput struct {
	AgentID      string            `json:"agent_id,omitempty" doc:"Id or slug; the forked session's agent by default."`
	Title        string            `json:"title,omitempty" doc:"The forked session's title by default."`
	Instructions *string           `json:"instructions,omitempty"`
	Visibility   parley.Visibility `json:"visibility,omitempty" enum:"private,workspace" doc:"By default that of the forked session if it is the caller's own, else private."`
	Metadata     json.RawMessage   `json:"metadata,omitempty"`
	parley.Settings
}

// ForkInput says where a session is forked, and in what the fork differs.
type ForkInput struct {
	At       parley.ID `json:"at,omitzero" doc:"The message to fork after; give this or sequence. Inside an answer that calls tools the fork begins after the whole answer, results included."`
	Sequence int64     `json:"sequence,omitempty" minimum:"1" doc:"The sequence of that message. Without both, the last one."`
	BranchInput
	Message *MessageInput `json:"message,omitempty" doc:"The fork's first message of its own: it is stored, and its turn started, in the same transaction."`
}

// EditInput is a user's message in other words.
type EditInput struct {
	Content   json.RawMessage `json:"content" required:"true" doc:"The user's message as it should have been: {text, files, links, search, think}."`
	SessionID parley.ID       `json:"session_id,omitzero" doc:"Which session's history to use if several share the message; by default the one that wrote it."`
	BranchInput
}

// RegenerateInput says in what a regenerated answer differs.
type RegenerateInput struct {
	SessionID parley.ID `json:"session_id,omitzero" doc:"Which session's history to use if several share the message; by default the one that wrote it."`
	BranchInput
}

// Fork makes a session that shares another one's history up to a message, as store.History.Fork says, and then
// continues by itself. It belongs to the principal, and takes the forked session's settings unless the input says
// otherwise; the owner's permissions for tools carry over only if the owner forks.
func (e *Engine) Fork(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	input ForkInput,
	idempotency store.Idempotency,
) (_ store.Opened, err error) {
	ctx, call, err := e.enter(ctx, principal, "forkSession", OpenSessions, of(sessionID))
	if err != nil {
		return store.Opened{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if !input.At.IsZero() && input.Sequence != 0 {
		return store.Opened{}, parley.InvalidField("sequence", "give at or sequence, not both")
	}
	if input.Sequence < 0 {
		return store.Opened{}, parley.InvalidField("sequence", "must be 1 or more")
	}
	fork := store.NewFork{
		At:          input.At,
		Sequence:    input.Sequence,
		Quota:       e.sessionsQuota(principal),
		Idempotency: idempotency,
	}
	if fork.Session, err = e.branch(ctx, scope, principal, sessionID, input.BranchInput); err != nil {
		return store.Opened{}, err
	}
	if input.Message != nil {
		first, err := e.newMessage(principal, *input.Message)
		if err == nil {
			err = e.findAgents(ctx, scope, parley.ValueOf(input.Message.Tools))
		}
		if err != nil {
			return store.Opened{}, inside("message", err)
		}
		fork.First = &first
	}
	call.about(in(sessionID, input.At))
	return e.fork(ctx, call, fork)
}

// EditMessage asks a user's message of the record again in other words, in a fork that begins before it. The message
// and its successors stay.
func (e *Engine) EditMessage(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input EditInput,
	idempotency store.Idempotency,
) (store.Opened, error) {
	if len(input.Content) == 0 {
		return store.Opened{}, parley.InvalidField(
			"content",
			"is missing: give the message as it should have been, or regenerate to ask the same again",
		)
	}
	return e.askAnew(
		ctx,
		principal,
		id,
		RegenerateInput{SessionID: input.SessionID, BranchInput: input.BranchInput},
		"editMessage",
		input.Content,
		idempotency,
	)
}

// Regenerate asks a user's message, or the one that an answer belongs to, again unchanged, in a fork that begins before
// it.
func (e *Engine) Regenerate(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input RegenerateInput,
	idempotency store.Idempotency,
) (store.Opened, error) {
	return e.askAnew(ctx, principal, id, input, "regenerateMessage", nil, idempotency)
}

// writerGone is the error for a message that its caller sees but whose session was not found. If no session is named,
// the one that wrote the message is meant; it may be deleted or private, while others share the message.
func writerGone(named parley.ID, err error) error {
	if !named.IsZero() || parley.ErrorCode(err) != parley.CodeNotFound {
		return err
	}
	return parley.InvalidField(
		"session_id",
		"is missing: the session that wrote this message is gone or not yours to see; name one that shares it",
	)
}

// askAnew forks before a user's message and posts it there, with other content if given.
func (e *Engine) askAnew(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input RegenerateInput,
	action string,
	content json.RawMessage,
	idempotency store.Idempotency,
) (_ store.Opened, err error) {
	ctx, call, err := e.enter(ctx, principal, action, OpenSessions, on(id))
	if err != nil {
		return store.Opened{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	message, err := e.store.Message(ctx, scope, id)
	if err != nil {
		return store.Opened{}, err
	}
	sessionID := either(input.SessionID, message.SessionID)
	if _, err := e.store.Session(ctx, scope, sessionID); err != nil {
		return store.Opened{}, writerGone(input.SessionID, err)
	}
	if content == nil && message.Role != parley.RoleUser {
		if message, err = e.questionOf(ctx, scope, sessionID, message); err != nil {
			return store.Opened{}, err
		}
	}
	session, err := e.branch(ctx, scope, principal, sessionID, input.BranchInput)
	if err != nil {
		return store.Opened{}, err
	}
	again := MessageInput{
		Content:     message.Content,
		Metadata:    message.Metadata,
		AgentType:   message.AgentType,
		ContextNote: message.ContextNote,
		Settings:    message.Settings,
	}
	if content != nil {
		again.Content, again.ContextNote = content, ""
	}
	first, err := e.newMessage(principal, again)
	if err != nil {
		return store.Opened{}, err
	}
	call.about(in(sessionID, id))
	return e.fork(
		ctx,
		call,
		store.NewFork{
			Session:     session,
			At:          message.ID,
			Before:      true,
			First:       &first,
			Quota:       e.sessionsQuota(principal),
			Idempotency: idempotency,
		},
	)
}

// questionOf returns the user's message that began an answer's turn.
func (e *Engine) questionOf(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	answer parley.Message,
) (parley.Message, error) {
	if answer.TurnID.IsZero() {
		return answer, parley.Errorf(
			parley.CodeConflict,
			"no turn wrote this message, so there is nothing to ask again; fork at an earlier message instead",
		)
	}
	asked, err := e.store.Messages(
		ctx,
		scope,
		sessionID,
		store.MessageQuery{TurnID: answer.TurnID, Roles: []parley.Role{parley.RoleUser}, RecordOnly: true, Limit: 1},
	)
	if err == nil && len(asked) == 0 { // the turn resumed another turn's message
		asked, err = e.store.Messages(
			ctx,
			scope,
			sessionID,
			store.MessageQuery{
				Roles:         []parley.Role{parley.RoleUser},
				AfterSequence: answer.Sequence,
				Descending:    true,
				Limit:         1,
			},
		)
	}
	if err != nil {
		return answer, err
	}
	if len(asked) == 0 {
		return answer, parley.Errorf(parley.CodeConflict, "there is no user message before this one")
	}
	return asked[0], nil
}

// fork makes a fork, and starts the turn of its first message here if it may run.
func (e *Engine) fork(ctx context.Context, call verbCall, fork store.NewFork) (store.Opened, error) {
	scope := call.Scope
	if err := checkIdempotency(fork.Idempotency); err != nil {
		return store.Opened{}, err
	}
	starts := false
	if fork.First != nil {
		if err := e.checkAnswerableIn(ctx, scope, fork.Session, fork.First); err != nil {
			return store.Opened{}, err
		}
		if err := traced(ctx, fork.First); err != nil {
			return store.Opened{}, err
		}
		starts = !fork.First.TurnID.IsZero()
	}
	run := e.offer(scope.WorkspaceID, starts)
	opened, err := e.store.Fork(ctx, scope, fork, run.processID())
	call.opened(&opened, err)
	if err != nil || opened.Posted == nil {
		run.settle(nil)
		return opened, err
	}
	run.settle(opened.Posted.Claim)
	return opened, nil
}

// branch returns the session that a fork creates.
func (e *Engine) branch(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	parentID parley.ID,
	input BranchInput,
) (parley.Session, error) {
	parent, err := e.store.Session(ctx, scope, parentID)
	if err != nil {
		return parent, err
	}
	session := parley.Session{
		ID:              parley.NewID(),
		WorkspaceID:     scope.WorkspaceID,
		OwnerID:         principal.ID,
		LogID:           parley.NewID(),
		ParentSessionID: parent.ID,
		AgentID:         parent.AgentID,
		ProjectID:       parent.ProjectID,
		Visibility:      parley.VisibilityPrivate,
		Kind:            parley.KindAgent,
		Mode:            parent.Mode,
		Type:            parent.Type,
		Feature:         parent.Feature,
		Task:            parent.Task,
		Title:           either(input.Title, parent.Title),
		Instructions:    parent.Instructions,
		Tags:            keptTags(parent.Tags),
		Metadata:        parent.Metadata,
		Settings:        parent.Settings,
		During:          parent.During,
	}
	if parent.OwnerID == principal.ID {
		session.Visibility = parent.Visibility
	} else {
		session.Grants = nil // permissions apply only in the session of who gave them
	}
	if err := e.setBranch(ctx, scope, &session, input); err != nil {
		return session, err
	}
	if input.AgentID != "" {
		agent, err := e.agent(ctx, scope, input.AgentID)
		if err != nil {
			return session, err
		}
		session.AgentID = agent.ID
	}
	return session, e.accept(ctx, scope, &session)
}

// setBranch checks and sets what differs in a fork.
func (e *Engine) setBranch(
	ctx context.Context,
	scope store.Scope,
	session *parley.Session,
	input BranchInput,
) (err error) {
	if err := checkTexts(textBound{"title", input.Title, parley.MaxNameBytes}); err != nil {
		return err
	}
	if input.Instructions != nil {
		if err := checkTexts(textBound{"instructions", *input.Instructions, parley.MaxTextBytes}); err != nil {
			return err
		}
		session.Instructions = *input.Instructions
	}
	session.Visibility = either(input.Visibility, session.Visibility)
	if err := checkSessionWords(*session); err != nil {
		return err
	}
	if input.Metadata != nil {
		if session.Metadata, err = checkMetadata(input.Metadata); err != nil {
			return err
		}
	}
	if err := e.checkSettings(setting.Fork, &input.Settings); err != nil {
		return err
	}
	if err := e.findAgents(ctx, scope, parley.ValueOf(input.Tools)); err != nil {
		return err
	}
	session.Settings = setting.Over(input.Settings, session.Settings)
	return nil
}

// Branches lists the sessions that were forked at a message, or that ask it anew, last activity first by default,
// including archived ones. It leaves out branches that the principal may not see.
func (e *Engine) Branches(
	ctx context.Context,
	principal parley.Principal,
	message parley.ID,
	list Paging,
) (_ Page[parley.Session], err error) {
	ctx, call, err := e.enter(ctx, principal, "listBranches", ReadSessions, on(message))
	if err != nil {
		return Page[parley.Session]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	from, order, limit, err := list.start("branches", Descending)
	if err != nil {
		return Page[parley.Session]{}, err
	}
	rows, err := e.store.Sessions(
		ctx,
		scope,
		store.SessionQuery{
			BranchesOf:   message,
			Ascending:    order == Ascending,
			AfterUpdated: from.At,
			AfterID:      from.ID,
			Limit:        limit + 1,
		},
	)
	if err != nil {
		return Page[parley.Session]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Session) cursor {
		return cursor{List: "branches", Order: order, At: last.UpdatedAt, ID: last.ID}
	}), nil
}
