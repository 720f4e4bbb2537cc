package transition

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// Outside is the message that an outside agent streams; a session has at most one.
type Outside struct {
	MessageID parley.ID
	TurnID    parley.ID
	Versions  int // appended so far
	Text      int // bytes
	Reasoning int // bytes
	Timeout   time.Duration
}

// end returns where the text of a kind ends.
func (o *Outside) end(kind parley.ContentKind) *int {
	if kind == parley.KindReasoning {
		return &o.Reasoning
	}
	return &o.Text
}

// Grown is a piece of the open message, whose row is the Head's Outside.
type Grown struct {
	Version parley.Version
}

// postOutside opens a message that an outside agent streams, in an idle session.
func (t *Tx) postOutside(h *Head, m *parley.Message, posting store.NewMessage, posted *store.Posted) error {
	if !h.TurnID.IsZero() {
		return parley.Errorf(
			parley.CodeBusy,
			"a turn of this session is unfinished; wait for it or cancel it, then open the message",
		)
	}
	turn := &parley.Turn{
		ID:               posting.TurnID,
		WorkspaceID:      h.WorkspaceID,
		SessionID:        h.ID,
		TriggerMessageID: m.ID,
		Status:           parley.TurnWaiting,
		WaitReason:       parley.WaitOutside,
		Step:             1,
		Iteration:        posting.Iteration,
		CreatedAt:        t.now,
		StartedAt:        t.now,
	}
	m.TurnID, m.Step, m.Status, m.Model, m.Content = turn.ID, turn.Step, parley.MessageStreaming, posting.Model,
		parley.EmptyContent()
	h.addTurn(turn)
	h.TurnID, h.TurnStatus, h.turn, h.open = turn.ID, turn.Status, turn, &Open{}
	h.Status, h.WaitReason, h.FinishedAt = parley.SessionWaiting, parley.WaitOutside, 0
	if h.StartedAt == 0 {
		h.StartedAt = t.now
	}
	t.event(h, turn.ID, event.SessionStarted{TurnID: turn.ID, Attempt: turn.Attempt}.Encode())
	if err := t.openRow(h, h.open, m, posting.Idempotency); err != nil {
		return err
	}
	t.event(
		h,
		turn.ID,
		stepStarted(&parley.Call{Step: turn.Step, MessageID: m.ID, Attempt: 1, Model: m.Model}, turn.ID),
	)
	t.event(h, turn.ID, waiting(turn.ID, turn.WaitReason))
	h.outside = &Outside{MessageID: m.ID, TurnID: turn.ID, Timeout: posting.Timeout}
	h.Changes.OutsideOpened = h.outside
	shown := *turn
	posted.Turn = &shown
	return nil
}

// lockOutside locks the session of an open message. For any other message it returns the message's status without an
// Outside, and reads no more of it: it may be long.
func (t *Tx) lockOutside(scope store.Scope, messageID parley.ID) (*Head, *Outside, parley.MessageStatus, error) {
	sessionID, err := t.rows.SessionOf(scope.WorkspaceID, messageID)
	if err != nil {
		return nil, nil, "", err
	}
	if sessionID.IsZero() {
		return nil, nil, "", NotFound("message")
	}
	h, err := t.lock(scope, sessionID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil, nil, "", NotFound("message")
	} else if err != nil {
		return nil, nil, "", err
	}
	o, err := t.outsideOf(h)
	if err != nil {
		return nil, nil, "", err
	}
	if o != nil && o.MessageID == messageID {
		return h, o, "", nil
	}
	status, err := t.rows.MessageStatus(h.WorkspaceID, messageID)
	if err == nil && status == "" {
		err = NotFound("message")
	}
	return h, nil, status, err
}

// outsideOf returns the open message of a session, or nil.
func (t *Tx) outsideOf(h *Head) (o *Outside, err error) {
	if h.TurnStatus != parley.TurnWaiting || h.WaitReason != parley.WaitOutside {
		return nil, nil
	}
	if h.outside == nil || h.outside.TurnID != h.TurnID {
		if h.outside, err = t.rows.Outside(h); err != nil {
			return nil, err
		}
	}
	return h.outside, nil
}

