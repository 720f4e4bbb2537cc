package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// pageFindings bounds the findings for one table.
const pageFindings = 20

// schemaPlace precedes the first table: the schema itself.
const schemaPlace = " schema"

// CheckPages implements store.Verifiable with SQLite's check of a table and its indexes, after comparing the schema,
// over its own read-only connection. Like a backup, it keeps the write-ahead log from restarting while it reads a
// table.
func (s *Store) CheckPages(ctx context.Context, after string) (table string, findings []parley.Finding, err error) {
	c, err := openConn(
		ctx,
		s.dsn()+"?mode=ro",
		fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeoutMS),
		"PRAGMA query_only = 1",
		"PRAGMA cache_size = -2048",
	)
	if err != nil {
		return "", nil, s.noted(err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if after == "" {
		findings, err = checkedSchema(ctx, c)
		return schemaPlace, findings, s.noted(err)
	}
	// FTS5's shadow tables are checked with their main table.
	if _, err := c.one(
		`SELECT name FROM sqlite_schema WHERE type = 'table' AND name > ? AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
			AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name LIMIT 1`,
		func(r *row) error {
			table = r.text()
			return nil
		},
		after,
	); err != nil ||
		table == "" {
		return table, nil, s.noted(err)
	}
	found := func(says string) {
		findings = append(findings, parley.Finding{Stage: parley.VerifyPages, Where: "table " + table, Says: says,
			Do: "stop the server, keep the file, and put a backup back: parley restore --replace"})
	}
	check := func() error {
		findings = nil
		return c.eachUntil(ctx, fmt.Sprintf("PRAGMA integrity_check(%s)", literal(table)), func(r *row) error {
			if says := r.text(); says != "ok" && len(findings) < pageFindings {
				found(says)
			}
			return ctx.Err()
		})
	}
	if err = check(); isReadError(err) {
		err = check() // a disk may fail once
	}
	if isDamage(err) || isReadError(err) {
		found(err.Error())
		err = nil
	}
	if len(findings) > 0 {
		s.damage.Note("the table " + table + " is damaged: " + parley.Clip(findings[0].Says, 300))
	}
	return table, findings, mapError(s.path, err)
}

// checkedSchema reports differences from the schema that the migrations create.
func checkedSchema(ctx context.Context, c *conn) (findings []parley.Finding, err error) {
	differences, err := schemaDifferences(ctx, c)
	for _, says := range differences[:min(len(differences), pageFindings)] {
		findings = append(
			findings,
			parley.Finding{Stage: parley.VerifyPages, Where: "schema", Says: says, Do: doSchema},
		)
	}
	return findings, err
}

// doSchema says what to do about a schema that Parley did not create.
const doSchema = "stop the server, keep the file, and put a backup back: parley restore --replace; " +
	"somebody can write to the database outside Parley"

func literal(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

// RecordHeads implements store.Verifiable.
func (s *Store) RecordHeads(ctx context.Context, after parley.ID, limit int) (heads []store.RecordHead, err error) {
	err = s.read(ctx, func(c *conn) error {
		heads = nil
		return c.each(
			`SELECT h.workspace_id, h.session_id, h.next_sequence - 1, h.last_hash, s.id IS NOT NULL,
				s.deleted_at IS NOT NULL
 FROM heads h LEFT JOIN sessions s ON s.id = h.session_id WHERE h.session_id > ? AND h.deleted_at IS NULL
  ORDER BY h.session_id LIMIT ?`,
			func(r *row) error {
				heads = append(
					heads,
					store.RecordHead{
						WorkspaceID:  r.id(),
						SessionID:    r.id(),
						LastSequence: r.int64(),
						LastHash:     r.hash(),
						Listed:       r.bool(),
						Hidden:       r.bool(),
					},
				)
				return nil
			},
			after[:],
			limit,
		)
	})
	return heads, err
}

// RecordRows implements store.Verifiable.
func (s *Store) RecordRows(
	ctx context.Context,
	_, sessionID parley.ID,
	after int64,
	limit int,
) (head store.RecordHead, rows []store.RecordRow, there bool, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		rows = nil
		var logID parley.ID
		if there, err = c.one(
			"SELECT workspace_id, session_id, log_id, next_sequence - 1, last_hash FROM heads "+
				"WHERE session_id = ? AND deleted_at IS NULL",
			func(r *row) error {
				head.WorkspaceID, head.SessionID, logID, head.LastSequence, head.LastHash = r.id(), r.id(), r.id(),
					r.int64(), r.hash()
				return nil
			},
			sessionID,
		); err != nil ||
			!there {
			return err
		}
		parts, err := sharedParts(c, sessionID)
		if err != nil {
			return err
		}
		from := after
		for _, p := range append(parts, transition.Own(sessionID, logID)) {
			if p.Through <= from || len(rows) == limit {
				continue
			}
			if err := c.each(recordRows, func(r *row) error {
				rows = append(rows, scanRecordRow(r))
				return nil
			}, p.LogID, from, p.Through, limit-len(rows)); err != nil {
				return err
			}
			from = p.Through
		}
		return nil
	})
	return head, rows, there, err
}

