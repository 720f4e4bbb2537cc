package sqlite

import (
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// write writes what a transition changed of a session.
func (t *txn) write(h *transition.Head) error {
	c := &h.Changes
	if err := t.insertEvents(h, c.Events); err != nil {
		return err
	}
	if err := t.writeSession(h); err != nil {
		return err
	}
	if err := t.writeMessages(h); err != nil {
		return err
	}
	if err := t.writeLoops(c); err != nil {
		return err
	}
	for _, turn := range c.NewTurns {
		if err := t.insertTurn(turn); err != nil {
			return err
		}
	}
	for i := range c.Resumed {
		if err := t.updateResumed(&c.Resumed[i]); err != nil {
			return err
		}
	}
	if turn := c.Suspect; turn != nil {
		if _, err := t.exec(
			"UPDATE turns SET caught_by = ?, accused_by = ? WHERE id = ?",
			turn.CaughtBy,
			turn.AccusedBy,
			turn.ID,
		); err != nil {
			return err
		}
	}
	for _, turn := range c.Turns {
		if err := t.updateTurn(turn); err != nil {
			return err
		}
	}
	for i := range c.NewCalls {
		if err := t.insertCall(h, &c.NewCalls[i]); err != nil {
			return err
		}
	}
	for i := range c.Calls {
		if err := t.settleCall(&c.Calls[i]); err != nil {
			return err
		}
	}
	if err := t.writeBudgets(h); err != nil {
		return err
	}
	if err := t.writeOutside(h); err != nil {
		return err
	}
	if err := t.writeApprovals(c); err != nil {
		return err
	}
	if err := t.writeCompaction(h); err != nil {
		return err
	}
	if err := t.writeReplay(h); err != nil {
		return err
	}
	if err := t.writeReady(h); err != nil {
		return err
	}
	if err := t.writeFiles(h); err != nil {
		return err
	}
	for _, opened := range c.Opened {
		if _, err := t.exec(
			`INSERT INTO clients (workspace_id, principal_id, client, session_id, updated_at) VALUES (?, ?, ?, ?, ?)
 ON CONFLICT (workspace_id, principal_id, client) DO UPDATE SET session_id = excluded.session_id,
  updated_at = excluded.updated_at`,
			h.WorkspaceID,
			opened.PrincipalID,
			opened.Client,
			h.ID,
			c.At,
		); err != nil {
			return err
		}
	}
	for _, errand := range c.Outbox {
		if err := t.leaveFor(errand); err != nil {
			return err
		}
	}
	return nil
}

// writeReady makes claimers find the session, or not.
func (t *txn) writeReady(h *transition.Head) error {
	if h.Changes.Unready {
		if _, err := t.exec("DELETE FROM ready WHERE session_id = ?", h.ID); err != nil {
			return err
		}
	}
	if !h.Changes.Ready {
		return nil
	}
	_, err := t.exec(
		`INSERT INTO ready (session_id, workspace_id, priority, ready_at) VALUES (?, ?, ?, ?)
			ON CONFLICT (session_id) DO NOTHING`,
		h.ID,
		h.WorkspaceID,
		int(h.Rank()),
		h.Changes.At,
	)
	return err
}

// leaveFor leaves work for the outbox.
func (t *txn) leaveFor(errand transition.Errand) error {
	_, err := t.exec("INSERT INTO outbox (workspace_id, kind, target_id, created_at, due_at) VALUES (?, ?, ?, ?, ?)",
		errand.WorkspaceID, errand.Kind, errand.TargetID, t.now, t.now+parley.Time(errand.Delay.Milliseconds()))
	return err
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

func (t *txn) insertEvents(h *transition.Head, events []transition.Event) error {
	for rest := events; len(rest) > 0; {
		n := min(len(rest), eventsPerInsert)
		args := make([]arg, 0, n*7)
		for i := range rest[:n] {
			e := &rest[i]
			data := e.Data
			if e.Stored != nil {
				data = e.Stored
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

func (t *txn) insertTurn(turn *parley.Turn) error {
	_, err := t.exec(
		"INSERT INTO turns ("+insertTurnColumns+") VALUES ("+insertTurnPlaces+")",
		insertTurnArgs(nil, turn)...)
	return err
}

// updateTurn writes all that changes in a turn.
func (t *txn) updateTurn(turn *parley.Turn) error {
	args, err := updateTurnArgs(nil, turn)
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE turns SET "+updateTurnSet+" WHERE id = ?", append(args, turn.ID)...)
	return err
}

// textKey names a row of call_texts.
type textKey struct {
	workspaceID parley.ID
	hash        parley.Hash
}

// cachedTexts bounds the memory of which texts are stored.
const cachedTexts = 4096

func (t *txn) insertCall(h *transition.Head, call *transition.NewCall) error {
	c := &call.Call
	if err := t.insertText(h.WorkspaceID, c.SystemHash, []byte(call.System)); err != nil {
		return err
	}
	if err := t.insertText(h.WorkspaceID, c.ToolsHash, call.Tools); err != nil {
		return err
	}
	if err := t.insertText(h.WorkspaceID, c.MiddlewareHash, call.Middleware); err != nil {
		return err
	}
	row := call.Row(h)
	args, err := insertCallArgs(nil, &row)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO calls ("+insertCallColumns+") VALUES ("+insertCallPlaces+")", args...)
	return err
}

// insertText keeps a text of calls once per hash.
func (t *txn) insertText(workspaceID parley.ID, hash parley.Hash, text []byte) error {
	key := textKey{workspaceID, hash}
	if _, stored := t.texts[key]; stored || hash.IsZero() {
		return nil
	}
	_, err := t.exec(
		"INSERT INTO call_texts (workspace_id, hash, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		workspaceID,
		hash,
		string(text),
	)
	t.newTexts = append(t.newTexts, key)
	return err
}

// settleCall ends the record of an open call.
func (t *txn) settleCall(call *store.CallSettled) error {
	args, err := settleCallArgs(nil, call)
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE calls SET "+settleCallSet+" WHERE id = ?", append(args, call.CallID)...)
	return err
}
