package postgres

import (
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// SessionOf implements transition.Rows.
func (a *attempt) SessionOf(workspaceID, messageID parley.ID) (parley.ID, error) {
	return a.id("SELECT session_id FROM parley.messages WHERE workspace_id = $1 AND id = $2", workspaceID, messageID)
}

// MessageStatus implements transition.Rows.
func (a *attempt) MessageStatus(workspaceID, messageID parley.ID) (parley.MessageStatus, error) {
	found, err := first(a, func(r *row) (parley.MessageStatus, error) {
		return parley.MessageStatus(r.text()), nil
	}, "SELECT status FROM parley.messages WHERE workspace_id = $1 AND id = $2", workspaceID, messageID)
	if err != nil || found == nil {
		return "", err
	}
	return *found, nil
}

// Message implements transition.Rows.
func (a *attempt) Message(workspaceID, messageID parley.ID) (*parley.Message, error) {
	return first(
		a,
		scanMessage,
		"SELECT "+messageColumns+" FROM parley.messages m WHERE m.workspace_id = $1 AND m.id = $2",
		workspaceID,
		messageID,
	)
}

// Queued implements transition.Rows.
func (a *attempt) Queued(h *transition.Head, ids []parley.ID) ([]parley.Message, error) {
	return rowsOf(a, scanMessage, "SELECT "+messageColumns+` FROM parley.messages m
 WHERE m.workspace_id = $1 AND m.id = ANY($3) AND m.session_id = $2 AND m.position IS NOT NULL ORDER BY m.position`,
		h.WorkspaceID, h.ID, ids)
}

// QueuedBytes implements transition.Rows.
func (a *attempt) QueuedBytes(h *transition.Head) (int64, error) {
	size, err := first(a, func(r *row) (int64, error) { return r.int64(), nil },
		"SELECT coalesce(sum("+messageSize+"), 0)::bigint FROM parley.messages m "+
			"WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.position IS NOT NULL", h.WorkspaceID, h.ID)
	if err != nil || size == nil {
		return 0, err
	}
	return *size, nil
}

// TurnMessages implements transition.Rows.
func (a *attempt) TurnMessages(
	h *transition.Head,
	turnID parley.ID,
	limit int,
	keep func(*parley.Message),
) ([]parley.Message, error) {
	found, err := rowsOf(a, func(r *row) (parley.Message, error) {
		m, err := scanMessage(r)
		keep(&m)
		return m, err
	}, "SELECT "+messageColumns+` FROM parley.messages m
 WHERE m.workspace_id = $1 AND m.turn_id = $2 AND m.sequence IS NOT NULL ORDER BY m.sequence DESC LIMIT $3`,
		h.WorkspaceID, turnID, int64(limit))
	slices.Reverse(found)
	return found, err
}

// Answers implements transition.Rows.
func (a *attempt) Answers(h *transition.Head, turnID parley.ID, step int) ([]parley.Message, error) {
	return rowsOf(
		a,
		scanMessage,
		"SELECT "+messageColumns+` FROM parley.messages m WHERE m.workspace_id = $1 AND m.turn_id = $2 AND m.step = $3
 AND m.role = 'assistant' AND m.status = 'completed' AND m.sequence IS NOT NULL ORDER BY m.sequence`,
		h.WorkspaceID,
		turnID,
		step,
	)
}

// FirstMessage implements transition.Rows.
func (a *attempt) FirstMessage(h *transition.Head) (*parley.Message, error) {
	return first(
		a,
		scanMessage,
		"SELECT "+messageColumns+" FROM parley.messages m WHERE m.workspace_id = $1 AND m.log_id = $2 "+
			"AND m.sequence = $3",
		h.WorkspaceID,
		h.LogID,
		h.Begins(),
	)
}

// tool.Call implements transition.Rows.
func (a *attempt) ToolCall(h *transition.Head, callID string) (call *parley.Message, answered bool, err error) {
	err = a.read(
		func() { call, answered = nil, false },
		"SELECT "+messageColumns+`, EXISTS (SELECT 1 FROM parley.messages x
 WHERE x.workspace_id = m.workspace_id AND x.log_id = m.log_id AND x.tool_call_id = m.tool_call_id
  AND x.tool_call_id <> ''
 AND x.role = 'tool_result' AND x.status <> 'cancelled' AND x.call_ordinal = m.call_ordinal)
 FROM parley.messages m WHERE m.workspace_id = $1 AND m.log_id = $2 AND m.tool_call_id = $3 AND m.tool_call_id <> ''
  AND m.role = 'tool_call'
 ORDER BY m.sequence DESC LIMIT 1`,
		func(r *row) error {
			m, err := scanMessage(r)
			call, answered = &m, r.bool()
			return err
		},
		h.WorkspaceID,
		h.LogID,
		callID,
	)
	return call, answered, err
}

// OpenToolCalls implements transition.Rows.
func (a *attempt) OpenToolCalls(h *transition.Head) ([]parley.Message, error) {
	return rowsOf(a, scanMessage, "SELECT "+messageColumns+` FROM parley.messages m
 WHERE m.workspace_id = $1 AND m.turn_id = $2 AND m.role = 'tool_call' AND m.status = 'completed'
  AND m.sequence IS NOT NULL
 AND NOT EXISTS (SELECT 1 FROM parley.messages x WHERE x.workspace_id = m.workspace_id AND x.log_id = m.log_id
  AND x.tool_call_id = m.tool_call_id
 AND x.tool_call_id <> '' AND x.role = 'tool_result' AND x.status <> 'cancelled' AND x.call_ordinal = m.call_ordinal)
  ORDER BY m.sequence`, h.WorkspaceID, h.TurnID)
}

// Delivered implements transition.Rows.
func (a *attempt) Delivered(h *transition.Head, what transition.Delivery) (bool, error) {
	found, err := a.id(
		"SELECT key FROM parley.deliveries WHERE workspace_id = $1 AND session_id = $2 AND kind = $3 AND key = $4",
		h.WorkspaceID,
		h.ID,
		what.Kind,
		what.Key,
	)
	return !found.IsZero(), err
}

// Posted implements transition.Rows: it assumes that a key is new until the index refuses it.
func (a *attempt) Posted(h *transition.Head, key string) (transition.Earlier, error) {
	if a.presumed() {
		return transition.Earlier{}, nil
	}
	return a.earlier(
		"SELECT id, fingerprint, posted_event FROM parley.messages "+
			"WHERE workspace_id = $1 AND session_id = $2 AND idempotency_key = $3",
		h.WorkspaceID,
		h.ID,
		key,
	)
}

// Created implements transition.Rows, like Posted: the index decides when a session is made.
func (a *attempt) Created(workspaceID parley.ID, key string) (transition.Earlier, error) {
	if a.presumed() {
		a.creates = true
		return transition.Earlier{}, nil
	}
	const query = "SELECT id, fingerprint, 0 FROM parley.sessions WHERE workspace_id = $1 AND idempotency_key = $2"
	found, err := a.earlier(query, workspaceID, key)
	if err == nil && !found.ID.IsZero() {
		a.requireRow(query, workspaceID, key)
	}
	return found, err
}

// presumed reports whether a key may be assumed new: the attempt counts only if it writes, and then the index has
// decided.
func (a *attempt) presumed() bool {
	if !a.exact {
		a.guessed, a.blind = true, true
	}
	return !a.exact
}

func (a *attempt) earlier(query string, args ...arg) (transition.Earlier, error) {
	found, err := first(a, func(r *row) (transition.Earlier, error) {
		return transition.Earlier{ID: r.id(), Fingerprint: r.hash(), PostedEvent: r.int64()}, nil
	}, query, args...)
	if err != nil || found == nil {
		return transition.Earlier{}, err
	}
	return *found, nil
}

// SessionByKey implements transition.Rows.
func (a *attempt) SessionByKey(workspaceID parley.ID, key string) (parley.ID, error) {
	if a.known != nil && !a.exact { // the session that the errand writes to: its head has the key
		if id := a.store.keyed.find(workspaceID, key); !id.IsZero() {
			a.guessed, a.blind = true, true
			return id, nil
		}
	}
	const query = "SELECT id FROM parley.sessions WHERE workspace_id = $1 AND key = $2 AND deleted_at IS NULL"
	found, err := a.id(query, workspaceID, key)
	if err == nil && !found.IsZero() {
		a.requireRow(query, workspaceID, key)
		if a.known != nil {
			a.store.keyed.note(workspaceID, key, found)
		}
	}
	return found, err
}

const toolChildren = "SELECT id FROM parley.sessions WHERE workspace_id = $1 AND parent_session_id = $2 " +
	"AND kind = 'tool' AND deleted_at IS NULL"

// ToolChildren implements transition.Rows.
func (a *attempt) ToolChildren(h *transition.Head) ([]parley.ID, error) {
	return rowsOf(a, func(r *row) (parley.ID, error) { return r.id(), nil }, toolChildren, h.WorkspaceID, h.ID)
}

// OpenedIn implements transition.Rows.
func (a *attempt) OpenedIn(workspaceID, principalID parley.ID, client string) (parley.ID, error) {
	return a.id(
		"SELECT session_id FROM parley.clients WHERE workspace_id = $1 AND principal_id = $2 AND client = $3",
		workspaceID,
		principalID,
		client,
	)
}

// Agent implements transition.Rows: from memory, for the database to confirm.
func (a *attempt) Agent(workspaceID, agentID parley.ID) (int, parley.AgentStatus, error) {
	known, ok := a.store.agents.current(workspaceID, agentID)
	if !ok || a.exact {
		found, err := first(a, func(r *row) (agentState, error) {
			return agentState{version: r.int(), status: parley.AgentStatus(r.text())}, nil
		}, "SELECT version, status FROM parley.agents WHERE workspace_id = $1 AND id = $2", workspaceID, agentID)
		if err != nil || found == nil {
			return 0, "", err
		}
		known = *found
		a.store.agents.note(workspaceID, agentID, known)
	}
	a.agents[agentID], a.guessed = known.version, a.guessed || !a.exact
	return known.version, known.status, nil
}

// AgentVersion implements transition.Rows.
func (a *attempt) AgentVersion(workspaceID, agentID parley.ID, version int) (*parley.Agent, error) {
	if agent := a.store.agents.version(workspaceID, agentID, version); agent != nil {
		return agent, nil
	}
	agent, err := first(
		a,
		scanAgent,
		"SELECT body FROM parley.agent_versions WHERE workspace_id = $1 AND agent_id = $2 AND version = $3",
		workspaceID,
		agentID,
		version,
	)
	if err == nil && agent != nil {
		a.store.agents.keep(workspaceID, agentID, version, agent)
	}
	return agent, err
}

// Project implements transition.Rows. Nothing confirms it: the project is used once, in a note, and may change right
// after.
func (a *attempt) Project(workspaceID, projectID parley.ID) (*parley.Project, error) {
	return first(
		a,
		scanProject,
		"SELECT "+projectColumns+" FROM parley.projects p WHERE p.workspace_id = $1 AND p.id = $2",
		workspaceID,
		projectID,
	)
}

// HasProject implements transition.Rows: a project that was found stays until the session is in it, so whoever deletes
// it finds the session.
func (a *attempt) HasProject(workspaceID, projectID parley.ID) (bool, error) {
	const query = "SELECT id FROM parley.projects WHERE workspace_id = $1 AND id = $2"
	found, err := a.id(query, workspaceID, projectID)
	if err == nil && !found.IsZero() {
		a.requireRow(query+" FOR KEY SHARE", workspaceID, projectID)
	}
	return !found.IsZero(), err
}

// CountSessions implements transition.Rows. Sessions created in the same instant do not see each other.
func (a *attempt) CountSessions(workspaceID, ownerID parley.ID, most int64) (int64, error) {
	query, args := "SELECT 1 FROM parley.sessions WHERE workspace_id = $1 AND deleted_at IS NULL", []arg{
		workspaceID,
		most,
	}
	if !ownerID.IsZero() {
		query, args = query+" AND owner_id = $3", append(args, ownerID)
	}
	query = "SELECT count(*) FROM (" + query + " LIMIT $2) counted"
	count, err := first(a, func(r *row) (int64, error) { return r.int64(), nil }, query, args...)
	if err != nil || count == nil {
		return 0, err
	}
	if *count < most {
		a.requireRow("SELECT 1 WHERE ("+query+") < $2", args...)
	}
	return *count, nil
}

// SessionsAllowed implements transition.Rows. A key that is created or revoked in the same instant may or may not
// count.
func (a *attempt) SessionsAllowed(workspaceID, principalID parley.ID) (int64, error) {
	most, err := first(a, func(r *row) (int64, error) { return r.int64(), nil },
		`SELECT CASE WHEN count(*) = count(max_sessions) THEN coalesce(max(max_sessions), 0) ELSE 0 END
 FROM parley.keys WHERE workspace_id = $1 AND principal_id = $2 AND revoked_at IS NULL`, workspaceID, principalID)
	if err != nil || most == nil {
		return 0, err
	}
	return *most, nil
}

// MayClaim implements transition.Rows: it assumes that the process has a lease, for the database to confirm.
func (a *attempt) MayClaim(processID parley.ID) (bool, error) {
	if a.exact {
		if alive, err := a.Alive(processID); err != nil || !alive {
			return false, err
		}
	}
	a.process, a.guessed = processID, a.guessed || !a.exact
	return true, nil
}

// Alive implements transition.Rows.
func (a *attempt) Alive(processID parley.ID) (bool, error) {
	found, err := a.id("SELECT id FROM parley.processes WHERE id = $1 AND lease_until > parley.now_ms()", processID)
	return !found.IsZero(), err
}
