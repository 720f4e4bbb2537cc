package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// artifactTables are "a" with the session "s" that it belongs to, if any.
const artifactTables = " FROM parley.artifacts a " +
	"LEFT JOIN parley.sessions s ON s.workspace_id = a.workspace_id AND s.id = a.session_id WHERE "

// ofArtifacts restricts "a" to the artifacts that a scope may see.
func (l *filter) ofArtifacts(scope store.Scope) {
	l.must("a.workspace_id = " + here + " AND a.deleted_at IS NULL AND " +
		"(a.session_id IS NULL OR s.id IS NOT NULL AND s.deleted_at IS NULL)")
	if !scope.ViewerID.IsZero() {
		l.must("(coalesce(s.owner_id, a.owner_id) = ? OR coalesce(s.visibility, a.visibility) = 'workspace')",
			scope.ViewerID)
	}
}

// artifactQuery finds an artifact that a scope may see.
func artifactQuery(scope store.Scope, id parley.ID) (string, []arg) {
	var l filter
	l.must("a.id = ?", id)
	l.ofArtifacts(scope)
	return "SELECT " + artifactColumns + artifactTables + l.where.String(), l.args
}

// artifactWrite is one attempt to write artifacts: a transaction that reads, decides and writes.
type artifactWrite struct {
	*conversation
	audit *store.AuditIntent
	now   parley.Time
	news  []store.Commit
}

// writeArtifact runs a write of an artifact. If several use an idempotency key at once, its index admits one; the
// others look again.
func (s *Store) writeArtifact(ctx context.Context, run func(w *artifactWrite) error) error {
	again := func(err error) bool { return unsent(err) || violated(err) != "" }
	w := &artifactWrite{audit: store.AuditFrom(ctx)}
	err := s.trying(ctx, func() error {
		w.news = nil
		return s.together(ctx, func(t *conversation) error {
			w.conversation = t
			err := run(w)
			if err == nil && t.open {
				err = t.end()
			}
			return err
		})
	}, again)
	if err == nil && len(w.news) > 0 {
		w.audit.Wrote()
		s.tell(w.news)
	}
	return mapError(err)
}

// readNow reads the time with the statements of a batch.
func (w *artifactWrite) readNow(b *batch) {
	b.read("SELECT parley.now_ms()", func(r *row) error {
		w.now = r.time()
		return nil
	})
}

// lock reads an artifact that a scope may see, and keeps others from changing it.
func (w *artifactWrite) lock(scope store.Scope, id parley.ID) (a parley.Artifact, err error) {
	found := false
	b := tenant(scope.WorkspaceID)
	text, args := artifactQuery(scope, id)
	b.read(text+" FOR UPDATE OF a", func(r *row) error {
		found = true
		return fillArtifact(r, &a)
	}, args...)
	w.readNow(b)
	if err := w.send(b); err != nil {
		return a, err
	}
	if !found {
		return a, transition.NotFound("artifact")
	}
	return a, nil
}

// finish writes the last batch, with the audit's entries and what the feed is told.
func (w *artifactWrite) finish(b *batch, a *parley.Artifact, news store.Commit) error {
	b.audit(w.audit.Entries(parley.ID{}, a.ID))
	if err := w.commit(b); err != nil {
		return err
	}
	w.news = append(w.news, news)
	return nil
}

