package engine

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/schema"
	"example.org/parley/store"
)

// ApprovalList selects approvals, newest first by default. Several values of a filter are alternatives.
type ApprovalList struct {
	Paging
	States     []parley.ApprovalState
	SessionIDs []parley.ID // each includes its tool sessions if it is their root
	Agents     []string    // ids or slugs
}

// DecisionInput answers an approval.
type DecisionInput struct {
	Decision parley.ApprovalDecision `json:"decision" enum:"approve,deny,dismiss" doc:"dismiss is for the question of a tool: it is told that the question was closed without an answer, while deny tells it that somebody declines."`
	Scope    parley.ApprovalScope    `json:"scope,omitempty" enum:"once,session,change,tree" doc:"once, the default, applies to this call only; session adds a grant to the session; change, for its owner, accepts what somebody else changed; tree is session for every call of the tool, and holds in all tool sessions of the same root, as long as the tool and the agent's rules about it stay the same."`
	Covers   parley.ApprovalCovers   `json:"covers,omitempty" enum:"call,tool" doc:"For scope session: call, the default, covers calls with exactly these arguments; tool covers every call of the tool."`
	Answer   json.RawMessage         `json:"answer,omitempty" doc:"To the question of a tool (question.schema), when you approve: an object that fits the schema. Absent for everything else."`
	Comment  string                  `json:"comment,omitempty" doc:"Kept with the decision; the model reads the comment of a denial."`
}

