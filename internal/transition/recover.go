package transition

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/store"
)

// RecoverTurn implements the transition of store.Turns.
func (t *Tx) RecoverTurn(fence store.Fence) (state store.TurnState, err error) {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return state, err
	}
	if state.Attempts, err = t.rows.Attempts(h, turn.ID, turn.Step); err != nil {
		return state, err
	}
	if state.Messages, err = t.rows.TurnMessages(h, turn.ID, math.MaxInt32, recovered(turn.Step)); err != nil {
		return state, err
	}
	if slices.ContainsFunc(state.Messages, func(m parley.Message) bool { return m.Role == parley.RoleToolCall }) {
		if state.Approvals, err = t.rows.TurnApprovals(h, turn.ID); err != nil {
			return state, err
		}
	}
	interrupted := &parley.Failure{Class: parley.ClassInterrupted, Sentence: parley.ClassInterrupted.Sentence()}
	if _, err := t.settleOpen(h, turn, parley.MessageFailed, parley.CallInterrupted, interrupted); err != nil {
		return state, err
	}
	for i := range state.Messages {
		for j := range h.Changes.Settled {
			if row := &h.Changes.Settled[j]; row.MessageID == state.Messages[i].ID {
				row.apply(&state.Messages[i], t.now)
			}
		}
	}
	return state, nil
}

// recovered keeps of a turn's message what a run needs that takes the turn up: the calls of its latest step, and how
// long its tools ran. All of its texts together may be larger than the memory.
func recovered(step int) func(*parley.Message) {
	return func(m *parley.Message) {
		m.ProviderData, m.Metadata, m.ContextNote = nil, nil, ""
		switch {
		case m.Role == parley.RoleToolCall && m.Step >= step:
		case m.Role == parley.RoleToolResult:
			var result parley.ToolResultContent
			_ = json.Unmarshal(m.Content, &result) // unreadable: unknown
			m.Content, _ = json.Marshal(parley.ToolResultContent{
				Result: json.RawMessage("null"), ExecutionTimeMS: result.ExecutionTimeMS,
			})
		default:
			m.Content = json.RawMessage("null")
		}
	}
}

// apply gives a message the values of its settled row.
func (r *SettledRow) apply(m *parley.Message, now parley.Time) {
	m.Status, m.Content, m.ProviderData, m.ToolName, m.Error = r.Status, r.Content, r.ProviderData, r.ToolName, r.Error
	m.Usage, m.TokenEstimate, m.ContentHash, m.ChainVersion, m.UpdatedAt = r.Usage, r.TokenEstimate, r.ContentHash,
		r.ChainVersion, now
	if r.Metadata != nil {
		m.Metadata = r.Metadata
	}
	if r.Model != "" {
		m.Model = r.Model
	}
}

// settleOpen settles the streaming rows of a turn with the text of their versions, and its open calls. It saves the
// turn if that changed it, and returns the settled rows.
func (t *Tx) settleOpen(
	h *Head,
	turn *parley.Turn,
	status parley.MessageStatus,
	outcome parley.CallOutcome,
	failure *parley.Failure,
) ([]parley.ID, error) {
	open, err := t.openOf(h, turn)
	if err != nil {
		return nil, err
	}
	blocks := make([]store.BlockSettled, 0, len(open.Rows))
	ids := make([]parley.ID, 0, len(open.Rows))
	streamed := 0
	for i := range open.Rows {
		row := &open.Rows[i]
		content, chunks, has, err := t.contentFromVersions(h, row)
		if err != nil {
			return nil, err
		}
		streamed += has.tokens
		why := failure
		if failure != nil && turn.Takeovers > 0 {
			told := *failure
			told.Detail = keptDetail(has.characters)
			why = &told
		}
		blocks = append(
			blocks,
			store.BlockSettled{
				MessageID: row.ID,
				Status:    status,
				Content:   content,
				ToolName:  row.ToolName,
				Error:     why,
				Chunks:    chunks,
			},
		)
		ids = append(ids, row.ID)
	}
	if len(blocks) > 0 {
		if err := t.settleRows(h, turn, turn.Step, open, blocks, failure, nil); err != nil {
			return nil, err
		}
	}
	if len(open.Calls) == 0 {
		return ids, nil
	}
	for len(open.Calls) > 0 {
		call := store.CallSettled{CallID: open.Calls[0].ID, Outcome: outcome, Error: failure}
		call.EstimateFrom(open.Calls[0].Expected, int64(streamed))
		h.settleCall(turn, open, call)
	}
	h.saveTurn(turn)
	return ids, nil
}