// CreateArtifact implements store.Artifacts.
func (s *Store) CreateArtifact(
	ctx context.Context,
	creating store.NewArtifact,
) (made parley.Artifact, repeat bool, err error) {
	key := creating.Idempotency
	err = s.writeArtifact(ctx, func(w *artifactWrite) error {
		var earlier transition.Earlier
		var room contentRoom
		home := artifactHome{
			project: creating.Artifact.ProjectID.IsZero(),
			session: creating.Artifact.SessionID.IsZero(),
		}
		b := tenant(creating.Artifact.WorkspaceID)
		w.readNow(b)
		if key.Key != "" {
			b.read("SELECT id, fingerprint FROM parley.artifacts WHERE workspace_id = $1 AND idempotency_key = $2",
				func(r *row) error {
					earlier = transition.Earlier{ID: r.id(), Fingerprint: r.hash()}
					return nil
				}, creating.Artifact.WorkspaceID, key.Key)
		}
		home.look(b, &creating.Artifact)
		room.look(b, &creating.Artifact, &creating.Content, creating.MaxStorage)
		if err := w.send(b); err != nil {
			return err
		}
		if !earlier.ID.IsZero() {
			if earlier.Fingerprint != key.Fingerprint {
				return transition.KeyReused()
			}
			repeat = true
			made, err = w.lock(store.Scope{WorkspaceID: creating.Artifact.WorkspaceID}, earlier.ID)
			return err
		}
		repeat = false
		if err := home.check(); err != nil {
			return err
		}
		a, v := transition.CreateArtifact(&creating, w.now)
		if !a.SessionID.IsZero() {
			a.OwnerID, a.Visibility = home.ownerID, home.visibility
		}
		if err := room.check(&creating.Content); err != nil {
			return err
		}
		made = a
		args, err := insertArtifactArgs(nil, &transition.ArtifactRow{Artifact: &a, Idempotency: key})
		if err != nil {
			return err
		}
		b = tenant(a.WorkspaceID)
		b.keepContent(&a, &creating.Content)
		b.write("INSERT INTO parley.artifacts ("+insertArtifactColumns+") VALUES ("+insertArtifactPlaces+")", args...)
		b.insertArtifactVersion(&v, store.Idempotency{})
		if err := b.insertEdit(&creating.Edit, &a, &v); err != nil {
			return err
		}
		return w.finish(b, &a, transition.ArtifactNews(&a, true))
	})
	return made, repeat, err
}

// artifactHome is the session and the project of a new artifact, which stay until it is stored.
type artifactHome struct {
	project, session bool // found, or not named
	ownerID          parley.ID
	visibility       parley.Visibility
}

func (h *artifactHome) look(b *batch, a *parley.Artifact) {
	if !h.project {
		b.read("SELECT 1 FROM parley.projects WHERE workspace_id = $1 AND id = $2 FOR SHARE", func(*row) error {
			h.project = true
			return nil
		}, a.WorkspaceID, a.ProjectID)
	}
	if !h.session {
		b.read("SELECT owner_id, visibility FROM parley.sessions WHERE workspace_id = $1 AND id = $2 "+
			"AND deleted_at IS NULL FOR SHARE", func(r *row) error {
			h.session, h.ownerID, h.visibility = true, r.id(), parley.Visibility(r.text())
			return nil
		}, a.WorkspaceID, a.SessionID)
	}
}

func (h *artifactHome) check() error {
	switch {
	case !h.project:
		return transition.NotFound("project")
	case !h.session:
		return transition.NotFound("session")
	}
	return nil
}

// contentRoom is what quotas of storage need to know of a new content.
type contentRoom struct {
	quota  parley.Quota
	stored parley.Storage
	known  bool
}

// look reads what counts for the artifact's owner, which is its session's.
func (c *contentRoom) look(b *batch, a *parley.Artifact, content *store.ArtifactContent, maxStorage int64) {
	*c = contentRoom{quota: parley.Quota{Workspace: maxStorage}}
	b.read("SELECT 1 FROM parley.artifact_contents WHERE workspace_id = $1 AND hash = $2", func(*row) error {
		c.known = true
		return nil
	}, a.WorkspaceID, content.Hash)
	b.read(roomQuery, func(r *row) error {
		c.quota.Principal, c.stored.Workspace, c.stored.Principal = r.int64(), r.int64(), r.int64()
		return nil
	}, a.WorkspaceID, a.OwnerID, maxStorage, a.SessionID)
}

// roomQuery adds up only what a quota bounds.
const roomQuery = `WITH owner AS MATERIALIZED (SELECT coalesce(
  (SELECT owner_id FROM parley.sessions WHERE workspace_id = $1 AND id = $4::uuid), $2::uuid) AS id),
 own AS MATERIALIZED (SELECT owner.id, (SELECT coalesce(max(max_storage), 0)::bigint FROM parley.keys
  WHERE workspace_id = $1 AND principal_id = owner.id AND revoked_at IS NULL) AS most FROM owner)
 SELECT own.most, CASE WHEN $3::bigint > 0 THEN ` + storedInWorkspace + ` ELSE 0 END,
  CASE WHEN own.most > 0 THEN ` + storedOfPrincipal + ` ELSE 0 END FROM own`

