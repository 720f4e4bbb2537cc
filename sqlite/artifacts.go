package sqlite

import (
	"context"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// artifactTables are "a" with the session "s" that it belongs to, if any.
const artifactTables = " FROM artifacts a%s LEFT JOIN sessions s ON s.id = a.session_id WHERE "

// ofArtifacts restricts "a" to the artifacts that a scope may see.
func (l *list) ofArtifacts(scope store.Scope) {
	l.must("a.workspace_id = ? AND a.deleted_at IS NULL AND "+
		"(a.session_id IS NULL OR s.id IS NOT NULL AND s.deleted_at IS NULL)", scope.WorkspaceID)
	if !scope.ViewerID.IsZero() {
		l.must("(coalesce(s.owner_id, a.owner_id) = ? OR coalesce(s.visibility, a.visibility) = 'workspace')",
			scope.ViewerID)
	}
}

// CreateArtifact implements store.Artifacts.
func (s *Store) CreateArtifact(ctx context.Context, creating store.NewArtifact) (parley.Artifact, bool, error) {
	type created struct {
		artifact parley.Artifact
		repeat   bool
	}
	answer, err := transact(ctx, s, func(tx *txn) (created, error) {
		a, v := transition.CreateArtifact(&creating, tx.now)
		if earlier, err := tx.createdArtifact(a.WorkspaceID, creating.Idempotency); err != nil || earlier != nil {
			if err != nil {
				return created{}, err
			}
			tx.means = earlier.ID
			return created{*earlier, true}, nil
		}
		if err := tx.checkArtifactHome(&a); err != nil {
			return created{}, err
		}
		if err := tx.keepContent(&a, &creating.Content, creating.MaxStorage); err != nil {
			return created{}, err
		}
		args, err := insertArtifactArgs(nil, &transition.ArtifactRow{Artifact: &a, Idempotency: creating.Idempotency})
		if err != nil {
			return created{}, err
		}
		if _, err := tx.exec(
			"INSERT INTO artifacts ("+insertArtifactColumns+") VALUES ("+insertArtifactPlaces+")",
			args...); err != nil {
			return created{}, err
		}
		if err := tx.insertArtifactVersion(&v, store.Idempotency{}); err != nil {
			return created{}, err
		}
		if err := tx.insertEdit(&creating.Edit, &a, &v); err != nil {
			return created{}, err
		}
		tx.means, tx.news = a.ID, append(tx.news, transition.ArtifactNews(&a, true))
		return created{artifact: a}, nil
	})
	return answer.artifact, answer.repeat, err
}

// checkArtifactHome checks the session and the project of a new artifact. In a session it has the session's owner and
// visibility.
func (t *txn) checkArtifactHome(a *parley.Artifact) error {
	if !a.ProjectID.IsZero() {
		there, err := t.has("SELECT 1 FROM projects WHERE id = ? AND workspace_id = ?", a.ProjectID, a.WorkspaceID)
		if err != nil {
			return err
		}
		if !there {
			return transition.NotFound("project")
		}
	}
	if a.SessionID.IsZero() {
		return nil
	}
	there, err := t.one("SELECT owner_id, visibility FROM sessions WHERE id = ? AND workspace_id = ? "+
		"AND deleted_at IS NULL", func(r *row) error {
		a.OwnerID, a.Visibility = r.id(), parley.Visibility(r.text())
		return nil
	}, a.SessionID, a.WorkspaceID)
	if err == nil && !there {
		err = transition.NotFound("session")
	}
	return err
}

// createdArtifact returns the artifact that was created under an idempotency key; nil if there is none.
func (t *txn) createdArtifact(workspaceID parley.ID, key store.Idempotency) (*parley.Artifact, error) {
	if key.Key == "" {
		return nil, nil
	}
	var earlier transition.Earlier
	found, err := t.one("SELECT id, fingerprint FROM artifacts WHERE workspace_id = ? AND idempotency_key = ?",
		func(r *row) error {
			earlier = transition.Earlier{ID: r.id(), Fingerprint: r.hash()}
			return nil
		}, workspaceID, key.Key)
	if err != nil || !found {
		return nil, err
	}
	if earlier.Fingerprint != key.Fingerprint {
		return nil, transition.KeyReused()
	}
	a, err := t.artifact(store.Scope{WorkspaceID: workspaceID}, earlier.ID)
	return &a, err
}

func (t *txn) insertArtifactVersion(v *parley.ArtifactVersion, key store.Idempotency) error {
	_, err := t.exec("INSERT INTO artifact_versions ("+insertArtifactVersionColumns+") VALUES ("+
		insertArtifactVersionPlaces+")",
		insertArtifactVersionArgs(nil, &transition.ArtifactVersionRow{ArtifactVersion: v, Idempotency: key})...)
	return err
}

// keepContent stores a content, or counts one more use of the same one.
func (t *txn) keepContent(a *parley.Artifact, c *store.ArtifactContent, maxStorage int64) error {
	if known, err := t.one("SELECT 1 FROM artifact_contents WHERE workspace_id = ? AND hash = ?",
		func(*row) error { return nil }, a.WorkspaceID, c.Hash); err != nil {
		return err
	} else if known {
		return t.storeContent(a, c)
	}
	quota := parley.Quota{Workspace: maxStorage}
	var stored parley.Storage
	if _, err := t.one("WITH own AS MATERIALIZED (SELECT coalesce(max(max_storage), 0) AS most FROM keys "+
		"WHERE workspace_id = ?1 AND principal_id = ?2 AND revoked_at IS NULL) SELECT own.most, "+
		"CASE WHEN ?3 > 0 THEN "+storedInWorkspace+" ELSE 0 END, "+
		"CASE WHEN own.most > 0 THEN "+storedOfPrincipal+" ELSE 0 END FROM own",
		func(r *row) error {
			quota.Principal, stored.Workspace, stored.Principal = r.int64(), r.int64(), r.int64()
			return nil
		}, a.WorkspaceID, a.OwnerID, maxStorage); err != nil {
		return err
	}
	if err := stored.Room(quota, int64(len(c.Patch)), int64(len(c.Patch))); err != nil {
		return err
	}
	return t.storeContent(a, c)
}

// storeContent is keepContent without quotas.
func (t *txn) storeContent(a *parley.Artifact, c *store.ArtifactContent) error {
	const use = "UPDATE artifact_contents SET uses = uses + 1 WHERE workspace_id = ? AND hash = ?"
	known, err := t.exec(use, a.WorkspaceID, c.Hash)
	if err != nil || known > 0 {
		return err
	}
	if !c.BaseHash.IsZero() {
		if based, err := t.exec(use, a.WorkspaceID, c.BaseHash); err != nil || based == 0 {
			return orContentGone(err)
		}
	}
	_, err = t.exec("INSERT INTO artifact_contents (workspace_id, hash, base_hash, position, size, stored, uses, "+
		"owner_id, patch) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)",
		a.WorkspaceID, c.Hash, c.BaseHash, c.Position, c.Bytes, len(c.Patch), a.OwnerID, c.Patch)
	return err
}

// orContentGone is the error for a content that a patch is on and that is not there.
func orContentGone(err error) error {
	if err == nil {
		err = transition.NotFound("content that this version is stored on")
	}
	return err
}

// WriteArtifact implements store.Artifacts.
func (s *Store) WriteArtifact(
	ctx context.Context,
	writing store.NewArtifactVersion,
) (parley.ArtifactVersion, bool, error) {
	type written struct {
		version parley.ArtifactVersion
		repeat  bool
	}
	answer, err := transact(ctx, s, func(tx *txn) (written, error) {
		workspaceID, id := writing.Version.WorkspaceID, writing.Version.ArtifactID
		tx.means = id
		a, err := tx.artifact(store.Scope{WorkspaceID: workspaceID}, id)
		if err != nil {
			return written{}, err
		}
		earlier, err := tx.writtenVersion(workspaceID, id, writing.Idempotency)
		switch {
		case err != nil:
			return written{}, err
		case earlier != nil:
			return written{*earlier, true}, nil
		}
		v, err := transition.WriteArtifact(&a, &writing, tx.now)
		if err != nil {
			return written{}, err
		}
		if err := tx.keepContent(&a, &writing.Content, writing.MaxStorage); err != nil {
			return written{}, err
		}
		if err := tx.insertArtifactVersion(&v, writing.Idempotency); err != nil {
			return written{}, err
		}
		if err := tx.insertEdit(&writing.Edit, &a, &v); err != nil {
			return written{}, err
		}
		return written{version: v}, tx.updateArtifact(&a)
	})
	return answer.version, answer.repeat, err
}

// writtenVersion returns the version that was written under an idempotency key; nil if there is none.
func (c *conn) writtenVersion(workspaceID, id parley.ID, key store.Idempotency) (*parley.ArtifactVersion, error) {
	if key.Key == "" {
		return nil, nil
	}
	var earlier parley.ArtifactVersion
	var fingerprint parley.Hash
	found, err := c.one("SELECT v.fingerprint, "+artifactVersionColumns+
		" FROM artifact_versions v WHERE v.artifact_id = ? AND v.workspace_id = ? "+
		"AND v.idempotency_key = ?", func(r *row) error {
		fingerprint = r.hash()
		return fillArtifactVersion(r, &earlier)
	}, id, workspaceID, key.Key)
	switch {
	case err != nil || !found:
		return nil, err
	case fingerprint != key.Fingerprint:
		return nil, transition.KeyReused()
	}
	return &earlier, nil
}

// WrittenVersion implements store.Artifacts.
func (s *Store) WrittenVersion(
	ctx context.Context,
	workspaceID, artifactID parley.ID,
	key store.Idempotency,
) (found *parley.ArtifactVersion, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err = c.writtenVersion(workspaceID, artifactID, key)
		return err
	})
	return found, err
}

