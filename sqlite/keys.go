package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// localOwner is the display name of a workspace's local owner.
const localOwner = "Local owner"

// builtinPrompt is the system prompt of a workspace's built-in agent.
const builtinPrompt = "You are Parley, a helpful assistant. Answer clearly and to the point, and say so when you do " +
	"not know."

// Workspace implements store.Workspaces.
func (s *Store) Workspace(ctx context.Context, name string) (id parley.ID, err error) {
	if err := s.read(ctx, func(c *conn) error {
		id, err = workspaceNamed(c, name)
		return err
	}); err != nil || !id.IsZero() {
		return id, err
	}
	return transact(ctx, s, func(tx *txn) (parley.ID, error) { return makeWorkspace(tx, name) })
}

// workspaceNamed returns the id of a workspace, or zero.
func workspaceNamed(c *conn, name string) (id parley.ID, err error) {
	_, err = c.one("SELECT id FROM workspaces WHERE name = ?", func(r *row) error {
		id = r.id()
		return nil
	}, name)
	return id, err
}

// makeWorkspace finds a workspace, or creates it with its built-in agent.
func makeWorkspace(tx *txn, name string) (parley.ID, error) {
	id, err := workspaceNamed(tx.conn, name)
	if err != nil || !id.IsZero() {
		return id, err
	}
	id = parley.NewID()
	if _, err := tx.exec(
		"INSERT INTO workspaces (id, name, created_at) VALUES (?, ?, ?)",
		id,
		name,
		tx.now,
	); err != nil {
		return parley.ID{}, err
	}
	_, err = insertAgent(tx, parley.Agent{
		WorkspaceID: id,
		Slug:        parley.BuiltinAgentSlug,
		Name:        "Parley",
		Description: "The built-in agent.",
		Runtime:     parley.StandardRuntime,
		Settings: parley.Settings{
			SystemPrompt: new(builtinPrompt),
			Tools:        &[]parley.ToolRef{{Name: "current_time"}},
		},
	}, store.Idempotency{})
	return id, err
}

// WorkspaceOf implements store.Workspaces.
func (s *Store) WorkspaceOf(ctx context.Context, id parley.ID) (workspace parley.Workspace, err error) {
	err = s.read(ctx, func(c *conn) error {
		workspace, err = workspaceOf(c, id)
		return err
	})
	return workspace, err
}

func workspaceOf(c *conn, id parley.ID) (workspace parley.Workspace, err error) {
	found, err := c.one("SELECT "+workspaceColumns+" FROM workspaces w WHERE w.id = ?", func(r *row) error {
		return fillWorkspace(r, &workspace)
	}, id)
	if err == nil && !found {
		err = transition.NotFound("workspace")
	}
	return workspace, err
}

// UpdateWorkspace implements store.Workspaces.
func (s *Store) UpdateWorkspace(
	ctx context.Context,
	id parley.ID,
	change store.WorkspaceChange,
) (parley.Workspace, error) {
	return transact(ctx, s, func(tx *txn) (parley.Workspace, error) {
		workspace, err := workspaceOf(tx.conn, id)
		if err != nil {
			return parley.Workspace{}, err
		}
		changed, err := change.Over(workspace)
		if err != nil || changed == workspace {
			return changed, err
		}
		tx.means = id
		_, err = tx.exec("UPDATE workspaces SET visibility = ? WHERE id = ?", string(changed.Visibility), id)
		return changed, err
	})
}

const principalColumns = "p.id, p.workspace_id, w.name, p.name, p.kind, p.role"

func scanPrincipal(r *row) parley.Principal {
	return parley.Principal{ID: r.id(), WorkspaceID: r.id(), Workspace: r.text(), Name: r.text(),
		Kind: parley.AuthorKind(r.text()), Role: parley.PrincipalRole(r.text())}
}

