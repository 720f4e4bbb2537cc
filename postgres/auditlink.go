package postgres

import (
	"context"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// linkable is what the next links cover, and the links before them.
type linkable struct {
	anchor  parley.Anchor
	now     parley.Time
	entries []parley.AuditEntry // listed as unlinked
	stale   []parley.AuditEntry // listed, but already linked
	gone    []parley.AuditEntry // listed, but neither linked nor present: keys only
	heads   []parley.LinkedHead
}

// listed returns how many entries are listed as unlinked.
func (l *linkable) listed() int { return len(l.entries) + len(l.stale) + len(l.gone) }

const lastLink = "SELECT number, hash FROM parley.audit_links ORDER BY number DESC LIMIT 1"

// LinkAudit implements store.AuditLinker. The transaction that writes an entry lists it as unlinked, so an entry that
// commits late is linked later, and none is missed. The lease only saves work; a link's number is its key, so one of
// two concurrent linkers is fenced.
func (s *Store) LinkAudit(
	ctx context.Context,
	linker parley.ID,
	lease time.Duration,
	changed []parley.ID,
	after *parley.ID,
) (step store.LinkStep, err error) {
	if step.Held, err = s.linking(ctx, linker, lease); err != nil || !step.Held {
		return step, err
	}
	if after != nil {
		looked, err := all(
			ctx,
			s,
			system(),
			func(r *row) (parley.ID, error) { return r.id(), nil },
			`SELECT session_id FROM parley.heads WHERE session_id > coalesce($1,
				'00000000-0000-0000-0000-000000000000'::uuid)
 ORDER BY session_id, workspace_id LIMIT $2`,
			store.LinkPassHeads,
			*after,
			store.LinkPassHeads,
		)
		if err != nil {
			return step, err
		}
		if len(looked) == store.LinkPassHeads {
			step.Last = looked[len(looked)-1]
		}
		changed = once(append(slices.Clone(changed), looked...))
	}
	found, err := s.linkable(ctx, changed)
	if err != nil {
		return step, err
	}
	step.More = found.listed() == store.LinkEntries || len(found.heads) >= store.LinkHeads/2
	if found.listed()+len(found.heads) == 0 {
		return step, nil
	}
	step.Gone = len(found.gone)
	step.Linked, err = s.link(ctx, found)
	return step, err
}

// link links what was found, unless another linker has made links since.
func (s *Store) link(ctx context.Context, found linkable) (int, error) {
	links := parley.LinkAll(found.anchor, found.now, found.entries, found.gone, found.heads)
	err := s.send(ctx, linked(found, links))
	if violated(err) != "" || unknown(err) { // by another linker, or by this one earlier
		return 0, parley.WrapError(parley.CodeFenced, err, "another linker is linking the audit")
	}
	if err != nil {
		return 0, mapError(err)
	}
	return len(links), nil
}

// linking takes or keeps the lease, which is renewed after half of it.
func (s *Store) linking(ctx context.Context, linker parley.ID, lease time.Duration) (held bool, err error) {
	err = s.read(ctx, func() *batch {
		held = false
		b := system()
		b.write(`UPDATE parley.audit_linker SET holder = $1, until = parley.now_ms() + $2 WHERE id = 1
 AND (until < parley.now_ms() OR holder = $1 AND until < parley.now_ms() + $2 / 2)`, linker, lease.Milliseconds())
		b.read("SELECT holder = $1 FROM parley.audit_linker WHERE id = 1 AND holder IS NOT NULL", func(r *row) error {
			held = r.bool()
			return nil
		}, linker)
		return b
	})
	return held, err
}

// once removes repeated ids, keeping the first of each.
func once(ids []parley.ID) []parley.ID {
	seen := make(map[parley.ID]bool, len(ids))
	return slices.DeleteFunc(ids, func(id parley.ID) bool {
		before := seen[id]
		seen[id] = true
		return before
	})
}

// linkable reads what to link, on one snapshot.
func (s *Store) linkable(ctx context.Context, changed []parley.ID) (found linkable, err error) {
	err = s.read(ctx, func() *batch {
		found = linkable{}
		b := system()
		b.snapshot = true
		b.read("SELECT parley.now_ms()", func(r *row) error {
			found.now = r.time()
			return nil
		})
		b.read(lastLink, func(r *row) error {
			found.anchor = parley.Anchor{Number: r.int64(), Hash: r.hash()}
			return nil
		})
		b.read(
			`SELECT u.workspace_id, u.at, u.id, a.id IS NOT NULL, k.number IS NOT NULL, a.principal_id,
				coalesce(a.principal_name, ''), coalesce(a.action, ''), a.session_id, a.target_id, a.request_id
 FROM (SELECT * FROM parley.audit_unlinked LIMIT $1) u LEFT JOIN parley.audit a ON a.workspace_id = u.workspace_id
  AND a.at = u.at AND a.id = u.id
 LEFT JOIN parley.audit_links k ON k.workspace_id = u.workspace_id AND k.entry_at = u.at AND k.entry_id = u.id
  ORDER BY u.at, u.id`,
			func(r *row) error {
				e := parley.AuditEntry{WorkspaceID: r.id(), At: r.time(), ID: r.id()}
				there, before := r.bool(), r.bool()
				e.PrincipalID, e.PrincipalName, e.Action, e.SessionID, e.TargetID, e.RequestID = r.id(), r.text(),
					r.text(), r.id(), r.id(), r.id()
				switch {
				case before:
					found.stale = append(found.stale, e)
				case there:
					found.entries = append(found.entries, e)
				default:
					found.gone = append(found.gone, e)
				}
				return nil
			},
			store.LinkEntries,
		)
		head := func(r *row) error {
			found.heads = append(
				found.heads,
				parley.LinkedHead{WorkspaceID: r.id(), SessionID: r.id(), Sequence: r.int64(), Hash: r.hash()},
			)
			return nil
		}
		b.read(
			"SELECT workspace_id, session_id, 0::bigint, NULL::bytea FROM parley.graves WHERE linked = 0 LIMIT $1",
			head,
			store.LinkHeads/2,
		)
		if len(changed) > 0 {
			b.read(
				`SELECT h.workspace_id, h.session_id, m.sequence, m.content_hash
					FROM unnest($1::uuid[]) WITH ORDINALITY c (session_id, n)
						JOIN parley.heads h ON h.session_id = c.session_id
 JOIN parley.messages m ON m.workspace_id = h.workspace_id AND m.log_id = h.log_id AND m.sequence = h.next_sequence - 1
  AND m.content_hash = h.last_hash
 LEFT JOIN parley.linked_heads l ON l.session_id = h.session_id
 WHERE h.deleted_at IS NULL AND coalesce(l.sequence, 0) <> m.sequence ORDER BY c.n LIMIT $2`,
				head,
				changed,
				store.LinkHeads/2,
			)
		}
		return b
	})
	return found, err
}

// linked builds the transaction that makes links.
func linked(found linkable, links []parley.AuditLink) *batch {
	var numbers, times, ats, sequences []int64
	var workspaces, entries, sessions, owners, graves []parley.ID
	var heads []string
	var hashes [][]byte
	for i := range links {
		k := &links[i]
		text := ""
		if k.EntryID.IsZero() {
			text = string(parley.AppendHeads(nil, k.Heads))
		}
		numbers, times, ats = append(numbers, k.Number), append(times, int64(k.LinkedAt)), append(ats, int64(k.EntryAt))
		workspaces, entries, heads, hashes = append(
			workspaces,
			k.WorkspaceID,
		), append(
			entries,
			k.EntryID,
		), append(
			heads,
			text,
		), append(
			hashes,
			k.Hash[:],
		)
	}
	for i := range found.heads {
		if h := &found.heads[i]; h.Sequence == 0 {
			graves = append(graves, h.SessionID)
		} else {
			sessions, owners, sequences = append(
				sessions,
				h.SessionID,
			), append(
				owners,
				h.WorkspaceID,
			), append(
				sequences,
				h.Sequence,
			)
		}
	}
	b := system()
	if len(links) > 0 {
		b.write(`INSERT INTO parley.audit_links (number, linked_at, workspace_id, entry_at, entry_id, heads, hash)
 SELECT k.number, k.at, CASE WHEN k.heads = '' THEN k.workspace END, CASE WHEN k.heads = '' THEN k.entry_at END,
  CASE WHEN k.heads = '' THEN k.entry END, k.heads, k.hash
 FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::bigint[], $5::uuid[], $6::text[], $7::bytea[]) k (number, at,
  workspace, entry_at, entry, heads, hash)`,
			numbers, times, workspaces, ats, entries, heads, hashes)
	}
	var gone, goneIn []parley.ID
	var goneAt []int64
	for _, list := range [][]parley.AuditEntry{found.entries, found.stale, found.gone} {
		for i := range list {
			gone, goneIn, goneAt = append(
				gone,
				list[i].ID,
			), append(
				goneIn,
				list[i].WorkspaceID,
			), append(
				goneAt,
				int64(list[i].At),
			)
		}
	}
	if len(gone) > 0 {
		b.write(
			`DELETE FROM parley.audit_unlinked u USING unnest($1::uuid[], $2::bigint[], $3::uuid[]) g (workspace_id, at,
				id)
 WHERE u.workspace_id = g.workspace_id AND u.at = g.at AND u.id = g.id`,
			goneIn,
			goneAt,
			gone,
		)
	}
	if len(sessions) > 0 {
		b.write(
			`INSERT INTO parley.linked_heads (session_id, workspace_id, sequence) SELECT *
				FROM unnest($1::uuid[], $2::uuid[], $3::bigint[])
 ON CONFLICT (session_id) DO UPDATE SET sequence = excluded.sequence`,
			sessions,
			owners,
			sequences,
		)
	}
	if len(graves) > 0 {
		b.write("UPDATE parley.graves SET linked = 1 WHERE session_id = ANY($1)", graves)
		b.write("DELETE FROM parley.linked_heads WHERE session_id = ANY($1)", graves)
	}
	return b
}

// AuditAnchor implements store.AuditLinker.
func (s *Store) AuditAnchor(ctx context.Context) (anchor parley.Anchor, err error) {
	err = s.read(ctx, func() *batch {
		anchor = parley.Anchor{}
		b := system()
		b.read(lastLink, func(r *row) error {
			anchor = parley.Anchor{Number: r.int64(), Hash: r.hash()}
			return nil
		})
		return b
	})
	return anchor, err
}