// UpdateArtifact implements store.Artifacts.
func (s *Store) UpdateArtifact(ctx context.Context, artifact parley.Artifact) (parley.Artifact, error) {
	return transact(ctx, s, func(tx *txn) (parley.Artifact, error) {
		stored, err := tx.artifact(store.Scope{WorkspaceID: artifact.WorkspaceID}, artifact.ID)
		if err != nil {
			return parley.Artifact{}, err
		}
		changed := artifact // the closure may run again
		if err := transition.UpdateArtifact(&stored, &changed, tx.now); err != nil {
			return parley.Artifact{}, err
		}
		tx.means = changed.ID
		return changed, tx.updateArtifact(&changed)
	})
}

// updateArtifact writes an artifact that has changed, and tells of it.
func (t *txn) updateArtifact(a *parley.Artifact) error {
	args, err := updateArtifactArgs(nil, a)
	if err != nil {
		return err
	}
	t.news = append(t.news, transition.ArtifactNews(a, false))
	_, err = t.exec("UPDATE artifacts SET "+updateArtifactSet+" WHERE id = ? AND workspace_id = ?",
		append(args, a.ID, a.WorkspaceID)...)
	return err
}

// DeleteArtifact implements store.Artifacts.
func (s *Store) DeleteArtifact(ctx context.Context, scope store.Scope, id parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		a, err := tx.artifact(scope, id)
		if err != nil {
			return err
		}
		tx.means, tx.news = id, append(tx.news, transition.ArtifactGone(&a))
		return tx.buryArtifacts(scope.WorkspaceID, "id = ?1 AND deleted_at IS NULL", id)
	})
}

