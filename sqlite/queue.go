package sqlite

import (
	"encoding/json"

	"parley"
)

// insertMessage writes a new row; what the message does not say is null. The
// idempotency columns belong to posts alone.
func (t *txn) insertMessage(m *parley.Message, postedEvent int64, idempotency parley.Idempotency) error {
	var key, usage, failure, overrides, sequence arg
	var err error
	if idempotency.Key != "" {
		key = idempotency.Key
	}
	if usage, err = encodeMaybe(m.Usage); err != nil {
		return err
	}
	if failure, err = encodeMaybe(m.Error); err != nil {
		return err
	}
	if !m.Overrides.IsZero() {
		if overrides, err = encode(m.Overrides); err != nil {
			return err
		}
	}
	if m.Sequence != 0 {
		sequence = m.Sequence
	}
	_, err = t.exec(`INSERT INTO messages (id, workspace_id, session_id, log_id, sequence, position, turn_id, step, role, status,
 author_kind, author_id, author_name, content, context_note, tool_call_id, tool_name, covers_through, internal, steer, model, agent_type,
 iteration, usage, content_hash, call_ordinal, provider_data, error, metadata, overrides, token_estimate, idempotency_key, fingerprint,
 posted_event, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, m.WorkspaceID, m.SessionID, m.LogID, sequence, m.Position, m.TurnID, m.Step, string(m.Role), string(m.Status),
		string(m.Author.Kind), m.Author.ID, m.Author.Name, m.Content, m.ContextNote, m.ToolCallID, m.ToolName, m.CoversThrough, m.Internal, m.Steer,
		string(m.Model), m.AgentType, m.Iteration, usage, m.ContentHash, m.CallOrdinal, m.ProviderData, failure, m.Metadata, overrides,
		m.TokenEstimate, key, idempotency.Fingerprint, postedEvent, m.CreatedAt, m.UpdatedAt)
	return err
}

// place gives a message the next sequence of the record: its statistics and its
// message.created. A streaming one gets its hash when it settles.
func (t *txn) place(h *head, m *parley.Message) error {
	h.LastSequence++
	m.Sequence, m.Position, m.Steer = h.LastSequence, nil, false
	h.Statistics.Messages++
	if !m.Internal {
		h.Statistics.UserFacing++
	}
	if m.Role == parley.RoleToolCall {
		m.CallOrdinal = h.nextCall
		h.nextCall++
	}
	if m.Status == parley.MessageQueued {
		m.Status = parley.MessageCompleted
	}
	h.dirty = true
	t.event(h, parley.EventMessageCreated, m.TurnID, createdData(m))
	if m.Status == parley.MessageStreaming {
		return nil
	}
	return chain(h, m)
}

// chain continues the log's hash chain with a settled message.
func chain(h *head, m *parley.Message) error {
	hash, err := parley.ChainHash(h.lastHash, parley.ChainInput{Role: m.Role, Status: m.Status, Content: m.Content, ContextNote: m.ContextNote,
		CallOrdinal: m.CallOrdinal, ProviderData: m.ProviderData, CoversThrough: m.CoversThrough})
	if err != nil {
		return err
	}
	h.lastHash, m.ContentHash = hash, hash
	return nil
}

// record places a new message in the record and inserts it.
func (t *txn) record(h *head, m *parley.Message, idempotency parley.Idempotency) error {
	posted := h.LastEvent
	if err := t.place(h, m); err != nil {
		return err
	}
	return t.insertMessage(m, posted, idempotency)
}

// enter moves a message from the queue into the record.
func (t *txn) enterRecord(h *head, m *parley.Message) error {
	h.queued--
	m.UpdatedAt = t.now
	if err := t.place(h, m); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE messages SET sequence = ?, position = NULL, turn_id = ?, status = ?, steer = 0, content_hash = ?, call_ordinal = ?, updated_at = ? WHERE id = ?`,
		m.Sequence, m.TurnID, string(m.Status), m.ContentHash, m.CallOrdinal, t.now, m.ID)
	return err
}

// enqueue puts a new message into the queue at a position.
func (t *txn) enqueue(h *head, m *parley.Message, position int64, idempotency parley.Idempotency) error {
	posted := h.LastEvent
	m.Status, m.Position = parley.MessageQueued, &position
	h.queued++
	t.event(h, parley.EventMessageQueued, m.TurnID, queuedData(m))
	return t.insertMessage(m, posted, idempotency)
}

func (h *head) takeBack() int64 {
	h.back++
	return h.back - 1
}

func (h *head) takeFront() int64 {
	h.front--
	return h.front + 1
}

// checkQueue refuses one more queued message beyond the bound.
func (h *head) checkQueue() error {
	if h.queued >= parley.MaxQueued {
		return parley.Errorf(parley.CodeConflict, "%d messages wait in this session's queue already; let some run, or remove some", parley.MaxQueued)
	}
	return nil
}

// nextQueued reads the entry at the head of the queue, steers left out; nil when
// it is empty.
func (t *txn) nextQueued(h *head) (*parley.Message, error) {
	return t.readMessage("m.session_id = ? AND m.position IS NOT NULL AND m.steer = 0 ORDER BY m.position LIMIT 1", h.ID)
}

// readMessage reads one message; nil when there is none.
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

// advance makes the next entry of the queue the session's business, when no turn
// is unfinished: entries without a turn enter the record at once, the first one
// with a turn becomes ready.
func (t *txn) advance(h *head) error {
	h.TurnID, h.turnStatus, h.turn = parley.ID{}, "", nil
	h.dirty = true
	for h.queued > 0 {
		next, err := t.nextQueued(h)
		if err != nil || next == nil {
			return err
		}
		if !next.TurnID.IsZero() {
			h.TurnID, h.turnStatus = next.TurnID, parley.TurnQueued
			h.Status, h.WaitReason, h.FinishedAt = parley.SessionRunning, "", 0
			return t.ready(h)
		}
		if err := t.enterRecord(h, next); err != nil {
			return err
		}
	}
	return nil
}

// ready lets claimers find the session.
func (t *txn) ready(h *head) error {
	priority := 0
	if h.Mode == parley.ModeBackground {
		priority = 1
	}
	h.hint.Ready = true
	_, err := t.exec(`INSERT INTO ready (session_id, workspace_id, priority, ready_at) VALUES (?, ?, ?, ?) ON CONFLICT (session_id) DO NOTHING`,
		h.ID, h.WorkspaceID, priority, t.now)
	return err
}

func (t *txn) unready(h *head) error {
	_, err := t.exec("DELETE FROM ready WHERE session_id = ?", h.ID)
	return err
}

// emptyObject is the metadata of a message that has none.
func metadata(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
