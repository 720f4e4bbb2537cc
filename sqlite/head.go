package sqlite

import (
	"encoding/json"
	"strings"

	"parley"
)

// head is the writer's view of one session: its listed row and its head row.
// Every transition begins by locking it, changes it in memory, and the end of
// the transition writes it with the events. Heads stay in a cache of the
// writer, which is the only one that changes these rows; a refusal or a
// rollback drops what it touched.
type head struct {
	parley.Session
	epoch      int64
	holder     parley.ID // process that runs the turn; zero: nobody
	turnStatus parley.TurnStatus
	cancel     parley.ID // turn asked to stop
	back       int64     // queue position of the next entry at its end
	front      int64     // and at its front, counting down
	nextCall   int64
	queued     int64 // messages in the queue
	steers     int64 // of them undelivered steers of TurnID
	lastHash   parley.Hash
	deletedAt  parley.Time

	turn *parley.Turn // the first unfinished one, once read; nil otherwise

	// what the transition has to write and to tell
	dirty  bool // the head row
	listed bool // status, title and times of the listed row
	events []pendingEvent
	hint   parley.Commit
	status parley.SessionStatus // as it was before the transition
	reason parley.WaitReason
	claim  headClaim
}

// pendingEvent is an event with the form in which it is stored, if that is not
// the complete one.
type pendingEvent struct {
	parley.Event
	stored json.RawMessage
}

const headColumns = sessionColumns + `, h.epoch, h.holder, h.turn_status, h.cancel_turn, h.next_position, h.front_position,
 h.next_call, h.queued, h.steers, h.last_hash, h.deleted_at`

func scanHead(r *row) (*head, error) {
	session, err := scanSession(r)
	if err != nil {
		return nil, err
	}
	return &head{
		Session: session, epoch: r.int64(), holder: r.id(), turnStatus: parley.TurnStatus(r.text()), cancel: r.id(),
		back: r.int64(), front: r.int64(), nextCall: r.int64(), queued: r.int64(), steers: r.int64(),
		lastHash: r.hash(), deletedAt: r.time(),
	}, nil
}

// cachedHeads bounds the cache; a full one is emptied.
const cachedHeads = 2048

// load finds a session's head for this transition; nil when there is none.
func (t *txn) load(id parley.ID) (*head, error) {
	for _, h := range t.locked {
		if h.ID == id {
			return h, nil
		}
	}
	h := t.heads[id]
	if h == nil {
		_, err := t.one("SELECT "+headColumns+sessionTables+"WHERE s.id = ?", func(r *row) (err error) {
			h, err = scanHead(r)
			return err
		}, id)
		if err != nil || h == nil {
			return nil, err
		}
		if len(t.heads) >= cachedHeads {
			clear(t.heads)
		}
		t.heads[id] = h
	}
	t.touched = append(t.touched, id)
	t.locked = append(t.locked, h)
	h.dirty, h.listed, h.events, h.hint = false, false, nil, parley.Commit{}
	h.status, h.reason, h.claim = h.Status, h.WaitReason, h.claimed()
	return h, nil
}

// drop forgets a cached head whose rows another statement has changed.
func (t *txn) drop(id parley.ID) { delete(t.heads, id) }

// lock locks a session for someone who looks through a scope: CodeNotFound for
// what does not exist, is deleted or may not be seen.
func (t *txn) lock(scope parley.Scope, id parley.ID) (*head, error) {
	h, err := t.load(id)
	if err != nil {
		return nil, err
	}
	if h == nil || h.deletedAt != 0 || !visible(scope, &h.Session) {
		return nil, notFound("session")
	}
	return h, nil
}

