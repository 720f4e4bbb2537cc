package sqlite

import (
	"encoding/json"
	"math"
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// txn implements transition.Rows: it reads for a transition over the writer's connection.

// agentVersion identifies an immutable row of agent_versions.
type agentVersion struct {
	id      parley.ID
	version int
}

// cachedAgents bounds the cache of agents, which is emptied when full.
const cachedAgents = 256

// Turn implements transition.Rows.
func (t *txn) Turn(h *transition.Head, turnID parley.ID) (*parley.Turn, error) {
	return readTurn(t.conn, "t.id = ? AND t.session_id = ?", turnID, h.ID)
}

// LastTurn implements transition.Rows.
func (t *txn) LastTurn(h *transition.Head) (*parley.Turn, error) {
	return readTurn(t.conn, "t.session_id = ? ORDER BY t.ordinal DESC LIMIT 1", h.ID)
}

// readTurn reads a turn by a condition on "t"; nil if there is none.
func readTurn(c *conn, where string, args ...arg) (turn *parley.Turn, err error) {
	_, err = c.one("SELECT "+turnColumns+" FROM turns t WHERE "+where, func(r *row) error {
		found, err := scanTurn(r)
		turn = &found
		return err
	}, args...)
	return turn, err
}

// QueuedTurns implements transition.Rows.
func (t *txn) QueuedTurns(h *transition.Head) (turns []parley.Turn, err error) {
	err = t.each("SELECT "+turnColumns+` FROM messages m JOIN turns t ON t.id = m.turn_id
 WHERE m.session_id = ? AND m.position IS NOT NULL AND m.steer = 0 AND t.trigger_message_id = m.id
 ORDER BY m.position`, func(r *row) error {
		turn, err := scanTurn(r)
		turns = append(turns, turn)
		return err
	}, h.ID)
	return turns, err
}

// Open implements transition.Rows.
func (t *txn) Open(h *transition.Head, turnID parley.ID) (open transition.Open, err error) {
	if err := t.each(
		`SELECT id, sequence, call_ordinal, role, tool_call_id, tool_name, author_kind, author_name, model, metadata,
			created_at FROM messages
 WHERE log_id = ? AND status = 'streaming' AND status <> 'completed' AND turn_id = ? ORDER BY sequence`,
		func(r *row) error {
			open.Rows = append(
				open.Rows,
				transition.OpenRow{
					ID:         r.id(),
					Sequence:   r.int64(),
					Ordinal:    r.int64(),
					Role:       parley.Role(r.text()),
					ToolCallID: r.text(),
					ToolName:   r.text(),
					Author:     parley.Author{Kind: parley.AuthorKind(r.text()), Name: r.text()},
					Model:      parley.ModelID(r.text()),
					Metadata:   r.json(),
					CreatedAt:  r.time(),
				},
			)
			return nil
		},
		h.LogID,
		turnID,
	); err != nil {
		return open, err
	}
	err = t.each(
		"SELECT id, reserved_tokens, reserved_cost, reserved_from, expected FROM calls "+
			"WHERE turn_id = ? AND outcome = 'open' ORDER BY ordinal",
		func(r *row) error {
			open.Calls = append(open.Calls, scanOpenCall(r))
			return nil
		},
		turnID,
	)
	return open, err
}

func scanOpenCall(r *row) transition.OpenCall {
	call := transition.OpenCall{ID: r.id()}
	tokens, cost, from := r.maybe(), r.money(), r.bytes()
	call.Expected = transition.ReadExpected(r.text())
	if tokens != nil {
		call.Reserved, call.From = &parley.Reserved{Tokens: *tokens, Cost: cost}, transition.IDsOf(from)
	}
	return call
}

// Attempts implements transition.Rows.
func (t *txn) Attempts(_ *transition.Head, turnID parley.ID, step int) (attempts int, err error) {
	_, err = t.one("SELECT count(*) FROM calls WHERE turn_id = ? AND step = ?", func(r *row) error {
		attempts = r.int()
		return nil
	}, turnID, step)
	return attempts, err
}

// QueuedBytes implements transition.Rows.
func (t *txn) QueuedBytes(h *transition.Head) (size int64, err error) {
	_, err = t.one("SELECT sum("+messageSize+") FROM messages m INDEXED BY messages_queue "+
		"WHERE m.session_id = ? AND m.position IS NOT NULL", func(r *row) error {
		size = r.int64()
		return nil
	}, h.ID)
	return size, err
}

// Queue implements transition.Rows.
func (t *txn) Queue(h *transition.Head, limit int) (entries []transition.Entry, err error) {
	err = t.each(`SELECT id, turn_id, position, steer, revision, iteration FROM messages
 WHERE session_id = ? AND position IS NOT NULL ORDER BY position LIMIT ?`, func(r *row) error {
		entries = append(
			entries,
			transition.Entry{
				ID:        r.id(),
				TurnID:    r.id(),
				Position:  r.int64(),
				Steer:     r.bool(),
				Revision:  r.int(),
				Iteration: r.int(),
			},
		)
		return nil
	}, h.ID, limit)
	return entries, err
}

// Versions implements transition.Rows.
func (t *txn) Versions(h *transition.Head, messageID parley.ID) ([]transition.Piece, error) {
	return t.VersionsBetween(h, messageID, 0, math.MaxInt)
}

// VersionsBetween implements transition.Rows.
func (t *txn) VersionsBetween(
	_ *transition.Head,
	messageID parley.ID,
	first, last int,
) (pieces []transition.Piece, err error) {
	err = t.each(
		"SELECT kind, offset, chunks, text FROM versions WHERE message_id = ? AND n BETWEEN ? AND ? ORDER BY n",
		func(r *row) error {
			pieces = append(
				pieces,
				transition.Piece{Kind: parley.ContentKind(r.text()), Offset: r.int(), Chunks: r.int(), Text: r.text()},
			)
			return nil
		},
		messageID,
		first,
		last,
	)
	return pieces, err
}

// VersionEnd implements transition.Rows.
func (t *txn) VersionEnd(
	_ *transition.Head,
	messageID parley.ID,
	n int,
) (kind parley.ContentKind, end int, err error) {
	_, err = t.one(`SELECT kind, "end" FROM versions WHERE message_id = ? AND n = ?`, func(r *row) error {
		kind, end = parley.ContentKind(r.text()), r.int()
		return nil
	}, messageID, n)
	return kind, end, err
}

// SessionOf implements transition.Rows.
func (t *txn) SessionOf(workspaceID, messageID parley.ID) (parley.ID, error) {
	return t.id("SELECT session_id FROM messages WHERE id = ? AND workspace_id = ?", messageID, workspaceID)
}

// MessageStatus implements transition.Rows.
func (t *txn) MessageStatus(workspaceID, messageID parley.ID) (status parley.MessageStatus, err error) {
	_, err = t.one("SELECT status FROM messages WHERE id = ? AND workspace_id = ?", func(r *row) error {
		status = parley.MessageStatus(r.text())
		return nil
	}, messageID, workspaceID)
	return status, err
}

// id reads one id; zero if there is none.
func (t *txn) id(query string, args ...arg) (parley.ID, error) { return idOf(t.conn, query, args...) }

// Message implements transition.Rows. Content that was made unreadable from outside appears as in lists.
func (t *txn) Message(workspaceID, messageID parley.ID) (message *parley.Message, err error) {
	_, err = t.one(
		"SELECT m.session_id, m.log_id, "+listedColumns+" FROM messages m WHERE m.id = ? AND m.workspace_id = ?",
		func(r *row) error {
			m := scanListed(r, location{workspaceID: workspaceID, sessionID: r.id(), logID: r.id()})
			message = &m
			return nil
		},
		messageID,
		workspaceID,
	)
	return message, err
}

// Queued implements transition.Rows.
func (t *txn) Queued(h *transition.Head, ids []parley.ID) (messages []parley.Message, err error) {
	for _, id := range ids {
		found, err := readMessages(t.conn, "m.id = ? AND m.session_id = ? AND m.position IS NOT NULL", id, h.ID)
		if err != nil {
			return nil, err
		}
		messages = append(messages, found...)
	}
	return messages, nil
}

// TurnMessages implements transition.Rows.
func (t *txn) TurnMessages(
	_ *transition.Head,
	turnID parley.ID,
	limit int,
	keep func(*parley.Message),
) (found []parley.Message, err error) {
	err = t.each("SELECT "+messageColumns+" FROM messages m WHERE m.turn_id = ? AND m.sequence IS NOT NULL "+
		"ORDER BY m.sequence DESC LIMIT ?", func(r *row) error {
		m, err := scanMessage(r)
		keep(&m)
		found = append(found, m)
		return err
	}, turnID, int64(limit))
	slices.Reverse(found)
	return found, err
}

// Answers implements transition.Rows.
func (t *txn) Answers(_ *transition.Head, turnID parley.ID, step int) ([]parley.Message, error) {
	return readMessages(
		t.conn,
		"m.turn_id = ? AND m.step = ? AND m.role = 'assistant' AND m.status = 'completed' AND m.sequence IS NOT NULL "+
			"ORDER BY m.sequence",
		turnID,
		step,
	)
}

// FirstMessage implements transition.Rows.
func (t *txn) FirstMessage(h *transition.Head) (*parley.Message, error) {
	return t.readMessage("m.log_id = ? AND m.sequence = ?", h.LogID, h.Begins())
}

// Terms that find a call and its result: the index of calls omits messages without an id, and the planner needs to be
// told.
const (
	callTerm = "m.log_id = ? AND m.tool_call_id = ? AND m.tool_call_id <> '' AND m.role = 'tool_call' " +
		"ORDER BY +m.sequence DESC LIMIT 1"
	resultTerm = "m.log_id = ? AND m.tool_call_id = ? AND m.tool_call_id <> '' AND m.role = 'tool_result' " +
		"AND m.status <> 'cancelled' AND m.call_ordinal = ? LIMIT 1"
)

// ToolCall implements transition.Rows.
func (t *txn) ToolCall(h *transition.Head, callID string) (call *parley.Message, answered bool, err error) {
	call, err = t.readMessage(callTerm, h.LogID, callID)
	if err != nil || call == nil {
		return nil, false, err
	}
	answered, err = t.has("SELECT 1 FROM messages m WHERE "+resultTerm, h.LogID, callID, call.CallOrdinal)
	return call, answered, err
}

// OpenToolCalls implements transition.Rows.
func (t *txn) OpenToolCalls(h *transition.Head) ([]parley.Message, error) {
	return readMessages(
		t.conn,
		`m.turn_id = ? AND m.role = 'tool_call' AND m.status = 'completed' AND m.sequence IS NOT NULL
 AND NOT EXISTS (SELECT 1 FROM messages x WHERE x.log_id = m.log_id AND x.tool_call_id = m.tool_call_id
  AND x.role = 'tool_result'
 AND x.status <> 'cancelled' AND x.call_ordinal = m.call_ordinal AND x.tool_call_id <> '') ORDER BY m.sequence`,
		h.TurnID,
	)
}

// readMessage reads one message; nil if there is none.
func (t *txn) readMessage(where string, args ...arg) (*parley.Message, error) {
	messages, err := readMessages(t.conn, where, args...)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return &messages[0], nil
}

// readMessages reads messages by a condition on "m".
func readMessages(c *conn, where string, args ...arg) (messages []parley.Message, err error) {
	err = c.each("SELECT "+messageColumns+" FROM messages m WHERE "+where, func(r *row) error {
		m, err := scanMessage(r)
		messages = append(messages, m)
		return err
	}, args...)
	return messages, err
}

// Delivered implements transition.Rows.
func (t *txn) Delivered(h *transition.Head, what transition.Delivery) (bool, error) {
	return t.has(
		"SELECT 1 FROM deliveries WHERE session_id = ? AND kind = ? AND key = ?", h.ID, what.Kind, what.Key)
}

// Posted implements transition.Rows.
func (t *txn) Posted(h *transition.Head, key string) (earlier transition.Earlier, err error) {
	_, err = t.one(
		"SELECT id, fingerprint, posted_event FROM messages WHERE session_id = ? AND idempotency_key = ?",
		func(r *row) error {
			earlier = transition.Earlier{ID: r.id(), Fingerprint: r.hash(), PostedEvent: r.int64()}
			return nil
		},
		h.ID,
		key,
	)
	return earlier, err
}

// Created implements transition.Rows.
func (t *txn) Created(workspaceID parley.ID, key string) (earlier transition.Earlier, err error) {
	_, err = t.one(
		"SELECT id, fingerprint FROM sessions WHERE workspace_id = ? AND idempotency_key = ?",
		func(r *row) error {
			earlier = transition.Earlier{ID: r.id(), Fingerprint: r.hash()}
			return nil
		},
		workspaceID,
		key,
	)
	return earlier, err
}

// SessionByKey implements transition.Rows.
func (t *txn) SessionByKey(workspaceID parley.ID, key string) (parley.ID, error) {
	return t.id("SELECT id FROM sessions WHERE workspace_id = ? AND key = ? AND deleted_at IS NULL", workspaceID, key)
}

// ToolChildren implements transition.Rows.
func (t *txn) ToolChildren(h *transition.Head) (children []parley.ID, err error) {
	err = t.each(
		"SELECT id FROM sessions WHERE workspace_id = ? AND parent_session_id = ? AND kind = 'tool' "+
			"AND deleted_at IS NULL",
		func(r *row) error {
			children = append(children, r.id())
			return nil
		},
		h.WorkspaceID,
		h.ID,
	)
	return children, err
}

// OpenedIn implements transition.Rows.
func (t *txn) OpenedIn(workspaceID, principalID parley.ID, client string) (parley.ID, error) {
	return openedIn(t.conn, workspaceID, principalID, client)
}

// currentAgent is what transitions need of an agent's row.
type currentAgent struct {
	workspaceID parley.ID
	version     int // 0: no such agent
	status      parley.AgentStatus
}

// Agent implements transition.Rows.
func (t *txn) Agent(workspaceID, agentID parley.ID) (version int, status parley.AgentStatus, err error) {
	known, cached := t.current[agentID]
	if !cached {
		if _, err := t.one("SELECT workspace_id, version, status FROM agents WHERE id = ?", func(r *row) error {
			known = currentAgent{r.id(), r.int(), parley.AgentStatus(r.text())}
			return nil
		}, agentID); err != nil {
			return 0, "", err
		}
		if len(t.current) >= cachedAgents {
			clear(t.current)
		}
		if known.version > 0 {
			t.current[agentID] = known
		}
	}
	if known.workspaceID != workspaceID {
		return 0, "", nil
	}
	return known.version, known.status, nil
}

// AgentVersion implements transition.Rows.
func (t *txn) AgentVersion(_, agentID parley.ID, version int) (*parley.Agent, error) {
	key := agentVersion{agentID, version}
	if agent, ok := t.agents[key]; ok {
		return agent, nil
	}
	agent := new(parley.Agent)
	found, err := t.one("SELECT body FROM agent_versions WHERE agent_id = ? AND version = ?", func(r *row) error {
		return json.Unmarshal(r.json(), agent)
	}, agentID, version)
	if err != nil || !found {
		return nil, err
	}
	if len(t.agents) >= cachedAgents {
		clear(t.agents)
	}
	t.agents[key] = agent
	return agent, nil
}

// Project implements transition.Rows.
func (t *txn) Project(workspaceID, projectID parley.ID) (project *parley.Project, err error) {
	_, err = t.one(
		"SELECT "+projectColumns+" FROM projects p WHERE p.id = ? AND p.workspace_id = ?",
		func(r *row) error {
			project = new(parley.Project)
			return fillProject(r, project)
		},
		projectID,
		workspaceID,
	)
	return project, err
}

// HasProject implements transition.Rows.
func (t *txn) HasProject(workspaceID, projectID parley.ID) (bool, error) {
	return t.has("SELECT 1 FROM projects WHERE id = ? AND workspace_id = ?", projectID, workspaceID)
}

// CountSessions implements transition.Rows. There is no other writer.
func (t *txn) CountSessions(workspaceID, ownerID parley.ID, most int64) (count int64, err error) {
	query, args := "SELECT 1 FROM sessions WHERE workspace_id = ? AND deleted_at IS NULL", []arg{workspaceID}
	if !ownerID.IsZero() {
		query, args = query+" AND owner_id = ?", append(args, ownerID)
	}
	_, err = t.one("SELECT count(*) FROM ("+query+" LIMIT ?)", func(r *row) error {
		count = r.int64()
		return nil
	}, append(args, most)...)
	return count, err
}

// SessionsAllowed implements transition.Rows.
func (t *txn) SessionsAllowed(workspaceID, principalID parley.ID) (most int64, err error) {
	_, err = t.one(`SELECT CASE WHEN count(*) = count(max_sessions) THEN coalesce(max(max_sessions), 0) ELSE 0 END
 FROM keys WHERE workspace_id = ? AND principal_id = ? AND revoked_at IS NULL`, func(r *row) error {
		most = r.int64()
		return nil
	}, workspaceID, principalID)
	return most, err
}

// MayClaim implements transition.Rows. The writer knows no other process, so a lease that expired unnoticed is as good
// as a valid one.
func (t *txn) MayClaim(processID parley.ID) (bool, error) {
	if !processID.IsZero() && processID == t.claimer {
		return true, nil
	}
	known, err := t.has("SELECT 1 FROM processes WHERE id = ?", processID)
	if known {
		t.claimer = processID
	}
	return known, err
}

// execProcesses runs a statement that deletes rows of "processes".
func (t *txn) execProcesses(query string, args ...arg) (int64, error) {
	t.claimer = parley.ID{}
	return t.exec(query, args...)
}

// Alive implements transition.Rows.
func (t *txn) Alive(processID parley.ID) (bool, error) {
	return t.has("SELECT 1 FROM processes WHERE id = ? AND lease_until > ?", processID, t.now)
}

// candidates implements transition.Waiting for a claim.
type candidates struct{ *txn }

// NextWorkspace implements transition.Waiting.
func (w candidates) NextWorkspace(after parley.ID, rank transition.Rank) (parley.ID, error) {
	return w.id(
		"SELECT workspace_id FROM ready WHERE workspace_id > ? AND priority = ? ORDER BY workspace_id LIMIT 1",
		after[:],
		int(rank),
	)
}

// NextReady implements transition.Waiting.
func (w candidates) NextReady(
	workspaceID parley.ID,
	rank transition.Rank,
	after transition.Ready,
) (next transition.Ready, err error) {
	_, err = w.one(
		`SELECT session_id, ready_at FROM ready WHERE workspace_id = ? AND priority = ?
			AND (ready_at, session_id) > (?, ?)
 AND not_before <= ? ORDER BY ready_at, session_id LIMIT 1`,
		func(r *row) error {
			next = transition.Ready{SessionID: r.id(), At: r.time()}
			return nil
		},
		workspaceID,
		int(rank),
		int64(after.At),
		after.SessionID[:],
		w.now,
	)
	return next, err
}

// Suspects implements transition.Waiting.
func (w candidates) Suspects(processID parley.ID) (suspects transition.Suspects, err error) {
	suspects.Waiting, err = w.has(
		"SELECT 1 FROM ready INDEXED BY ready_suspects WHERE priority > 1 AND priority < ? LIMIT 1",
		int(transition.FirstAccused),
	)
	if err != nil || !suspects.Waiting {
		return suspects, err
	}
	_, err = w.one(`SELECT count(*), coalesce(max(t.takeovers), 0) FROM heads h JOIN turns t ON t.id = h.turn_id
 WHERE h.holder = ? AND t.takeovers > 0`, func(r *row) error {
		suspects.Held, suspects.Twice = r.int(), r.int() > 1
		return nil
	}, processID)
	return suspects, err
}
