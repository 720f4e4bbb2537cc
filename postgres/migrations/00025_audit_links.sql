-- +goose Up

-- The chain of the audit (ADR 0036). Entries are linked behind the transactions that
-- write them, by one linker at a time. Tenants have no right to any of it, but to
-- note that a session was deleted.

-- What is written and not yet linked; an entry comes here with itself, also a tenant's.
CREATE TABLE parley.audit_unlinked (
  workspace_id uuid NOT NULL,
  at           bigint NOT NULL,
  id           uuid NOT NULL,
  PRIMARY KEY (workspace_id, at, id)
);
-- +goose StatementBegin
CREATE FUNCTION parley.audit_waits() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO parley.audit_unlinked VALUES (NEW.workspace_id, NEW.at, NEW.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_waits AFTER INSERT ON parley.audit FOR EACH ROW EXECUTE FUNCTION parley.audit_waits();
-- What was there before follows in 00028, which nobody waits for.

-- Each link is of one entry, or of the heads of sessions.
CREATE TABLE parley.audit_links (
  number       bigint PRIMARY KEY,         -- from 1, gap-free
  linked_at    bigint NOT NULL,
  workspace_id uuid,                       -- of an entry; so are
  entry_at     bigint,
  entry_id     uuid,
  heads        text NOT NULL,              -- '' of an entry
  hash         bytea NOT NULL
);
CREATE UNIQUE INDEX audit_links_entry ON parley.audit_links (workspace_id, entry_at, entry_id) WHERE entry_id IS NOT NULL;

-- Sessions that were deleted, for good: why what is linked of them is not there.
CREATE TABLE parley.graves (
  workspace_id uuid NOT NULL,
  session_id   uuid NOT NULL,
  deleted_at   bigint NOT NULL,
  linked       integer NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, session_id)
);
CREATE INDEX graves_unlinked ON parley.graves (session_id) WHERE linked = 0;
ALTER TABLE parley.graves ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.graves FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.graves TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.graves TO parley_system USING (true);
GRANT SELECT, INSERT ON parley.graves TO parley_tenant;
GRANT SELECT, INSERT, UPDATE ON parley.graves TO parley_system;

-- Up to where each session is linked: so that it is linked once.
CREATE TABLE parley.linked_heads (
  session_id   uuid PRIMARY KEY,
  workspace_id uuid NOT NULL,
  sequence     bigint NOT NULL
);

-- Who links, by the database's clock, and the end of the chain: one row. Its number
-- fences the links of a linker that was thought dead.
CREATE TABLE parley.audit_linker (
  id     integer PRIMARY KEY CHECK (id = 1),
  holder uuid,
  until  bigint NOT NULL
);
INSERT INTO parley.audit_linker (id, until) VALUES (1, 0);

GRANT SELECT, INSERT ON parley.audit_links TO parley_system;
GRANT SELECT, INSERT, DELETE ON parley.audit_unlinked TO parley_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.linked_heads TO parley_system;
GRANT SELECT, UPDATE ON parley.audit_linker TO parley_system;

-- An older program would delete sessions and not say so here.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 25);

-- +goose Down
DROP TABLE parley.audit_linker;
DROP TABLE parley.linked_heads;
DROP TABLE parley.graves;
DROP TABLE parley.audit_links;
DROP TRIGGER audit_waits ON parley.audit;
DROP FUNCTION parley.audit_waits();
DROP TABLE parley.audit_unlinked;