// notOpen is the error for appending to a message that is not open.
func notOpen(status parley.MessageStatus) error {
	if status.Settled() {
		return parley.Conflict(status, "this message is %s and can no longer be changed", status)
	}
	return parley.Conflict(status, "this message is %s and was not opened from outside", status)
}

// AppendOutside implements the transition of store.Outside.
func (t *Tx) AppendOutside(
	scope store.Scope,
	messageID parley.ID,
	piece store.OutsideAppend,
) (parley.OutsideGrown, error) {
	h, o, status, err := t.lockOutside(scope, messageID)
	if err != nil {
		return parley.OutsideGrown{}, err
	}
	if o == nil {
		return parley.OutsideGrown{}, notOpen(status)
	}
	end := o.end(piece.Kind)
	fresh, err := t.newText(h, o, piece)
	switch {
	case err != nil:
		return parley.OutsideGrown{}, err
	case fresh == "" && piece.Text != "": // nothing in it is new
		return t.grown(h, o), nil
	case fresh != "" && piece.Kind == parley.KindReasoning && o.Text > 0:
		return parley.OutsideGrown{}, parley.Errorf(
			parley.CodeConflict,
			"reasoning comes before the text: settle this message and open another one for what follows",
		)
	case o.Text+o.Reasoning+len(fresh) > parley.MaxAnswerBytes:
		return parley.OutsideGrown{}, parley.Errorf(
			parley.CodeTooLarge,
			"a message holds at most %d bytes; settle this one and open another",
			parley.MaxAnswerBytes,
		)
	case fresh != "" && o.Versions >= parley.MaxOutsideAppends:
		return parley.OutsideGrown{}, parley.Errorf(
			parley.CodeTooLarge,
			"a message accepts at most %d appends; send larger pieces, or settle this one and open another",
			parley.MaxOutsideAppends,
		)
	}
	grown := &Grown{}
	if fresh != "" {
		from := *end
		*end += len(fresh)
		o.Versions++
		grown.Version = parley.Version{
			MessageID: messageID,
			N:         o.Versions,
			Kind:      piece.Kind,
			Offset:    from,
			End:       *end,
			Chunks:    o.Versions,
			Text:      fresh,
			CreatedAt: t.now,
		}
		h.hint.Pieces = append(h.hint.Pieces, store.StreamPiece{
			WorkspaceID: h.WorkspaceID,
			SessionID:   h.ID,
			TurnID:      o.TurnID,
			MessageID:   messageID,
			Epoch:       h.Epoch,
			After:       h.LastEvent,
			Kind:        piece.Kind,
			Offset:      from,
			Text:        fresh,
		})
	}
	h.Changes.OutsideGrown = grown
	return t.grown(h, o), nil
}

func (t *Tx) grown(h *Head, o *Outside) parley.OutsideGrown {
	return parley.OutsideGrown{
		MessageID: o.MessageID,
		SessionID: h.ID,
		Text:      o.Text,
		Reasoning: o.Reasoning,
		DueAt:     t.now + parley.Time(o.Timeout.Milliseconds()),
	}
}

// newText returns the new part of a piece: CodeConflict if the piece leaves a gap or differs from the stored text.
func (t *Tx) newText(h *Head, o *Outside, piece store.OutsideAppend) (string, error) {
	end := *o.end(piece.Kind)
	if piece.Offset > end {
		return "", &parley.Error{
			Code:    parley.CodeConflict,
			End:     &end,
			Message: "the " + string(piece.Kind) + " ends before this offset; append from its end",
		}
	}
	known := min(end-piece.Offset, len(piece.Text))
	if known == 0 {
		return piece.Text, nil
	}
	have, err := t.appended(h, o, piece.Kind, piece.Offset, piece.Offset+known)
	if err != nil {
		return "", err
	}
	if have != piece.Text[:known] {
		return "", &parley.Error{
			Code: parley.CodeConflict,
			End:  &end,
			Message: "at this offset the appended " + string(
				piece.Kind,
			) + " differs; it cannot be changed, append from its end",
		}
	}
	return piece.Text[known:], nil
}