// keptDetail says how much text survived the death of a process: text that was shown but not yet stored is lost, within
// a known bound.
func keptDetail(kept int) string {
	return fmt.Sprintf(
		"%d characters of this answer were kept; up to %d more may have been shown before its process died.",
		kept,
		parley.MaxUnkept,
	)
}

// kept is how much of a streaming row was flushed.
type kept struct{ characters, tokens int }

// contentFromVersions returns what was flushed of a streaming row and how much it is: each kind's pieces in order,
// where a piece that begins earlier replaces the text from there.
func (t *Tx) contentFromVersions(h *Head, r *OpenRow) (content json.RawMessage, chunks int, has kept, err error) {
	texts, chunks, err := t.textsOf(h, r.ID)
	if err != nil {
		return nil, 0, kept{}, err
	}
	for _, text := range texts {
		has.characters += utf8.RuneCount(text)
		has.tokens += parley.EstimateTokens(text)
	}
	if r.Role == parley.RoleToolCall {
		content, err = parley.EncodeContent(parley.ToolCallContent{
			Arguments: json.RawMessage(
				"null",
			),
			ArgumentsText: string(texts[parley.KindArguments]),
			ID:            r.ToolCallID,
			Name:          r.ToolName,
		})
	} else {
		content, err = parley.EncodeContent(
			parley.AssistantContent{
				Reasoning: string(texts[parley.KindReasoning]),
				Text:      string(texts[parley.KindText]),
			},
		)
	}
	return content, chunks, has, err
}

// textsOf returns the texts of a streaming message according to its versions.
func (t *Tx) textsOf(h *Head, messageID parley.ID) (texts map[parley.ContentKind][]byte, chunks int, err error) {
	pieces, err := t.rows.Versions(h, messageID)
	if err != nil {
		return nil, 0, err
	}
	texts = map[parley.ContentKind][]byte{}
	for _, v := range pieces {
		chunks = max(chunks, v.Chunks)
		if have := texts[v.Kind]; v.Offset <= len(have) {
			texts[v.Kind] = append(have[:v.Offset], v.Text...)
		}
	}
	return texts, chunks, nil
}

// settleTools records a result for each open call of a turn that ends, ends its pending approvals, and returns the
// results.
func (t *Tx) settleTools(h *Head, turn *parley.Turn) ([]parley.ID, error) {
	if turn.Step == 0 { // it never reached a call
		return nil, nil
	}
	open, err := t.rows.OpenToolCalls(h)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	approvals, err := t.settleApprovals(h, turn)
	if err != nil {
		return nil, err
	}
	ids := make([]parley.ID, 0, len(open))
	for i := range open {
		text := parley.EffectUnknown
		if slices.ContainsFunc(
			approvals,
			func(a parley.Approval) bool { return a.MessageID == open[i].ID && a.UsedAt == 0 },
		) {
			text = parley.NotDecided
		}
		content, err := parley.EncodeContent(parley.ToolResultContent{Error: &text, Result: json.RawMessage("null")})
		if err != nil {
			return nil, err
		}
		m := t.resultOf(h, &open[i], parley.NewID(), open[i].Author)
		m.Content = content
		if err := t.recordResult(h, m); err != nil {
			return nil, err
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// Repair makes an unfinished turn ready that has no holder and waits for nothing; false for any other turn.
func (t *Tx) Repair(sessionID parley.ID) (bool, error) {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.TurnID.IsZero() || !h.Holder.IsZero() || h.TurnStatus == parley.TurnWaiting ||
		h.DeletedAt != 0 {
		return false, err
	}
	turn, err := t.currentTurn(h) // its rank depends on it
	if err != nil {
		return false, err
	}
	if h.TurnStatus != parley.TurnRunning {
		h.Changes.Ready = true
		return true, nil
	}
	return true, t.release(h, turn)
}