func (c *contentRoom) check(content *store.ArtifactContent) error {
	if c.known {
		return nil
	}
	return c.stored.Room(c.quota, int64(len(content.Patch)), int64(len(content.Patch)))
}

// keepContent stores a content, or counts one more use of the same one.
func (b *batch) keepContent(a *parley.Artifact, c *store.ArtifactContent) {
	b.write(`WITH kept AS (INSERT INTO parley.artifact_contents AS c
  (workspace_id, hash, base_hash, position, size, stored, uses, owner_id, patch)
  VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8)
  ON CONFLICT (workspace_id, hash) DO UPDATE SET uses = c.uses + 1 RETURNING c.uses),
 based AS (UPDATE parley.artifact_contents SET uses = uses + 1
  WHERE workspace_id = $1 AND hash = $3 AND (SELECT uses FROM kept) = 1 RETURNING 1)
 SELECT parley.stale() FROM kept WHERE kept.uses = 1 AND $3::bytea IS NOT NULL AND NOT EXISTS (SELECT FROM based)`,
		a.WorkspaceID, c.Hash, c.BaseHash, c.Position, c.Bytes, len(c.Patch), a.OwnerID, c.Patch)
}

func (b *batch) insertArtifactVersion(v *parley.ArtifactVersion, key store.Idempotency) {
	b.write("INSERT INTO parley.artifact_versions ("+insertArtifactVersionColumns+") VALUES ("+
		insertArtifactVersionPlaces+")",
		insertArtifactVersionArgs(nil, &transition.ArtifactVersionRow{ArtifactVersion: v, Idempotency: key})...)
}

// updateArtifact writes an artifact that is locked and has changed.
func (b *batch) updateArtifact(a *parley.Artifact) error {
	args, err := updateArtifactArgs([]arg{a.WorkspaceID, a.ID}, a)
	if err != nil {
		return err
	}
	b.write("UPDATE parley.artifacts SET "+updateArtifactSet+" WHERE workspace_id = $1 AND id = $2", args...)
	return nil
}

// WriteArtifact implements store.Artifacts.
func (s *Store) WriteArtifact(
	ctx context.Context,
	writing store.NewArtifactVersion,
) (made parley.ArtifactVersion, repeat bool, err error) {
	workspaceID, id := writing.Version.WorkspaceID, writing.Version.ArtifactID
	err = s.writeArtifact(ctx, func(w *artifactWrite) error {
		a, err := w.lock(store.Scope{WorkspaceID: workspaceID}, id)
		if err != nil {
			return err
		}
		var earlier keyedVersion
		var room contentRoom
		b := tenant(workspaceID) // under the lock, so that what others have written is seen
		b.writtenVersion(&earlier, workspaceID, id, writing.Idempotency)
		room.look(b, &a, &writing.Content, writing.MaxStorage)
		if len(b.statements) > 0 {
			if err := w.send(b); err != nil {
				return err
			}
		}
		known, err := earlier.under(writing.Idempotency)
		if repeat = known != nil; err != nil || repeat {
			made = parley.ValueOf(known)
			return err
		}
		if made, err = transition.WriteArtifact(&a, &writing, w.now); err != nil {
			return err
		}
		if err := room.check(&writing.Content); err != nil {
			return err
		}
		b = tenant(workspaceID)
		b.keepContent(&a, &writing.Content)
		b.insertArtifactVersion(&made, writing.Idempotency)
		if err := b.insertEdit(&writing.Edit, &a, &made); err != nil {
			return err
		}
		if err := b.updateArtifact(&a); err != nil {
			return err
		}
		return w.finish(b, &a, transition.ArtifactNews(&a, false))
	})
	return made, repeat, err
}

// keyedVersion is a version with the fingerprint of the request that wrote it.
type keyedVersion struct {
	version     parley.ArtifactVersion
	fingerprint parley.Hash
}

