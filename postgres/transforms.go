package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// InsertTransform implements transition.Writer.
func (w *changes) InsertTransform(_ *transition.Head, opened *parley.Transform) error {
	return w.insertTransform(opened)
}

// insertEdit stores the transform that stands for a version written by hand, if it has one.
func (b *batch) insertEdit(edit *store.Edit, a *parley.Artifact, v *parley.ArtifactVersion) error {
	if made := transition.EditOf(edit, a, v); made != nil {
		return b.insertTransform(made)
	}
	return nil
}

// insertTransform stores a transform with its inputs and outputs.
func (b *batch) insertTransform(opened *parley.Transform) error {
	args, err := insertTransformArgs(nil, opened)
	if err != nil {
		return err
	}
	b.write("INSERT INTO parley.transforms ("+insertTransformColumns+") VALUES ("+insertTransformPlaces+")", args...)
	for i := range opened.Inputs {
		in := opened.Inputs[i]
		in.TransformID, in.WorkspaceID, in.Position = opened.ID, opened.WorkspaceID, i+1
		b.write("INSERT INTO parley.transform_inputs ("+insertTransformInputColumns+") VALUES ("+
			insertTransformInputPlaces+")", insertTransformInputArgs(nil, &in)...)
	}
	for i := range opened.Outputs {
		out := opened.Outputs[i]
		out.TransformID, out.WorkspaceID, out.Position = opened.ID, opened.WorkspaceID, i+1
		args, err := insertTransformOutputArgs(nil, &out)
		if err != nil {
			return err
		}
		b.write("INSERT INTO parley.transform_outputs ("+insertTransformOutputColumns+") VALUES ("+
			insertTransformOutputPlaces+")", args...)
	}
	return nil
}

// MoveTransform implements transition.Writer.
func (w *changes) MoveTransform(h *transition.Head, moved *transition.MovedTransform) error {
	failure, err := encodeMaybe(moved.Failure)
	if err != nil {
		return err
	}
	w.write(
		"UPDATE parley.transforms SET status = $3, chunks = $4, last_chunk_at = $5, failure = $6, started_at = $7, "+
			"ended_at = $8 WHERE workspace_id = $1 AND id = $2",
		moved.WorkspaceID,
		moved.ID,
		string(moved.Status),
		moved.Chunks,
		moved.LastChunkAt,
		failure,
		moved.StartedAt,
		moved.EndedAt,
	)
	if moved.End == nil {
		return nil
	}
	for i := range moved.End.Written {
		one := &moved.End.Written[i]
		write := w.writeTransformed
		if one.Output.Creates {
			write = w.createTransformed
		}
		if err := write(h, moved.End, one); err != nil {
			return err
		}
	}
	return nil
}

// createTransformed creates the artifact of an output.
func (w *changes) createTransformed(
	h *transition.Head,
	end *store.TransformEnd,
	one *store.TransformWriting,
) error {
	a, v := transition.CreateTransformed(h, end, one, h.Changes.At)
	args, err := insertArtifactArgs(nil, &transition.ArtifactRow{Artifact: &a})
	if err != nil {
		return err
	}
	sources, err := encode(one.Sources)
	if err != nil {
		return err
	}
	w.keepContent(&a, &one.Content)
	w.write("INSERT INTO parley.artifacts ("+insertArtifactColumns+") VALUES ("+insertArtifactPlaces+")", args...)
	if !a.ProjectID.IsZero() { // it may be gone meanwhile
		w.write("UPDATE parley.artifacts SET project_id = NULL WHERE workspace_id = $1 AND id = $2 AND NOT EXISTS "+
			"(SELECT FROM parley.projects p WHERE p.workspace_id = $1 AND p.id = $3)", a.WorkspaceID, a.ID, a.ProjectID)
	}
	if !a.SessionID.IsZero() {
		w.write("UPDATE parley.artifacts SET session_id = NULL WHERE workspace_id = $1 AND id = $2 AND NOT EXISTS "+
			"(SELECT FROM parley.sessions s WHERE s.workspace_id = $1 AND s.id = $3)", a.WorkspaceID, a.ID, a.SessionID)
	}
	w.insertArtifactVersion(&v, store.Idempotency{})
	w.write("UPDATE parley.transform_outputs SET version = 1, sources = $4 "+
		"WHERE workspace_id = $1 AND transform_id = $2 AND position = $3",
		h.WorkspaceID, end.Transform.ID, one.Output.Position, sources)
	return nil
}

