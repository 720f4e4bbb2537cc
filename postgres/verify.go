package postgres

import (
	"context"
	"fmt"
	"sync"

	"example.org/parley"
	"example.org/parley/store"
)

// checksums precedes the first table: PostgreSQL's count of pages with a wrong checksum.
const checksums = " checksums"

// readWhole is the size, in bytes, up to which one statement reads a table. Larger tables are read by the other stages,
// or are logs.
const readWhole = 256 << 20

// doPages says what to do about a damaged page.
const doPages = "look at PostgreSQL's log, take the server down, check the disk, and put a backup back"

// doChecksums says what to do about a count of wrong checksums, which a repair does not reset.
const doChecksums = doPages + "; if you have done that, run SELECT pg_stat_reset() in this database to reset the count"

// foreignCode finds triggers and rules in Parley's schema that its migrations do not create, and reports the one
// trigger that they do create if it is missing or disabled.
const foreignCode = `SELECT format('the trigger "%s" on "%s" was not made by Parley', left(t.tgname, 100),
	left(c.relname, 100))
 FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
 WHERE c.relnamespace = 'parley'::regnamespace AND NOT t.tgisinternal
  AND (c.relname, t.tgname) <> ('audit', 'audit_waits')
UNION ALL SELECT format('the rule "%s" on "%s" was not made by Parley', left(r.rulename, 100), left(c.relname, 100))
 FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relnamespace = 'parley'::regnamespace
UNION ALL SELECT 'the trigger "audit_waits" on "audit" is missing, or is not as Parley made it'
 WHERE NOT EXISTS (SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
  WHERE c.relnamespace = 'parley'::regnamespace AND c.relname = 'audit' AND t.tgname = 'audit_waits'
  	AND t.tgenabled <> 'D'
  AND p.proname = 'audit_waits' AND p.pronamespace = 'parley'::regnamespace)
LIMIT 20`

// doForeignCode says what to do about them.
const doForeignCode = "drop it, look at what it changed, and find out who made it: somebody can write to the " +
	"database outside Parley"

// checksumCount remembers PostgreSQL's count when this process first asked: earlier damage may have been repaired.
type checksumCount struct {
	mu    sync.Mutex // guards all fields below
	asked bool
	least int64
}

// rose reports whether PostgreSQL's count has risen since.
func (c *checksumCount) rose(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked || n < c.least { // first look, or the statistics were reset
		c.asked, c.least = true, n
	}
	return n > c.least
}

// CheckPages implements store.Verifiable. PostgreSQL checks its own pages: with data checksums it does so on every
// read, and counts errors. This reads the count, and the tables that no other stage reads.
func (s *Store) CheckPages(ctx context.Context, after string) (table string, findings []parley.Finding, err error) {
	found := func(says string) {
		findings = append(
			findings,
			parley.Finding{Stage: parley.VerifyPages, Where: "table" + table, Says: says, Do: doPages},
		)
		s.damage.Note(says)
	}
	if after == "" {
		table = checksums
		return table, findings, s.read(ctx, func() *batch {
			b := system()
			b.read(
				"SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()",
				func(r *row) error {
					n := r.int64()
					if n > 0 {
						findings = append(
							findings,
							parley.Finding{
								Stage: parley.VerifyPages,
								Where: "table" + table,
								Do:    doChecksums,
								Says: fmt.Sprintf(
									"PostgreSQL has found %d pages whose checksum was wrong since its statistics "+
										"were last reset",
									n,
								),
							},
						)
					}
					if s.checksums.rose(n) {
						s.damage.Note(
							fmt.Sprintf("PostgreSQL has found more pages whose checksum is wrong: %d in all", n),
						)
					}
					return nil
				},
			)
			b.read(foreignCode, func(r *row) error {
				findings = append(findings, parley.Finding{Stage: parley.VerifyPages, Where: "schema parley",
					Says: r.text(), Do: doForeignCode})
				return nil
			})
			return b
		})
	}
	if err := s.read(ctx, func() *batch {
		table = ""
		b := system()
		b.read(
			`SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'parley'::regnamespace AND c.relkind = 'r'
				AND c.relname > $1
 AND has_table_privilege(c.oid, 'SELECT') AND pg_relation_size(c.oid) < $2 ORDER BY c.relname LIMIT 1`,
			func(r *row) error {
				table = r.text()
				return nil
			},
			after,
			readWhole,
		)
		return b
	}); err != nil || table == "" {
		return table, nil, err
	}
	err = s.read(ctx, func() *batch {
		b := system()
		b.read("SELECT count(t::text) FROM parley."+quote(table)+" t", func(r *row) error { return nil })
		return b
	})
	if state := stateOf(err); state == stateBadData || state == stateBadIndex {
		found(err.Error())
		err = nil
	}
	return table, findings, err
}

