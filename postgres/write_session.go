package postgres

import (
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// updateHead is the fence of a transition: it voids the batch if the head's revision differs from the one that was
// computed with. With a claim the same statement checks the lease and the agent's version, with a call its texts:
// another statement costs more than a condition.
const (
	updateHead      = movedHead + elseStale
	updateHeadClaim = movedHead +
		" WHEN NOT EXISTS (SELECT 1 FROM parley.processes WHERE id = " + claimHeadPlace1 +
		" AND lease_until > parley.now_ms()) THEN parley.lease_gone()" +
		" WHEN NOT EXISTS (SELECT 1 FROM parley.agents WHERE workspace_id = $2 AND id = " + claimHeadPlace2 +
		" AND version = " + claimHeadPlace3 + ") THEN parley.stale()" + elseStale
	updateHeadCall = movedHead +
		" WHEN (SELECT count(*) FROM parley.call_texts WHERE workspace_id = $2 AND hash = ANY(" + claimHeadPlace1 +
		")) < cardinality(" + claimHeadPlace1 + ") THEN parley.stale()" + elseStale
)

const (
	elseStale = " ELSE 0 END"
	movedHead = "WITH moved AS (UPDATE parley.heads SET revision = $3 + 1, " + updateHeadSet + ", " + claimHeadSet +
		" WHERE session_id = $1 AND workspace_id = $2 AND revision = $3 RETURNING 1)" +
		" SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM moved) THEN parley.stale()"
)

const insertHead = "INSERT INTO parley.heads (" + insertHeadColumns + ", revision) VALUES (" + insertHeadPlaces + ", 1)"

// movedHeadArgs returns the arguments of movedHead.
func movedHeadArgs(h *transition.Head) []arg {
	return claimHeadArgs(updateHeadArgs([]arg{h.ID, h.WorkspaceID, h.Revision}, h), h)
}

// MoveHead implements transition.Writer: it is the fence, together with the transition's other assumptions.
func (w *changes) MoveHead(h *transition.Head) error {
	for i := range h.Changes.NewCalls {
		w.unknown = append(w.unknown, w.attempt.textsOf(w.batch, h, &h.Changes.NewCalls[i])...)
	}
	switch values := movedHeadArgs(h); {
	case w.claims != nil:
		w.write(updateHeadClaim, append(values, w.claims...)...)
		w.claims = nil
	case len(w.texts) > 0:
		w.write(updateHeadCall, append(values, w.texts)...)
		w.texts = nil
	default:
		w.write(updateHead, values...)
	}
	return nil
}

// Create implements transition.Writer.
func (w *changes) Create(h *transition.Head, made *transition.Creation) error {
	w.write(insertHead, insertHeadArgs(nil, h)...)
	if made.Inherited != nil {
		w.inherit(h, made.Inherited)
	}
	return w.insertSession(h)
}

// ClearContext implements transition.Writer.
func (w *changes) ClearContext(h *transition.Head, event int64) error {
	w.write(
		"UPDATE parley.heads SET cleared_at = $3, cleared_event = $4 WHERE workspace_id = $1 AND session_id = $2",
		h.WorkspaceID,
		h.ID,
		h.Context.ClearedAt,
		event,
	)
	return nil
}

// UpdateListed implements transition.Writer.
func (w *changes) UpdateListed(h *transition.Head) error {
	w.write(
		"UPDATE parley.sessions SET "+updateSessionSet+" WHERE workspace_id = $1 AND id = $2",
		updateSessionArgs([]arg{h.WorkspaceID, h.ID}, &h.Session)...)
	return nil
}

// Accept implements transition.Writer.
func (w *changes) Accept(h *transition.Head, accepted *parley.Accepted) error {
	text, err := encode(accepted)
	if err != nil {
		return err
	}
	w.write("UPDATE parley.sessions SET accepted = $3 WHERE workspace_id = $1 AND id = $2", h.WorkspaceID, h.ID, text)
	return nil
}

// insertSession adds the listed row of a new session and its tags.
func (b *batch) insertSession(h *transition.Head) error {
	s := &h.Session
	row := h.ListedRow()
	args, err := insertSessionArgs(nil, &row)
	if err != nil {
		return err
	}
	b.write("INSERT INTO parley.sessions ("+insertSessionColumns+") VALUES ("+insertSessionPlaces+")", args...)
	b.tag(s, nil)
	return nil
}

// UpdateSetting implements transition.Writer: it writes every column that a patch may change.
func (w *changes) UpdateSetting(h *transition.Head, setting *transition.Setting) error {
	s, before := &h.Session, setting.TagsBefore
	args, err := patchSessionArgs([]arg{s.WorkspaceID, s.ID}, s)
	if err != nil {
		return err
	}
	w.write("UPDATE parley.sessions SET "+patchSessionSet+" WHERE workspace_id = $1 AND id = $2", args...)
	if !slices.Equal(before, s.Tags) {
		w.tag(s, before)
	}
	if setting.Visibility {
		w.attempt.leavesNoChild(w.batch, h)
	}
	return nil
}

// tag updates the index of a session's tags.
func (b *batch) tag(s *parley.Session, before []string) {
	b.untag(s, before)
	if len(s.Tags) > 0 {
		b.write(
			"INSERT INTO parley.session_tags (workspace_id, tag, session_id) SELECT $1, tag, $3 "+
				"FROM unnest($2::text[]) tag ON CONFLICT DO NOTHING",
			s.WorkspaceID,
			s.Tags,
			s.ID,
		)
	}
}

func (b *batch) untag(s *parley.Session, tags []string) {
	if len(tags) > 0 {
		b.write(
			"DELETE FROM parley.session_tags WHERE workspace_id = $1 AND tag = ANY($2) AND session_id = $3",
			s.WorkspaceID,
			tags,
			s.ID,
		)
	}
}

// Bury implements transition.Writer: it adds the tombstone of a session.
func (w *changes) Bury(h *transition.Head) error {
	w.write(
		"UPDATE parley.sessions SET deleted_at = $3, idempotency_key = NULL, fingerprint = NULL, status = "+
			"'cancelled', "+
			"wait_reason = '' WHERE workspace_id = $1 AND id = $2",
		h.WorkspaceID,
		h.ID,
		h.DeletedAt,
	)
	w.write(
		"UPDATE parley.turns SET status = 'cancelled', wait_reason = '', finished_at = $3 "+
			"WHERE workspace_id = $1 AND session_id = $2 AND status IN ('queued', 'running', 'waiting')",
		h.WorkspaceID,
		h.ID,
		h.DeletedAt,
	)
	w.write(
		"UPDATE parley.approvals SET state = 'cancelled', decided_at = $3 "+
			"WHERE workspace_id = $1 AND session_id = $2 AND state = 'pending'",
		h.WorkspaceID,
		h.ID,
		h.DeletedAt,
	)
	w.write(
		"INSERT INTO parley.graves (workspace_id, session_id, deleted_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
		h.WorkspaceID,
		h.ID,
		h.DeletedAt,
	)
	w.untag(&h.Session, h.Tags)
	w.write("DELETE FROM parley.clients WHERE workspace_id = $1 AND session_id = $2", h.WorkspaceID, h.ID)
	w.write("DELETE FROM parley.outside WHERE workspace_id = $1 AND session_id = $2", h.WorkspaceID, h.ID)
	w.attempt.leavesNoChild(w.batch, h)
	return nil
}
