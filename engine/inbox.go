package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// InboxList selects items of the principal's inbox, newest first by default. Several values of a filter are
// alternatives.
type InboxList struct {
	Paging
	Unread bool // only those that are not read
	Types  []parley.InboxType
	Agents []string // ids or slugs
}

// InboxPatch changes an item of an inbox: what is not set stays as it is.
type InboxPatch struct {
	Read parley.Change[bool] `json:"read,omitzero" doc:"Whether you have read it."`
}

// InboxAnswerInput answers a question.
type InboxAnswerInput struct {
	Text string `json:"text" doc:"What the agent that asked is told."`
}

// Inbox lists the principal's own inbox.
func (e *Engine) Inbox(
	ctx context.Context,
	principal parley.Principal,
	list InboxList,
) (_ Page[parley.InboxItem], err error) {
	ctx, call, err := e.enter(ctx, principal, "listInbox", ReadInbox)
	if err != nil {
		return Page[parley.InboxItem]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := oneOfEach("type", list.Types, parley.InboxTypes()); err != nil {
		return Page[parley.InboxItem]{}, err
	}
	from, order, limit, err := list.start("inbox", Descending)
	if err != nil {
		return Page[parley.InboxItem]{}, err
	}
	agents, err := e.agentIDs(ctx, scope, list.Agents)
	if err != nil {
		return Page[parley.InboxItem]{}, err
	}
	queries := []store.InboxQuery{{
		PrincipalID: principal.ID, Unread: list.Unread, Ascending: order == Ascending, AfterCreated: from.At,
		AfterID: from.ID, Limit: limit + 1,
	}}
	queries = apart(queries, agents, func(q *store.InboxQuery, id parley.ID) { q.AgentID = id })
	queries = apart(queries, list.Types, func(q *store.InboxQuery, one parley.InboxType) { q.Type = one })
	rows, err := joined(union[parley.InboxItem]{
		limit: limit + 1, size: sizeOf[parley.InboxItem],
		compare: byTime(order, func(i *parley.InboxItem) (parley.Time, parley.ID) { return i.CreatedAt, i.ID }),
	}, queries, func(query store.InboxQuery) ([]parley.InboxItem, error) {
		return e.store.InboxItems(ctx, scope.WorkspaceID, query)
	})
	if err != nil {
		return Page[parley.InboxItem]{}, err
	}
	return largePageOf(rows, limit, func(last parley.InboxItem) cursor {
		return cursor{List: "inbox", Order: order, At: last.CreatedAt, ID: last.ID}
	}), nil
}

// InboxItem reads an item of the principal's own inbox.
func (e *Engine) InboxItem(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.InboxItem, err error) {
	ctx, call, err := e.enter(ctx, principal, "getInboxItem", ReadInbox, on(id))
	if err != nil {
		return parley.InboxItem{}, err
	}
	defer call.end(ctx, &err)
	item, err := e.store.InboxItem(ctx, call.Scope.WorkspaceID, principal.ID, id)
	if err == nil {
		call.about(in(item.SessionID, id))
	}
	return item, err
}

// UpdateInboxItem marks an item of the principal's own inbox as read, or as unread again.
func (e *Engine) UpdateInboxItem(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	patch InboxPatch,
) (_ parley.InboxItem, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateInboxItem", ReadInbox, on(id))
	if err != nil {
		return parley.InboxItem{}, err
	}
	defer call.end(ctx, &err)
	if !patch.Read.Set {
		return e.store.InboxItem(ctx, call.Scope.WorkspaceID, principal.ID, id)
	}
	item, err := e.store.MarkInboxItem(ctx, call.Scope, principal.ID, id, patch.Read.Value)
	if err == nil {
		call.about(in(item.SessionID, id))
	}
	return item, err
}

// AnswerInboxItem answers a question in the principal's own inbox: the answer is recorded in the item's session, and
// returns to the agent that asked. It is CodeConflict, with the question's state, if that has ended.
func (e *Engine) AnswerInboxItem(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input InboxAnswerInput,
) (_ parley.InboxItem, err error) {
	ctx, call, err := e.enter(ctx, principal, "answerInboxItem", AnswerInbox, on(id))
	if err != nil {
		return parley.InboxItem{}, err
	}
	defer call.end(ctx, &err)
	if parley.TitleFrom(input.Text) == "" {
		return parley.InboxItem{}, parley.InvalidField("text", "is missing or empty")
	}
	if err := parley.CheckText("text", input.Text, parley.MaxDelegationBytes); err != nil {
		return parley.InboxItem{}, err
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: input.Text})
	if err != nil {
		return parley.InboxItem{}, err
	}
	item, err := e.store.AnswerInboxItem(ctx, call.Scope, id, store.InboxAnswer{
		By: principal.Author(), Text: input.Text,
		TokenEstimate: prompt.EstimateContent(e.models.Default(), parley.RoleUser, content),
	})
	if err == nil {
		call.about(in(item.SessionID, id))
	}
	return item, err
}
