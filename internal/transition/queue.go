package transition

import (
	"encoding/json"
	"errors"
	"slices"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// queueWindow is how many entries of a queue are read if only its beginning matters, and how many a head caches.
const queueWindow = 64

// queue is the beginning of a session's queue, or all of it. A transition reads it before changing the queue and keeps
// it up to date.
type queue struct {
	entries []Entry // by position
	whole   bool
	changed bool // by the running transition, so rows no longer match
}

// errQueueChanged is a bug in this package: a transition reads more of a queue after it began to change it.
var errQueueChanged = errors.New("transition: the queue was changed before all of it was read")

// queueOf reads the queue: all of it, or as much as a transition needs that takes one turn out of it.
func (t *Tx) queueOf(h *Head, whole bool) (*queue, error) {
	switch q := h.queue; {
	case q == nil && h.Queued == 0:
		h.queue = &queue{whole: true}
		return h.queue, nil
	case q != nil && (q.whole || !whole && q.startsSeveral()):
		return q, nil
	case q != nil && q.changed && whole:
		return nil, errQueueChanged
	case q != nil && q.changed: // read far enough earlier
		return q, nil
	}
	limit := queueWindow
	for {
		if whole {
			limit = parley.MaxQueued + 2 // a loop may exceed the bound by one
		}
		entries, err := t.rows.Queue(h, limit)
		if err != nil {
			return nil, err
		}
		h.queue = &queue{entries: entries, whole: len(entries) < limit}
		if whole || h.queue.whole || h.queue.startsSeveral() {
			return h.queue, nil
		}
		whole = true
	}
}

// queueToEnd reads as much of the queue as the end of the first unfinished turn needs: all of it if steers become
// turns, or if messages would have entered with the turn's trigger.
func (t *Tx) queueToEnd(h *Head) error {
	_, err := t.queueOf(h, h.Steers > 0 || h.Mode == parley.ModeBackground && h.TurnStatus == parley.TurnQueued)
	return err
}

// startsSeveral reports whether the entries will start more than one turn.
func (q *queue) startsSeveral() bool {
	var first parley.ID
	for i := range q.entries {
		switch e := &q.entries[i]; {
		case e.Steer || e.TurnID.IsZero() || e.TurnID == first:
		case first.IsZero():
			first = e.TurnID
		default:
			return true
		}
	}
	return false
}

func (q *queue) find(id parley.ID) *Entry {
	for i := range q.entries {
		if q.entries[i].ID == id {
			return &q.entries[i]
		}
	}
	return nil
}

// insert adds an entry by position; it drops an entry beyond the end of a partial queue.
func (q *queue) insert(e Entry) {
	at := len(q.entries)
	for at > 0 && q.entries[at-1].Position > e.Position {
		at--
	}
	if at < len(q.entries) || q.whole {
		q.entries = slices.Insert(q.entries, at, e)
	}
	q.changed = true
}

func (q *queue) remove(id parley.ID) {
	q.entries = slices.DeleteFunc(q.entries, func(e Entry) bool { return e.ID == id })
	q.changed = true
}

// trim drops entries beyond what a head may cache.
func (q *queue) trim() {
	if q != nil && len(q.entries) > queueWindow {
		q.entries, q.whole = slices.Clone(q.entries[:queueWindow]), false
	}
}

// steers returns the undelivered steers of a turn, in queue order.
func (q *queue) steers(turnID parley.ID) (steers []Entry) {
	for _, e := range q.entries {
		if e.Steer && e.TurnID == turnID {
			steers = append(steers, e)
		}
	}
	return steers
}

// assignSequence assigns a message the next sequence of the record, updates the statistics and writes message.created.
// A streaming message gets its hash when it settles.
func (t *Tx) assignSequence(h *Head, m *parley.Message) error {
	h.LastSequence++
	if h.Context.Cleared && m.Role == parley.RoleUser && !m.Steer {
		h.Context.Cleared, m.Marks.ContextEdge = false, true
		h.Changes.Marked = append(h.Changes.Marked, Marked{Message: m})
	}
	m.Sequence, m.Position, m.Steer = h.LastSequence, nil, false
	h.Statistics.Messages++
	if !m.Internal {
		h.Statistics.UserFacing++
		h.countContext(1, m.TokenEstimate)
	}
	if m.Role == parley.RoleSummary {
		h.Context.Held = true
		if m.CoversThrough != nil { // what follows it may fit now, also what was dropped before
			h.Context.Anchor, h.Context.Dropped = 0, 0
		}
	}
	h.forgetAnswered(m.ToolCallID)
	if m.Role == parley.RoleToolCall {
		m.CallOrdinal = h.NextCall
		h.NextCall++
	}
	if m.Status == parley.MessageQueued {
		m.Status = parley.MessageCompleted
	}
	t.event(h, m.TurnID, messageCreated(m))
	if m.Status == parley.MessageStreaming {
		return nil
	}
	return chain(h, m)
}

// countContext adds to the counters of the session's context; after a clear they stay 0 until the next message.
func (h *Head) countContext(messages, tokens int) {
	if !h.Context.Cleared {
		h.Context.Messages += int64(messages)
		h.Context.Tokens += int64(tokens)
	}
}

// chain continues the log's hash chain with a settled message.
func chain(h *Head, m *parley.Message) error {
	m.ChainVersion = parley.ChainVersion
	hash, err := parley.ChainHash(h.LastHash, m.ChainInput())
	if err != nil {
		return err
	}
	h.LastHash, m.ContentHash = hash, hash
	return nil
}

// estimate sets the token estimate of a message with content, unless it has one.
func estimate(m *parley.Message) {
	if m.TokenEstimate == 0 && m.Status != parley.MessageStreaming {
		m.TokenEstimate = parley.EstimateContent(m.Content)
	}
}

// record enters a new message into the record.
func (t *Tx) record(h *Head, m *parley.Message, idempotency store.Idempotency) error {
	estimate(m)
	h.Changes.NewMessages = append(
		h.Changes.NewMessages,
		NewMessage{Message: m, PostedEvent: h.LastEvent, Idempotency: idempotency},
	)
	return t.assignSequence(h, m)
}

// enterRecord moves a message from the queue into the record.
func (t *Tx) enterRecord(h *Head, m *parley.Message) error {
	h.Queued--
	if h.queue != nil {
		h.queue.remove(m.ID)
	}
	m.UpdatedAt = t.now
	if at := slices.IndexFunc(
		h.Changes.Requeued,
		func(e Entry) bool { return e.ID == m.ID },
	); at >= 0 { // made in this transition: it enters in that state
		m.TurnID = h.Changes.Requeued[at].TurnID
		h.Changes.Requeued = slices.Delete(h.Changes.Requeued, at, at+1)
	}
	if h.Changes.made(m.ID) == nil {
		h.Changes.Entered = append(h.Changes.Entered, m)
	}
	return t.assignSequence(h, m)
}

// made finds a message that this transition makes, or nil.
func (c *Changes) made(id parley.ID) *parley.Message {
	for i := range c.NewMessages {
		if c.NewMessages[i].ID == id {
			return c.NewMessages[i].Message
		}
	}
	return nil
}

// enqueue adds a new message to the queue at a position.
func (t *Tx) enqueue(h *Head, m *parley.Message, position int64, idempotency store.Idempotency) {
	estimate(m)
	h.Changes.NewMessages = append(
		h.Changes.NewMessages,
		NewMessage{Message: m, PostedEvent: h.LastEvent, Idempotency: idempotency},
	)
	m.Status, m.Position = parley.MessageQueued, &position
	if h.queue == nil && h.Queued == 0 {
		h.queue = &queue{whole: true}
	}
	if h.queue != nil {
		h.queue.insert(
			Entry{
				ID:        m.ID,
				TurnID:    m.TurnID,
				Position:  position,
				Steer:     m.Steer,
				Revision:  m.Revision,
				Iteration: m.Iteration,
			},
		)
	}
	h.Queued++
	t.event(h, m.TurnID, messageQueued(m))
}

// removeQueued removes a message from the queue.
func (t *Tx) removeQueued(h *Head, messageID parley.ID) {
	h.Changes.Removed = append(h.Changes.Removed, messageID)
	if h.queue != nil {
		h.queue.remove(messageID)
	}
	h.Queued--
	t.event(h, parley.ID{}, event.MessageRemoved{MessageID: messageID}.Encode())
}

func (h *Head) takeBack() int64 {
	h.Back++
	return h.Back - 1
}

func (h *Head) takeFront() int64 {
	h.Front--
	return h.Front + 1
}

// checkQueue refuses one more queued message beyond the bounds.
func (t *Tx) checkQueue(h *Head, m *parley.Message) error {
	if h.Queued >= parley.MaxQueued {
		return parley.Errorf(
			parley.CodeConflict,
			"%d messages wait in this session's queue already; let some run, or remove some",
			parley.MaxQueued,
		)
	}
	return t.checkQueuedBytes(h, m.Size())
}

// checkQueuedBytes refuses more bytes in the queue than may wait there. What is in a few
// entries is bounded by how they came.
func (t *Tx) checkQueuedBytes(h *Head, more int) error {
	if h.Queued < parley.MaxQueuedBytes/parley.MaxBodyBytes {
		return nil
	}
	size, err := t.rows.QueuedBytes(h)
	if err == nil && size+int64(more) > parley.MaxQueuedBytes {
		err = parley.Errorf(
			parley.CodeConflict,
			"the messages that wait in this session's queue have %d bytes, and %d is the most; let some run, remove "+
				"some, or send less",
			size,
			parley.MaxQueuedBytes,
		)
	}
	return err
}

// advance starts the next entry of the queue if no turn is unfinished: entries without a turn enter the record, and the
// first one with a turn makes the session ready. The queue has been read unless it is empty.
func (t *Tx) advance(h *Head) error {
	h.TurnID, h.TurnStatus, h.turn, h.open, h.carried = parley.ID{}, "", nil, nil, nil
	h.Changes.Head = true
	if h.Queued == 0 {
		return nil
	}
	var entering []parley.ID
	var next parley.ID
	for _, e := range h.queue.entries {
		if e.Steer {
			continue
		}
		if next = e.TurnID; !next.IsZero() {
			break
		}
		entering = append(entering, e.ID)
	}
	if len(entering) > 0 {
		messages, err := t.rows.Queued(h, entering)
		if err != nil {
			return err
		}
		for i := range messages {
			if err := t.enterRecord(h, &messages[i]); err != nil {
				return err
			}
		}
	}
	if next.IsZero() {
		return nil
	}
	h.TurnID, h.TurnStatus = next, parley.TurnQueued
	h.Status, h.WaitReason, h.FinishedAt = parley.SessionRunning, "", 0
	h.Changes.Ready = true
	if h.Mode == parley.ModeBackground { // its rank depends on the turn
		_, err := t.currentTurn(h)
		return err
	}
	return nil
}

// unready hides the session from claimers.
func (h *Head) unready() { h.Changes.Unready, h.Changes.Ready = true, false }

// metadata returns {} for missing metadata.
func metadata(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
