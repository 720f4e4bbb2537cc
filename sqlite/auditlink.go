package sqlite

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// linkable is what the next links cover.
type linkable struct {
	entries []parley.AuditEntry // listed as unlinked
	stale   []parley.AuditEntry // listed, but already linked
	gone    []parley.AuditEntry // listed, but neither linked nor present: keys only
	heads   []parley.LinkedHead
	last    parley.ID // position of the pass
}

// listed returns how many entries are listed as unlinked.
func (l *linkable) listed() int { return len(l.entries) + len(l.stale) + len(l.gone) }

// movedHead selects a session's settled head if it is not linked yet.
const movedHead = `SELECT h.workspace_id, h.session_id, m.sequence, m.content_hash FROM heads h
 JOIN messages m ON m.log_id = h.log_id AND m.sequence = h.next_sequence - 1 AND m.content_hash = h.last_hash
 LEFT JOIN linked_heads l ON l.session_id = h.session_id
 WHERE h.session_id = ? AND h.deleted_at IS NULL AND ifnull(l.sequence, 0) <> m.sequence`

// LinkAudit implements store.AuditLinker. One process has the database, so it always holds the lease.
func (s *Store) LinkAudit(
	ctx context.Context,
	_ parley.ID,
	_ time.Duration,
	changed []parley.ID,
	after *parley.ID,
) (step store.LinkStep, err error) {
	var found linkable
	if err := s.read(ctx, func(c *conn) error {
		found = linkable{}
		return found.gather(c, changed, after)
	}); err != nil {
		return step, err
	}
	step = store.LinkStep{
		Held: true,
		More: found.listed() == store.LinkEntries || len(found.heads) >= store.LinkHeads/2,
		Last: found.last,
	}
	if found.listed()+len(found.heads) == 0 {
		return step, nil
	}
	step.Gone = len(found.gone)
	step.Linked, err = transact(ctx, s, func(tx *txn) (int, error) { return tx.link(&found) })
	return step, err
}

// gather reads what to link.
func (l *linkable) gather(c *conn, changed []parley.ID, after *parley.ID) error {
	if err := c.each(
		`SELECT u.workspace_id, u.at, u.id, a.id IS NOT NULL, k.number IS NOT NULL, a.principal_id,
			ifnull(a.principal_name, ''), ifnull(a.action, ''), a.session_id, a.target_id, a.request_id
 FROM (SELECT * FROM audit_unlinked LIMIT ?) u LEFT JOIN audit a ON a.workspace_id = u.workspace_id AND a.at = u.at
  AND a.id = u.id
 LEFT JOIN audit_links k ON k.workspace_id = u.workspace_id AND k.entry_at = u.at AND k.entry_id = u.id
  AND k.entry_id IS NOT NULL ORDER BY u.at, u.id`,
		func(r *row) error {
			e := parley.AuditEntry{WorkspaceID: r.id(), At: r.time(), ID: r.id()}
			there, before := r.bool(), r.bool()
			e.PrincipalID, e.PrincipalName, e.Action, e.SessionID, e.TargetID, e.RequestID = r.id(), r.text(), r.text(),
				r.id(), r.id(), r.id()
			switch {
			case before:
				l.stale = append(l.stale, e)
			case there:
				l.entries = append(l.entries, e)
			default:
				l.gone = append(l.gone, e)
			}
			return nil
		},
		store.LinkEntries,
	); err != nil {
		return err
	}
	if err := c.each(
		"SELECT workspace_id, session_id FROM graves INDEXED BY graves_unlinked WHERE linked = 0 LIMIT ?",
		func(r *row) error {
			l.heads = append(l.heads, parley.LinkedHead{WorkspaceID: r.id(), SessionID: r.id()})
			return nil
		},
		store.LinkHeads/2,
	); err != nil {
		return err
	}
	if after != nil {
		n := 0
		if err := c.each(
			"SELECT session_id FROM heads WHERE session_id > ? ORDER BY session_id LIMIT ?",
			func(r *row) error {
				l.last = r.id()
				n++
				changed = append(changed, l.last)
				return nil
			},
			(*after)[:],
			store.LinkPassHeads,
		); err != nil {
			return err
		}
		if n < store.LinkPassHeads {
			l.last = parley.ID{}
		}
	}
	seen := map[parley.ID]bool{}
	for _, id := range changed {
		if len(l.heads) == store.LinkHeads {
			break
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		if _, err := c.one(movedHead, func(r *row) error {
			l.heads = append(
				l.heads,
				parley.LinkedHead{WorkspaceID: r.id(), SessionID: r.id(), Sequence: r.int64(), Hash: r.hash()},
			)
			return nil
		}, id); err != nil {
			return err
		}
	}
	return nil
}

// link makes the links. Nothing else links, so what a reader read still holds; a session deleted meanwhile is linked as
// deleted next time.
func (t *txn) link(found *linkable) (int, error) {
	anchor, err := anchorOf(t.conn)
	if err != nil {
		return 0, err
	}
	links := parley.LinkAll(anchor, parley.Now(), found.entries, found.gone, found.heads)
	for i := range links {
		k := &links[i]
		var workspace, at, entry arg
		heads := ""
		if k.EntryID.IsZero() {
			heads = string(parley.AppendHeads(nil, k.Heads))
		} else {
			workspace, at, entry = k.WorkspaceID, int64(k.EntryAt), k.EntryID
		}
		if _, err := t.exec(
			"INSERT INTO audit_links (number, linked_at, workspace_id, entry_at, entry_id, heads, hash) "+
				"VALUES (?, ?, ?, ?, ?, ?, ?)",
			k.Number,
			int64(k.LinkedAt),
			workspace,
			at,
			entry,
			heads,
			k.Hash,
		); err != nil {
			return 0, err
		}
	}
	for _, entries := range [][]parley.AuditEntry{found.entries, found.stale, found.gone} {
		for i := range entries {
			if _, err := t.exec(
				"DELETE FROM audit_unlinked WHERE workspace_id = ? AND at = ? AND id = ?",
				entries[i].WorkspaceID,
				int64(entries[i].At),
				entries[i].ID,
			); err != nil {
				return 0, err
			}
		}
	}
	for i := range found.heads {
		if err := t.noteLinked(&found.heads[i]); err != nil {
			return 0, err
		}
	}
	return len(links), nil
}

// noteLinked records how far a session is linked.
func (t *txn) noteLinked(h *parley.LinkedHead) error {
	if h.Sequence > 0 {
		_, err := t.exec(
			"INSERT INTO linked_heads (session_id, workspace_id, sequence) VALUES (?, ?, ?) ON CONFLICT DO UPDATE "+
				"SET sequence = excluded.sequence",
			h.SessionID,
			h.WorkspaceID,
			h.Sequence,
		)
		return err
	}
	if _, err := t.exec("UPDATE graves SET linked = 1 WHERE session_id = ?", h.SessionID); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM linked_heads WHERE session_id = ?", h.SessionID)
	return err
}

// AuditAnchor implements store.AuditLinker.
func (s *Store) AuditAnchor(ctx context.Context) (anchor parley.Anchor, err error) {
	err = s.read(ctx, func(c *conn) error {
		anchor, err = anchorOf(c)
		return err
	})
	return anchor, err
}

func anchorOf(c *conn) (anchor parley.Anchor, err error) {
	_, err = c.one("SELECT number, hash FROM audit_links ORDER BY number DESC LIMIT 1", func(r *row) error {
		anchor = parley.Anchor{Number: r.int64(), Hash: r.hash()}
		return nil
	})
	return anchor, err
}