// buryArtifacts hides the artifacts of a term, whose argument is ?1, and leaves their purges to the outbox.
func (t *txn) buryArtifacts(workspaceID parley.ID, term string, of parley.ID) error {
	if _, err := t.exec("INSERT INTO outbox (workspace_id, kind, target_id, created_at, due_at) "+
		"SELECT workspace_id, ?3, id, ?4, ?4 FROM artifacts WHERE workspace_id = ?2 AND "+term,
		of, workspaceID, transition.PurgeArtifact{}.Kind(), t.now); err != nil {
		return err
	}
	_, err := t.exec("UPDATE artifacts SET deleted_at = ?3, session_id = NULL, project_id = NULL, "+
		"idempotency_key = NULL, fingerprint = NULL WHERE workspace_id = ?2 AND "+term, of, workspaceID, t.now)
	return err
}

// purgeArtifact deletes a batch of a deleted artifact's versions with their edits and the contents that nothing else
// needs, and reports whether nothing is left.
func (t *txn) purgeArtifact(workspaceID, id parley.ID) (bool, error) {
	type doomed struct {
		number int
		hash   parley.Hash
		edit   parley.ID
	}
	var versions []doomed
	if err := t.each("SELECT v.number, v.content_hash, t.id FROM artifact_versions v "+
		"LEFT JOIN transforms t ON t.id = v.transform_id AND t.kind = 'edit' WHERE v.artifact_id = ? "+
		"ORDER BY v.number DESC LIMIT ?", func(r *row) error {
		versions = append(versions, doomed{r.int(), r.hash(), r.id()})
		return nil
	}, id, parley.PurgeBatch); err != nil {
		return false, err
	}
	for _, v := range versions {
		if _, err := t.exec("DELETE FROM artifact_versions WHERE artifact_id = ? AND number = ?", id,
			v.number); err != nil {
			return false, err
		}
		if err := t.releaseContent(workspaceID, v.hash); err != nil {
			return false, err
		}
		if err := t.deleteEdit(v.edit); err != nil {
			return false, err
		}
	}
	if len(versions) == parley.PurgeBatch {
		return false, nil
	}
	for _, statement := range []string{
		"UPDATE transform_inputs SET name = '' WHERE artifact_id = ? AND workspace_id = ?",
		"UPDATE transform_outputs SET title = '', schema = NULL WHERE artifact_id = ? AND workspace_id = ?",
		"DELETE FROM artifacts WHERE id = ? AND workspace_id = ?",
	} {
		if _, err := t.exec(statement, id, workspaceID); err != nil {
			return false, err
		}
	}
	return true, nil
}

