package worker

import (
	"errors"

	"example.org/parley"
	"example.org/parley/store"
)

// link stores the id of the session that answers a call in the call's row.
func (a *answer) link(messageID parley.ID) {
	for _, r := range a.rows {
		if r.id == messageID {
			r.metadata = parley.LinkChild(messageID)
		}
	}
}

// openChildren opens the sessions that answer calls of agent tools. A session opened by an earlier attempt stays; a
// call whose session cannot be opened gets the reason as its result.
func (t *tools) openChildren(step int, calls []toolCall) error {
	for i := range calls {
		call := &calls[i]
		if call.child == nil || call.started || t.ctx.Err() != nil {
			continue
		}
		if err := t.useApprovals(calls[i : i+1]); err != nil {
			return err
		}
		if !call.opens() {
			continue
		}
		err := t.openChild(call)
		switch parley.ErrorCode(err) {
		case "":
			if err != nil {
				return err
			}
			call.started = true
		case parley.CodeInvalid, parley.CodeTooLarge, parley.CodeConflict, parley.CodeNotFound, parley.CodeArchived:
			if err := t.refuse(step, call, childRefusal(call.child, err)); err != nil {
				return err
			}
			call.settled = true
		default:
			return err
		}
	}
	return nil
}

// childRefusal tells the model why a session could not be opened.
func childRefusal(tool *parley.AgentTool, err error) string {
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return "Not run: there is no agent \"" + parley.Clip(tool.Agent, 64) + "\" any more."
	}
	var known *parley.Error
	errors.As(err, &known)
	return "Not run: " + known.Message
}

// openChild opens the session of a call: of the tool's agent, on behalf of the parent's owner, with the call's task as
// its first message.
func (t *tools) openChild(call *toolCall) error {
	text, err := call.child.FirstText(call.arguments)
	if err != nil {
		return err
	}
	agent, err := t.w.store.Agent(t.writes, t.fence.WorkspaceID, call.child.Agent)
	if err != nil {
		return err
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return err
	}
	if err := t.rules.readAccepted(); err != nil {
		return err
	}
	parent := &t.claim.Session
	child := store.NewSession{
		Quota: parley.Quota{Workspace: t.w.options.MaxSessions},
		Session: parley.Session{
			ID: parley.ChildID(
				call.messageID,
			),
			WorkspaceID:     t.fence.WorkspaceID,
			AgentID:         agent.ID,
			OwnerID:         parent.OwnerID,
			ProjectID:       parent.ProjectID,
			ParentSessionID: parent.ID,
			ParentMessageID: call.messageID,
			Kind:            parley.KindTool,
			Mode:            parent.Mode,
			Instructions:    call.child.Instructions,
			Accepted:        t.rules.accepted.forChild(),
		},
		First: &store.NewMessage{
			ID:      parley.NewID(),
			TurnID:  parley.NewID(),
			Role:    parley.RoleUser,
			Author:  t.author,
			Content: content,
			Title:   parley.TitleFrom(text),
		},
	}
	return t.persist(func() error {
		_, err := t.w.store.OpenChild(t.writes, t.fence, child)
		return err
	})
}
