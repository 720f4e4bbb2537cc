-- +goose Up

-- The entry of a change is written in the transaction of the change, which runs as the
-- tenant. It may add what is of its own workspace; nobody may change or remove entries.
GRANT INSERT ON parley.audit TO parley_tenant;
DROP POLICY tenant ON parley.audit;
CREATE POLICY tenant ON parley.audit TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid)
 WITH CHECK (workspace_id = current_setting('parley.workspace')::uuid);

-- +goose Down
DROP POLICY tenant ON parley.audit;
CREATE POLICY tenant ON parley.audit TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
REVOKE INSERT ON parley.audit FROM parley_tenant;
