-- +goose Up

-- The chain of the audit (ADR 0036). Entries are linked behind the transactions that
-- write them, by one linker at a time.

-- What is written and not yet linked; an entry comes here with itself.
CREATE TABLE audit_unlinked (
  workspace_id BLOB NOT NULL,
  at           INTEGER NOT NULL,
  id           BLOB NOT NULL,
  PRIMARY KEY (workspace_id, at, id)
) WITHOUT ROWID;
INSERT INTO audit_unlinked SELECT workspace_id, at, id FROM audit;
-- +goose StatementBegin
CREATE TRIGGER audit_waits AFTER INSERT ON audit BEGIN INSERT INTO audit_unlinked VALUES (new.workspace_id, new.at, new.id) ON CONFLICT DO NOTHING; END;
-- +goose StatementEnd

-- Each link is of one entry, or of the heads of sessions.
CREATE TABLE audit_links (
  number       INTEGER PRIMARY KEY,        -- from 1, gap-free
  linked_at    INTEGER NOT NULL,
  workspace_id BLOB,                       -- of an entry; so are
  entry_at     INTEGER,
  entry_id     BLOB,
  heads        TEXT NOT NULL,              -- '' of an entry
  hash         BLOB NOT NULL
);
CREATE UNIQUE INDEX audit_links_entry ON audit_links (workspace_id, entry_at, entry_id) WHERE entry_id IS NOT NULL;
-- +goose StatementBegin
CREATE TRIGGER audit_links_stay BEFORE DELETE ON audit_links BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_links_hold BEFORE UPDATE ON audit_links BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
-- +goose StatementEnd

-- Sessions that were deleted, for good: why what is linked of them is not there.
CREATE TABLE graves (
  session_id   BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  deleted_at   INTEGER NOT NULL,
  linked       INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX graves_unlinked ON graves (session_id) WHERE linked = 0;

-- Up to where each session is linked: so that it is linked once.
CREATE TABLE linked_heads (
  session_id   BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  sequence     INTEGER NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE linked_heads;
DROP TABLE graves;
DROP TABLE audit_links;
DROP TRIGGER audit_waits;
DROP TABLE audit_unlinked;