// deleteEdit deletes an edit with what it read and wrote; the zero id is none.
func (t *txn) deleteEdit(id parley.ID) error {
	if id.IsZero() {
		return nil
	}
	for _, statement := range []string{
		"DELETE FROM transform_inputs WHERE transform_id = ?",
		"DELETE FROM transform_outputs WHERE transform_id = ?",
		"DELETE FROM transforms WHERE id = ?",
	} {
		if _, err := t.exec(statement, id); err != nil {
			return err
		}
	}
	return nil
}

// releaseContent ends a use of a content, and deletes it, and what it is a patch on, if that was the last.
func (t *txn) releaseContent(workspaceID parley.ID, hash parley.Hash) error {
	for !hash.IsZero() {
		if _, err := t.exec("UPDATE artifact_contents SET uses = uses - 1 WHERE workspace_id = ? AND hash = ?",
			workspaceID, hash); err != nil {
			return err
		}
		var base parley.Hash
		unused, err := t.one(
			"SELECT base_hash FROM artifact_contents WHERE workspace_id = ? AND hash = ? AND uses <= 0",
			func(r *row) error {
				base = r.hash()
				return nil
			},
			workspaceID,
			hash,
		)
		if err != nil || !unused {
			return err
		}
		if _, err := t.exec("DELETE FROM artifact_contents WHERE workspace_id = ? AND hash = ?", workspaceID,
			hash); err != nil {
			return err
		}
		hash = base
	}
	return nil
}

// releaseArtifacts takes a batch of artifacts out of a project, and reports whether none is left.
func (t *txn) releaseArtifacts(workspaceID, projectID parley.ID) (bool, error) {
	n, err := t.exec("UPDATE artifacts SET project_id = NULL WHERE id IN (SELECT id FROM artifacts "+
		"INDEXED BY artifacts_project WHERE workspace_id = ? AND project_id = ? LIMIT ?)",
		workspaceID, projectID, parley.PurgeBatch)
	return n < parley.PurgeBatch, err
}

// dropArtifacts deletes the artifacts of a project that have no session.
func (t *txn) dropArtifacts(workspaceID, projectID parley.ID) (bool, error) {
	return true, t.buryArtifacts(
		workspaceID,
		"project_id = ?1 AND session_id IS NULL AND deleted_at IS NULL",
		projectID,
	)
}

// Artifact implements store.Artifacts.
func (s *Store) Artifact(ctx context.Context, scope store.Scope, id parley.ID) (found parley.Artifact, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err = c.artifact(scope, id)
		return err
	})
	return found, err
}

func (c *conn) artifact(scope store.Scope, id parley.ID) (found parley.Artifact, err error) {
	var l list
	l.must("a.id = ?", id)
	l.ofArtifacts(scope)
	there, err := c.one("SELECT "+artifactColumns+fmt.Sprintf(artifactTables, "")+l.where.String(),
		func(r *row) error { return fillArtifact(r, &found) }, l.args...)
	if err == nil && !there {
		err = transition.NotFound("artifact")
	}
	return found, err
}

// Artifacts implements store.Artifacts.
func (s *Store) Artifacts(
	ctx context.Context,
	scope store.Scope,
	query store.ArtifactQuery,
) (found []parley.Artifact, err error) {
	text, args := artifactsQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		found = []parley.Artifact{}
		return eachListed(c, &found, scanArtifact, text, args...)
	})
	return found, err
}