func quote(name string) string { return `"` + name + `"` }

// RecordHeads implements store.Verifiable.
func (s *Store) RecordHeads(ctx context.Context, after parley.ID, limit int) ([]store.RecordHead, error) {
	return all(ctx, s, system(), func(r *row) (store.RecordHead, error) {
		return store.RecordHead{WorkspaceID: r.id(), SessionID: r.id(), LastSequence: r.int64(), LastHash: r.hash(),
			Listed: r.bool(), Hidden: r.bool()}, nil
	}, `SELECT h.workspace_id, h.session_id, h.next_sequence - 1, h.last_hash,
 s.id IS NOT NULL, s.deleted_at IS NOT NULL
 FROM parley.heads h LEFT JOIN parley.sessions s ON s.workspace_id = h.workspace_id AND s.id = h.session_id
  WHERE h.session_id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid)
 AND h.deleted_at IS NULL ORDER BY h.session_id, h.workspace_id LIMIT $2`, limit, after, limit)
}

// RecordRows implements store.Verifiable.
func (s *Store) RecordRows(
	ctx context.Context,
	workspaceID, sessionID parley.ID,
	after int64,
	limit int,
) (head store.RecordHead, rows []store.RecordRow, there bool, err error) {
	err = s.read(ctx, func() *batch {
		rows, there = nil, false
		b := system()
		b.snapshot = true
		b.read(
			"SELECT workspace_id, session_id, next_sequence - 1, last_hash FROM parley.heads "+
				"WHERE session_id = $1 AND workspace_id = $2 AND deleted_at IS NULL",
			func(r *row) error {
				there = true
				head = store.RecordHead{
					WorkspaceID:  r.id(),
					SessionID:    r.id(),
					LastSequence: r.int64(),
					LastHash:     r.hash(),
				}
				return nil
			},
			sessionID,
			workspaceID,
		)
		b.read(
			`SELECT m.sequence, m.role, m.status, m.content, m.context_note, m.call_ordinal, m.provider_data,
				m.covers_through, m.chain_version,
 m.author_kind, m.author_name, m.model, m.created_at, m.metadata, m.internal, m.content_hash FROM
 (SELECT log_id, through FROM parley.session_logs WHERE workspace_id = $1 AND session_id = $2 AND through > $3
  UNION ALL SELECT log_id, 9223372036854775807 FROM parley.heads
  	WHERE workspace_id = $1 AND session_id = $2 AND deleted_at IS NULL ORDER BY through) g
 CROSS JOIN LATERAL (SELECT * FROM parley.messages m WHERE m.workspace_id = $1 AND m.log_id = g.log_id
  AND m.sequence IS NOT NULL AND m.sequence > $3 AND m.sequence <= g.through
 ORDER BY m.sequence LIMIT $4) m ORDER BY m.sequence LIMIT $4`,
			func(r *row) error {
				rows = append(rows, store.RecordRow{Sequence: r.int64(), Input: parley.ChainInput{
					Role: parley.Role(
						r.text(),
					),
					Status:        parley.MessageStatus(r.text()),
					Content:       r.json(),
					ContextNote:   r.text(),
					CallOrdinal:   r.int64(),
					ProviderData:  r.bytes(),
					CoversThrough: r.maybe(),
					Version:       r.int(),
					AuthorKind: parley.AuthorKind(
						r.text(),
					),
					AuthorName: r.text(),
					Model:      parley.ModelID(r.text()),
					CreatedAt:  r.time(),
					Metadata:   r.json(),
					Internal:   r.bool(),
				}, Hash: r.hash()})
				return nil
			},
			workspaceID,
			sessionID,
			after,
			limit,
		)
		return b
	})
	return head, rows, there, err
}

// StoredBlobs implements store.Verifiable.
func (s *Store) StoredBlobs(ctx context.Context, after parley.ID, limit int) ([]store.StoredBlob, error) {
	return all(ctx, s, system(), func(r *row) (store.StoredBlob, error) {
		return store.StoredBlob{WorkspaceID: r.id(), ID: r.id(), Hash: r.hash(), Size: r.int64()}, nil
	}, `SELECT workspace_id, id, hash, size FROM parley.blobs
		WHERE id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid) AND state = 'whole'
 ORDER BY id LIMIT $2`, limit, after, limit)
}

