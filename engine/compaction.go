package engine

import (
	"context"
	"strings"

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
		sessionID parley.ID,
		wanted store.NewCompaction,
	) (parley.Compaction, error)
	Compaction(ctx context.Context, scope store.Scope, sessionID parley.ID) (parley.Compaction, error)
	store.Summaries
}

// CompactInput says what a summary is to cover and to hold.
type CompactInput struct {
	Through      int64                   `json:"through,omitempty" minimum:"1" doc:"The last sequence that it may cover, rounded down to whole turns; by default all but the newest turn."`
	Instructions string                  `json:"instructions,omitempty" doc:"What this summary must contain in addition to the usual and to the setting's instructions: for the session's owner and admins."`
	From         parley.CompactionSource `json:"from,omitempty" doc:"originals: write it from the messages alone, earlier summaries apart, in several requests where they are too many for one. By default a summary stands on the earlier one."`
	Preview      bool                    `json:"preview,omitempty" doc:"Only answer what it would cover and cost: nothing is written or sent."`
}

// CompactSession requests a summary of a session's older messages. It does not wait for it. It returns CodeConflict,
// with the reason, if there is nothing to summarise, if the session's policy shows no summaries, or while one is being
// written. For a preview it returns what the summary would cover and cost, and starts nothing.
func (e *Engine) CompactSession(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	input CompactInput,
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
	if len(input.Instructions) > parley.MaxCompactionInstructions {
		return parley.Compaction{}, parley.InvalidField(
			"instructions",
			"is longer than %d bytes",
			parley.MaxCompactionInstructions,
		)
	}
	if input.Through < 0 || input.Through > session.LastSequence {
		return parley.Compaction{}, parley.InvalidField(
			"through",
			"is not a sequence of this session, whose last is %d",
			session.LastSequence,
		)
	}
	if input.From != "" && input.From != parley.FromOriginals {
		return parley.Compaction{}, parley.InvalidField("from", "is not %s", parley.FromOriginals)
	}
	if input.Instructions != "" { // they steer later turns as a summary does
		if err := e.maySaySummary(ctx, scope, principal, sessionID, "Leave out instructions."); err != nil {
			return parley.Compaction{}, err
		}
	}
	leave, err := e.looks.enter(principal)
	if err != nil {
		return parley.Compaction{}, err
	}
	defer leave()
	agent, err := e.store.Agent(ctx, scope.WorkspaceID, session.AgentID.String())
	if err != nil {
		return parley.Compaction{}, err
	}
	if err := e.compactable(ctx, scope, &session, &agent, &input); err != nil {
		return parley.Compaction{}, err
	}
	wanted := store.NewCompaction{
		ID: parley.NewID(), Reason: parley.CompactAsked, Through: input.Through, Instructions: input.Instructions,
		From: input.From,
	}
	if !input.Preview {
		return e.store.RequestCompaction(ctx, scope, sessionID, wanted)
	}
	if e.dry == nil {
		return parley.Compaction{}, parley.Errorf(
			parley.CodeUnavailable,
			"This process calls no models; ask one that does.",
		)
	}
	return e.dry.PreviewCompaction(ctx, session, agent, wanted)
}

// maySaySummary allows only the session's owner and admins to decide what its summary says; others get CodeForbidden,
// and instead tells them what they can do. The model takes a summary for its own memory, so whoever writes one steers
// later turns without being recorded as the person who asked for them.
func (e *Engine) maySaySummary(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	sessionID parley.ID,
	instead string,
) error {
	return e.ownersOnly(ctx, scope, principal, sessionID, "say what its summary must contain. "+instead)
}

