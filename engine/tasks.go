package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// TaskInput is work for an agent, given by hand.
type TaskInput struct {
	Text  string      `json:"text" required:"true" doc:"What the agent is to do."`
	Files []parley.ID `json:"files,omitempty" doc:"Files that belong to it."`
}

// GiveTask posts a task into the background session of an agent. The first task makes that session.
func (e *Engine) GiveTask(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
	input TaskInput,
	idempotency store.Idempotency,
) (_ store.Posted, err error) {
	ctx, call, err := e.enter(ctx, principal, "giveTask", WriteAgents)
	if err != nil {
		return store.Posted{}, err
	}
	defer call.end(ctx, &err)
	agent, err := e.ownAgent(ctx, call, idOrSlug)
	if err != nil {
		return store.Posted{}, err
	}
	if agent.Status == parley.AgentArchived {
		return store.Posted{}, parley.Errorf(
			parley.CodeArchived,
			"this agent is archived; reactivate it with PATCH {\"status\": \"active\"}, then give it work",
		)
	}
	content, err := parley.EncodeJSON(input)
	if err != nil {
		return store.Posted{}, err
	}
	opened, err := e.store.BackgroundSession(ctx, call.Scope, agent.ID, e.quotas.sessions)
	if err != nil {
		return store.Posted{}, err
	}
	return e.PostMessage(ctx, principal, opened.Session.ID, MessageInput{
		Content: content, During: parley.DuringQueue,
	}, idempotency)
}