// writtenVersion looks for the version that was written under an idempotency key, if there is one.
func (b *batch) writtenVersion(found *keyedVersion, workspaceID, id parley.ID, key store.Idempotency) {
	if key.Key == "" {
		return
	}
	b.read("SELECT v.fingerprint, "+artifactVersionColumns+" FROM parley.artifact_versions v "+
		"WHERE v.workspace_id = $1 AND v.artifact_id = $2 AND v.idempotency_key = $3", func(r *row) error {
		found.fingerprint = r.hash()
		return fillArtifactVersion(r, &found.version)
	}, workspaceID, id, key.Key)
}

// under returns the version if it is what a key's request wrote.
func (k *keyedVersion) under(key store.Idempotency) (*parley.ArtifactVersion, error) {
	switch {
	case k.version.Number == 0:
		return nil, nil
	case k.fingerprint != key.Fingerprint:
		return nil, transition.KeyReused()
	}
	return &k.version, nil
}

// WrittenVersion implements store.Artifacts.
func (s *Store) WrittenVersion(
	ctx context.Context,
	workspaceID, artifactID parley.ID,
	key store.Idempotency,
) (*parley.ArtifactVersion, error) {
	if key.Key == "" {
		return nil, nil
	}
	var found keyedVersion
	if err := s.read(ctx, func() *batch {
		found = keyedVersion{}
		b := tenant(workspaceID)
		b.writtenVersion(&found, workspaceID, artifactID, key)
		return b
	}); err != nil {
		return nil, err
	}
	return found.under(key)
}

// UpdateArtifact implements store.Artifacts.
func (s *Store) UpdateArtifact(ctx context.Context, artifact parley.Artifact) (changed parley.Artifact, err error) {
	err = s.writeArtifact(ctx, func(w *artifactWrite) error {
		stored, err := w.lock(store.Scope{WorkspaceID: artifact.WorkspaceID}, artifact.ID)
		if err != nil {
			return err
		}
		changed = artifact
		if err := transition.UpdateArtifact(&stored, &changed, w.now); err != nil {
			return err
		}
		b := tenant(artifact.WorkspaceID)
		if err := b.updateArtifact(&changed); err != nil {
			return err
		}
		return w.finish(b, &changed, transition.ArtifactNews(&changed, false))
	})
	return changed, err
}

// DeleteArtifact implements store.Artifacts.
func (s *Store) DeleteArtifact(ctx context.Context, scope store.Scope, id parley.ID) error {
	return s.writeArtifact(ctx, func(w *artifactWrite) error {
		a, err := w.lock(scope, id)
		if err != nil {
			return err
		}
		b := tenant(scope.WorkspaceID)
		b.buryArtifacts("id = $2", scope.WorkspaceID, id)
		return w.finish(b, &a, transition.ArtifactGone(&a))
	})
}

// buryArtifacts hides the artifacts of a term, whose argument is $2, and leaves their purges to the outbox.
func (b *batch) buryArtifacts(term string, workspaceID, of parley.ID) {
	b.write(
		`WITH gone AS (UPDATE parley.artifacts SET deleted_at = parley.now_ms(), session_id = NULL, project_id = NULL,
   idempotency_key = NULL, fingerprint = NULL WHERE workspace_id = $1 AND `+term+` AND deleted_at IS NULL RETURNING id)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) SELECT $1, $3, gone.id, now, now
  FROM gone, parley.now_ms() now`,
		workspaceID,
		of,
		transition.PurgeArtifact{}.Kind(),
	)
}

// deleteEdits deletes those of some transforms that are edits, with what they read and wrote.
const deleteEdits = `WITH gone AS (DELETE FROM parley.transforms
  WHERE workspace_id = $1 AND id = ANY($2) AND kind = 'edit' RETURNING id),
 inputs AS (DELETE FROM parley.transform_inputs WHERE workspace_id = $1 AND transform_id IN (SELECT id FROM gone))
 DELETE FROM parley.transform_outputs WHERE workspace_id = $1 AND transform_id IN (SELECT id FROM gone)`

