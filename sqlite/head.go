package sqlite

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Heads stay in a cache of the writer, which is the only one that changes their
// rows; a refusal or a rollback drops what it touched.

const headColumns = sessionColumns +
	`, h.epoch, h.holder, h.turn_status, h.cancel_turn, h.next_position, h.front_position,
 h.next_call, h.queued, h.steers, h.last_hash, h.deleted_at`

func scanHead(r *row) (*transition.Head, error) {
	session, err := scanSession(r)
	if err != nil {
		return nil, err
	}
	return &transition.Head{
		Session: session, Epoch: r.int64(), Holder: r.id(), TurnStatus: parley.TurnStatus(r.text()), Cancel: r.id(),
		Back: r.int64(), Front: r.int64(), NextCall: r.int64(), Queued: r.int64(), Steers: r.int64(),
		LastHash: r.hash(), DeletedAt: r.time(),
	}, nil
}

// cachedHeads bounds the cache; a full one is emptied.
const cachedHeads = 2048

// Head implements transition.Rows.
func (t *txn) Head(id parley.ID) (*transition.Head, error) {
	h := t.heads[id]
	if h == nil {
		_, err := t.one("SELECT "+headColumns+sessionTables+"WHERE s.id = ?", func(r *row) (err error) {
			h, err = scanHead(r)
			return err
		}, id)
		if err != nil || h == nil {
			return nil, err
		}
	}
	t.keep(h)
	return h, nil
}

// keep puts a head into the cache for as long as the transaction goes well.
func (t *txn) keep(h *transition.Head) {
	if _, kept := t.heads[h.ID]; !kept && len(t.heads) >= cachedHeads {
		clear(t.heads)
	}
	t.heads[h.ID] = h
	t.touched = append(t.touched, h.ID)
}

// drop forgets a cached head whose rows another statement has changed.
func (t *txn) drop(id parley.ID) { delete(t.heads, id) }

// The columns that indexes hold stand in a statement of their own: SQLite would
// rewrite the indexes' entries whenever they are named, changed or not.
const (
	headCounters = `UPDATE heads SET turn_status = ?, next_sequence = ?, next_event = ?, next_position = ?,
		front_position = ?, next_call = ?,
 queued = ?, steers = ?, last_hash = ?, messages = ?, user_facing = ?, turns = ?, input_tokens = ?, output_tokens = ?,
  cached_tokens = ?,
 unknown_calls = ?, cost = ?, unpriced_calls = ?, calls = ?, cache_hits = ?, cache_write_tokens = ?, saved = ?,
 context_anchor = ?, context_messages = ?, context_tokens = ?, context_cleared = ?, context_held = ?`
	updateHead      = headCounters + ` WHERE session_id = ?`
	updateHeadClaim = headCounters +
		`, epoch = ?, holder = ?, turn_id = ?, cancel_turn = ?, deleted_at = ? WHERE session_id = ?`
	insertHead = `INSERT INTO heads (turn_status, next_sequence, next_event, next_position, front_position,
		next_call, queued, steers,
 last_hash, messages, user_facing, turns, input_tokens, output_tokens, cached_tokens, unknown_calls, cost,
  unpriced_calls, calls, cache_hits, cache_write_tokens, saved,
 context_anchor, context_messages, context_tokens, context_cleared, context_held, epoch, holder, turn_id, cancel_turn,
  deleted_at, session_id, workspace_id, log_id, mode)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// counters are the arguments of headCounters, with room for the others.
func counters(h *transition.Head) []arg {
	s := &h.Statistics
	return append(
		make([]arg, 0, 36),
		string(h.TurnStatus),
		h.LastSequence+1,
		h.LastEvent+1,
		h.Back,
		h.Front,
		h.NextCall,
		h.Queued,
		h.Steers,
		h.LastHash,
		s.Messages,
		s.UserFacing,
		s.Turns,
		s.InputTokens,
		s.OutputTokens,
		s.CachedTokens,
		s.Unknown,
		int64(s.Cost),
		s.Unpriced,
		s.Calls,
		s.CacheHits,
		s.CacheWriteTokens,
		int64(s.Saved),
		h.Context.Anchor,
		h.Context.Messages,
		h.Context.Tokens,
		h.Context.Cleared,
		h.Context.Held,
	)
}

func (t *txn) updateHead(h *transition.Head) error {
	statement, args := updateHead, counters(h)
	if h.Changes.Claim {
		statement, args = updateHeadClaim, append(args, h.Epoch, h.Holder, h.TurnID, h.Cancel, h.DeletedAt)
	}
	_, err := t.exec(statement, append(args, h.ID)...)
	return err
}

func (t *txn) insertHead(h *transition.Head) error {
	_, err := t.exec(
		insertHead,
		append(
			counters(h),
			h.Epoch,
			h.Holder,
			h.TurnID,
			h.Cancel,
			h.DeletedAt,
			h.ID,
			h.WorkspaceID,
			h.LogID,
			string(h.Mode),
		)...)
	return err
}