// writeTransformed writes an output of a transform as transition.WriteTransformed does, unless its artifact is gone:
// the artifact is read and locked by the statement that writes it, so nothing is read before.
func (w *changes) writeTransformed(
	h *transition.Head,
	end *store.TransformEnd,
	one *store.TransformWriting,
) error {
	sources, err := encode(one.Sources)
	if err != nil {
		return err
	}
	c := &one.Content
	w.write(`WITH seen AS MATERIALIZED (SELECT a.id, a.owner_id, greatest(a.newest, a.version) + 1 AS number,
   a.version <> $3 OR a.archived_at IS NOT NULL AS conflict
  FROM parley.artifacts a LEFT JOIN parley.sessions s ON s.workspace_id = a.workspace_id AND s.id = a.session_id
  WHERE a.workspace_id = $1 AND a.id = $2 AND a.deleted_at IS NULL AND greatest(a.newest, a.version) < $4
   AND (a.session_id IS NULL OR s.id IS NOT NULL AND s.deleted_at IS NULL)
   AND (coalesce(s.owner_id, a.owner_id) = $5 OR coalesce(s.visibility, a.visibility) = 'workspace')
  FOR UPDATE OF a),
 moved AS (UPDATE parley.artifacts a SET newest = seen.number, revision = revision + 1,
   updated_at = greatest(a.updated_at, $6),
   version = CASE WHEN seen.conflict THEN a.version ELSE seen.number END,
   content_hash = CASE WHEN seen.conflict THEN a.content_hash ELSE $7::bytea END,
   size = CASE WHEN seen.conflict THEN a.size ELSE $8::bigint END
  FROM seen WHERE a.workspace_id = $1 AND a.id = seen.id RETURNING seen.owner_id, seen.number, seen.conflict),
 kept AS (INSERT INTO parley.artifact_contents AS c
  (workspace_id, hash, base_hash, position, size, stored, uses, owner_id, patch)
  SELECT $1, $7::bytea, $9::bytea, $10::bigint, $8::bigint, $11::bigint, 1, moved.owner_id, $12::bytea FROM moved
  ON CONFLICT (workspace_id, hash) DO UPDATE SET uses = c.uses + 1 RETURNING c.uses),
 based AS (UPDATE parley.artifact_contents SET uses = uses + 1
  WHERE workspace_id = $1 AND hash = $9::bytea AND (SELECT uses FROM kept) = 1 RETURNING 1),
 added AS (INSERT INTO parley.artifact_versions (artifact_id, number, workspace_id, parent, base, author_kind,
   author_id, author_name, session_id, message_id, transform_id, conflict, content_hash, size, created_at)
  SELECT $2, moved.number, $1, $3, $3, $13, $14::uuid, $15, $16::uuid, $17::uuid, $18::uuid, moved.conflict,
   $7::bytea, $8::bigint, $6 FROM moved),
 noted AS (UPDATE parley.transform_outputs o SET version = moved.number, conflict = moved.conflict, sources = $20
  FROM moved WHERE o.workspace_id = $1 AND o.transform_id = $18::uuid AND o.position = $19)
 SELECT parley.stale() FROM kept WHERE kept.uses = 1 AND $9::bytea IS NOT NULL AND NOT EXISTS (SELECT FROM based)`,
		h.WorkspaceID, one.Output.ArtifactID, one.Output.BaseVersion, parley.MaxArtifactVersions, h.OwnerID,
		h.Changes.At, c.Hash, c.Bytes, c.BaseHash, c.Position, len(c.Patch), c.Patch,
		string(end.Author.Kind), end.Author.ID, end.Author.Name, h.ID, end.MessageID, end.Transform.ID,
		one.Output.Position, sources)
	return nil
}