// purgeArtifact deletes a batch of a deleted artifact's versions with their edits and the contents that nothing else
// needs, and reports whether nothing is left.
func (s *Store) purgeArtifact(ctx context.Context, workspaceID, id parley.ID) (done bool, err error) {
	err = s.trying(ctx, func() error {
		return s.together(ctx, func(t *conversation) error {
			var freed [][]byte
			var by []parley.ID
			b := tenant(workspaceID)
			b.read(`DELETE FROM parley.artifact_versions v USING (SELECT number FROM parley.artifact_versions
  WHERE workspace_id = $1 AND artifact_id = $2 ORDER BY number DESC LIMIT $3) d
 WHERE v.workspace_id = $1 AND v.artifact_id = $2 AND v.number = d.number RETURNING v.content_hash, v.transform_id`,
				func(r *row) error {
					freed, by = append(freed, r.bytes()), append(by, r.id())
					return nil
				}, workspaceID, id, parley.PurgeBatch)
			if err := t.send(b); err != nil {
				return err
			}
			done = len(freed) < parley.PurgeBatch
			for len(freed) > 0 {
				var err error
				if freed, err = releaseContents(t, workspaceID, freed); err != nil {
					return err
				}
			}
			b = tenant(workspaceID)
			b.write(deleteEdits, workspaceID, by)
			if done {
				b.write("UPDATE parley.transform_inputs SET name = '' WHERE workspace_id = $1 AND artifact_id = $2",
					workspaceID, id)
				b.write("UPDATE parley.transform_outputs SET title = '', schema = NULL"+
					" WHERE workspace_id = $1 AND artifact_id = $2", workspaceID, id)
				b.write("DELETE FROM parley.artifacts WHERE workspace_id = $1 AND id = $2", workspaceID, id)
			}
			return t.commit(b)
		})
	}, unsent)
	return done, mapError(err)
}

// releaseContents ends uses of contents, one for each hash, deletes those of which that was the last, and returns what
// they were patches on.
func releaseContents(t *conversation, workspaceID parley.ID, freed [][]byte) (bases [][]byte, err error) {
	b := tenant(workspaceID)
	b.write(`UPDATE parley.artifact_contents c SET uses = c.uses - d.n
 FROM (SELECT hash, count(*) n FROM unnest($2::bytea[]) hash GROUP BY hash) d
 WHERE c.workspace_id = $1 AND c.hash = d.hash`, workspaceID, freed)
	b.read(`DELETE FROM parley.artifact_contents WHERE workspace_id = $1 AND hash = ANY($2) AND uses <= 0
 RETURNING base_hash`, func(r *row) error {
		if base := r.bytes(); base != nil {
			bases = append(bases, base)
		}
		return nil
	}, workspaceID, freed)
	return bases, t.send(b)
}

// releaseArtifacts takes a batch of artifacts out of a project, and reports whether none is left.
func (s *Store) releaseArtifacts(ctx context.Context, workspaceID, projectID parley.ID) (bool, error) {
	var n int64
	b := tenant(workspaceID)
	b.counted(&n, `UPDATE parley.artifacts SET project_id = NULL WHERE workspace_id = $1 AND id IN (
 SELECT id FROM parley.artifacts WHERE workspace_id = $1 AND project_id = $2 LIMIT $3)`,
		workspaceID, projectID, parley.PurgeBatch)
	err := s.send(ctx, b)
	return n < parley.PurgeBatch, mapError(err)
}

// dropArtifacts deletes the artifacts of a project that have no session.
func (s *Store) dropArtifacts(ctx context.Context, workspaceID, projectID parley.ID) (bool, error) {
	b := tenant(workspaceID)
	b.buryArtifacts("project_id = $2 AND session_id IS NULL", workspaceID, projectID)
	return true, mapError(s.send(ctx, b))
}

// Artifact implements store.Artifacts.
func (s *Store) Artifact(ctx context.Context, scope store.Scope, id parley.ID) (parley.Artifact, error) {
	text, args := artifactQuery(scope, id)
	return one(ctx, s, tenant(scope.WorkspaceID), "artifact", scanArtifact, text, args...)
}

// Artifacts implements store.Artifacts.
func (s *Store) Artifacts(
	ctx context.Context,
	scope store.Scope,
	query store.ArtifactQuery,
) ([]parley.Artifact, error) {
	text, rows, args := artifactsQuery(scope, query)
	return page(ctx, s, ordered(scope.WorkspaceID), scanArtifact, text, rows, args...)
}