func artifactsQuery(scope store.Scope, q store.ArtifactQuery) (string, []arg) {
	var l list
	if !q.SessionID.IsZero() {
		l.by("artifacts_session", "a.session_id = ?", q.SessionID)
	}
	if !q.ProjectID.IsZero() {
		l.by("artifacts_project", "a.project_id = ?", q.ProjectID)
	}
	l.ofArtifacts(scope)
	if len(q.Kinds) > 0 {
		kinds := make([]arg, len(q.Kinds))
		for i, kind := range q.Kinds {
			kinds[i] = string(kind)
		}
		l.must("a.kind IN (?"+strings.Repeat(", ?", len(kinds)-1)+")", kinds...)
	}
	if q.Label != "" {
		l.must("EXISTS (SELECT 1 FROM json_each(a.labels) WHERE value = ?)", q.Label)
	}
	if q.Name != "" {
		l.must("instr(a.search_name, ?) > 0", q.Name)
	}
	if q.Archived != nil {
		l.must(map[bool]string{false: "a.archived_at IS NULL", true: "a.archived_at IS NOT NULL"}[*q.Archived])
	}
	if q.Stale {
		l.must("EXISTS (SELECT 1 FROM artifact_versions v WHERE v.artifact_id = a.id AND v.number = a.version AND " +
			staleTransform + ")")
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("(a.updated_at, a.id) "+after+" (?, ?)", int64(q.AfterUpdated), q.AfterID)
	}
	return "SELECT " + artifactColumns + fmt.Sprintf(artifactTables, l.indexed("artifacts_recent")) +
			l.where.String() + " ORDER BY a.updated_at " + word + ", a.id " + word + " LIMIT ?",
		append(l.args, limited(q.Limit))
}

// ArtifactVersion implements store.Artifacts.
func (s *Store) ArtifactVersion(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	number int,
) (found parley.ArtifactVersion, err error) {
	err = s.read(ctx, func(c *conn) error {
		if _, err := c.artifact(scope, id); err != nil {
			return err
		}
		there, err := c.one("SELECT "+artifactVersionColumns+
			" FROM artifact_versions v WHERE v.artifact_id = ? AND v.number = ?",
			func(r *row) error { return fillArtifactVersion(r, &found) }, id, number)
		if err == nil && !there {
			err = transition.NotFound("version")
		}
		return err
	})
	return found, err
}

// ArtifactVersions implements store.Artifacts.
func (s *Store) ArtifactVersions(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	query store.ArtifactVersionQuery,
) (found []parley.ArtifactVersion, err error) {
	var l list
	l.must("v.artifact_id = ?", id)
	word, after := direction(query.Ascending)
	if query.After > 0 {
		l.must("v.number "+after+" ?", query.After)
	}
	if !query.ContentHash.IsZero() {
		l.must("v.content_hash = ?", query.ContentHash)
	}
	err = s.read(ctx, func(c *conn) error {
		if _, err := c.artifact(scope, id); err != nil {
			return err
		}
		found = []parley.ArtifactVersion{}
		return c.each("SELECT "+artifactVersionColumns+" FROM artifact_versions v WHERE "+l.where.String()+
			" ORDER BY v.number "+word+" LIMIT ?", func(r *row) error {
			v, err := scanArtifactVersion(r)
			found = append(found, v)
			return err
		}, append(l.args, limited(query.Limit))...)
	})
	return found, err
}

// ArtifactContent implements store.Artifacts.
func (s *Store) ArtifactContent(
	ctx context.Context,
	workspaceID parley.ID,
	hash parley.Hash,
) (chain []store.ArtifactContent, err error) {
	err = s.read(ctx, func(c *conn) error {
		chain = nil
		return c.each(
			"WITH RECURSIVE needed(hash, depth) AS (SELECT ?2, 0 UNION ALL SELECT b.base_hash, needed.depth + 1 "+
				"FROM needed CROSS JOIN artifact_contents b ON b.workspace_id = ?1 AND b.hash = needed.hash "+
				"WHERE b.base_hash IS NOT NULL AND needed.depth < ?3) "+
				"SELECT "+artifactContentColumns+" FROM needed CROSS JOIN artifact_contents c "+
				"ON c.workspace_id = ?1 AND c.hash = needed.hash ORDER BY needed.depth DESC",
			func(r *row) error {
				content, err := scanArtifactContent(r)
				chain = append(chain, content)
				return err
			},
			workspaceID,
			hash,
			store.MaxContentChain,
		)
	})
	if err == nil && len(chain) == 0 {
		err = transition.NotFound("content")
	}
	return chain, err
}
