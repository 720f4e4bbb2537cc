package sqlite

import (
	"context"
	"encoding/json"

	"parley"
)

// RecoverTurn implements parley.TurnStore.
func (s *Store) RecoverTurn(ctx context.Context, fence parley.Fence) (parley.TurnState, error) {
	return transact(ctx, s, func(tx *txn) (state parley.TurnState, err error) {
		h, turn, err := tx.lockTurn(fence)
		if err != nil {
			return state, err
		}
		interrupted := &parley.Failure{Class: parley.ClassInterrupted, Sentence: parley.ClassInterrupted.Sentence()}
		if _, err := tx.settleOpen(h, turn, parley.MessageFailed, parley.CallInterrupted, interrupted); err != nil {
			return state, err
		}
		if _, err := tx.one("SELECT count(*) FROM calls WHERE turn_id = ? AND step = ?", func(r *row) error {
			state.Attempts = r.int()
			return nil
		}, turn.ID, turn.Step); err != nil {
			return state, err
		}
		state.Messages, err = readMessages(tx.conn, "m.turn_id = ? AND m.sequence IS NOT NULL ORDER BY m.sequence", turn.ID)
		return state, err
	})
}

// settleOpen settles the streaming rows of a turn with the text of their
// versions, and its open calls. It saves the turn if that changed it, and
// returns the rows that it settled.
func (t *txn) settleOpen(h *head, turn *parley.Turn, status parley.MessageStatus, outcome parley.CallOutcome, failure *parley.Failure) ([]parley.ID, error) {
	rows, err := t.openRows(h, turn.ID)
	if err != nil {
		return nil, err
	}
	blocks := make([]parley.BlockSettled, 0, len(rows))
	ids := make([]parley.ID, 0, len(rows))
	for i := range rows {
		content, chunks, err := t.contentFromVersions(&rows[i])
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, parley.BlockSettled{MessageID: rows[i].id, Status: status, Content: content, ToolName: rows[i].toolName, Error: failure, Chunks: chunks})
		ids = append(ids, rows[i].id)
	}
	if len(rows) > 0 {
		if err := t.settleRows(h, turn, turn.Step, rows, blocks, failure); err != nil {
			return nil, err
		}
	}
	var calls []parley.ID
	if err := t.each("SELECT id FROM calls WHERE turn_id = ? AND outcome = 'open' ORDER BY id", func(r *row) error {
		calls = append(calls, r.id())
		return nil
	}, turn.ID); err != nil {
		return nil, err
	}
	for _, id := range calls {
		if err := t.settleCall(h, turn, parley.CallSettled{CallID: id, Outcome: outcome, Error: failure}); err != nil {
			return nil, err
		}
	}
	if len(calls) > 0 {
		return ids, t.saveTurn(turn)
	}
	return ids, nil
}

// contentFromVersions is what was flushed of a streaming row: each kind's pieces
// in order; a piece that begins earlier starts over from there.
func (t *txn) contentFromVersions(r *openRow) (json.RawMessage, int, error) {
	texts := map[parley.ContentKind][]byte{}
	chunks := 0
	err := t.each("SELECT kind, offset, chunks, text FROM versions WHERE message_id = ? ORDER BY n", func(v *row) error {
		kind, offset := parley.ContentKind(v.text()), v.int()
		chunks = max(chunks, v.int())
		if have := texts[kind]; offset <= len(have) {
			texts[kind] = append(have[:offset], v.text()...)
		}
		return nil
	}, r.id)
	if err != nil {
		return nil, 0, err
	}
	var content json.RawMessage
	if r.role == parley.RoleToolCall {
		content, err = parley.EncodeContent(parley.ToolCallContent{
			Arguments: json.RawMessage("null"), ArgumentsText: string(texts[parley.KindArguments]), ID: r.callID, Name: r.toolName})
	} else {
		content, err = parley.EncodeContent(parley.AssistantContent{Reasoning: string(texts[parley.KindReasoning]), Text: string(texts[parley.KindText])})
	}
	return content, chunks, err
}

// settleTools gives each open call of a turn that ends a result that says so,
// and returns the results.
func (t *txn) settleTools(h *head) ([]parley.ID, error) {
	open, err := t.openCalls(h)
	if err != nil {
		return nil, err
	}
	ids := make([]parley.ID, 0, len(open))
	for i := range open {
		text := parley.EffectUnknown
		content, err := parley.EncodeContent(parley.ToolResultContent{Error: &text, Result: json.RawMessage("null")})
		if err != nil {
			return nil, err
		}
		m := t.resultOf(h, &open[i], parley.NewID(), open[i].Author)
		m.Content = content
		if err := t.recordResult(h, &m); err != nil {
			return nil, err
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// takeOver takes a turn from a process that is dead: a turn that was to be
// cancelled is, one that was taken over too often fails, the others are ready
// again. The old claim is void.
func (t *txn) takeOver(h *head) error {
	if h.cancel == h.TurnID && !h.cancel.IsZero() {
		_, err := t.settleCancelled(h)
		return err
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return err
	}
	turn.Takeovers++
	if turn.Takeovers < parley.CrashLoopLimit {
		return t.release(h, turn)
	}
	h.epoch++
	interrupted := &parley.Failure{Class: parley.ClassInterrupted, Sentence: parley.ClassInterrupted.Sentence()}
	if _, err := t.settleOpen(h, turn, parley.MessageFailed, parley.CallInterrupted, interrupted); err != nil {
		return err
	}
	return t.end(h, turn, parley.TurnEnd{Status: parley.TurnFailed,
		Failure: &parley.Failure{Class: parley.ClassCrashLoop, Sentence: parley.ClassCrashLoop.Sentence(), Attempts: turn.Attempt}})
}