// transformTables are "f" with "s", its tool session if that is still there; of an edit, "a" is the artifact that it
// writes, if that is still there, and "h" the artifact's session. They are two joins: row-level security keeps a
// condition on a computed id from becoming an index's condition.
const transformTables = " FROM parley.transforms f " +
	"LEFT JOIN parley.transform_outputs e ON f.kind = 'edit' AND e.workspace_id = f.workspace_id " +
	"AND e.transform_id = f.id AND e.position = 1 " +
	"LEFT JOIN parley.artifacts a ON a.workspace_id = f.workspace_id AND a.id = e.artifact_id " +
	"AND a.deleted_at IS NULL " +
	"LEFT JOIN parley.sessions h ON h.workspace_id = f.workspace_id AND h.id = a.session_id " +
	"AND h.deleted_at IS NULL " +
	"LEFT JOIN parley.sessions s ON s.workspace_id = f.workspace_id AND s.id = f.session_id " +
	"AND s.deleted_at IS NULL WHERE "

// ofTransforms restricts "f" to the transforms that a scope may see: an edit to who sees its artifact.
func (l *filter) ofTransforms(scope store.Scope) {
	l.must("f.workspace_id = " + here + " AND (f.kind <> 'edit' OR a.id IS NOT NULL AND " +
		"(a.session_id IS NULL OR h.id IS NOT NULL))")
	if !scope.ViewerID.IsZero() {
		l.must("(CASE f.kind WHEN 'edit' THEN coalesce(h.owner_id, a.owner_id) ELSE f.owner_id END = ? "+
			"OR coalesce(s.visibility, h.visibility, a.visibility) = 'workspace')", scope.ViewerID)
	}
}

// Transform implements store.Transforms.
func (s *Store) Transform(ctx context.Context, scope store.Scope, id parley.ID) (parley.Transform, error) {
	var l filter
	l.must("f.id = ?", id)
	l.ofTransforms(scope)
	found, err := s.transforms(ctx, tenant(scope.WorkspaceID), "SELECT "+transformColumns+transformTables+
		l.where.String(), 1, l.args)
	if err == nil && len(found) == 0 {
		err = transition.NotFound("transform")
	}
	if err != nil {
		return parley.Transform{}, err
	}
	return found[0], nil
}

// Transforms implements store.Transforms.
func (s *Store) Transforms(
	ctx context.Context,
	scope store.Scope,
	query store.TransformQuery,
) ([]parley.Transform, error) {
	text, rows, args := transformsQuery(scope, query)
	return s.transforms(ctx, ordered(scope.WorkspaceID), text, rows, args)
}

