package sqlite

import (
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// changes implements transition.Writer over the writer's connection.
type changes struct{ *txn }

var _ transition.Writer = changes{}

// UpdateReady implements transition.Writer: it shows the session to claimers, or hides it.
func (w changes) UpdateReady(h *transition.Head) error {
	if h.Changes.Unready {
		if _, err := w.exec("DELETE FROM ready WHERE session_id = ?", h.ID); err != nil {
			return err
		}
	}
	if !h.Changes.Ready {
		return nil
	}
	_, err := w.exec(
		`INSERT INTO ready (session_id, workspace_id, priority, ready_at) VALUES (?, ?, ?, ?)
			ON CONFLICT (session_id) DO NOTHING`,
		h.ID,
		h.WorkspaceID,
		int(h.Rank()),
		h.Changes.At,
	)
	return err
}

// OpenClients implements transition.Writer.
func (w changes) OpenClients(h *transition.Head, opened []transition.ClientOpened) error {
	for _, one := range opened {
		if _, err := w.exec(
			`INSERT INTO clients (workspace_id, principal_id, client, session_id, updated_at) VALUES (?, ?, ?, ?, ?)
 ON CONFLICT (workspace_id, principal_id, client) DO UPDATE SET session_id = excluded.session_id,
  updated_at = excluded.updated_at`,
			h.WorkspaceID,
			one.PrincipalID,
			one.Client,
			h.ID,
			h.Changes.At,
		); err != nil {
			return err
		}
	}
	return nil
}

// LeaveErrands implements transition.Writer.
func (w changes) LeaveErrands(_ *transition.Head, errands []transition.Errand) error {
	for _, errand := range errands {
		if err := w.leaveFor(errand); err != nil {
			return err
		}
	}
	return nil
}

// NoteDeliveries implements transition.Writer.
func (w changes) NoteDeliveries(h *transition.Head, delivered []transition.Delivery) error {
	for _, one := range delivered {
		row := one.Row(h)
		if _, err := w.exec(
			"INSERT INTO deliveries ("+insertDeliveryColumns+") VALUES ("+insertDeliveryPlaces+")",
			insertDeliveryArgs(w.args[:0], &row)...); err != nil {
			return err
		}
	}
	return nil
}

// leaveFor leaves work to the outbox.
func (t *txn) leaveFor(errand transition.Errand) error {
	payload, err := errand.Payload()
	if err != nil {
		return err
	}
	_, err = t.exec(
		"INSERT INTO outbox (workspace_id, kind, target_id, payload, created_at, due_at) VALUES (?, ?, ?, ?, ?, ?)",
		errand.WorkspaceID,
		errand.Work.Kind(),
		errand.Work.Target(),
		payload,
		t.now,
		t.now+parley.Time(errand.Delay.Milliseconds()),
	)
	return err
}

const (
	insertEvent     = `INSERT OR ROLLBACK INTO events (session_id, sequence, workspace_id, type, turn_id, data, created_at) VALUES `
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

// AppendEvents implements transition.Writer.
func (w changes) AppendEvents(h *transition.Head, events []transition.Event) error {
	for rest := events; len(rest) > 0; {
		n := min(len(rest), eventsPerInsert)
		args := w.args[:0]
		for i := range rest[:n] {
			e := &rest[i]
			data := &e.Data
			if e.Stored != nil {
				data = &e.Stored
			}
			args = append(args, &h.ID, e.Sequence, &h.WorkspaceID, string(e.Type), &e.TurnID, data, &e.CreatedAt)
		}
		if _, err := w.exec(eventInserts[n], args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// InsertTurns implements transition.Writer.
func (w changes) InsertTurns(_ *transition.Head, turns []*parley.Turn) error {
	for _, turn := range turns {
		if _, err := w.exec(
			"INSERT INTO turns ("+insertTurnColumns+") VALUES ("+insertTurnPlaces+")",
			insertTurnArgs(w.args[:0], turn)...); err != nil {
			return err
		}
	}
	return nil
}

// SuspectTurn implements transition.Writer.
func (w changes) SuspectTurn(_ *transition.Head, turn *parley.Turn) error {
	_, err := w.exec(
		"UPDATE turns SET caught_by = ?, accused_by = ? WHERE id = ?",
		turn.CaughtBy,
		turn.AccusedBy,
		turn.ID,
	)
	return err
}

// UpdateTurns implements transition.Writer.
func (w changes) UpdateTurns(_ *transition.Head, turns []*parley.Turn) error {
	for _, turn := range turns {
		args, err := updateTurnArgs(w.args[:0], turn)
		if err != nil {
			return err
		}
		if _, err := w.exec("UPDATE turns SET "+updateTurnSet+" WHERE id = ?", append(args, turn.ID)...); err != nil {
			return err
		}
	}
	return nil
}

// textKey identifies a row of call_texts.
type textKey struct {
	workspaceID parley.ID
	hash        parley.Hash
}

// cachedTexts bounds the memory of which texts are stored.
const cachedTexts = 4096

// InsertCalls implements transition.Writer.
func (w changes) InsertCalls(h *transition.Head, calls []transition.NewCall) error {
	for i := range calls {
		if err := w.insertCall(h, &calls[i]); err != nil {
			return err
		}
	}
	return nil
}

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
	if err := t.insertText(h.WorkspaceID, c.InstructionHash, []byte(call.Instruction)); err != nil {
		return err
	}
	row := call.Row(h)
	args, err := insertCallArgs(t.args[:0], &row)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO calls ("+insertCallColumns+") VALUES ("+insertCallPlaces+")", args...)
	return err
}

// insertText stores a text of calls once per hash.
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

// SettleCalls implements transition.Writer.
func (w changes) SettleCalls(_ *transition.Head, calls []store.CallSettled) error {
	for i := range calls {
		args, err := settleCallArgs(w.args[:0], &calls[i])
		if err != nil {
			return err
		}
		if _, err := w.exec(
			"UPDATE calls SET "+settleCallSet+" WHERE id = ?", append(args, calls[i].CallID)...); err != nil {
			return err
		}
	}
	return nil
}