// Principal finds a principal of a workspace.
func (s *Store) Principal(ctx context.Context, workspaceID, id parley.ID) (principal parley.Principal, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one("SELECT "+principalColumns+` FROM principals p JOIN workspaces w ON w.id = p.workspace_id
 WHERE p.workspace_id = ? AND p.id = ?`, func(r *row) error {
			principal = scanPrincipal(r)
			return nil
		}, workspaceID, id)
		if err == nil && !found {
			err = transition.NotFound("principal")
		}
		return err
	})
	return principal, err
}

// LocalOwner implements store.Keys.
func (s *Store) LocalOwner(ctx context.Context, workspaceID parley.ID) (owner parley.Principal, err error) {
	found := false
	if err := s.read(ctx, func(c *conn) error {
		owner, found, err = findLocalOwner(c, workspaceID)
		return err
	}); err != nil || found {
		return owner, err
	}
	return transact(ctx, s, func(tx *txn) (parley.Principal, error) {
		if owner, found, err := findLocalOwner(tx.conn, workspaceID); err != nil || found {
			return owner, err
		}
		made := parley.Principal{
			ID:          parley.NewID(),
			WorkspaceID: workspaceID,
			Name:        localOwner,
			Kind:        parley.AuthorPerson,
			Role:        parley.RoleAdmin,
		}
		switch known, err := tx.one("SELECT name FROM workspaces WHERE id = ?", func(r *row) error {
			made.Workspace = r.text()
			return nil
		}, workspaceID); {
		case err != nil:
			return parley.Principal{}, err
		case !known:
			return parley.Principal{}, transition.NotFound("workspace")
		}
		return made, insertPrincipal(tx, made, true)
	})
}

func findLocalOwner(c *conn, workspaceID parley.ID) (owner parley.Principal, found bool, err error) {
	found, err = c.one("SELECT "+principalColumns+` FROM principals p JOIN workspaces w ON w.id = p.workspace_id
 WHERE p.workspace_id = ? AND p.local_owner = 1`, func(r *row) error {
		owner = scanPrincipal(r)
		return nil
	}, workspaceID)
	return owner, found, err
}

func insertPrincipal(tx *txn, p parley.Principal, local bool) error {
	_, err := tx.exec(
		"INSERT INTO principals (id, workspace_id, name, kind, role, local_owner, created_at) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?)",
		p.ID,
		p.WorkspaceID,
		p.Name,
		string(p.Kind),
		string(p.Role),
		local,
		tx.now,
	)
	return err
}

const keyTables = " FROM keys k JOIN principals p ON p.id = k.principal_id JOIN workspaces w ON w.id = k.workspace_id "

// CreateKey implements store.Keys. The key's workspace is given by id or, without one, by name.
func (s *Store) CreateKey(ctx context.Context, made store.NewKey) (parley.Key, error) {
	return transact(ctx, s, func(tx *txn) (parley.Key, error) {
		key := made.Key
		if err := keyWorkspace(tx, &key); err != nil {
			return parley.Key{}, err
		}
		if key.ID.IsZero() {
			key.ID = parley.NewID()
		}
		if key.PrincipalID.IsZero() {
			key.PrincipalID = parley.NewID()
		}
		key.CreatedAt, key.RevokedAt, tx.means = tx.now, 0, key.ID
		if err := insertPrincipal(
			tx,
			parley.Principal{ID: key.PrincipalID, WorkspaceID: key.WorkspaceID, Name: key.Name,
				Kind: parley.AuthorService, Role: key.Role},
			false,
		); err != nil {
			return parley.Key{}, err
		}
		made.Key = key
		_, err := tx.exec(
			"INSERT INTO keys ("+insertKeyColumns+") VALUES ("+insertKeyPlaces+")",
			insertKeyArgs(nil, &made)...)
		return key, err
	})
}

