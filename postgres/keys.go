package postgres

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
func (s *Store) Workspace(ctx context.Context, name string) (parley.ID, error) {
	made := parley.NewID()
	var last error
	for range lookAgain {
		id, err := s.workspaceNamed(ctx, name)
		if err != nil || !id.IsZero() {
			return id, err
		}
		b := system()
		if err := insertWorkspace(b, made, name, s.clock.Now()); err != nil {
			return parley.ID{}, err
		}
		switch err := s.send(ctx, b); {
		case err == nil:
			return made, nil
		case (violated(err) != "" || unknown(err)) && ctx.Err() == nil: // look again for the winner
			last = err
		default:
			return parley.ID{}, mapError(err)
		}
	}
	return parley.ID{}, mapError(last)
}

// workspaceNamed returns the id of a workspace, or zero.
func (s *Store) workspaceNamed(ctx context.Context, name string) (id parley.ID, err error) {
	found, err := all(
		ctx,
		s,
		system(),
		func(r *row) (parley.ID, error) { return r.id(), nil },
		"SELECT id FROM parley.workspaces WHERE name = $1",
		1,
		name,
	)
	if err != nil || len(found) == 0 {
		return parley.ID{}, err
	}
	return found[0], nil
}

// insertWorkspace adds the statements for a workspace with its built-in agent.
func insertWorkspace(b *batch, id parley.ID, name string, now parley.Time) error {
	b.write("INSERT INTO parley.workspaces (id, name, created_at) VALUES ($1, $2, $3)", id, name, now)
	return insertAgent(b, &parley.Agent{
		ID:          parley.NewID(),
		WorkspaceID: id,
		Slug:        parley.BuiltinAgentSlug,
		Name:        "Parley",
		Description: "The built-in agent.",
		Status:      parley.AgentActive,
		Runtime:     parley.StandardRuntime,
		Settings: parley.Settings{
			SystemPrompt: new(builtinPrompt),
			Tools:        &[]parley.ToolRef{{Name: "current_time"}},
		},
		Version:   1,
		CreatedAt: now,
		UpdatedAt: now,
	}, store.Idempotency{})
}

// WorkspaceOf implements store.Workspaces.
func (s *Store) WorkspaceOf(ctx context.Context, id parley.ID) (parley.Workspace, error) {
	return one(ctx, s, tenant(id), "workspace", scanWorkspace,
		"SELECT "+workspaceColumns+" FROM parley.workspaces w WHERE w.id = $1", id)
}

// UpdateWorkspace implements store.Workspaces.
func (s *Store) UpdateWorkspace(
	ctx context.Context,
	id parley.ID,
	change store.WorkspaceChange,
) (parley.Workspace, error) {
	return patched(ctx, s, id, id, patching[parley.Workspace]{
		read:   func() (parley.Workspace, error) { return s.WorkspaceOf(ctx, id) },
		over:   change.Over,
		same:   func(a, b parley.Workspace) bool { return a.Visibility == b.Visibility },
		update: "UPDATE parley.workspaces SET visibility = $2 WHERE id = $1 AND visibility = $3",
		args: func(from, to parley.Workspace) []arg {
			return []arg{id, string(to.Visibility), string(from.Visibility)}
		},
	})
}

const principalColumns = "p.id, p.workspace_id, w.name, p.name, p.kind, p.role"

func scanPrincipal(r *row) (parley.Principal, error) {
	return parley.Principal{ID: r.id(), WorkspaceID: r.id(), Workspace: r.text(), Name: r.text(),
		Kind: parley.AuthorKind(r.text()), Role: parley.PrincipalRole(r.text())}, nil
}

// Principal finds a principal of a workspace.
func (s *Store) Principal(ctx context.Context, workspaceID, id parley.ID) (parley.Principal, error) {
	return one(
		ctx,
		s,
		tenant(workspaceID),
		"principal",
		scanPrincipal,
		"SELECT "+principalColumns+" FROM parley.principals p JOIN parley.workspaces w ON w.id = p.workspace_id "+
			"WHERE p.workspace_id = $1 AND p.id = $2",
		workspaceID,
		id,
	)
}