// lockClaim locks a session for the holder of a claim, or is CodeFenced.
func (t *txn) lockClaim(fence parley.Fence) (*head, error) {
	h, err := t.load(fence.SessionID)
	if err != nil {
		return nil, err
	}
	if h == nil || h.deletedAt != 0 || h.WorkspaceID != fence.WorkspaceID || h.epoch != fence.Epoch ||
		h.TurnID != fence.TurnID || h.turnStatus != parley.TurnRunning || h.holder.IsZero() {
		return nil, parley.Errorf(parley.CodeFenced, "the claim of this turn has passed to someone else")
	}
	return h, nil
}

// lockTurn locks a claimed session and reads the turn that the claim is for.
func (t *txn) lockTurn(fence parley.Fence) (*head, *parley.Turn, error) {
	h, err := t.lockClaim(fence)
	if err != nil {
		return nil, nil, err
	}
	turn, err := t.currentTurn(h)
	return h, turn, err
}

// visible reports whether a scope shows a session.
func visible(scope parley.Scope, s *parley.Session) bool {
	return s.WorkspaceID == scope.WorkspaceID &&
		(scope.ViewerID.IsZero() || s.OwnerID == scope.ViewerID || s.Visibility == parley.VisibilityWorkspace)
}

// currentTurn is the first unfinished turn of a locked session that has one.
func (t *txn) currentTurn(h *head) (*parley.Turn, error) {
	if h.turn != nil && h.turn.ID == h.TurnID {
		return h.turn, nil
	}
	turn, err := readTurn(t.conn, h.ID, h.TurnID)
	if err != nil {
		return nil, err
	}
	h.turn = &turn
	return h.turn, nil
}

// readTurn reads a turn of a session; CodeNotFound when it has no such turn.
func readTurn(c *conn, sessionID, turnID parley.ID) (turn parley.Turn, err error) {
	found, err := c.one("SELECT "+turnColumns+" FROM turns t WHERE t.id = ? AND t.session_id = ?", func(r *row) (err error) {
		turn, err = scanTurn(r)
		return err
	}, turnID, sessionID)
	if err == nil && !found {
		err = notFound("turn")
	}
	return turn, err
}

// event adds a durable event to a locked session.
func (t *txn) event(h *head, kind parley.EventType, turnID parley.ID, data json.RawMessage) {
	t.eventStored(h, kind, turnID, data, nil)
}

// eventStored is event for one that is stored in another form than it is told.
func (t *txn) eventStored(h *head, kind parley.EventType, turnID parley.ID, data, stored json.RawMessage) {
	h.LastEvent++
	h.dirty = true
	h.events = append(h.events, pendingEvent{
		Event: parley.Event{SessionID: h.ID, Sequence: h.LastEvent, Type: kind, CreatedAt: t.now, TurnID: turnID, Data: data}, stored: stored,
	})
}

// feed adds a hint for the workspace feed.
func (t *txn) feed(h *head, kind parley.EventType, data json.RawMessage) {
	h.hint.Feed = append(h.hint.Feed, parley.FeedEvent{
		WorkspaceID: h.WorkspaceID, SessionID: h.ID, Type: kind, OwnerID: h.OwnerID, Visibility: h.Visibility, Data: data,
	})
}

// touch notes activity: the session moves to the top of the lists.
func (t *txn) touch(h *head) {
	h.UpdatedAt, h.listed = t.now, true
}

// The columns that indexes hold stand in a statement of their own: SQLite would
// rewrite the indexes' entries whenever they are named, changed or not.
const (
	headCounters = `UPDATE heads SET turn_status = ?, next_sequence = ?, next_event = ?, next_position = ?, front_position = ?, next_call = ?,
 queued = ?, steers = ?, last_hash = ?, messages = ?, user_facing = ?, turns = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?,
 unknown_calls = ?, cost = ?, unpriced_calls = ?`
	updateHead      = headCounters + ` WHERE session_id = ?`
	updateHeadClaim = headCounters + `, epoch = ?, holder = ?, turn_id = ?, cancel_turn = ?, deleted_at = ? WHERE session_id = ?`
)