// compactable returns CodeConflict with the reason why a session cannot be compacted.
func (e *Engine) compactable(
	ctx context.Context,
	scope store.Scope,
	session *parley.Session,
	agent *parley.Agent,
	input *CompactInput,
) error {
	policy := session.DefaultPolicy()
	if set := setting.Policy.Nearest(&agent.Settings, &session.Settings); set != nil {
		policy = *set
	}
	if !policy.Summarises() {
		return parley.Conflict(
			policy.Kind,
			`the context policy of this session is %s, which shows no summaries; set context_policy to `+
				`{"kind":"auto"}, then compact it`,
			policy,
		)
	}
	head, err := e.store.ContextHead(ctx, scope.WorkspaceID, session.ID)
	if err != nil {
		return err
	}
	if input.From == parley.FromOriginals && head.Summary != nil {
		if through := *head.Summary.CoversThrough; input.Through > 0 && input.Through < through {
			return parley.InvalidField("through", "is before message %d, where the present summary ends; set that "+
				"summary aside to have one written that covers less", through)
		}
		return nil // what that one covers can be summed up anew
	}
	through := input.Through
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
	keep := prompt.Keeps(policy, parley.CompactAsked, e.windowOf(agent, session, policy))
	kept, _ := prompt.Kept(rows, unfinished, keep, whole)
	for i := kept; i < len(rows); i++ {
		m := &rows[i]
		ends := through == 0 || m.Sequence <= through && prompt.EndsTurn(rows, i)
		if ends && (m.Role != parley.RoleSummary || m.CoversThrough == nil) {
			return nil
		}
	}
	if through > 0 && !whole { // it is further back
		return nil
	}
	return parley.Conflict(
		parley.CompactionNone,
		"there is nothing to summarise: the newest turn stays in full, and a summary covers whole turns before it "+
			"that none covers yet",
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

// SummaryInput is a summary in a person's words.
type SummaryInput struct {
	MessageID parley.ID `json:"message_id" required:"true" doc:"The summary that it replaces, which must be the one that the model sees now."`
	Text      string    `json:"text" required:"true" minLength:"1" doc:"The summary, up to 256 KiB."`
}

func (s *SummaryInput) check() error {
	switch {
	case strings.TrimSpace(s.Text) == "":
		return parley.InvalidField("text", "is empty")
	case len(s.Text) > parley.MaxSummaryBytes:
		return parley.InvalidField("text", "is longer than %d bytes", parley.MaxSummaryBytes)
	}
	return nil
}

// ReviseSummary replaces the summary that the model sees by a person's version of it, which covers the same messages.
// The earlier version stays in the record, and is shown again once the new one is set aside. It returns CodeForbidden
// for sessions of others, unless for admins, and CodeConflict, with the reason, if the model sees another summary, and
// while a turn or a compaction is unfinished.
func (e *Engine) ReviseSummary(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	input SummaryInput,
) (_ parley.Message, err error) {
	ctx, call, err := e.enter(ctx, principal, "reviseSummary", GrantSessions, of(sessionID))
	if err != nil {
		return parley.Message{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := input.check(); err != nil {
		return parley.Message{}, err
	}
	if err := e.maySaySummary(ctx, scope, principal, sessionID, "Set it aside, or fork the session."); err != nil {
		return parley.Message{}, err
	}
	latest, err := e.store.Compaction(ctx, scope, sessionID) // before the summary: one that ends in between is noticed
	if err != nil {
		return parley.Message{}, err
	}
	head, err := e.store.ContextHead(ctx, scope.WorkspaceID, sessionID)
	if err != nil {
		return parley.Message{}, err
	}
	if head.Summary == nil || head.Summary.ID != input.MessageID {
		if _, err := e.store.Message(ctx, scope, input.MessageID); err != nil {
			return parley.Message{}, err
		}
		return parley.Message{}, parley.Conflict(
			latest.State,
			"this is not the summary that the model sees now; only that one can be revised",
		)
	}
	content, err := parley.EncodeContent(parley.TextContent{Text: input.Text})
	if err != nil {
		return parley.Message{}, err
	}
	revised, err := e.store.ReviseSummary(ctx, scope, sessionID, store.SummaryRevision{
		OfID: input.MessageID, Latest: latest.MessageID,
		Summary: store.NewSummary{
			MessageID: parley.NewID(), Author: principal.Author(), Content: content,
			TokenEstimate: prompt.EstimateTokens(input.Text),
		},
	})
	if err == nil {
		call.about(in(sessionID, revised.ID))
	}
	return revised, err
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