// LocalOwner implements store.Keys.
func (s *Store) LocalOwner(ctx context.Context, workspaceID parley.ID) (parley.Principal, error) {
	made := parley.NewID()
	var last error
	for range lookAgain {
		owners, err := all(
			ctx,
			s,
			tenant(workspaceID),
			scanPrincipal,
			"SELECT "+principalColumns+" FROM parley.principals p JOIN parley.workspaces w ON w.id = p.workspace_id "+
				"WHERE p.workspace_id = $1 AND p.local_owner",
			1,
			workspaceID,
		)
		if err != nil || len(owners) > 0 {
			return append(owners, parley.Principal{})[0], err
		}
		if _, err := s.workspaceName(ctx, workspaceID); err != nil {
			return parley.Principal{}, err
		}
		b := tenant(workspaceID)
		insertPrincipal(
			b,
			parley.Principal{
				ID:          made,
				WorkspaceID: workspaceID,
				Name:        localOwner,
				Kind:        parley.AuthorPerson,
				Role:        parley.RoleAdmin,
			},
			true,
			s.clock.Now(),
		)
		if last = s.send(ctx, b); last != nil && violated(last) == "" && (!unknown(last) || ctx.Err() != nil) {
			break
		}
	}
	return parley.Principal{}, mapError(last)
}

func (s *Store) workspaceName(ctx context.Context, id parley.ID) (string, error) {
	return one(
		ctx,
		s,
		tenant(id),
		"workspace",
		func(r *row) (string, error) { return r.text(), nil },
		"SELECT name FROM parley.workspaces WHERE id = $1",
		id,
	)
}

func insertPrincipal(b *batch, p parley.Principal, local bool, now parley.Time) {
	b.write(
		"INSERT INTO parley.principals (id, workspace_id, name, kind, role, local_owner, created_at) "+
			"VALUES ($1, $2, $3, $4, $5, $6, $7)",
		p.ID,
		p.WorkspaceID,
		p.Name,
		string(p.Kind),
		string(p.Role),
		local,
		now,
	)
}

const keyTables = ` FROM parley.keys k JOIN parley.principals p ON p.workspace_id = k.workspace_id
	AND p.id = k.principal_id
 JOIN parley.workspaces w ON w.id = k.workspace_id `

// CreateKey implements store.Keys. The key's workspace is given by id or, without one, by name.
func (s *Store) CreateKey(ctx context.Context, made store.NewKey) (parley.Key, error) {
	key := made.Key
	var err error
	if key.WorkspaceID.IsZero() {
		key.WorkspaceID, err = s.Workspace(ctx, key.Workspace)
	} else {
		key.Workspace, err = s.workspaceName(ctx, key.WorkspaceID)
	}
	if err != nil {
		return parley.Key{}, err
	}
	if key.ID.IsZero() {
		key.ID = parley.NewID()
	}
	if key.PrincipalID.IsZero() {
		key.PrincipalID = parley.NewID()
	}
	key.CreatedAt, key.RevokedAt = s.clock.Now(), 0
	audit := store.AuditFrom(ctx)
	for range lookAgain {
		b := tenant(key.WorkspaceID)
		insertPrincipal(
			b,
			parley.Principal{
				ID:          key.PrincipalID,
				WorkspaceID: key.WorkspaceID,
				Name:        key.Name,
				Kind:        parley.AuthorService,
				Role:        key.Role,
			},
			false,
			key.CreatedAt,
		)
		made.Key = key
		b.write(
			"INSERT INTO parley.keys ("+insertKeyColumns+") VALUES ("+insertKeyPlaces+")",
			insertKeyArgs(nil, &made)...)
		b.audit(audit.Entries(parley.ID{}, key.ID))
		err = s.send(ctx, b)
		switch index := violated(err); {
		case err == nil, index == "principals_pkey": // by an attempt whose result was lost
			audit.Wrote()
			return key, nil
		case index == "keys_name":
			return parley.Key{}, parley.Errorf(
				parley.CodeConflict,
				"the workspace %q already has a key named %q; revoke it first, or choose another name",
				key.Workspace,
				key.Name,
			)
		case !unknown(err) || ctx.Err() != nil:
			return parley.Key{}, mapError(err)
		}
	}
	return parley.Key{}, mapError(err)
}

