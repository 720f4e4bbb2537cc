package sqlite

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
)

// The writer caches heads, because it alone changes their rows; a refusal or a rollback drops what it touched.

const headColumns = sessionColumns + ", " + headStateColumns

func scanHead(r *row) (*transition.Head, error) {
	session, err := scanSession(r)
	if err != nil {
		return nil, err
	}
	h := &transition.Head{Session: session}
	return h, fillHeadState(r, h)
}

// cachedHeads bounds the cache, which is emptied when full.
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

// keep caches a head, as long as the transaction succeeds.
func (t *txn) keep(h *transition.Head) {
	if _, kept := t.heads[h.ID]; !kept && len(t.heads) >= cachedHeads {
		clear(t.heads)
	}
	t.heads[h.ID] = h
	t.touched = append(t.touched, h.ID)
}

// drop forgets a cached head whose rows another statement changed.
func (t *txn) drop(id parley.ID) { delete(t.heads, id) }

// Indexed columns have their own statement: SQLite rewrites index entries whenever a statement names the columns,
// changed or not.
const (
	updateHead      = "UPDATE heads SET " + updateHeadSet + " WHERE session_id = ?"
	updateHeadClaim = "UPDATE heads SET " + updateHeadSet + ", " + claimHeadSet + " WHERE session_id = ?"
)

func (t *txn) updateHead(h *transition.Head) error {
	statement, args := updateHead, updateHeadArgs(t.args[:0], h)
	if h.Changes.Claim {
		statement, args = updateHeadClaim, claimHeadArgs(args, h)
	}
	_, err := t.exec(statement, append(args, h.ID)...)
	return err
}

func (t *txn) insertHead(h *transition.Head) error {
	_, err := t.exec(
		"INSERT INTO heads ("+insertHeadColumns+") VALUES ("+insertHeadPlaces+")", insertHeadArgs(t.args[:0], h)...)
	return err
}
