package sqlite

import (
	"context"
	"encoding/json"

	"parley"
)

// textKey names a row of call_texts.
type textKey struct {
	workspaceID parley.ID
	hash        parley.Hash
}

// cachedTexts bounds the memory of which texts are stored.
const cachedTexts = 4096

// emptyContents are the contents of rows that have just been opened.
var emptyAssistant = json.RawMessage(`{"text":""}`) //nolint:gochecknoglobals // never written

// PendingSteers implements parley.TurnStore.
func (s *Store) PendingSteers(ctx context.Context, fence parley.Fence) ([]parley.Message, error) {
	return transact(ctx, s, func(tx *txn) ([]parley.Message, error) {
		h, err := tx.lockClaim(fence)
		if err != nil || h.steers == 0 {
			return nil, err
		}
		return tx.undelivered(h, fence.TurnID)
	})
}

// BeginStep implements parley.TurnStore.
func (s *Store) BeginStep(ctx context.Context, fence parley.Fence, begin parley.StepBegin) (parley.StepBegun, error) {
	return transact(ctx, s, func(tx *txn) (begun parley.StepBegun, err error) {
		h, turn, err := tx.lockTurn(fence)
		if err != nil {
			return begun, err
		}
		if begin.Call.Step != turn.Step && begin.Call.Step != turn.Step+1 {
			return begun, parley.Errorf(parley.CodeConflict, "step %d cannot follow step %d", begin.Call.Step, turn.Step)
		}
		if open, err := tx.streaming(h, fence.TurnID); err != nil {
			return begun, err
		} else if open {
			return begun, parley.Errorf(parley.CodeConflict, "the step before is still open")
		}
		steers, err := tx.namedSteers(h, fence.TurnID, begin.Steers)
		if err != nil {
			return begun, err
		}
		for i := range steers {
			h.steers--
			if err := tx.enterRecord(h, &steers[i]); err != nil {
				return begun, err
			}
		}
		begun.Steered = steers
		tx.event(h, parley.EventStepStarted, fence.TurnID, stepStartedData(&begin.Call, fence.TurnID))
		begun.Message = parley.Message{
			ID: begin.Call.MessageID, WorkspaceID: h.WorkspaceID, SessionID: h.ID, LogID: h.LogID, TurnID: fence.TurnID, Step: begin.Call.Step,
			Role: parley.RoleAssistant, Status: parley.MessageStreaming, Author: begin.Author, Content: emptyAssistant, Model: begin.Call.Model,
			AgentType: begin.AgentType, Iteration: turn.Iteration, Metadata: metadata(nil), CreatedAt: tx.now, UpdatedAt: tx.now,
		}
		if err := tx.record(h, &begun.Message, parley.Idempotency{}); err != nil {
			return begun, err
		}
		if err := tx.insertCall(h, fence.TurnID, begin); err != nil {
			return begun, err
		}
		if turn.Step == begin.Call.Step {
			return begun, nil
		}
		turn.Step = begin.Call.Step
		_, err = tx.exec("UPDATE turns SET step = ? WHERE id = ?", turn.Step, turn.ID)
		return begun, err
	})
}

// streaming reports whether a row of the turn is still open.
func (t *txn) streaming(h *head, turnID parley.ID) (bool, error) {
	return t.has("SELECT 1 FROM messages WHERE log_id = ? AND status = 'streaming' AND status <> 'completed' AND turn_id = ? LIMIT 1", h.LogID, turnID)
}

// namedSteers reads the steers that a request holds: CodeMore when one was
// edited or removed since the worker read it.
func (t *txn) namedSteers(h *head, turnID parley.ID, named []parley.Steered) ([]parley.Message, error) {
	if len(named) == 0 {
		return nil, nil
	}
	waiting, err := t.undelivered(h, turnID)
	if err != nil {
		return nil, err
	}
	steers := make([]parley.Message, 0, len(named))
	for _, name := range named {
		found := false
		for i := range waiting {
			if waiting[i].ID == name.MessageID && waiting[i].Revision == name.Revision {
				steers, found = append(steers, waiting[i]), true
				break
			}
		}
		if !found {
			return nil, parley.Errorf(parley.CodeMore, "a steer was edited or removed meanwhile; read the steers again")
		}
	}
	return steers, nil
}

func (t *txn) insertCall(h *head, turnID parley.ID, begin parley.StepBegin) error {
	c := &begin.Call
	if err := t.insertText(h.WorkspaceID, c.SystemHash, []byte(begin.System)); err != nil {
		return err
	}
	if err := t.insertText(h.WorkspaceID, c.ToolsHash, begin.Tools); err != nil {
		return err
	}
	parameters, err := encode(c.Parameters)
	if err != nil {
		return err
	}
	manifest, err := encode(c.Manifest)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO calls (id, workspace_id, session_id, turn_id, message_id, step, attempt, model, parameters, think, search,
 system_hash, tools_hash, manifest, request_hash, encoder_version, outcome, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, h.WorkspaceID, h.ID, turnID, c.MessageID, c.Step, c.Attempt, string(c.Model), parameters, c.Think, c.Search,
		c.SystemHash, c.ToolsHash, manifest, c.RequestHash[:], c.EncoderVersion, string(parley.CallOpen), t.now)
	return err
}

