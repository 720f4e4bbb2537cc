package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// KnowledgeInput is an item that a person writes.
type KnowledgeInput struct {
	AgentID string                `json:"agent_id" required:"true" doc:"Id or slug of the agent; for scope team of its lead."`
	Scope   parley.KnowledgeScope `json:"scope,omitempty" enum:"agent,team" doc:"Whose prompts are told it: the agent's, the default, or those of its whole team."`
	Kind    parley.KnowledgeKind  `json:"kind,omitempty" enum:"fact,preference,procedure" doc:"fact by default."`
	Text    string                `json:"text" required:"true" doc:"What is known, in a sentence or two."`
	Pinned  bool                  `json:"pinned,omitempty" doc:"Tell it before others."`
}

// KnowledgePatch changes an item: absent fields stay.
type KnowledgePatch struct {
	Text     parley.Change[string]               `json:"text,omitzero" doc:"A change makes you the item's author."`
	Kind     parley.Change[parley.KnowledgeKind] `json:"kind,omitzero" enum:"fact,preference,procedure"`
	Pinned   parley.Change[bool]                 `json:"pinned,omitzero"`
	Approved parley.Change[bool]                 `json:"approved,omitzero" doc:"Of a procedure: whether it may be used."`
}

// KnowledgeList selects items, newest first by default.
type KnowledgeList struct {
	Paging
	Agent  string // id or slug; "": any
	Team   string // id or slug of a lead: what its whole team is told; "": any
	Kind   parley.KnowledgeKind
	Status parley.KnowledgeStatus // "": any
}

// CreateKnowledge stores an item that a person writes, and the agent's background session if it has none. An active
// item that says the same is confirmed instead. The bool reports an idempotent repeat.
func (e *Engine) CreateKnowledge(
	ctx context.Context,
	principal parley.Principal,
	input KnowledgeInput,
	idempotency store.Idempotency,
) (_ parley.KnowledgeItem, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "createKnowledgeItem", WriteAgents)
	if err != nil {
		return parley.KnowledgeItem{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.KnowledgeItem{}, false, err
	}
	agent, err := e.ownAgent(ctx, call, input.AgentID)
	if err != nil {
		return parley.KnowledgeItem{}, false, err
	}
	item := parley.KnowledgeItem{
		ID: parley.NewID(), WorkspaceID: agent.WorkspaceID, AgentID: agent.ID, Scope: input.Scope, Kind: input.Kind,
		Text: input.Text, Confidence: 100, Pinned: input.Pinned, Author: principal.Author(),
	}
	if item.Scope == "" {
		item.Scope = parley.KnowledgeOfAgent
	}
	if item.Kind == "" {
		item.Kind = parley.KnowledgeFact
	}
	if err := item.Validate(); err != nil {
		return parley.KnowledgeItem{}, false, err
	}
	if item.Kind == parley.KnowledgeProcedure { // a person who writes one approves it
		item.ApprovedAt, item.ApprovedByID = parley.Now(), principal.ID
	}
	made, repeat, err := e.store.CreateKnowledge(ctx, store.NewKnowledge{
		Item: item, OwnerID: sourcesOf(call).ViewerID, MaxSessions: e.quotas.sessions, Idempotency: idempotency,
	})
	if err == nil {
		call.about(on(made.ID))
	}
	return made, repeat, err
}

// KnowledgeItem reads an item.
func (e *Engine) KnowledgeItem(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.KnowledgeItem, err error) {
	ctx, call, err := e.enter(ctx, principal, "getKnowledgeItem", ReadAgents, on(id))
	if err != nil {
		return parley.KnowledgeItem{}, err
	}
	defer call.end(ctx, &err)
	return e.store.KnowledgeItem(ctx, sourcesOf(call), id)
}

// sourcesOf is the scope in which the sources of knowledge must be visible: that of reading sessions.
func sourcesOf(call verbCall) store.Scope {
	scope := call.Scope
	scope.ViewerID = parley.ID{}
	if ReachOf(call.Principal.Role, ReadSessions) != ReachAll {
		scope.ViewerID = call.Principal.ID
	}
	return scope
}