// Approval reads an approval.
func (e *Engine) Approval(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Approval, err error) {
	ctx, call, err := e.enter(ctx, principal, "getApproval", ReadSessions, on(id))
	if err != nil {
		return parley.Approval{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	approval, err := e.store.Approval(ctx, scope, id)
	if err == nil {
		call.about(in(approval.SessionID, id))
	}
	return approval, err
}

// Approvals lists the approvals of the sessions that the principal sees.
func (e *Engine) Approvals(
	ctx context.Context,
	principal parley.Principal,
	list ApprovalList,
) (_ Page[parley.Approval], err error) {
	ctx, call, err := e.enter(ctx, principal, "listApprovals", ReadSessions)
	if err != nil {
		return Page[parley.Approval]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	for _, id := range list.SessionIDs {
		call.about(of(id))
	}
	for _, state := range list.States {
		switch state {
		case parley.ApprovalPending,
			parley.ApprovalApproved,
			parley.ApprovalDenied,
			parley.ApprovalExpired,
			parley.ApprovalCancelled:
		default:
			return Page[parley.Approval]{}, parley.InvalidField(
				"status",
				"%q is not one of pending, approved, denied, expired, cancelled",
				parley.Clip(string(state), 32),
			)
		}
	}
	from, order, limit, err := list.start("approvals", Descending)
	if err != nil {
		return Page[parley.Approval]{}, err
	}
	agents, err := e.agentIDs(ctx, scope, list.Agents)
	if err != nil {
		return Page[parley.Approval]{}, err
	}
	queries := []store.ApprovalQuery{{
		Ascending: order == Ascending, AfterCreated: from.At, AfterID: from.ID, Limit: limit + 1,
	}}
	queries = apart(queries, list.SessionIDs, func(q *store.ApprovalQuery, id parley.ID) { q.SessionID = id })
	queries = apart(queries, agents, func(q *store.ApprovalQuery, id parley.ID) { q.AgentID = id })
	queries = apart(queries, list.States, func(q *store.ApprovalQuery, state parley.ApprovalState) { q.State = state })
	rows, err := joined(union[parley.Approval]{
		limit: limit + 1, size: sizeOf[parley.Approval],
		compare: byTime(order, func(a *parley.Approval) (parley.Time, parley.ID) { return a.CreatedAt, a.ID }),
	}, queries, func(query store.ApprovalQuery) ([]parley.Approval, error) {
		return e.store.Approvals(ctx, scope, query)
	})
	if err != nil {
		return Page[parley.Approval]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Approval) cursor {
		return cursor{List: "approvals", Order: order, At: last.CreatedAt, ID: last.ID}
	}), nil
}

// SessionApprovals lists the approvals of a session and of its tool sessions.
func (e *Engine) SessionApprovals(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list ApprovalList,
) (_ Page[parley.Approval], err error) {
	ctx, call, err := e.enter(ctx, principal, "listSessionApprovals", ReadSessions, of(sessionID))
	if err != nil {
		return Page[parley.Approval]{}, err
	}
	defer call.end(ctx, &err)
	list.SessionIDs = []parley.ID{sessionID}
	return e.Approvals(ctx, principal, list)
}

// Decide answers an approval. An approval that needs several people waits for the rest. The waiting turn resumes
// immediately, here if a slot is free. It returns CodeConflict, with the state, if the approval is answered or expired,
// or its turn has ended.
func (e *Engine) Decide(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input DecisionInput,
) (_ parley.Approval, err error) {
	ctx, call, err := e.enter(ctx, principal, "decideApproval", AnswerApprovals, on(id))
	if err != nil {
		return parley.Approval{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	decision := parley.Decision{
		Decision: input.Decision,
		Scope:    input.Scope,
		Covers:   input.Covers,
		Comment:  input.Comment,
		By:       principal.Author(),
	}
	if err := decision.Validate(); err != nil {
		return parley.Approval{}, err
	}
	if decision.Lasts() {
		if err := e.mayLast(ctx, scope, principal, id); err != nil {
			return parley.Approval{}, err
		}
	}
	if decision.Decision == parley.DecideApprove {
		if decision.Answer, err = e.answerTo(ctx, scope, id, input.Answer); err != nil {
			return parley.Approval{}, err
		}
	}
	run := e.offer(scope.WorkspaceID, true)
	decided, err := e.store.DecideApproval(ctx, scope, id, decision, run.processID())
	run.settle(decided.Claim)
	if err == nil {
		call.about(in(decided.Approval.SessionID, id))
	}
	return decided.Approval, err
}

// answerTo checks the answer to a tool's question; any other approval takes none.
func (e *Engine) answerTo(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	answer json.RawMessage,
) (json.RawMessage, error) {
	if string(answer) == "null" {
		answer = nil
	}
	approval, err := e.store.Approval(ctx, scope, id)
	switch {
	case err != nil:
		return nil, err
	case approval.Question == nil || approval.Question.Schema == nil:
		if answer != nil {
			return nil, parley.InvalidField("answer", "nothing is asked that has an answer here")
		}
		return nil, nil
	case answer == nil:
		return nil, parley.InvalidField("answer", "is missing: the tool asks a question; approve with an answer that "+
			"fits its schema, or deny")
	case len(answer) > parley.MaxToolQuestion:
		return nil, parley.InvalidField("answer", "is longer than %d bytes", parley.MaxToolQuestion)
	}
	canonical, err := parley.CanonicalJSON(answer)
	if err != nil || canonical[0] != '{' {
		return nil, parley.InvalidField("answer", "must be a JSON object")
	}
	wanted, err := schema.Read(*approval.Question.Schema)
	wrong := ""
	if err == nil {
		wrong, err = wanted.Check(ctx, canonical)
	}
	if err != nil {
		return nil, parley.InvalidField("answer", "cannot be checked: %s", parley.Clip(err.Error(), 300))
	}
	if wrong != "" {
		return nil, parley.InvalidField("answer", "does not fit what the tool asks for: %s", parley.Clip(wrong, 300))
	}
	return canonical, nil
}

// mayLast refuses a lasting permission to anyone but the session's owner and admins.
func (e *Engine) mayLast(ctx context.Context, scope store.Scope, principal parley.Principal, id parley.ID) error {
	if ReachOf(principal.Role, GrantSessions) == ReachAll {
		return nil
	}
	approval, err := e.store.Approval(ctx, scope, id)
	if err != nil {
		return err
	}
	return e.mayGrant(ctx, scope, principal, approval.SessionID)
}