// appended returns the bytes from one offset to another of what was appended of a kind. It reads only the pieces that
// hold them: a message may have very many, and a tiny append may repeat any of them.
func (t *Tx) appended(h *Head, o *Outside, kind parley.ContentKind, from, to int) (string, error) {
	first, err := t.pieceBehind(h, o, kind, from)
	if err != nil {
		return "", err
	}
	last, err := t.pieceBehind(h, o, kind, to-1)
	if err != nil {
		return "", err
	}
	pieces, err := t.rows.VersionsBetween(h, o.MessageID, first, last)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for i := range pieces {
		p := &pieces[i]
		begin, end := max(from-p.Offset, 0), min(to-p.Offset, len(p.Text))
		if p.Kind == kind && begin < end {
			text.WriteString(p.Text[begin:end])
		}
	}
	return text.String(), nil
}

// pieceBehind finds the first piece of a kind that ends behind an offset. Pieces are numbered from 1 in the order in
// which they were appended, reasoning before text.
func (t *Tx) pieceBehind(h *Head, o *Outside, kind parley.ContentKind, offset int) (int, error) {
	first, last := 1, o.Versions
	for first < last {
		middle := first + (last-first)/2
		of, end, err := t.rows.VersionEnd(h, o.MessageID, middle)
		if err != nil {
			return 0, err
		}
		if of == kind && end <= offset || of != kind && kind == parley.KindText {
			first = middle + 1
		} else {
			last = middle
		}
	}
	return first, nil
}

// SettleOutside implements the transition of store.Outside.
func (t *Tx) SettleOutside(
	scope store.Scope,
	messageID parley.ID,
	settle store.OutsideSettle,
) (store.OutsideSettled, error) {
	h, o, status, err := t.lockOutside(scope, messageID)
	if err != nil {
		return store.OutsideSettled{}, err
	}
	if o == nil && status != settle.Status {
		return store.OutsideSettled{}, notOpen(status)
	}
	m, err := t.rows.Message(h.WorkspaceID, messageID)
	if err != nil {
		return store.OutsideSettled{}, err
	}
	if o == nil {
		return t.settledBefore(h, m, settle)
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return store.OutsideSettled{}, err
	}
	open, err := t.openOf(h, turn)
	if err != nil {
		return store.OutsideSettled{}, err
	}
	calls := make([]*parley.Message, len(settle.Calls))
	for i := range settle.Calls { // before the text is read, which may be long
		calls[i] = t.messageOf(h, settle.Calls[i])
		if err := t.freshCall(h, calls[i]); err != nil {
			return store.OutsideSettled{}, err
		}
	}
	block, err := t.deliveredBlock(h, o, settle)
	if err != nil {
		return store.OutsideSettled{}, err
	}
	if err := t.settleRows(h, turn, turn.Step, open, []store.BlockSettled{block}, settle.Failure, nil); err != nil {
		return store.OutsideSettled{}, err
	}
	settled := store.OutsideSettled{}
	for _, call := range calls {
		if err := t.record(h, call, store.Idempotency{}); err != nil {
			return store.OutsideSettled{}, err
		}
		settled.Calls = append(settled.Calls, *call)
	}
	h.countOutside(turn, settle)
	if err := t.end(h, turn, store.TurnEnd{Status: turnStatusOf(settle.Status), Failure: settle.Failure}); err != nil {
		return store.OutsideSettled{}, err
	}
	h.Changes.Settled[0].apply(m, t.now)
	settled.Message, settled.Turn = *m, *turn
	return settled, nil
}

// turnStatusOf returns how a turn ends, from its message's status.
func turnStatusOf(status parley.MessageStatus) parley.TurnStatus {
	switch status {
	case parley.MessageFailed:
		return parley.TurnFailed
	case parley.MessageCancelled:
		return parley.TurnCancelled
	}
	return parley.TurnCompleted
}

// settledBefore repeats the result for a settled message if this settle equals the first one.
func (t *Tx) settledBefore(h *Head, m *parley.Message, settle store.OutsideSettle) (store.OutsideSettled, error) {
	if m.TurnID.IsZero() ||
		settle.Content != nil && !sameContent(m.Role, settle.Content, m.Content) {
		return store.OutsideSettled{}, notOpen(m.Status)
	}
	turn, err := t.readTurn(h, m.TurnID)
	if err != nil {
		return store.OutsideSettled{}, err
	}
	if !turn.Outside() || turn.TriggerMessageID != m.ID {
		return store.OutsideSettled{}, notOpen(m.Status)
	}
	return store.OutsideSettled{Message: *m, Turn: *turn}, nil
}