// Knowledge lists items whose sources the principal may all read.
func (e *Engine) Knowledge(
	ctx context.Context,
	principal parley.Principal,
	list KnowledgeList,
) (_ Page[parley.KnowledgeItem], err error) {
	ctx, call, err := e.enter(ctx, principal, "listKnowledgeItems", ReadAgents)
	if err != nil {
		return Page[parley.KnowledgeItem]{}, err
	}
	defer call.end(ctx, &err)
	if err := oneOf("kind", list.Kind, parley.KnowledgeKinds()); err != nil {
		return Page[parley.KnowledgeItem]{}, err
	}
	if err := oneOf("status", list.Status, parley.KnowledgeStatuses()); err != nil {
		return Page[parley.KnowledgeItem]{}, err
	}
	from, order, limit, err := list.start("knowledge", Descending)
	if err != nil {
		return Page[parley.KnowledgeItem]{}, err
	}
	query := store.KnowledgeQuery{
		Kind: list.Kind, Status: list.Status, Ascending: order == Ascending, AfterID: from.ID, Limit: limit + 1,
	}
	named := list.Agent
	if list.Team != "" {
		if named != "" {
			return Page[parley.KnowledgeItem]{}, parley.InvalidField("team", "name an agent or a team, not both")
		}
		named, query.Scope = list.Team, parley.KnowledgeOfTeam
	}
	if named != "" {
		agent, err := e.agent(ctx, call.Scope, named)
		if err != nil {
			return Page[parley.KnowledgeItem]{}, err
		}
		query.AgentID = agent.ID
	}
	rows, err := e.store.KnowledgeItems(ctx, sourcesOf(call), query)
	if err != nil {
		return Page[parley.KnowledgeItem]{}, err
	}
	return largePageOf(rows, limit, func(last parley.KnowledgeItem) cursor {
		return cursor{List: "knowledge", Order: order, ID: last.ID}
	}), nil
}

// oneOf checks a value of a closed list; "" is fine.
func oneOf[T ~string](field string, value T, values []T) error {
	if value == "" {
		return nil
	}
	return oneOfEach(field, []T{value}, values)
}

// UpdateKnowledge changes an item's words, pins it, or approves a procedure.
func (e *Engine) UpdateKnowledge(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	patch KnowledgePatch,
) (_ parley.KnowledgeItem, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateKnowledgeItem", WriteAgents, on(id))
	if err != nil {
		return parley.KnowledgeItem{}, err
	}
	defer call.end(ctx, &err)
	return e.changeKnowledge(ctx, call, id, patch.over)
}

// over applies a patch to an item.
func (p *KnowledgePatch) over(item parley.KnowledgeItem, principal parley.Principal) (parley.KnowledgeItem, error) {
	before, now := item, parley.Now()
	apply(p.Text, &item.Text)
	apply(p.Kind, &item.Kind)
	apply(p.Pinned, &item.Pinned)
	if err := item.Validate(); err != nil {
		return item, err
	}
	if item.Text != before.Text {
		item.Author = principal.Author()
	}
	switch {
	case item.Kind != parley.KnowledgeProcedure && p.Approved.Value:
		return item, parley.InvalidField("approved", "is for procedures; this item is a %s", item.Kind)
	case item.Kind != parley.KnowledgeProcedure, p.Approved.Set && !p.Approved.Value:
		item.ApprovedAt, item.ApprovedByID = 0, parley.ID{}
	case p.Approved.Value && item.ApprovedAt == 0:
		item.ApprovedAt, item.ApprovedByID = now, principal.ID
	}
	if item.Text != before.Text || item.Kind != before.Kind || item.ApprovedAt != before.ApprovedAt {
		item.ChangedAt = now
	}
	return item, nil
}

// ForgetKnowledge takes an item out of every later prompt. It stays readable, with its sources.
func (e *Engine) ForgetKnowledge(ctx context.Context, principal parley.Principal, id parley.ID) (err error) {
	ctx, call, err := e.enter(ctx, principal, "forgetKnowledgeItem", WriteAgents, on(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	_, err = e.changeKnowledge(ctx, call, id,
		func(item parley.KnowledgeItem, _ parley.Principal) (parley.KnowledgeItem, error) {
			item.Status = parley.KnowledgeForgotten
			return item, nil
		})
	return err
}

// changeKnowledge changes an item of an agent that the principal may change. A procedure that becomes usable takes the
// place of the item that it supersedes.
func (e *Engine) changeKnowledge(
	ctx context.Context,
	call verbCall,
	id parley.ID,
	change func(parley.KnowledgeItem, parley.Principal) (parley.KnowledgeItem, error),
) (parley.KnowledgeItem, error) {
	for attempt := 1; ; attempt++ {
		current, err := e.store.KnowledgeItem(ctx, sourcesOf(call), id)
		if err == nil {
			_, err = e.ownAgent(ctx, call, current.AgentID.String())
		}
		if err != nil {
			return parley.KnowledgeItem{}, err
		}
		next, err := change(current, call.Principal)
		if err != nil {
			return parley.KnowledgeItem{}, err
		}
		items := []parley.KnowledgeItem{next}
		if !current.Usable() && next.Usable() && !next.SupersedesID.IsZero() {
			old, err := e.store.KnowledgeItem(ctx, store.Scope{WorkspaceID: call.Scope.WorkspaceID}, next.SupersedesID)
			switch {
			case err == nil && old.Status == parley.KnowledgeActive:
				old.Status, old.SupersededByID = parley.KnowledgeSuperseded, next.ID
				items = append(items, old)
			case err != nil && parley.ErrorCode(err) != parley.CodeNotFound:
				return parley.KnowledgeItem{}, err
			}
		}
		updated, err := e.store.UpdateKnowledge(ctx, items)
		if err == nil {
			return updated[0], nil
		}
		if parley.ErrorCode(err) != parley.CodeConflict || attempt == patchAttempts {
			return parley.KnowledgeItem{}, err
		}
	}
}