const recordRows = `SELECT sequence, role, status, content, context_note, call_ordinal, provider_data, covers_through,
	chain_version,
 author_kind, author_name, model, created_at, metadata, internal, content_hash
 FROM messages WHERE log_id = ? AND sequence IS NOT NULL AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?`

func scanRecordRow(r *row) store.RecordRow {
	return store.RecordRow{Sequence: r.int64(), Input: parley.ChainInput{
		Role:          parley.Role(r.text()),
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
	}, Hash: r.hash()}
}

// StoredBlobs implements store.Verifiable.
func (s *Store) StoredBlobs(ctx context.Context, after parley.ID, limit int) (blobs []store.StoredBlob, err error) {
	err = s.read(ctx, func(c *conn) error {
		blobs = nil
		return c.each(
			"SELECT workspace_id, id, hash, size FROM blobs WHERE id > ? AND state = 'whole' ORDER BY id LIMIT ?",
			func(r *row) error {
				blobs = append(
					blobs,
					store.StoredBlob{WorkspaceID: r.id(), ID: r.id(), Hash: r.hash(), Size: r.int64()},
				)
				return nil
			},
			after[:],
			limit,
		)
	})
	return blobs, err
}

// LinkRows implements store.Verifiable.
func (s *Store) LinkRows(ctx context.Context, after int64, limit int) (links []store.LinkRow, err error) {
	err = s.read(ctx, func(c *conn) error {
		links = nil
		return c.each(
			`SELECT k.number, k.linked_at, k.workspace_id, k.entry_at, k.entry_id, k.heads, k.hash, a.id IS NOT NULL,
				a.principal_id, ifnull(a.principal_name, ''),
 ifnull(a.action, ''), a.session_id, a.target_id, a.request_id FROM audit_links k
 LEFT JOIN audit a ON a.workspace_id = k.workspace_id AND a.at = k.entry_at AND a.id = k.entry_id WHERE k.number > ?
  ORDER BY k.number LIMIT ?`,
			func(r *row) error {
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
				links = append(links, k)
				return nil
			},
			after,
			limit,
		)
	})
	return links, err
}

// HeadsFound implements store.Verifiable.
func (s *Store) HeadsFound(ctx context.Context, heads []parley.LinkedHead) (found []store.HeadFound, err error) {
	err = s.read(ctx, func(c *conn) error {
		found = make([]store.HeadFound, len(heads))
		for i := range heads {
			if _, err := c.one(
				`SELECT EXISTS (SELECT 1 FROM graves WHERE session_id = ?1) OR EXISTS (SELECT 1 FROM heads
					WHERE session_id = ?1 AND deleted_at IS NOT NULL),
 EXISTS (SELECT 1 FROM audit WHERE workspace_id = ?3 AND session_id = ?1 AND action = '`+store.DeleteSessionAction+`'),
 EXISTS (SELECT 1 FROM heads WHERE session_id = ?1),
 (SELECT m.content_hash FROM heads h JOIN messages m ON m.log_id = h.log_id AND m.sequence = ?2
  WHERE h.session_id = ?1)`,
				func(r *row) error {
					found[i] = store.HeadFound{Deleted: r.bool(), Explained: r.bool(), There: r.bool(), Hash: r.hash()}
					return nil
				},
				heads[i].SessionID,
				heads[i].Sequence,
				heads[i].WorkspaceID,
			); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// AuditKeys implements store.Verifiable.
func (s *Store) AuditKeys(ctx context.Context, after store.AuditKey, limit int) (keys []store.AuditKey, err error) {
	err = s.read(ctx, func(c *conn) error {
		keys = nil
		return c.each(`SELECT a.workspace_id, a.at, a.id,
 NOT EXISTS (SELECT 1 FROM audit_links k WHERE k.workspace_id = a.workspace_id AND k.entry_at = a.at
  AND k.entry_id = a.id AND k.entry_id IS NOT NULL)
 AND NOT EXISTS (SELECT 1 FROM audit_unlinked u WHERE u.workspace_id = a.workspace_id AND u.at = a.at AND u.id = a.id)
 FROM audit a WHERE (a.workspace_id, a.at, a.id) > (?, ?, ?) ORDER BY a.workspace_id, a.at, a.id LIMIT ?`,
			func(r *row) error {
				keys = append(keys, store.AuditKey{WorkspaceID: r.id(), At: r.time(), ID: r.id(), Loose: r.bool()})
				return nil
			}, after.WorkspaceID[:], int64(after.At), after.ID[:], limit)
	})
	return keys, err
}
