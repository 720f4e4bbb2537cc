-- +goose Up

-- Who did what, without any content. Entries outlive what they are about.
CREATE TABLE audit (
  workspace_id   BLOB NOT NULL,
  at             INTEGER NOT NULL,
  id             BLOB NOT NULL,
  principal_id   BLOB NOT NULL,
  principal_name TEXT NOT NULL,
  action         TEXT NOT NULL,
  session_id     BLOB,
  target_id      BLOB,
  request_id     BLOB NOT NULL,
  PRIMARY KEY (workspace_id, at, id)
) WITHOUT ROWID;
CREATE INDEX audit_session   ON audit (workspace_id, session_id, at, id) WHERE session_id IS NOT NULL;
CREATE INDEX audit_principal ON audit (workspace_id, principal_id, at, id);

-- +goose StatementBegin
CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_holds BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE audit;