func transformsQuery(scope store.Scope, q store.TransformQuery) (text string, rows int, args []arg) {
	var l filter
	if !q.RunID.IsZero() {
		l.must("f.run_id = ?", q.RunID)
	}
	if !q.TriggerSessionID.IsZero() {
		l.must("f.trigger_session_id = ?", q.TriggerSessionID)
	}
	if !q.DefinitionID.IsZero() {
		l.must("f.definition_id = ?", q.DefinitionID)
	}
	if !q.ProjectID.IsZero() {
		l.must("f.project_id = ?", q.ProjectID)
	}
	l.ofTransforms(scope)
	switch q.OfKind() { // in words, because an index has this condition
	case parley.TransformGeneration:
		l.must("f.kind = 'generation'")
	case parley.TransformEdit:
		l.must("f.kind = 'edit'")
	}
	if q.Status != "" {
		l.must("f.status = ?", string(q.Status))
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("f.id "+after+" ?", q.AfterID)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + transformColumns + transformTables + l.where.String() + " ORDER BY f.id " + word + limit, rows,
		l.args
}

// transforms reads transforms with their inputs and outputs.
func (s *Store) transforms(
	ctx context.Context,
	as *batch,
	text string,
	limit int,
	args []arg,
) ([]parley.Transform, error) {
	found, err := page(ctx, s, as, scanTransform, text, limit, args...)
	if err != nil || len(found) == 0 {
		return found, err
	}
	at := make(map[parley.ID]*parley.Transform, len(found))
	ids := make([]parley.ID, len(found))
	for i := range found {
		at[found[i].ID], ids[i] = &found[i], found[i].ID
	}
	const of = " LEFT JOIN parley.artifacts x ON x.workspace_id = $1 AND x.deleted_at IS NULL AND x.id = "
	err = s.read(ctx, func() *batch {
		for i := range found {
			found[i].Inputs, found[i].Outputs = []parley.TransformInput{}, []parley.TransformOutput{}
		}
		b := tenant(as.workspace)
		b.read("SELECT "+transformInputColumns+" FROM parley.transform_inputs i"+of+"i.artifact_id "+
			"WHERE i.workspace_id = $1 AND i.transform_id = ANY($2) ORDER BY i.transform_id, i.position",
			func(r *row) error {
				in, err := scanTransformInput(r)
				at[in.TransformID].Inputs = append(at[in.TransformID].Inputs, in)
				return err
			}, as.workspace, ids)
		b.read("SELECT "+transformOutputColumns+" FROM parley.transform_outputs o"+of+"o.artifact_id "+
			"WHERE o.workspace_id = $1 AND o.transform_id = ANY($2) ORDER BY o.transform_id, o.position",
			func(r *row) error {
				out, err := scanTransformOutput(r)
				at[out.TransformID].Outputs = append(at[out.TransformID].Outputs, out)
				return err
			}, as.workspace, ids)
		return b
	})
	return found, err
}

func scanTransform(r *row) (t parley.Transform, err error) {
	err = fillTransform(r, &t)
	return t, err
}

// CreateTransformDefinition implements store.Transforms.
func (s *Store) CreateTransformDefinition(
	ctx context.Context,
	definition parley.TransformDefinition,
	key store.Idempotency,
) (parley.TransformDefinition, bool, error) {
	type created struct {
		definition parley.TransformDefinition
		repeat     bool
	}
	answer, err := transactLocked(ctx, s, definition.WorkspaceID, func(a *attempt) (created, error) {
		var earlier created
		var fingerprint parley.Hash
		found := false
		if err := a.ask(func() *batch {
			found = false
			b := tenant(definition.WorkspaceID)
			b.read("SELECT d.fingerprint, v.body FROM parley.transform_definitions d "+
				"JOIN parley.transform_definition_versions v ON v.workspace_id = d.workspace_id "+
				"AND v.definition_id = d.id AND v.version = 1 "+
				"WHERE d.workspace_id = $1 AND d.idempotency_key = $2", func(r *row) (err error) {
				found, fingerprint = true, r.hash()
				earlier.definition, err = scanTransformDefinition(r)
				return err
			}, definition.WorkspaceID, key.Key)
			return b
		}); err != nil {
			return created{}, err
		}
		if found {
			earlier.repeat = earlier.definition.ID != definition.ID // else an attempt whose result was lost
			if fingerprint != key.Fingerprint {
				return created{}, transition.KeyReused()
			}
			a.tx.Means(earlier.definition.ID)
			return earlier, nil
		}
		made := definition
		now := a.tx.Now()
		made.Version, made.CreatedAt, made.UpdatedAt = 1, now, now
		return created{definition: made}, a.keepDefinition(&made, key)
	})
	return answer.definition, answer.repeat, err
}

// UpdateTransformDefinition implements store.Transforms.
func (s *Store) UpdateTransformDefinition(
	ctx context.Context,
	definition parley.TransformDefinition,
) (parley.TransformDefinition, error) {
	return transactLocked(ctx, s, definition.WorkspaceID, func(a *attempt) (parley.TransformDefinition, error) {
		var current *parley.TransformDefinition
		if err := a.ask(func() *batch {
			current = nil
			b := tenant(definition.WorkspaceID)
			b.read("SELECT body FROM parley.transform_definitions WHERE workspace_id = $1 AND id = $2 FOR UPDATE",
				func(r *row) error {
					found, err := scanTransformDefinition(r)
					current = &found
					return err
				}, definition.WorkspaceID, definition.ID)
			return b
		}); err != nil {
			return parley.TransformDefinition{}, err
		}
		if current == nil {
			return parley.TransformDefinition{}, transition.NotFound("definition")
		}
		next := definition
		if err := transition.NextDefinition(current, &next, a.tx.Now()); err != nil {
			return parley.TransformDefinition{}, err
		}
		return next, a.keepDefinition(&next, store.Idempotency{})
	})
}

// keepDefinition stores a version of a definition, which becomes the current one.
func (a *attempt) keepDefinition(d *parley.TransformDefinition, key store.Idempotency) error {
	taken := false
	if err := a.ask(func() *batch {
		taken = false
		b := tenant(d.WorkspaceID)
		b.read("SELECT 1 FROM parley.transform_definitions WHERE workspace_id = $1 AND slug = $2 AND id <> $3",
			func(*row) error {
				taken = true
				return nil
			}, d.WorkspaceID, d.Slug, d.ID)
		return b
	}); err != nil {
		return err
	}
	if taken {
		return transition.DefinitionSlugTaken(d.Slug)
	}
	body, err := encode(d)
	if err != nil {
		return err
	}
	row := transition.DefinitionRow{TransformDefinition: d, Body: body, Idempotency: key}
	b := tenant(d.WorkspaceID)
	if d.Version == 1 {
		b.write("INSERT INTO parley.transform_definitions ("+insertTransformDefinitionColumns+") VALUES ("+
			insertTransformDefinitionPlaces+")", insertTransformDefinitionArgs(nil, &row)...)
	} else {
		b.write("UPDATE parley.transform_definitions SET "+updateTransformDefinitionSet+
			" WHERE workspace_id = $1 AND id = $2",
			updateTransformDefinitionArgs([]arg{d.WorkspaceID, d.ID}, &row)...)
	}
	b.write(
		"INSERT INTO parley.transform_definition_versions (definition_id, version, workspace_id, body, created_at, "+
			"changed_by) VALUES ($1, $2, $3, $4, $5, $6)",
		d.ID,
		d.Version,
		d.WorkspaceID,
		body,
		d.UpdatedAt,
		d.ChangedByID,
	)
	a.extra = append(a.extra, b.statements...)
	a.tx.Means(d.ID)
	return nil
}

func scanTransformDefinition(r *row) (parley.TransformDefinition, error) {
	return transition.ReadDefinition(r.json())
}

// TransformDefinition implements store.Transforms.
func (s *Store) TransformDefinition(
	ctx context.Context,
	workspaceID parley.ID,
	idOrSlug string,
) (parley.TransformDefinition, error) {
	term, value := "d.slug = $1", arg(idOrSlug)
	if id, err := parley.ParseID(idOrSlug); err == nil {
		term, value = "d.id = $1", id
	}
	return one(ctx, s, tenant(workspaceID), "definition", scanTransformDefinition,
		"SELECT d.body FROM parley.transform_definitions d WHERE d.workspace_id = "+here+" AND "+term, value)
}

// TransformDefinitionVersion implements store.Transforms.
func (s *Store) TransformDefinitionVersion(
	ctx context.Context,
	workspaceID, id parley.ID,
	version int,
) (parley.TransformDefinition, error) {
	return one(ctx, s, tenant(workspaceID), "version of the definition", scanTransformDefinition,
		"SELECT body FROM parley.transform_definition_versions "+
			"WHERE workspace_id = $1 AND definition_id = $2 AND version = $3", workspaceID, id, version)
}

// TransformDefinitionVersions implements store.Transforms.
func (s *Store) TransformDefinitionVersions(
	ctx context.Context,
	workspaceID, id parley.ID,
	q store.AgentVersionQuery,
) ([]parley.TransformDefinition, error) {
	var l filter
	l.must("v.workspace_id = "+here+" AND v.definition_id = ?", id)
	word, after := direction(q.Ascending)
	if q.After != 0 {
		l.must("v.version "+after+" ?", q.After)
	}
	limit, rows := limited(q.Limit)
	return page(ctx, s, ordered(workspaceID), scanTransformDefinition,
		"SELECT v.body FROM parley.transform_definition_versions v WHERE "+l.where.String()+" ORDER BY v.version "+word+
			limit, rows, l.args...)
}

// TransformDefinitions implements store.Transforms.
func (s *Store) TransformDefinitions(
	ctx context.Context,
	workspaceID parley.ID,
	q store.TransformDefinitionQuery,
) ([]parley.TransformDefinition, error) {
	var l filter
	l.must("d.workspace_id = " + here)
	if q.Status != "" {
		l.must("d.status = ?", string(q.Status))
	}
	word, after := direction(!q.Descending)
	if q.AfterSlug != "" {
		l.must("d.slug "+after+" ?", q.AfterSlug)
	}
	limit, rows := limited(q.Limit)
	return page(
		ctx,
		s,
		ordered(workspaceID),
		scanTransformDefinition,
		"SELECT d.body FROM parley.transform_definitions d WHERE "+l.where.String()+" ORDER BY d.slug "+word+limit,
		rows,
		l.args...)
}