// keyWorkspace sets the workspace of a new key, and refuses a name that an unrevoked key there has.
func keyWorkspace(tx *txn, key *parley.Key) error {
	if key.WorkspaceID.IsZero() {
		id, err := workspaceNamed(tx.conn, key.Workspace)
		if err != nil {
			return err
		}
		if id.IsZero() { // new, so no name is taken
			key.WorkspaceID, err = makeWorkspace(tx, key.Workspace)
			return err
		}
		key.WorkspaceID = id
	}
	switch found, err := tx.one("SELECT name FROM workspaces WHERE id = ?", func(r *row) error {
		key.Workspace = r.text()
		return nil
	}, key.WorkspaceID); {
	case err != nil:
		return err
	case !found:
		return transition.NotFound("workspace")
	}
	switch taken, err := tx.has("SELECT 1 FROM keys WHERE workspace_id = ? AND name = ? AND revoked_at IS NULL",
		key.WorkspaceID, key.Name); {
	case err != nil:
		return err
	case taken:
		return parley.Errorf(
			parley.CodeConflict,
			"the workspace %q already has a key named %q; revoke it first, or choose another name",
			key.Workspace,
			key.Name,
		)
	}
	return nil
}

// Authenticate implements store.Keys with one index look-up.
func (s *Store) Authenticate(ctx context.Context, hash parley.Hash) (principal parley.Principal, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+principalColumns+", k.requests_per_minute, k.max_sessions, k.max_storage"+keyTables+
				"WHERE k.hash = ? AND k.revoked_at IS NULL",
			func(r *row) error {
				principal = scanPrincipal(r)
				principal.RequestsPerMinute, principal.MaxSessions, principal.MaxStorage = r.int(), r.int64(), r.int64()
				return nil
			},
			hash,
		)
		if err == nil && !found {
			err = parley.Errorf(
				parley.CodeUnauthenticated,
				"this key is not known here, or was revoked; make one with: parley keys create",
			)
		}
		return err
	})
	return principal, err
}

// RevokedKey implements store.Keys.
func (s *Store) RevokedKey(ctx context.Context, hash parley.Hash) (key parley.Key, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+keyColumns+keyTables+"WHERE k.hash = ? AND k.revoked_at IS NOT NULL",
			func(r *row) error {
				return fillKey(r, &key)
			},
			hash,
		)
		if err == nil && !found {
			err = transition.NotFound("key")
		}
		return err
	})
	return key, err
}

// Keys lists the keys of a workspace, newest first.
func (s *Store) Keys(ctx context.Context, workspaceID parley.ID) (keys []parley.Key, err error) {
	err = s.read(ctx, func(c *conn) error {
		keys = []parley.Key{}
		return c.each("SELECT "+keyColumns+keyTables+"WHERE k.workspace_id = ? ORDER BY k.id DESC", func(r *row) error {
			found, err := scanKey(r)
			keys = append(keys, found)
			return err
		}, workspaceID)
	})
	return keys, err
}

// RevokeKey revokes a key; a revoked one stays unchanged.
func (s *Store) RevokeKey(ctx context.Context, workspaceID, id parley.ID) (parley.Key, error) {
	return transact(ctx, s, func(tx *txn) (key parley.Key, err error) {
		found, err := tx.one(
			"SELECT "+keyColumns+keyTables+"WHERE k.id = ? AND k.workspace_id = ?",
			func(r *row) error {
				return fillKey(r, &key)
			},
			id,
			workspaceID,
		)
		switch {
		case err != nil:
			return parley.Key{}, err
		case !found:
			return parley.Key{}, transition.NotFound("key")
		case key.RevokedAt != 0:
			return key, nil
		}
		key.RevokedAt = tx.now
		_, err = tx.exec("UPDATE keys SET revoked_at = ? WHERE id = ? AND workspace_id = ?", tx.now, id, workspaceID)
		return key, err
	})
}

// HasKeys reports whether any unrevoked key exists.
func (s *Store) HasKeys(ctx context.Context) (has bool, err error) {
	err = s.read(ctx, func(c *conn) error {
		has, err = c.has("SELECT 1 FROM keys WHERE revoked_at IS NULL LIMIT 1")
		return err
	})
	return has, err
}

// limitOf returns 0 for no limit.
func limitOf[T int | int64](limit *T) T {
	if limit == nil {
		return 0
	}
	return *limit
}
