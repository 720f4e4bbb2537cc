package postgres

import (
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// write sends what an attempt changed as one transaction, with everything that it was computed from for confirmation.
// It sends nothing if nothing changed.
func (a *attempt) write() error {
	b := tenant(a.workspace)
	if !a.decides() {
		return errGuessed
	}
	var deleted []parley.ID
	for _, h := range a.tx.Locked() {
		if !h.Changes.Any() {
			continue
		}
		if h.Changes.Buried {
			deleted = append(deleted, h.ID)
		}
		if !a.wrote {
			b.guardsOf(a)
		}
		a.wrote = true
		if err := h.Write(a.changes(b)); err != nil {
			return err
		}
	}
	a.wrote = a.wrote || len(a.extra) > 0
	if !a.wrote {
		return nil
	}
	b.statements = append(b.statements, a.extra...)
	about := a.tx.Subject()
	entries := a.audit.Entries(about.SessionID, about.TargetID)
	b.audit(append(entries, a.audit.Deletions(a.workspace, deleted, entries)...))
	for _, l := range a.heads {
		if !l.Changes.Any() {
			b.lockUnmoved(l.Head)
		}
	}
	for _, h := range a.tx.Locked() { // last, because many sessions share a budget
		if err := h.WriteBudgets(a.changes(b)); err != nil {
			return err
		}
	}
	if a.talk != nil {
		return a.talk.commit(b)
	}
	if a.groupable(b) {
		return a.store.groups.write(a.ctx, a.tx.Locked()[0].ID, b)
	}
	return a.store.once(a.ctx, b)
}

// decides reports whether the changes have the database confirm what only the right change does.
func (a *attempt) decides() bool {
	some := func(has func(*transition.Changes) bool) bool {
		return slices.ContainsFunc(a.tx.Locked(), func(h *transition.Head) bool { return has(&h.Changes) })
	}
	return (!a.creates || some(func(c *transition.Changes) bool { return c.New != nil })) &&
		(!a.roomy || some(func(c *transition.Changes) bool { return len(c.NewDelegations) > 0 })) &&
		(!a.presumes || some(func(c *transition.Changes) bool {
			return slices.ContainsFunc(c.Delegations, func(d transition.MovedDelegation) bool {
				return d.ID == a.known.ID
			})
		}))
}

// groupable reports whether an attempt may share a transaction: it changes one existing session and is likely to
// succeed.
func (a *attempt) groupable(b *batch) bool {
	locked := a.tx.Locked()
	return len(locked) == 1 && len(a.heads) == 1 && locked[0].Changes.New == nil && a.care == remembered &&
		len(b.statements) <= groupStatements
}

// unmoved voids the batch if a head has changed since it was read.
func (b *batch) unmoved(h *transition.Head) {
	b.write(
		`SELECT CASE WHEN EXISTS (SELECT 1 FROM parley.heads WHERE session_id = $1 AND workspace_id = $2
			AND revision = $3) THEN 0 ELSE parley.stale() END`,
		h.ID,
		h.WorkspaceID,
		h.Revision,
	)
}

// lockUnmoved is unmoved, and locks the head so that other changes wait for this batch. A deletion of the session for
// which a new one is made then either came first, or finds the new one (leavesNoChild).
func (b *batch) lockUnmoved(h *transition.Head) {
	b.write(
		`WITH still AS MATERIALIZED (SELECT 1 FROM parley.heads
			WHERE session_id = $1 AND workspace_id = $2 AND revision = $3 FOR SHARE)
 SELECT CASE WHEN EXISTS (SELECT 1 FROM still) THEN 0 ELSE parley.stale() END`,
		h.ID,
		h.WorkspaceID,
		h.Revision,
	)
}

// leavesNoChild voids a deletion, or a change of visibility, if a child was made since its children were read. It
// follows the update of the head, which waits for whoever makes a child.
func (a *attempt) leavesNoChild(b *batch, h *transition.Head) {
	var known []parley.ID
	for _, locked := range a.tx.Locked() {
		known = append(known, locked.ID)
	}
	b.write(
		"SELECT CASE WHEN EXISTS ("+toolChildren+" AND id <> ALL($3)) THEN parley.stale() ELSE 0 END",
		h.WorkspaceID,
		h.ID,
		known,
	)
}

// guardsOf puts assumptions beyond the session into the first head's fence; those that do not fit there get their own
// statements.
func (b *batch) guardsOf(a *attempt) {
	h := a.tx.Locked()[0]
	if a.dead.IsZero() && !a.process.IsZero() && len(a.agents) == 1 && h.Changes.Any() && h.Changes.New == nil {
		for id, version := range a.agents {
			b.claims = []arg{a.process, id, version}
		}
		b.statements = append(b.statements, a.found...)
		return
	}
	b.guards(a)
}

// guards voids the batch if anything but a head differs from what was assumed.
func (b *batch) guards(a *attempt) {
	if !a.process.IsZero() && len(a.agents) == 0 {
		b.write(
			`SELECT CASE WHEN EXISTS (SELECT 1 FROM parley.processes
				WHERE id = $1 AND lease_until > parley.now_ms()) THEN 0 ELSE parley.lease_gone() END`,
			a.process,
		)
	}
	if !a.dead.IsZero() {
		b.write(
			`SELECT CASE WHEN EXISTS (SELECT 1 FROM parley.processes
				WHERE id = $1 AND lease_until > parley.now_ms()) THEN parley.stale() ELSE 0 END`,
			a.dead,
		)
	}
	if len(a.agents) > 0 {
		ids, versions := make([]parley.ID, 0, len(a.agents)), make([]int64, 0, len(a.agents))
		for id, version := range a.agents {
			ids, versions = append(ids, id), append(versions, int64(version))
		}
		const (
			seen = `(SELECT count(*) FROM unnest($2::uuid[], $3::bigint[]) seen (id, version)
				JOIN parley.agents g ON g.workspace_id = $1 AND g.id = seen.id AND g.version = seen.version) = $4
 THEN 0 ELSE parley.stale() END`
			lives = `SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM parley.processes
				WHERE id = $5 AND lease_until > parley.now_ms()) THEN parley.lease_gone() WHEN ` + seen
		)
		args := []arg{a.workspace, ids, versions, len(ids)}
		if a.process.IsZero() {
			b.write("SELECT CASE WHEN "+seen, args...)
		} else {
			b.write(lives, append(args, a.process)...)
		}
	}
	b.statements = append(b.statements, a.found...)
}

// changes adds to a batch what a transition changed of a session. It implements transition.Writer.
type changes struct {
	*batch
	attempt *attempt
	unknown []textKey // texts of calls that are not known to be stored
}

var _ transition.Writer = (*changes)(nil)

func (a *attempt) changes(b *batch) *changes {
	return &changes{batch: b, attempt: a}
}

// UpdateReady implements transition.Writer: it shows the session to claimers, or hides it. The database's clock
// determines its position.
func (w *changes) UpdateReady(h *transition.Head) error {
	const insert = `INSERT INTO parley.ready (session_id, workspace_id, priority, ready_at)
		VALUES ($1, $2, $3, parley.now_ms()) ON CONFLICT (workspace_id, session_id) DO `
	switch c := &h.Changes; {
	case c.Ready && c.Unready:
		w.write(
			insert+"UPDATE SET priority = excluded.priority, not_before = 0, ready_at = excluded.ready_at",
			h.ID,
			h.WorkspaceID,
			int(h.Rank()),
		)
	case c.Ready:
		w.write(insert+"NOTHING", h.ID, h.WorkspaceID, int(h.Rank()))
	case c.Unready:
		w.write("DELETE FROM parley.ready WHERE workspace_id = $1 AND session_id = $2", h.WorkspaceID, h.ID)
	}
	return nil
}

// OpenClients implements transition.Writer.
func (w *changes) OpenClients(h *transition.Head, opened []transition.ClientOpened) error {
	for _, one := range opened {
		w.write(
			`INSERT INTO parley.clients (workspace_id, principal_id, client, session_id, updated_at)
				VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (workspace_id, principal_id, client) DO UPDATE SET session_id = excluded.session_id,
  updated_at = excluded.updated_at`,
			h.WorkspaceID,
			one.PrincipalID,
			one.Client,
			h.ID,
			h.Changes.At,
		)
	}
	return nil
}

// LeaveErrands implements transition.Writer.
func (w *changes) LeaveErrands(h *transition.Head, errands []transition.Errand) error {
	slots := make([]*ownErrand, len(errands))
	own := len(h.Changes.Spent) == 0 && !h.Changes.Relimited
	for i, errand := range errands {
		slots[i] = w.attempt.reserve(h, errand)
		own = own && (slots[i] != nil || errand.Delay > 0)
	}
	if own {
		w.attempt.own = append(w.attempt.own, h.ID)
	}
	return w.errands(h.WorkspaceID, errands, slots)
}

// NoteDeliveries implements transition.Writer.
func (w *changes) NoteDeliveries(h *transition.Head, delivered []transition.Delivery) error {
	for _, one := range delivered {
		row := one.Row(h)
		w.write(
			"INSERT INTO parley.deliveries ("+insertDeliveryColumns+") VALUES ("+insertDeliveryPlaces+")",
			insertDeliveryArgs(nil, &row)...)
	}
	return nil
}

// errands leaves work to the outbox. What has a slot is reserved for this process.
func (b *batch) errands(workspaceID parley.ID, errands []transition.Errand, slots []*ownErrand) error {
	kinds, targets := make([]string, len(errands)), make([]parley.ID, len(errands))
	payloads, delays := make([]*string, len(errands)), make([]int64, len(errands))
	for i, errand := range errands {
		payload, err := errand.Payload()
		if err != nil {
			return err
		}
		if payload != nil {
			payloads[i] = new(string(payload))
		}
		kinds[i], targets[i], delays[i] = errand.Work.Kind(), errand.Work.Target(), errand.Delay.Milliseconds()
		if slots[i] != nil {
			delays[i] = errandLease
		}
	}
	b.read(
		`INSERT INTO parley.outbox (workspace_id, kind, target_id, payload, created_at, due_at)
 SELECT $1, kind, target_id, payload, now, now + delay
 FROM parley.now_ms() now, unnest($2::text[], $3::uuid[], $4::text[], $5::bigint[])
  made (kind, target_id, payload, delay)
 RETURNING id, kind, target_id`,
		func(r *row) error {
			id, kind, target := r.int64(), r.text(), r.id()
			for i := range slots {
				if slots[i] != nil && kinds[i] == kind && targets[i] == target {
					slots[i].id = id
				}
			}
			return nil
		},
		workspaceID,
		kinds,
		targets,
		payloads,
		delays,
	)
	return nil
}

const eventsPerInsert = 8

// eventInserts are the statements for 1 to eventsPerInsert events of one session.
var eventInserts = func() (texts [eventsPerInsert + 1]string) { //nolint:gochecknoglobals // made once, never written
	for n := 1; n <= eventsPerInsert; n++ {
		var text strings.Builder
		text.WriteString(
			"INSERT INTO parley.events (session_id, workspace_id, sequence, type, turn_id, data, created_at) VALUES ",
		)
		for i := range n {
			if i > 0 {
				text.WriteString(", ")
			}
			text.WriteString("($1, $2")
			for column := range 5 {
				text.WriteString(", $" + strconv.Itoa(3+5*i+column))
			}
			text.WriteString(")")
		}
		texts[n] = text.String()
	}
	return texts
}()

// AppendEvents implements transition.Writer.
func (w *changes) AppendEvents(h *transition.Head, events []transition.Event) error {
	for rest := events; len(rest) > 0; {
		n := min(len(rest), eventsPerInsert)
		args := append(make([]arg, 0, 2+5*n), h.ID, h.WorkspaceID)
		for i := range rest[:n] {
			e := &rest[i]
			data := e.Data
			if e.Stored != nil {
				data = e.Stored
			}
			args = append(args, e.Sequence, string(e.Type), e.TurnID, data, e.CreatedAt)
		}
		w.write(eventInserts[n], args...)
		rest = rest[n:]
	}
	return nil
}

// InsertTurns implements transition.Writer.
func (w *changes) InsertTurns(_ *transition.Head, turns []*parley.Turn) error {
	for _, turn := range turns {
		w.write(
			"INSERT INTO parley.turns ("+insertTurnColumns+") VALUES ("+insertTurnPlaces+")",
			insertTurnArgs(nil, turn)...)
	}
	return nil
}

// SuspectTurn implements transition.Writer.
func (w *changes) SuspectTurn(_ *transition.Head, turn *parley.Turn) error {
	w.write(
		"UPDATE parley.turns SET caught_by = $3, accused_by = $4 WHERE workspace_id = $1 AND id = $2",
		turn.WorkspaceID,
		turn.ID,
		turn.CaughtBy,
		turn.AccusedBy,
	)
	return nil
}

// UpdateTurns implements transition.Writer.
func (w *changes) UpdateTurns(_ *transition.Head, turns []*parley.Turn) error {
	for _, turn := range turns {
		args, err := updateTurnArgs([]arg{turn.WorkspaceID, turn.ID}, turn)
		if err != nil {
			return err
		}
		w.write("UPDATE parley.turns SET "+updateTurnSet+" WHERE workspace_id = $1 AND id = $2", args...)
	}
	return nil
}

// textsOf shares the locks of a call's texts, adds a check of those known to be stored, and returns the others.
func (a *attempt) textsOf(b *batch, h *transition.Head, call *transition.NewCall) (unknown []textKey) {
	keys := textsOf(h.WorkspaceID, call)
	b.shared = append(b.shared, locksOf(keys)...)
	for _, key := range keys {
		if !a.exact && a.store.texts.has(key) {
			b.texts = append(b.texts, key.hash[:])
		} else {
			unknown = append(unknown, key)
		}
	}
	return unknown
}

// InsertCalls implements transition.Writer.
func (w *changes) InsertCalls(h *transition.Head, calls []transition.NewCall) error {
	for i := range calls {
		if err := w.insertCall(h, &calls[i], w.unknown); err != nil {
			return err
		}
	}
	return nil
}

// insertCall adds the record of a call, and those of its texts that are not known to be stored.
func (b *batch) insertCall(h *transition.Head, call *transition.NewCall, unknown []textKey) error {
	c := &call.Call
	for _, key := range unknown {
		text := call.System
		switch key.hash {
		case c.SystemHash:
		case c.ToolsHash:
			text = string(call.Tools)
		case c.InstructionHash:
			text = call.Instruction
		default:
			text = string(call.Middleware)
		}
		b.write(
			"INSERT INTO parley.call_texts (workspace_id, hash, text) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
			key.workspaceID,
			key.hash,
			[]byte(text),
		)
	}
	row := call.Row(h)
	args, err := insertCallArgs(nil, &row)
	if err != nil {
		return err
	}
	b.write("INSERT INTO parley.calls ("+insertCallColumns+") VALUES ("+insertCallPlaces+")", args...)
	return nil
}

// SettleCalls implements transition.Writer.
func (w *changes) SettleCalls(h *transition.Head, calls []store.CallSettled) error {
	for i := range calls {
		args, err := settleCallArgs([]arg{h.WorkspaceID, calls[i].CallID}, &calls[i])
		if err != nil {
			return err
		}
		w.write("UPDATE parley.calls SET "+settleCallSet+" WHERE workspace_id = $1 AND id = $2", args...)
	}
	return nil
}

// encodeMaybe is encode for a value that may be absent: nil is NULL.
func encodeMaybe[T any](value *T) (arg, error) {
	if value == nil {
		return nil, nil
	}
	return encode(value)
}
