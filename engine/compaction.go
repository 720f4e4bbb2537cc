package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// Compactions are the summaries of sessions, as the API uses them. See store.Compactions for the contracts.
type Compactions interface {
	RequestCompaction(
		ctx context.Context,
		scope store.Scope,
		sessionID, id parley.ID,
		reason parley.CompactionReason,
	) (parley.Compaction, error)
	Compaction(ctx context.Context, scope store.Scope, sessionID parley.ID) (parley.Compaction, error)
}

// CompactInput is the body of a compaction. It has no fields.
type CompactInput struct{}

// CompactSession requests a summary of all but a session's newest turn. It does not wait for it. It returns
// CodeConflict, with the reason, if there is nothing to summarise, if the session's policy shows no summaries, or while
// one is being written.
func (e *Engine) CompactSession(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
) (_ parley.Compaction, err error) {
	ctx, call, err := e.enter(ctx, principal, "compactSession", PostMessages, of(sessionID))
	if err != nil {
		return parley.Compaction{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	session, err := e.store.Session(ctx, scope, sessionID)
	if err != nil {
		return parley.Compaction{}, err
	}
	leave, err := e.looks.enter(principal)
	if err != nil {
		return parley.Compaction{}, err
	}
	defer leave()
	if err := e.compactable(ctx, scope, &session); err != nil {
		return parley.Compaction{}, err
	}
	return e.store.RequestCompaction(ctx, scope, sessionID, parley.NewID(), parley.CompactAsked)
}

// compactable returns CodeConflict with the reason why a session cannot be compacted.
func (e *Engine) compactable(ctx context.Context, scope store.Scope, session *parley.Session) error {
	agent, err := e.store.Agent(ctx, scope.WorkspaceID, session.AgentID.String())
	if err != nil {
		return err
	}
	policy := session.DefaultPolicy()
	if set := setting.Policy.Nearest(&agent.Settings, &session.Settings); set != nil {
		policy = *set
	}
	if !policy.Summarises() {
		return parley.Conflict(
			policy.Kind,
			`the context policy of this session is %s, which shows no summaries; set context_policy to `+
				`{"kind":"summary"}, then compact it`,
			policy,
		)
	}
	head, err := e.store.ContextHead(ctx, scope.WorkspaceID, session.ID)
	if err != nil {
		return err
	}
	var rows []parley.Message
	more := true
	for most := parley.MaxPageBytes; more && len(rows) == 0; most *= 2 {
		if rows, more, err = e.store.ContextTail(
			ctx,
			scope.WorkspaceID,
			session.ID,
			session.LastSequence+1,
			prompt.TailPage,
			most,
		); err != nil {
			return err
		}
	}
	whole := !more
	if head.Summary != nil {
		for i := range rows {
			if rows[i].Sequence <= *head.Summary.CoversThrough {
				rows, whole = rows[:i], true
				break
			}
		}
	}
	var unfinished parley.Turn
	if !session.TurnID.IsZero() {
		if unfinished, err = e.store.Turn(ctx, scope, session.TurnID); err != nil {
			return err
		}
	}
	keep := prompt.Keeps(policy, parley.CompactAsked, e.windowOf(&agent, session, policy))
	kept, _ := prompt.Kept(rows, unfinished, keep, whole)
	for i := range rows[kept:] {
		if m := &rows[kept+i]; m.Role != parley.RoleSummary || m.CoversThrough == nil {
			return nil
		}
	}
	return parley.Conflict(
		parley.CompactionNone,
		"there is nothing to summarise: the newest turn stays in full, and a summary covers everything before it",
	)
}

// windowOf divides the context of a session's model. Its system prompt and tools count as nothing here: whoever writes
// the summary weighs them.
func (e *Engine) windowOf(agent *parley.Agent, session *parley.Session, policy parley.Policy) prompt.Budget {
	set := setting.Effective(parley.Settings{}, &session.Settings, &agent.Settings)
	id := set.Model
	if id == "" {
		id = e.models.Default()
	}
	_, info, err := e.models.Resolve(id)
	if err != nil { // a model that is gone bounds nothing
		return prompt.Budget{}
	}
	return prompt.NewBudget(info, set.Parameters, policy, 0, 1)
}

// Compaction reads a session's compaction: the one under way, or the last.
func (e *Engine) Compaction(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
) (_ parley.Compaction, err error) {
	ctx, call, err := e.enter(ctx, principal, "getCompaction", ReadSessions, of(sessionID))
	if err != nil {
		return parley.Compaction{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.Compaction(ctx, scope, sessionID)
}

// Covered lists the messages that a summary covers, ascending, including internal ones. It returns CodeConflict for a
// message that is not a summary.
func (e *Engine) Covered(
	ctx context.Context,
	principal parley.Principal,
	messageID parley.ID,
	paging Paging,
) (_ Page[parley.Message], err error) {
	ctx, call, err := e.enter(ctx, principal, "listCovered", ReadSessions, on(messageID))
	if err != nil {
		return Page[parley.Message]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	from, order, limit, err := paging.start("covered", Ascending)
	if err != nil {
		return Page[parley.Message]{}, err
	}
	if order != Ascending {
		return Page[parley.Message]{}, parley.InvalidField("order", "covered messages are only listed ascending")
	}
	summary, err := e.store.Message(ctx, scope, messageID)
	if err != nil {
		return Page[parley.Message]{}, err
	}
	if summary.Role != parley.RoleSummary || summary.CoversThrough == nil {
		return Page[parley.Message]{}, parley.Conflict(
			summary.Role,
			"only a summary covers messages; this message is of role %s",
			summary.Role,
		)
	}
	call.about(in(summary.SessionID, messageID))
	after := max(from.Sequence, parley.OriginOf(summary.Metadata).CoversFrom-1, 0)
	rows, err := e.store.Messages(
		ctx,
		scope,
		summary.SessionID,
		store.MessageQuery{AfterSequence: after, RecordOnly: true, Limit: limit + 1, MaxBytes: parley.MaxPageBytes},
	)
	if err != nil {
		return Page[parley.Message]{}, err
	}
	cut := len(rows) <= limit && bytesOf(rows) >= parley.MaxPageBytes
	for i := range rows {
		if rows[i].Sequence > *summary.CoversThrough {
			rows, cut = rows[:i], false
			break
		}
	}
	if cut && len(rows) > 1 { // cut by size: the last row begins the next page
		limit = len(rows) - 1
	}
	return pageOf(rows, limit, func(last parley.Message) cursor {
		return cursor{List: "covered", Order: Ascending, Sequence: last.Sequence}
	}), nil
}
