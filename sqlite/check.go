package sqlite

import (
	"context"
	"io/fs"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transfer"
	"example.org/parley/internal/transition"
)

// headPage is how many sessions' heads are read at a time.
const headPage = 500

// check reads a whole database that nobody writes: SQLite's check of every page, the schema against the migrations, and
// each record against its hashes. Errors call the database name.
func check(ctx context.Context, c *conn, name string) (contents Contents, err error) {
	if contents.Schema, err = schemaOf(c, name); err != nil {
		return contents, err
	}
	if err := checkSchema(ctx, c, name); err != nil {
		return contents, err
	}
	if err := c.each("PRAGMA integrity_check(1)", func(r *row) error {
		if says := r.text(); says != "ok" {
			return parley.Errorf(parley.CodeUnavailable, "%s is damaged: %s", name, says)
		}
		return nil
	}); err != nil {
		return contents, err
	}
	if _, err := c.one("SELECT count(*) FROM workspaces", func(r *row) error {
		contents.Workspaces = r.int64()
		return nil
	}); err != nil {
		return contents, err
	}
	var records transfer.Records
	if err := feedRecords(ctx, c, &records); err != nil {
		return contents, err
	}
	contents.Sessions, contents.Messages = records.Sessions, records.Messages
	return contents, nil
}

// schemaOf returns the newest migration of a database. CodeUnavailable if it has none, or one that this program does
// not know.
func schemaOf(c *conn, name string) (int64, error) {
	found, err := versionsTable(c, name)
	if err != nil {
		return 0, err
	}
	var schema int64
	if found {
		if _, err := c.one("SELECT max(version_id) FROM goose_db_version WHERE is_applied = 1", func(r *row) error {
			schema = r.int64()
			return nil
		}); err != nil {
			return 0, err
		}
	}
	newest, err := newestMigration()
	switch {
	case err != nil:
		return 0, err
	case schema == 0:
		return 0, parley.Errorf(parley.CodeUnavailable, "%s is not a Parley database", name)
	case schema > newest:
		return 0, parley.Errorf(
			parley.CodeUnavailable,
			"%s was written by a newer Parley (schema %d; this one knows %d): use that version or a later one",
			name,
			schema,
			newest,
		)
	}
	return schema, nil
}

// newestMigration returns the schema that this program knows.
func newestMigration() (newest int64, err error) {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		number, _, _ := strings.Cut(file.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, err
		}
		newest = max(newest, version)
	}
	return newest, nil
}

// feedRecords feeds the records of all sessions that are not deleted.
func feedRecords(ctx context.Context, c *conn, records *transfer.Records) error {
	for after, more := (parley.ID{}), true; more; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var heads []transfer.Head
		if err := c.each(
			"SELECT session_id, log_id, next_sequence - 1, last_hash FROM heads "+
				"WHERE session_id > ? AND deleted_at IS NULL ORDER BY session_id LIMIT ?",
			func(r *row) error {
				heads = append(
					heads,
					transfer.Head{SessionID: r.id(), LogID: r.id(), LastSequence: r.int64(), LastHash: r.hash()},
				)
				return nil
			},
			after[:],
			headPage,
		); err != nil {
			return err
		}
		for _, head := range heads {
			after = head.SessionID
			if err := feedRecord(c, head, records); err != nil {
				return err
			}
		}
		more = len(heads) == headPage
	}
	return records.End()
}

func feedRecord(c *conn, head transfer.Head, records *transfer.Records) error {
	if err := records.Begin(head); err != nil {
		return err
	}
	shared, err := sharedParts(c, head.SessionID)
	if err != nil {
		return err
	}
	for _, p := range append(shared, transition.Own(head.SessionID, head.LogID)) {
		if err := feedPart(c, p, records); err != nil {
			return err
		}
	}
	return nil
}

// feedPart feeds a part of a record.
func feedPart(c *conn, p transition.Part, records *transfer.Records) error {
	return c.each(
		`SELECT sequence, role, status, content, context_note, call_ordinal, provider_data, covers_through,
			chain_version,
 author_kind, author_name, model, created_at, metadata, internal, content_hash
 FROM messages WHERE log_id = ? AND sequence IS NOT NULL AND sequence <= ? ORDER BY sequence`,
		func(r *row) error {
			return records.Add(transfer.Link{Sequence: r.int64(), Input: parley.ChainInput{
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
			}, ContentHash: r.hash()})
		},
		p.LogID,
		p.Through,
	)
}