func artifactsQuery(scope store.Scope, q store.ArtifactQuery) (text string, rows int, args []arg) {
	var l filter
	l.ofArtifacts(scope)
	if !q.SessionID.IsZero() {
		l.must("a.session_id = ?", q.SessionID)
	}
	if !q.ProjectID.IsZero() {
		l.must("a.project_id = ?", q.ProjectID)
	}
	if len(q.Kinds) > 0 {
		kinds := make([]string, len(q.Kinds))
		for i, kind := range q.Kinds {
			kinds[i] = string(kind)
		}
		l.must("a.kind = ANY(?)", kinds)
	}
	if q.Label != "" {
		l.must("jsonb_exists(a.labels::jsonb, ?)", q.Label)
	}
	if q.Name != "" {
		l.must("strpos(a.search_name, ?) > 0", q.Name)
	}
	if q.Archived != nil {
		l.must(map[bool]string{false: "a.archived_at IS NULL", true: "a.archived_at IS NOT NULL"}[*q.Archived])
	}
	if q.Stale {
		// A value, not EXISTS, which may be planned to look at all versions of all documents first.
		l.must("(SELECT " + staleTransform + " FROM parley.artifact_versions v WHERE v.workspace_id = " + here +
			" AND v.artifact_id = a.id AND v.number = a.version)")
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("(a.updated_at, a.id) "+after+" (?, ?)", int64(q.AfterUpdated), q.AfterID)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + artifactColumns + artifactTables + l.where.String() + " ORDER BY a.updated_at " + word +
		", a.id " + word + limit, rows, l.args
}

// ArtifactVersion implements store.Artifacts.
func (s *Store) ArtifactVersion(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	number int,
) (parley.ArtifactVersion, error) {
	if _, err := s.Artifact(ctx, scope, id); err != nil {
		return parley.ArtifactVersion{}, err
	}
	return one(ctx, s, tenant(scope.WorkspaceID), "version", scanArtifactVersion, "SELECT "+artifactVersionColumns+
		" FROM parley.artifact_versions v WHERE v.workspace_id = $1 AND v.artifact_id = $2 AND v.number = $3",
		scope.WorkspaceID, id, number)
}

// ArtifactVersions implements store.Artifacts.
func (s *Store) ArtifactVersions(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	query store.ArtifactVersionQuery,
) ([]parley.ArtifactVersion, error) {
	if _, err := s.Artifact(ctx, scope, id); err != nil {
		return nil, err
	}
	var l filter
	l.must("v.workspace_id = "+here+" AND v.artifact_id = ?", id)
	word, after := direction(query.Ascending)
	if query.After > 0 {
		l.must("v.number "+after+" ?", query.After)
	}
	if !query.ContentHash.IsZero() {
		l.must("v.content_hash = ?", query.ContentHash)
	}
	limit, rows := limited(query.Limit)
	return all(ctx, s, ordered(scope.WorkspaceID), scanArtifactVersion, "SELECT "+artifactVersionColumns+
		" FROM parley.artifact_versions v WHERE "+l.where.String()+" ORDER BY v.number "+word+limit, rows, l.args...)
}

// ArtifactContent implements store.Artifacts.
func (s *Store) ArtifactContent(
	ctx context.Context,
	workspaceID parley.ID,
	hash parley.Hash,
) ([]store.ArtifactContent, error) {
	chain, err := all(ctx, s, tenant(workspaceID), scanArtifactContent,
		"WITH RECURSIVE needed(hash, depth) AS (SELECT $2::bytea, 0 UNION ALL SELECT b.base_hash, needed.depth + 1 "+
			"FROM needed JOIN parley.artifact_contents b ON b.workspace_id = $1 AND b.hash = needed.hash "+
			"WHERE b.base_hash IS NOT NULL AND needed.depth < $3) "+
			"SELECT "+artifactContentColumns+" FROM needed JOIN parley.artifact_contents c "+
			"ON c.workspace_id = $1 AND c.hash = needed.hash ORDER BY needed.depth DESC",
		store.MaxContentChain+1, workspaceID, hash, store.MaxContentChain)
	if err == nil && len(chain) == 0 {
		err = transition.NotFound("content")
	}
	return chain, err
}