// sameContent reports whether two contents are the same, whichever form they are in.
func sameContent(role parley.Role, one, other json.RawMessage) bool {
	return bytes.Equal(parley.AppendContent(nil, role, one), parley.AppendContent(nil, role, other))
}

// deliveredBlock settles the open row with its agent's content or, without any, with the appended text.
func (t *Tx) deliveredBlock(h *Head, o *Outside, settle store.OutsideSettle) (store.BlockSettled, error) {
	block := store.BlockSettled{
		MessageID: o.MessageID,
		Status:    settle.Status,
		Error:     settle.Failure,
		Usage:     settle.Usage,
		Model:     settle.Model,
		Chunks:    o.Versions,
	}
	var content parley.AssistantContent
	if settle.Content != nil {
		if err := json.Unmarshal(settle.Content, &content); err != nil {
			return block, parley.WrapError(parley.CodeInvalid, err, "content: is not an assistant message")
		}
		switch { // before the appended text is read, which may be far longer than what is refused
		case len(content.Text) < o.Text:
			return block, otherwiseAppended(parley.KindText, o.Text)
		case len(content.Reasoning) < o.Reasoning:
			return block, otherwiseAppended(parley.KindReasoning, o.Reasoning)
		}
	}
	texts, _, err := t.textsOf(h, o.MessageID)
	if err != nil {
		return block, err
	}
	text, reasoning := string(texts[parley.KindText]), string(texts[parley.KindReasoning])
	switch {
	case settle.Content == nil:
		content.Text, content.Reasoning = text, reasoning
	case !strings.HasPrefix(content.Text, text):
		return block, otherwiseAppended(parley.KindText, len(text))
	case !strings.HasPrefix(content.Reasoning, reasoning):
		return block, otherwiseAppended(parley.KindReasoning, len(reasoning))
	}
	if settle.Estimate != nil {
		block.TokenEstimate = settle.Estimate(
			content.Reasoning,
		) + settle.Estimate(
			content.Text,
		) + settle.Estimate(
			content.Refusal,
		)
	}
	if block.Content, err = parley.EncodeContent(content); err != nil {
		return block, err
	}
	return block, t.useFiles(h, o.MessageID, block.Content)
}

// otherwiseAppended refuses a content that differs from what was appended.
func otherwiseAppended(kind parley.ContentKind, bytes int) error {
	return parley.InvalidField(
		"content."+string(kind),
		"must begin with the %d bytes appended so far, because they were shown",
		bytes,
	)
}

// countOutside adds the usage that an outside agent reports to turn and session. It charges no budget.
func (h *Head) countOutside(turn *parley.Turn, settle store.OutsideSettle) {
	if settle.Usage == nil {
		return
	}
	turn.Usage.Add(*settle.Usage)
	h.Statistics.Add(*settle.Usage)
	if settle.Cost == nil {
		h.Statistics.Unpriced++
		return
	}
	h.Statistics.Cost += *settle.Cost
	cost := *settle.Cost
	turn.Cost = &cost
}

// ExpireOutside settles the open message of a session as failed if its agent has been silent for too long, and reports
// whether it did.
func (t *Tx) ExpireOutside(sessionID parley.ID) (bool, error) {
	h, err := t.load(sessionID)
	if err != nil || h == nil {
		return false, err
	}
	o, err := t.outsideOf(h)
	if err != nil {
		return false, err
	}
	if o == nil || h.DeletedAt != 0 { // settled by an older program, which does not know the row
		h.Changes.OutsideClosed = true
		return false, nil
	}
	if due, err := t.rows.OutsideDue(h); err != nil || !due {
		return false, err
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return false, err
	}
	failure := &parley.Failure{Class: parley.ClassInterrupted, Sentence: store.OutsideSilent}
	if _, err := t.settleOpen(h, turn, parley.MessageFailed, parley.CallInterrupted, failure); err != nil {
		return false, err
	}
	return true, t.end(h, turn, store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
}
