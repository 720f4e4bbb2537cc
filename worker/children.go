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

// openChildren opens the sessions that answer calls: of agent tools or, if transforms is set, of transforms. A session
// opened by an earlier attempt stays; a call whose session cannot be opened gets the reason as its result.
func (t *tools) openChildren(step int, calls []toolCall, transforms bool) error {
	for i := range calls {
		call := &calls[i]
		if !call.inSession() || transforms != (call.transform != nil) || call.started || t.ctx.Err() != nil {
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
	if tool != nil && parley.ErrorCode(err) == parley.CodeNotFound {
		return "Not run: there is no agent \"" + parley.Clip(tool.Agent, 64) + "\" any more."
	}
	var known *parley.Error
	errors.As(err, &known)
	return "Not run: " + known.Message
}

// openChild opens the session of a call, on behalf of the parent's owner: of the tool's agent with the call's task as
// its first message, or of a transform.
func (t *tools) openChild(call *toolCall) error {
	describe := t.agentSession
	if call.transform != nil {
		if opened, err := t.opened(call); opened || err != nil {
			return err
		}
		describe = t.transformSession
	}
	child, err := describe(call)
	if err != nil {
		return err
	}
	parent := &t.claim.Session
	child.Quota = parley.Quota{Workspace: t.w.options.MaxSessions}
	s, first := &child.Session, child.First
	s.ID, s.WorkspaceID, s.Kind, s.Mode = parley.ChildID(
		call.messageID,
	), t.fence.WorkspaceID, parley.KindTool, parent.Mode
	s.OwnerID, s.ProjectID = parent.OwnerID, parent.ProjectID
	s.ParentSessionID, s.ParentMessageID = parent.ID, call.messageID
	first.ID, first.TurnID, first.Role, first.Author = parley.NewID(), parley.NewID(), parley.RoleUser, t.author
	return t.persist(func() error {
		_, err := t.w.store.OpenChild(t.writes, t.fence, child)
		return err
	})
}

// opened reports whether an earlier attempt has opened the session of a call. What it was opened for may be gone since.
func (t *tools) opened(call *toolCall) (bool, error) {
	_, err := t.w.store.Session(t.writes, store.Scope{WorkspaceID: t.fence.WorkspaceID}, parley.ChildID(call.messageID))
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// agentSession is the session in which an agent answers a call.
func (t *tools) agentSession(call *toolCall) (store.NewSession, error) {
	text, err := call.child.FirstText(call.arguments)
	if err != nil {
		return store.NewSession{}, err
	}
	agent, err := t.w.store.Agent(t.writes, t.fence.WorkspaceID, call.child.Agent)
	if err != nil {
		return store.NewSession{}, err
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return store.NewSession{}, err
	}
	if err := t.rules.readAccepted(); err != nil {
		return store.NewSession{}, err
	}
	return store.NewSession{
		Session: parley.Session{
			AgentID: agent.ID, Instructions: call.child.Instructions, Accepted: t.rules.accepted.forChild(),
		},
		First: &store.NewMessage{Content: content, Title: parley.TitleFrom(text)},
	}, nil
}
