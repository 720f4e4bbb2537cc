package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// EnsureSession implements the transition of store.Turns.
func (t *Tx) EnsureSession(scope store.Scope, wanted store.NewSession, claimBy parley.ID) (store.Opened, error) {
	if opened, err := t.openedBefore(scope, wanted); err != nil || opened != nil {
		if opened == nil {
			return store.Opened{}, err
		}
		return *opened, err
	}
	h, err := t.byKey(scope, &wanted)
	if err != nil {
		return store.Opened{}, err
	}
	opened := store.Opened{Created: h == nil}
	if h == nil {
		if err := t.checkNew(scope, &wanted); err != nil {
			return store.Opened{}, err
		}
		h = t.createSession(wanted)
		t.openTransform(h, &wanted)
	}
	if wanted.First != nil {
		first := *wanted.First
		if !opened.Created && first.Idempotency.Key == "" {
			first.Idempotency = wanted.Idempotency
		}
		posted, err := t.post(h, first, claimBy)
		if err != nil {
			return store.Opened{}, err
		}
		opened.Posted, opened.Replayed = &posted, posted.Replayed
	}
	if wanted.ClientID != "" {
		if err := t.activate(h, wanted.Session.OwnerID, wanted.ClientID); err != nil {
			return store.Opened{}, err
		}
	}
	if opened.Created {
		t.updatedFeed(h)
	}
	opened.Session = h.Session
	return opened, nil
}

// openedBefore rebuilds the first result under an idempotency key of a creation.
func (t *Tx) openedBefore(scope store.Scope, wanted store.NewSession) (*store.Opened, error) {
	if wanted.Idempotency.Key == "" {
		return nil, nil
	}
	earlier, err := t.rows.Created(scope.WorkspaceID, wanted.Idempotency.Key)
	if err != nil || earlier.ID.IsZero() {
		return nil, err
	}
	if earlier.Fingerprint != wanted.Idempotency.Fingerprint {
		return nil, KeyReused()
	}
	h, err := t.lock(scope, earlier.ID)
	if err != nil {
		return nil, err
	}
	opened := &store.Opened{Session: h.Session, Created: true, Replayed: true}
	if wanted.First == nil {
		return opened, nil
	}
	first, err := t.rows.FirstMessage(h)
	if err != nil || first == nil {
		return opened, err
	}
	posted := store.Posted{Message: *first, Replayed: true}
	if !first.TurnID.IsZero() {
		if posted.Turn, err = t.readTurn(h, first.TurnID); err != nil {
			return nil, err
		}
	}
	opened.Posted = &posted
	return opened, nil
}

// byKey locks the session with the wanted key; nil if there is none. Keys can be guessed, so anybody may have made that
// session: somebody else's must match the request, and only those who see it learn of it.
func (t *Tx) byKey(scope store.Scope, wanted *store.NewSession) (*Head, error) {
	if wanted.Session.Key == "" {
		return nil, nil
	}
	id, err := t.rows.SessionByKey(scope.WorkspaceID, wanted.Session.Key)
	if err != nil || id.IsZero() {
		return nil, err
	}
	h, err := t.load(id)
	if err != nil {
		return nil, err
	}
	if h != nil && h.DeletedAt == 0 {
		if err := wanted.Serves(scope, &h.Session); err != nil {
			return nil, err
		}
	}
	return t.lock(scope, id)
}

// checkNew refuses invalid references of a new session and places a tool session below its parent.
func (t *Tx) checkNew(scope store.Scope, wanted *store.NewSession) error {
	session := &wanted.Session
	if err := t.checkQuota(session, wanted.Quota); err != nil {
		return err
	}
	if err := t.checkAgent(scope.WorkspaceID, session.AgentID); err != nil {
		return err
	}
	if err := t.checkProject(scope.WorkspaceID, session.ProjectID); err != nil {
		return err
	}
	if !session.ParentSessionID.IsZero() {
		parent, err := t.lock(scope, session.ParentSessionID)
		if err != nil {
			return err
		}
		if !session.ParentMessageID.IsZero() {
			if m, err := t.rows.Message(scope.WorkspaceID, session.ParentMessageID); err != nil {
				return err
			} else if m == nil || m.SessionID != parent.ID {
				return NotFound("message")
			}
		}
		if session.Kind == parley.KindTool {
			if err := descend(session, parent); err != nil {
				return err
			}
			if err := checkBelow(session, parent); err != nil {
				return err
			}
		}
	}
	if wanted.First != nil && wanted.First.Role == parley.RoleToolResult {
		return parley.Errorf(parley.CodeConflict, "a new session has no tool call to answer")
	}
	return nil
}

// checkQuota refuses a session that exceeds a quota.
func (t *Tx) checkQuota(session *parley.Session, quota parley.Quota) error {
	for _, one := range []struct {
		owner parley.ID
		most  int64
	}{{parley.ID{}, quota.Workspace}, {session.OwnerID, quota.Principal}} {
		if one.most <= 0 {
			continue
		}
		count, err := t.rows.CountSessions(session.WorkspaceID, one.owner, one.most)
		if err != nil {
			return err
		}
		if count >= one.most {
			return parley.SessionsQuotaReached(!one.owner.IsZero(), one.most)
		}
	}
	return nil
}

// checkAgent refuses an agent that is missing or archived.
func (t *Tx) checkAgent(workspaceID, agentID parley.ID) error {
	version, status, err := t.agent(workspaceID, agentID)
	switch {
	case err != nil:
		return err
	case version == 0:
		return NotFound("agent")
	case status == parley.AgentArchived:
		return errAgentArchived()
	}
	return nil
}

func errAgentArchived() error {
	return parley.Errorf(
		parley.CodeArchived,
		"this agent is archived; reactivate it with PATCH {\"status\": \"active\"}, or choose another one",
	)
}

// checkProject refuses a project that the workspace does not have; a zero id is fine.
func (t *Tx) checkProject(workspaceID, projectID parley.ID) error {
	if projectID.IsZero() {
		return nil
	}
	found, err := t.rows.HasProject(workspaceID, projectID)
	if err == nil && !found {
		err = NotFound("project")
	}
	return err
}

// createSession creates a session and its head.
func (t *Tx) createSession(wanted store.NewSession) *Head {
	s := wanted.Session
	s.Status, s.WaitReason, s.Statistics, s.ArchivedAt = parley.SessionPending, "", parley.Statistics{}, 0
	s.LastSequence, s.LastEvent, s.TurnID, s.StartedAt, s.FinishedAt = 0, 0, parley.ID{}, 0, 0
	s.CreatedAt, s.UpdatedAt = t.now, t.now
	if s.LogID.IsZero() {
		s.LogID = parley.NewID()
	}
	if s.RootID.IsZero() {
		s.RootID = s.ID
	}
	if s.Tags == nil {
		s.Tags = []string{}
	}
	s.Metadata = metadata(s.Metadata)
	h := &Head{Session: s, Back: 1, NextCall: 1}
	t.take(h)
	t.about.SessionID = s.ID
	h.status = s.Status
	h.Changes.New = &Creation{Idempotency: wanted.Idempotency, Accepted: s.Accepted}
	h.Accepted = nil // stored apart from the session, and read when needed
	return h
}