// Authenticate implements store.Keys with one index look-up.
func (s *Store) Authenticate(ctx context.Context, hash parley.Hash) (parley.Principal, error) {
	principal, err := one(ctx, s, system(), "key", func(r *row) (parley.Principal, error) {
		principal, err := scanPrincipal(r)
		principal.RequestsPerMinute, principal.MaxSessions, principal.MaxStorage = r.int(), r.int64(), r.int64()
		return principal, err
	}, "SELECT "+principalColumns+", k.requests_per_minute, k.max_sessions, k.max_storage"+keyTables+
		"WHERE k.hash = $1 AND k.revoked_at IS NULL", hash)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = parley.Errorf(
			parley.CodeUnauthenticated,
			"this key is not known here, or was revoked; make one with: parley keys create",
		)
	}
	return principal, err
}

// RevokedKey implements store.Keys.
func (s *Store) RevokedKey(ctx context.Context, hash parley.Hash) (parley.Key, error) {
	return one(
		ctx,
		s,
		system(),
		"key",
		scanKey,
		"SELECT "+keyColumns+keyTables+"WHERE k.hash = $1 AND k.revoked_at IS NOT NULL",
		hash,
	)
}

// Keys lists the keys of a workspace, newest first.
func (s *Store) Keys(ctx context.Context, workspaceID parley.ID) ([]parley.Key, error) {
	return all(
		ctx,
		s,
		tenant(workspaceID),
		scanKey,
		"SELECT "+keyColumns+keyTables+"WHERE k.workspace_id = "+here+" ORDER BY k.id DESC",
		maxKeys,
	)
}

// maxKeys exceeds what a workspace has; the list has no pages.
const maxKeys = 1 << 20

// RevokeKey revokes a key; a revoked one stays unchanged, so the batch may be sent again.
func (s *Store) RevokeKey(ctx context.Context, workspaceID, id parley.ID) (key parley.Key, err error) {
	found, now, audit := false, s.clock.Now(), store.AuditFrom(ctx)
	err = s.read(ctx, func() *batch {
		found = false
		b := tenant(workspaceID)
		b.auditIf(
			audit.Entries(parley.ID{}, id),
			"SELECT FROM parley.keys WHERE workspace_id = $1 AND id = $10 AND revoked_at IS NULL FOR UPDATE",
			id,
		)
		b.write(
			"UPDATE parley.keys SET revoked_at = $3 WHERE workspace_id = $1 AND id = $2 AND revoked_at IS NULL",
			workspaceID,
			id,
			now,
		)
		b.read("SELECT "+keyColumns+keyTables+"WHERE k.workspace_id = $1 AND k.id = $2", func(r *row) (err error) {
			found = true
			key, err = scanKey(r)
			return err
		}, workspaceID, id)
		return b
	})
	if err == nil && !found {
		err = transition.NotFound("key")
	}
	return key, err
}

// HasKeys reports whether any unrevoked key exists.
func (s *Store) HasKeys(ctx context.Context) (bool, error) {
	found, err := all(
		ctx,
		s,
		system(),
		func(*row) (bool, error) { return true, nil },
		"SELECT 1 FROM parley.keys WHERE revoked_at IS NULL LIMIT 1",
		1,
	)
	return len(found) > 0, err
}

// limitOf returns 0 for no limit.
func limitOf[T int | int64](limit *T) T {
	if limit == nil {
		return 0
	}
	return *limit
}