// LinkRows implements store.Verifiable.
func (s *Store) LinkRows(ctx context.Context, after int64, limit int) ([]store.LinkRow, error) {
	return all(ctx, s, system(), func(r *row) (store.LinkRow, error) {
		k := store.LinkRow{
			AuditLink: parley.AuditLink{
				Number:      r.int64(),
				LinkedAt:    r.time(),
				WorkspaceID: r.id(),
				EntryAt:     r.time(),
				EntryID:     r.id(),
			},
		}
		heads := r.text()
		k.Hash = r.hash()
		if there := r.bool(); there {
			k.Entry = &parley.AuditEntry{
				WorkspaceID:   k.WorkspaceID,
				At:            k.EntryAt,
				ID:            k.EntryID,
				PrincipalID:   r.id(),
				PrincipalName: r.text(),
				Action:        r.text(),
				SessionID:     r.id(),
				TargetID:      r.id(),
				RequestID:     r.id(),
			}
		}
		if heads != "" {
			k.Heads, _ = parley.ParseHeads(heads) // unreadable heads will not match the hash
		}
		return k, nil
	}, `SELECT k.number, k.linked_at, k.workspace_id, k.entry_at, k.entry_id, k.heads, k.hash, a.id IS NOT NULL,
		a.principal_id, coalesce(a.principal_name, ''),
 coalesce(a.action, ''), a.session_id, a.target_id, a.request_id FROM parley.audit_links k
 LEFT JOIN parley.audit a ON a.workspace_id = k.workspace_id AND a.at = k.entry_at AND a.id = k.entry_id
  WHERE k.number > $1 ORDER BY k.number LIMIT $2`, limit, after, limit)
}

// HeadsFound implements store.Verifiable.
func (s *Store) HeadsFound(ctx context.Context, heads []parley.LinkedHead) ([]store.HeadFound, error) {
	workspaces, sessions, sequences := make(
		[]parley.ID,
		len(heads),
	), make(
		[]parley.ID,
		len(heads),
	), make(
		[]int64,
		len(heads),
	)
	for i := range heads {
		workspaces[i], sessions[i], sequences[i] = heads[i].WorkspaceID, heads[i].SessionID, heads[i].Sequence
	}
	return all(ctx, s, system(), func(r *row) (store.HeadFound, error) {
		return store.HeadFound{Deleted: r.bool(), Explained: r.bool(), There: r.bool(), Hash: r.hash()}, nil
	}, `SELECT g.session_id IS NOT NULL OR h.deleted_at IS NOT NULL,
 EXISTS (SELECT FROM parley.audit a WHERE a.workspace_id = k.workspace_id AND a.session_id = k.session_id
  AND a.action = '`+store.DeleteSessionAction+`'), h.session_id IS NOT NULL, m.content_hash
 FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) WITH ORDINALITY AS k (workspace_id, session_id, sequence, n)
 LEFT JOIN parley.graves g ON g.workspace_id = k.workspace_id AND g.session_id = k.session_id
 LEFT JOIN parley.heads h ON h.session_id = k.session_id AND h.workspace_id = k.workspace_id
 LEFT JOIN parley.messages m ON m.workspace_id = h.workspace_id AND m.log_id = h.log_id AND m.sequence = k.sequence
 ORDER BY k.n`, len(heads), workspaces, sessions, sequences)
}

// AuditKeys implements store.Verifiable.
func (s *Store) AuditKeys(ctx context.Context, after store.AuditKey, limit int) ([]store.AuditKey, error) {
	return all(ctx, s, system(), func(r *row) (store.AuditKey, error) {
		return store.AuditKey{WorkspaceID: r.id(), At: r.time(), ID: r.id(), Loose: r.bool()}, nil
	}, `SELECT a.workspace_id, a.at, a.id, k.number IS NULL AND u.id IS NULL
		FROM (SELECT workspace_id, at, id FROM parley.audit
 WHERE (workspace_id, at, id) > (coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid), $2,
  coalesce($3, '00000000-0000-0000-0000-000000000000'::uuid))
 ORDER BY workspace_id, at, id LIMIT $4) a
 LEFT JOIN parley.audit_links k ON k.workspace_id = a.workspace_id AND k.entry_at = a.at AND k.entry_id = a.id
 LEFT JOIN parley.audit_unlinked u ON u.workspace_id = a.workspace_id AND u.at = a.at AND u.id = a.id
  ORDER BY a.workspace_id, a.at, a.id`, limit, after.WorkspaceID, int64(after.At), after.ID, limit)
}