// headClaim is what updateHeadClaim writes beside the counters.
type headClaim struct {
	epoch                int64
	holder, turn, cancel parley.ID
	deletedAt            parley.Time
}

func (h *head) claimed() headClaim {
	return headClaim{h.epoch, h.holder, h.TurnID, h.cancel, h.deletedAt}
}

func (t *txn) updateHead(h *head) error {
	s := &h.Statistics
	args := make([]arg, 0, 24)
	args = append(args, string(h.turnStatus), h.LastSequence+1, h.LastEvent+1, h.back, h.front, h.nextCall,
		h.queued, h.steers, h.lastHash, s.Messages, s.UserFacing, s.Turns, s.InputTokens, s.OutputTokens, s.CachedTokens,
		s.Unknown, int64(s.Cost), s.Unpriced)
	statement := updateHead
	if h.claimed() != h.claim {
		statement = updateHeadClaim
		args = append(args, h.epoch, h.holder, h.TurnID, h.cancel, h.deletedAt)
	}
	_, err := t.exec(statement, append(args, h.ID)...)
	return err
}

const updateListed = `UPDATE sessions SET status = ?, wait_reason = ?, title = ?, updated_at = ?, started_at = ?, finished_at = ? WHERE id = ?`

// flush writes what a transition changed of a session and notes what to tell.
func (t *txn) flush(h *head) error {
	if err := t.insertEvents(h); err != nil {
		return err
	}
	if h.dirty {
		if err := t.updateHead(h); err != nil {
			return err
		}
	}
	if h.Status != h.status || h.WaitReason != h.reason {
		h.listed = true
		data := append(appendID([]byte(`{"session_id":`), h.ID), `,"status":`...)
		data = append(parley.AppendJSONString(data, string(h.Status)), `,"wait_reason":`...)
		if h.WaitReason == "" {
			data = append(data, "null}"...)
		} else {
			data = append(parley.AppendJSONString(data, string(h.WaitReason)), '}')
		}
		t.feed(h, parley.FeedSessionStatusChanged, data)
	}
	if h.listed {
		if _, err := t.exec(updateListed, string(h.Status), string(h.WaitReason), h.Title, h.UpdatedAt, h.StartedAt, h.FinishedAt, h.ID); err != nil {
			return err
		}
	}
	hint := h.hint
	for _, e := range h.events {
		hint.Events = append(hint.Events, e.Event)
	}
	if len(hint.Events) > 0 || len(hint.Feed) > 0 || len(hint.Settled) > 0 || hint.Ready || !hint.Cancel.IsZero() {
		hint.WorkspaceID, hint.SessionID, hint.Epoch = h.WorkspaceID, h.ID, h.epoch
		t.publish(hint)
	}
	h.events, h.hint = nil, parley.Commit{}
	return nil
}

const (
	insertEvent     = `INSERT INTO events (session_id, sequence, workspace_id, type, turn_id, data, created_at) VALUES `
	eventValues     = `(?, ?, ?, ?, ?, ?, ?)`
	eventsPerInsert = 8
)

// eventInserts are the statements for 1 to eventsPerInsert events.
var eventInserts = func() (texts [eventsPerInsert + 1]string) { //nolint:gochecknoglobals // made once, never written
	for n := 1; n <= eventsPerInsert; n++ {
		texts[n] = insertEvent + strings.Repeat(eventValues+", ", n-1) + eventValues
	}
	return texts
}()

func (t *txn) insertEvents(h *head) error {
	for rest := h.events; len(rest) > 0; {
		n := min(len(rest), eventsPerInsert)
		args := make([]arg, 0, n*7)
		for _, e := range rest[:n] {
			data := e.Data
			if e.stored != nil {
				data = e.stored
			}
			args = append(args, h.ID, e.Sequence, h.WorkspaceID, string(e.Type), e.TurnID, data, e.CreatedAt)
		}
		if _, err := t.exec(eventInserts[n], args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}