// insertText keeps a text of calls once per hash.
func (t *txn) insertText(workspaceID parley.ID, hash parley.Hash, text []byte) error {
	key := textKey{workspaceID, hash}
	if _, stored := t.texts[key]; stored || hash.IsZero() {
		return nil
	}
	_, err := t.exec("INSERT INTO call_texts (workspace_id, hash, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", workspaceID, hash, string(text))
	t.newTexts = append(t.newTexts, key)
	return err
}

// RetryCall implements parley.TurnStore.
func (s *Store) RetryCall(ctx context.Context, fence parley.Fence, step int, failed parley.CallSettled, notice parley.RetryNotice) error {
	return s.write(ctx, func(tx *txn) error {
		h, turn, err := tx.lockTurn(fence)
		if err != nil {
			return err
		}
		if err := tx.checkOpenCall(fence.TurnID, failed.CallID); err != nil {
			return err
		}
		if err := tx.settleCall(h, turn, failed); err != nil {
			return err
		}
		tx.event(h, parley.EventStepRetrying, fence.TurnID, retryingData(fence.TurnID, step, notice))
		return tx.saveTurn(turn)
	})
}

// BeginCall implements parley.TurnStore.
func (s *Store) BeginCall(ctx context.Context, fence parley.Fence, begin parley.StepBegin) error {
	return s.write(ctx, func(tx *txn) error {
		h, err := tx.lockClaim(fence)
		if err != nil {
			return err
		}
		open, err := tx.has("SELECT 1 FROM messages WHERE id = ? AND turn_id = ? AND status = 'streaming'", begin.Call.MessageID, fence.TurnID)
		if err != nil {
			return err
		}
		if !open {
			return parley.Errorf(parley.CodeConflict, "the message of this attempt is not open")
		}
		tx.event(h, parley.EventStepStarted, fence.TurnID, stepStartedData(&begin.Call, fence.TurnID))
		return tx.insertCall(h, fence.TurnID, begin)
	})
}

// OpenBlock implements parley.TurnStore.
func (s *Store) OpenBlock(ctx context.Context, fence parley.Fence, open parley.BlockOpen) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) {
		h, turn, err := tx.lockTurn(fence)
		if err != nil {
			return parley.Message{}, err
		}
		if open.Step != turn.Step {
			return parley.Message{}, parley.Errorf(parley.CodeConflict, "step %d is not the running one", open.Step)
		}
		if running, err := tx.streaming(h, fence.TurnID); err != nil {
			return parley.Message{}, err
		} else if !running {
			return parley.Message{}, parley.Errorf(parley.CodeConflict, "step %d has settled", open.Step)
		}
		m := parley.Message{
			ID: open.MessageID, WorkspaceID: h.WorkspaceID, SessionID: h.ID, LogID: h.LogID, TurnID: fence.TurnID, Step: open.Step, Role: open.Role,
			Status: parley.MessageStreaming, Author: open.Author, Content: emptyAssistant, ToolCallID: open.ToolCallID, ToolName: open.ToolName,
			Model: open.Model, AgentType: open.AgentType, Iteration: turn.Iteration, Metadata: metadata(nil), CreatedAt: tx.now, UpdatedAt: tx.now,
		}
		if m.Role == parley.RoleToolCall {
			if m.Content, err = parley.EncodeContent(parley.ToolCallContent{Arguments: json.RawMessage("null"), ID: m.ToolCallID, Name: m.ToolName}); err != nil {
				return parley.Message{}, err
			}
		}
		return m, tx.record(h, &m, parley.Idempotency{})
	})
}

// AppendVersions implements parley.TurnStore.
func (s *Store) AppendVersions(ctx context.Context, versions []parley.FencedVersion) ([]parley.ID, error) {
	return transact(ctx, s, func(tx *txn) (fenced []parley.ID, err error) {
		for i := range versions {
			v := &versions[i].Version
			if _, err := tx.lockClaim(versions[i].Fence); parley.ErrorCode(err) == parley.CodeFenced {
				fenced = append(fenced, versions[i].Fence.SessionID)
				continue
			} else if err != nil {
				return nil, err
			}
			// A flush that comes behind the settle adds nothing: the message has its text.
			if _, err := tx.exec(`INSERT INTO versions (message_id, n, kind, offset, "end", chunks, text, created_at) SELECT id, ?, ?, ?, ?, ?, ?, ?
 FROM messages WHERE id = ? AND session_id = ? AND status = 'streaming' ON CONFLICT DO NOTHING`,
				v.N, string(v.Kind), v.Offset, v.End, v.Chunks, v.Text, tx.now, v.MessageID, versions[i].Fence.SessionID); err != nil {
				return nil, err
			}
		}
		return fenced, nil
	})
}
