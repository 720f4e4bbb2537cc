package dryrun

import (
	"context"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// rows implements transition.Rows for a dry run. What only other transitions read is absent.
type rows struct{ m *Memory }

var _ transition.Rows = rows{}

func (r rows) Head(id parley.ID) (*transition.Head, error) {
	if id != r.m.head.ID {
		return nil, nil
	}
	h := r.m.head
	return &h, nil
}

func (r rows) Turn(_ *transition.Head, id parley.ID) (*parley.Turn, error) {
	turn, ok := r.m.turns[id]
	if !ok {
		return nil, nil
	}
	return &turn, nil
}

func (r rows) Open(_ *transition.Head, turnID parley.ID) (open transition.Open, err error) {
	for i := range r.m.messages {
		if m := &r.m.messages[i]; m.TurnID == turnID && m.Status == parley.MessageStreaming {
			open.Rows = append(
				open.Rows,
				transition.OpenRow{
					ID:         m.ID,
					Sequence:   m.Sequence,
					Ordinal:    m.CallOrdinal,
					Role:       m.Role,
					ToolCallID: m.ToolCallID,
					ToolName:   m.ToolName,
					Author:     m.Author,
					Model:      m.Model,
					Metadata:   m.Metadata,
					CreatedAt:  m.CreatedAt,
				},
			)
		}
	}
	for i := range r.m.calls {
		if c := &r.m.calls[i]; c.Outcome == parley.CallOpen {
			open.Calls = append(open.Calls, transition.OpenCall{ID: c.ID, Expected: c.Expected, Reserved: c.Reserved})
		}
	}
	return open, nil
}

func (r rows) Attempts(_ *transition.Head, _ parley.ID, step int) (n int, err error) {
	for i := range r.m.calls {
		if r.m.calls[i].Step == step {
			n++
		}
	}
	return n, nil
}

func (r rows) SessionOf(_, messageID parley.ID) (parley.ID, error) {
	if r.m.message(messageID) == nil {
		return parley.ID{}, nil
	}
	return r.m.head.ID, nil
}

func (r rows) Message(_, id parley.ID) (*parley.Message, error) { return r.m.message(id), nil }

// message returns a message that the dry run made, or nil.
func (m *Memory) message(id parley.ID) *parley.Message {
	i := slices.IndexFunc(m.messages, func(one parley.Message) bool { return one.ID == id })
	if i < 0 {
		return nil
	}
	found := m.messages[i]
	return &found
}

func (r rows) TurnMessages(
	_ *transition.Head,
	turnID parley.ID,
	limit int,
	keep func(*parley.Message),
) (found []parley.Message, err error) {
	for i := range r.m.messages {
		if m := r.m.messages[i]; m.TurnID == turnID {
			keep(&m)
			found = append(found, m)
		}
	}
	return found[max(0, len(found)-limit):], nil
}

func (r rows) Answers(h *transition.Head, turnID parley.ID, step int) ([]parley.Message, error) {
	found, err := r.TurnMessages(h, turnID, len(r.m.messages), func(*parley.Message) {})
	return slices.DeleteFunc(
		found,
		func(m parley.Message) bool { return m.Step != step || m.Role != parley.RoleAssistant },
	), err
}

func (r rows) ToolCall(_ *transition.Head, callID string) (call *parley.Message, answered bool, err error) {
	for i := range r.m.messages {
		m := r.m.messages[i]
		switch {
		case m.ToolCallID != callID:
		case m.Role == parley.RoleToolCall:
			call, answered = &m, false
		case m.Role == parley.RoleToolResult && m.Status != parley.MessageCancelled:
			answered = true
		}
	}
	return call, answered, nil
}

func (r rows) OpenToolCalls(h *transition.Head) (open []parley.Message, err error) {
	for i := range r.m.messages {
		m := &r.m.messages[i]
		if m.Role != parley.RoleToolCall || m.Status != parley.MessageCompleted || m.TurnID != h.TurnID {
			continue
		}
		if _, answered, _ := r.ToolCall(h, m.ToolCallID); !answered {
			open = append(open, *m)
		}
	}
	return open, nil
}

func (r rows) Agent(parley.ID, parley.ID) (int, parley.AgentStatus, error) {
	return r.m.agent.Version, r.m.agent.Status, nil
}

func (r rows) AgentVersion(parley.ID, parley.ID, int) (*parley.Agent, error) {
	agent := r.m.agent
	return &agent, nil
}

func (r rows) Project(workspaceID, projectID parley.ID) (*parley.Project, error) {
	found, err := r.m.Reads.Project(context.Background(), workspaceID, projectID)
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &found, nil
}

func (r rows) HasProject(workspaceID, projectID parley.ID) (bool, error) {
	found, err := r.Project(workspaceID, projectID)
	return found != nil, err
}

func (rows) CountSessions(parley.ID, parley.ID, int64) (int64, error) { return 0, nil }
func (rows) SessionsAllowed(parley.ID, parley.ID) (int64, error)      { return 0, nil }

func (r rows) HasFile(workspaceID, fileID parley.ID) (bool, error) {
	_, err := r.m.File(context.Background(), store.Scope{WorkspaceID: workspaceID}, fileID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// Fits is true: the worker checked the budgets before asking, and they have not changed.
func (rows) Fits(parley.ID, *store.Charge, parley.Reserved) (bool, error) { return true, nil }
func (rows) Refuses(parley.ID, *store.Refusal) (bool, error)              { return true, nil }
func (rows) Warned(parley.ID, parley.ID, parley.Limit) (bool, error)      { return false, nil }
func (rows) Rate(parley.ID, parley.ID, int) (time.Duration, error)        { return 0, nil }

// MayClaim is true: the caller of a dry run holds it.
func (rows) MayClaim(parley.ID) (bool, error) { return true, nil }
func (rows) Alive(parley.ID) (bool, error)    { return true, nil }

func (rows) OpenCall(*transition.Head, parley.ID) (*transition.OpenCall, error)   { return nil, nil }
func (rows) Compaction(*transition.Head) (*parley.Compaction, error)              { return nil, nil }
func (rows) Outside(*transition.Head) (*transition.Outside, error)                { return nil, nil }
func (rows) OutsideDue(*transition.Head) (bool, error)                            { return false, nil }
func (rows) LastTurn(*transition.Head) (*parley.Turn, error)                      { return nil, nil }
func (rows) TurnAtEnd(*transition.Head) (*parley.Turn, error)                     { return nil, nil }
func (rows) Loop(*transition.Head, parley.ID) (*transition.NewLoop, error)        { return nil, nil }
func (rows) RunningLoop(*transition.Head) (*parley.Loop, error)                   { return nil, nil }
func (rows) QueuedTurns(*transition.Head) ([]parley.Turn, error)                  { return nil, nil }
func (rows) Queue(*transition.Head, int) ([]transition.Entry, error)              { return nil, nil }
func (rows) Versions(*transition.Head, parley.ID) ([]transition.Piece, error)     { return nil, nil }
func (rows) Queued(*transition.Head, []parley.ID) ([]parley.Message, error)       { return nil, nil }
func (rows) QueuedBytes(*transition.Head) (int64, error)                          { return 0, nil }
func (rows) FirstMessage(*transition.Head) (*parley.Message, error)               { return nil, nil }
func (rows) ToolChildren(*transition.Head) ([]parley.ID, error)                   { return nil, nil }
func (rows) SessionOfApproval(parley.ID, parley.ID) (parley.ID, error)            { return parley.ID{}, nil }
func (rows) Approval(parley.ID, parley.ID) (*parley.Approval, error)              { return nil, nil }
func (rows) TurnApprovals(*transition.Head, parley.ID) ([]parley.Approval, error) { return nil, nil }
func (rows) Accepted(*transition.Head) (*parley.Accepted, error)                  { return nil, nil }
func (rows) Delivered(*transition.Head, transition.Delivery) (bool, error)        { return false, nil }
func (rows) SessionByKey(parley.ID, string) (parley.ID, error)                    { return parley.ID{}, nil }
func (rows) OpenedIn(parley.ID, parley.ID, string) (parley.ID, error)             { return parley.ID{}, nil }
func (rows) Teammates(parley.ID, []parley.ID) ([]transition.Teammate, error)      { return nil, nil }

func (rows) PipelineRun(parley.ID, parley.ID) (*parley.PipelineRun, error) { return nil, nil }

func (rows) TransformOfRun(parley.ID, parley.ID) (*parley.Transform, error) { return nil, nil }

func (rows) Schedule(parley.ID, parley.ID) (*parley.Schedule, error) { return nil, nil }

func (rows) CreatedSchedule(parley.ID, string) (transition.Earlier, error) {
	return transition.Earlier{}, nil
}

func (rows) CountSchedules(parley.ID, parley.ID) (ofAgent, ofWorkspace int64, err error) {
	return 0, 0, nil
}

func (rows) ResumedTurn(*transition.Head, string) (transition.Earlier, error) {
	return transition.Earlier{}, nil
}

func (rows) StartedLoop(*transition.Head, string) (transition.Earlier, error) {
	return transition.Earlier{}, nil
}

func (rows) Posted(*transition.Head, string) (transition.Earlier, error) {
	return transition.Earlier{}, nil
}

func (rows) Created(parley.ID, string) (transition.Earlier, error) { return transition.Earlier{}, nil }

// Shared is empty: a dry run forks no session.
func (rows) Shared(*transition.Head) ([]transition.Part, error) { return nil, nil }
func (rows) Stretch(*transition.Head, []transition.Part, int64, int) ([]transition.Link, error) {
	return nil, nil
}
func (rows) Tally(*transition.Head, []transition.Part) (transition.Tally, error) {
	return transition.Tally{}, nil
}
func (rows) SharedMarks(*transition.Head, int64) (parley.Marks, error) { return parley.Marks{}, nil }

// VersionsBetween and VersionEnd implement transition.Rows: nobody outside streams into a dry run.
func (rows) VersionsBetween(*transition.Head, parley.ID, int, int) ([]transition.Piece, error) {
	return nil, nil
}

func (rows) VersionEnd(*transition.Head, parley.ID, int) (parley.ContentKind, int, error) {
	return "", 0, nil
}

// MessageStatus implements transition.Rows.
func (rows) MessageStatus(parley.ID, parley.ID) (parley.MessageStatus, error) { return "", nil }

// Delegation and the methods after it implement transition.Rows: nothing of a dry run is sent.
func (rows) Delegation(parley.ID, parley.ID) (*parley.Delegation, error) { return nil, nil }

func (rows) DelegationOf(*transition.Head, parley.ID) (*parley.Delegation, error) { return nil, nil }

func (rows) CountDelegations(*transition.Head, parley.ID, parley.ID, parley.ID) (all, pair int, err error) {
	return 0, 0, nil
}

func (rows) UnheardBelow(*transition.Head, parley.ID) ([]transition.Unheard, error) { return nil, nil }
func (rows) WakeTurns(*transition.Head, parley.ID, parley.ID) ([]parley.ID, error)  { return nil, nil }

// InboxItem and the methods after it implement transition.Rows: nothing of a dry run is in an inbox.
func (rows) InboxItem(parley.ID, parley.ID) (*parley.InboxItem, error) { return nil, nil }
func (rows) Recipient(_, ownerID, _ parley.ID) (parley.ID, error)      { return ownerID, nil }

func (rows) Cited(parley.ID, parley.ID, int64) (*transition.CitedMessage, error) { return nil, nil }

func (rows) Readable(parley.ID, []parley.ID) ([]transition.Readable, error) { return nil, nil }

func (rows) SharesWork(parley.ID, parley.ID, parley.ID, parley.ID) (bool, error) { return false, nil }

// These implement transition.Rows: a dry run learns nothing.
func (rows) KnowledgeItem(parley.ID, parley.ID) (*parley.KnowledgeItem, error) { return nil, nil }

func (rows) CreatedKnowledge(parley.ID, string) (transition.Earlier, error) {
	return transition.Earlier{}, nil
}

func (rows) CountKnowledge(parley.ID, parley.ID) (int64, error) { return 0, nil }

func (rows) UsableKnowledge(store.KnowledgeReach, bool) ([]parley.KnowledgeItem, error) {
	return nil, nil
}

func (rows) NotedKnowledge(parley.ID, parley.ID, parley.ID) ([]parley.KnowledgeItem, error) {
	return nil, nil
}

func (rows) ChosenKnowledge(*transition.Head) (*parley.KnowledgeBlock, error) { return nil, nil }
