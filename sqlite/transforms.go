package sqlite

import (
	"context"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// InsertTransform implements transition.Writer.
func (w changes) InsertTransform(_ *transition.Head, opened *parley.Transform) error {
	return w.insertTransform(opened)
}

// insertEdit stores the transform that stands for a version written by hand, if it has one.
func (t *txn) insertEdit(edit *store.Edit, a *parley.Artifact, v *parley.ArtifactVersion) error {
	if made := transition.EditOf(edit, a, v); made != nil {
		return t.insertTransform(made)
	}
	return nil
}

// insertTransform stores a transform with its inputs and outputs.
func (t *txn) insertTransform(opened *parley.Transform) error {
	args, err := insertTransformArgs(nil, opened)
	if err != nil {
		return err
	}
	if _, err := t.exec("INSERT INTO transforms ("+insertTransformColumns+") VALUES ("+insertTransformPlaces+")",
		args...); err != nil {
		return err
	}
	for i := range opened.Inputs {
		in := opened.Inputs[i]
		in.TransformID, in.WorkspaceID, in.Position = opened.ID, opened.WorkspaceID, i+1
		if _, err := t.exec("INSERT INTO transform_inputs ("+insertTransformInputColumns+") VALUES ("+
			insertTransformInputPlaces+")", insertTransformInputArgs(nil, &in)...); err != nil {
			return err
		}
	}
	for i := range opened.Outputs {
		out := opened.Outputs[i]
		out.TransformID, out.WorkspaceID, out.Position = opened.ID, opened.WorkspaceID, i+1
		args, err := insertTransformOutputArgs(nil, &out)
		if err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO transform_outputs ("+insertTransformOutputColumns+") VALUES ("+
			insertTransformOutputPlaces+")", args...); err != nil {
			return err
		}
	}
	return nil
}

// MoveTransform implements transition.Writer.
func (w changes) MoveTransform(h *transition.Head, moved *transition.MovedTransform) error {
	failure, err := encodeMaybe(moved.Failure)
	if err != nil {
		return err
	}
	if _, err := w.exec("UPDATE transforms SET status = ?, chunks = ?, last_chunk_at = ?, failure = ?, "+
		"started_at = ?, ended_at = ? WHERE id = ?", string(moved.Status), moved.Chunks, moved.LastChunkAt, failure,
		moved.StartedAt, moved.EndedAt, moved.ID); err != nil || moved.End == nil {
		return err
	}
	for i := range moved.End.Written {
		if err := w.writeTransformed(h, moved.End, &moved.End.Written[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeTransformed writes an output of a transform, unless its artifact is gone.
func (t *txn) writeTransformed(h *transition.Head, end *store.TransformEnd, w *store.TransformWriting) error {
	var v parley.ArtifactVersion
	if w.Output.Creates {
		made, err := t.createTransformed(h, end, w)
		if err != nil {
			return err
		}
		v = *made
	} else {
		a, err := t.artifact(store.Scope{WorkspaceID: h.WorkspaceID, ViewerID: h.OwnerID}, w.Output.ArtifactID)
		if parley.ErrorCode(err) == parley.CodeNotFound {
			return nil
		} else if err != nil {
			return err
		}
		var takes bool
		if v, takes = transition.WriteTransformed(&a, h, end, w, h.Changes.At); !takes {
			return nil
		}
		if err := t.storeContent(&a, &w.Content); err != nil {
			return err
		}
		if err := t.insertArtifactVersion(&v, store.Idempotency{}); err != nil {
			return err
		}
		args, err := updateArtifactArgs(nil, &a)
		if err != nil {
			return err
		}
		if _, err := t.exec("UPDATE artifacts SET "+updateArtifactSet+" WHERE id = ? AND workspace_id = ?",
			append(args, a.ID, a.WorkspaceID)...); err != nil {
			return err
		}
	}
	sources, err := encode(w.Sources)
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE transform_outputs SET version = ?, conflict = ?, sources = ? "+
		"WHERE transform_id = ? AND position = ?", v.Number, v.Conflict, sources, end.Transform.ID, w.Output.Position)
	return err
}

// createTransformed creates the artifact of an output.
func (t *txn) createTransformed(
	h *transition.Head,
	end *store.TransformEnd,
	w *store.TransformWriting,
) (*parley.ArtifactVersion, error) {
	a, v := transition.CreateTransformed(h, end, w, h.Changes.At)
	if there, err := t.one("SELECT 1 FROM projects WHERE id = ? AND workspace_id = ?",
		func(*row) error { return nil }, a.ProjectID, a.WorkspaceID); err != nil {
		return nil, err
	} else if !there {
		a.ProjectID = parley.ID{}
	}
	if there, err := t.one("SELECT 1 FROM sessions WHERE id = ? AND workspace_id = ?",
		func(*row) error { return nil }, a.SessionID, a.WorkspaceID); err != nil {
		return nil, err
	} else if !there {
		a.SessionID = parley.ID{}
	}
	if err := t.storeContent(&a, &w.Content); err != nil {
		return nil, err
	}
	args, err := insertArtifactArgs(nil, &transition.ArtifactRow{Artifact: &a})
	if err != nil {
		return nil, err
	}
	if _, err := t.exec("INSERT INTO artifacts ("+insertArtifactColumns+") VALUES ("+insertArtifactPlaces+")",
		args...); err != nil {
		return nil, err
	}
	return &v, t.insertArtifactVersion(&v, store.Idempotency{})
}

// transformTables are "f" with "s", its tool session if that is still there; of an edit, "a" is the artifact that it
// writes, if that is still there, and "s" the artifact's session.
const transformTables = " FROM transforms f%s" +
	" LEFT JOIN transform_outputs e ON f.kind = 'edit' AND e.transform_id = f.id AND e.position = 1" +
	" LEFT JOIN artifacts a ON a.id = e.artifact_id AND a.deleted_at IS NULL" +
	" LEFT JOIN sessions s ON s.id = ifnull(a.session_id, f.session_id) AND s.deleted_at IS NULL WHERE "

// ofTransforms restricts "f" to the transforms that a scope may see: an edit to who sees its artifact.
func (l *list) ofTransforms(scope store.Scope) {
	l.must("f.workspace_id = ? AND (f.kind <> 'edit' OR a.id IS NOT NULL AND "+
		"(a.session_id IS NULL OR s.id IS NOT NULL))", scope.WorkspaceID)
	if !scope.ViewerID.IsZero() {
		l.must("(CASE f.kind WHEN 'edit' THEN ifnull(s.owner_id, a.owner_id) ELSE f.owner_id END = ? "+
			"OR ifnull(s.visibility, a.visibility) = 'workspace')", scope.ViewerID)
	}
}

// Transform implements store.Transforms.
func (s *Store) Transform(ctx context.Context, scope store.Scope, id parley.ID) (parley.Transform, error) {
	var l list
	l.must("f.id = ?", id)
	l.ofTransforms(scope)
	found, err := s.transforms(
		ctx,
		"SELECT "+transformColumns+fmt.Sprintf(transformTables, "")+l.where.String(),
		l.args,
	)
	if err != nil || len(found) == 0 {
		return parley.Transform{}, orNotFound(err, "transform")
	}
	return found[0], nil
}

// orNotFound is the error of a search that found nothing.
func orNotFound(err error, what string) error {
	if err == nil {
		err = transition.NotFound(what)
	}
	return err
}

// Transforms implements store.Transforms.
func (s *Store) Transforms(
	ctx context.Context,
	scope store.Scope,
	query store.TransformQuery,
) ([]parley.Transform, error) {
	text, args := transformsQuery(scope, query)
	return s.transforms(ctx, text, args)
}

func transformsQuery(scope store.Scope, q store.TransformQuery) (string, []arg) {
	var l list
	if !q.RunID.IsZero() {
		l.by("transforms_run", "f.run_id = ?", q.RunID)
	}
	if !q.TriggerSessionID.IsZero() {
		l.by("transforms_trigger", "f.trigger_session_id = ?", q.TriggerSessionID)
	}
	if !q.DefinitionID.IsZero() {
		l.by("transforms_definition", "f.definition_id = ?", q.DefinitionID)
	}
	if q.OfKind() == parley.TransformGeneration {
		index := "transforms_generations"
		if !q.ProjectID.IsZero() {
			index = "transforms_project_generations"
		}
		l.by(index, "f.kind = 'generation'")
	}
	if !q.ProjectID.IsZero() {
		l.by("transforms_project", "f.project_id = ?", q.ProjectID)
	}
	l.ofTransforms(scope)
	if q.Status != "" {
		l.must("f.status = ?", string(q.Status))
	}
	if q.Kind == parley.TransformEdit {
		l.must("f.kind = 'edit'")
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("f.id "+after+" ?", q.AfterID)
	}
	return "SELECT " + transformColumns + fmt.Sprintf(transformTables, l.indexed("transforms_recent")) +
		l.where.String() + " ORDER BY f.id " + word + " LIMIT ?", append(l.args, limited(q.Limit))
}

// transforms reads transforms with their inputs and outputs.
func (s *Store) transforms(ctx context.Context, text string, args []arg) (found []parley.Transform, err error) {
	err = s.read(ctx, func(c *conn) error {
		found = []parley.Transform{}
		if err := eachListed(c, &found, scanTransform, text, args...); err != nil || len(found) == 0 {
			return err
		}
		at := make(map[parley.ID]*parley.Transform, len(found))
		ids := make([]arg, len(found))
		for i := range found {
			at[found[i].ID], ids[i] = &found[i], found[i].ID
		}
		among := " IN (?" + strings.Repeat(", ?", len(ids)-1) + ") ORDER BY "
		if err := c.each("SELECT "+transformInputColumns+" FROM transform_inputs i LEFT JOIN artifacts x "+
			"ON x.id = i.artifact_id AND x.deleted_at IS NULL WHERE i.transform_id"+among+"i.transform_id, i.position",
			func(r *row) error {
				in, err := scanTransformInput(r)
				at[in.TransformID].Inputs = append(at[in.TransformID].Inputs, in)
				return err
			}, ids...); err != nil {
			return err
		}
		return c.each("SELECT "+transformOutputColumns+" FROM transform_outputs o LEFT JOIN artifacts x "+
			"ON x.id = o.artifact_id AND x.deleted_at IS NULL WHERE o.transform_id"+among+"o.transform_id, o.position",
			func(r *row) error {
				out, err := scanTransformOutput(r)
				at[out.TransformID].Outputs = append(at[out.TransformID].Outputs, out)
				return err
			}, ids...)
	})
	return found, err
}

func scanTransform(r *row) (t parley.Transform, err error) {
	t.Inputs, t.Outputs = []parley.TransformInput{}, []parley.TransformOutput{}
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
	answer, err := transact(ctx, s, func(tx *txn) (created, error) {
		if key.Key != "" {
			var earlier created
			var fingerprint parley.Hash
			found, err := tx.one("SELECT d.fingerprint, v.body FROM transform_definitions d "+
				"JOIN transform_definition_versions v ON v.definition_id = d.id AND v.version = 1 "+
				"WHERE d.workspace_id = ? AND d.idempotency_key = ?", func(r *row) (err error) {
				fingerprint, earlier.repeat = r.hash(), true
				earlier.definition, err = scanTransformDefinition(r)
				return err
			}, definition.WorkspaceID, key.Key)
			if err == nil && found && fingerprint != key.Fingerprint {
				err = transition.KeyReused()
			}
			if err != nil || found {
				tx.means = earlier.definition.ID
				return earlier, err
			}
		}
		made := definition
		made.Version, made.CreatedAt, made.UpdatedAt = 1, tx.now, tx.now
		tx.means = made.ID
		return created{definition: made}, tx.keepDefinition(&made, key)
	})
	return answer.definition, answer.repeat, err
}

// UpdateTransformDefinition implements store.Transforms.
func (s *Store) UpdateTransformDefinition(
	ctx context.Context,
	definition parley.TransformDefinition,
) (parley.TransformDefinition, error) {
	return transact(ctx, s, func(tx *txn) (parley.TransformDefinition, error) {
		current, err := tx.definition(definition.WorkspaceID, "d.id = ?", definition.ID)
		if err != nil {
			return parley.TransformDefinition{}, err
		}
		next := definition
		if err := transition.NextDefinition(&current, &next, tx.now); err != nil {
			return parley.TransformDefinition{}, err
		}
		tx.means = next.ID
		return next, tx.keepDefinition(&next, store.Idempotency{})
	})
}

// keepDefinition stores a version of a definition, which becomes the current one.
func (t *txn) keepDefinition(d *parley.TransformDefinition, key store.Idempotency) error {
	taken := false
	if _, err := t.one("SELECT id FROM transform_definitions WHERE workspace_id = ? AND slug = ?", func(r *row) error {
		taken = r.id() != d.ID
		return nil
	}, d.WorkspaceID, d.Slug); err != nil {
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
	if d.Version == 1 {
		_, err = t.exec("INSERT INTO transform_definitions ("+insertTransformDefinitionColumns+") VALUES ("+
			insertTransformDefinitionPlaces+")", insertTransformDefinitionArgs(nil, &row)...)
	} else {
		_, err = t.exec("UPDATE transform_definitions SET "+updateTransformDefinitionSet+
			" WHERE id = ? AND workspace_id = ?",
			append(updateTransformDefinitionArgs(nil, &row), d.ID, d.WorkspaceID)...)
	}
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO transform_definition_versions (definition_id, version, workspace_id, body, "+
		"created_at, changed_by) VALUES (?, ?, ?, ?, ?, ?)",
		d.ID, d.Version, d.WorkspaceID, body, d.UpdatedAt, d.ChangedByID)
	return err
}

func scanTransformDefinition(r *row) (parley.TransformDefinition, error) {
	return transition.ReadDefinition(r.bytes())
}

func (c *conn) definition(
	workspaceID parley.ID,
	term string,
	value arg,
) (d parley.TransformDefinition, err error) {
	found, err := c.one("SELECT d.body FROM transform_definitions d WHERE d.workspace_id = ? AND "+term,
		func(r *row) (err error) {
			d, err = scanTransformDefinition(r)
			return err
		}, workspaceID, value)
	if err == nil && !found {
		err = transition.NotFound("definition")
	}
	return d, err
}

// TransformDefinition implements store.Transforms.
func (s *Store) TransformDefinition(
	ctx context.Context,
	workspaceID parley.ID,
	idOrSlug string,
) (found parley.TransformDefinition, err error) {
	err = s.read(ctx, func(c *conn) error {
		if id, parseErr := parley.ParseID(idOrSlug); parseErr == nil {
			found, err = c.definition(workspaceID, "d.id = ?", id)
		} else {
			found, err = c.definition(workspaceID, "d.slug = ?", idOrSlug)
		}
		return err
	})
	return found, err
}

// TransformDefinitionVersion implements store.Transforms.
func (s *Store) TransformDefinitionVersion(
	ctx context.Context,
	workspaceID, id parley.ID,
	version int,
) (parley.TransformDefinition, error) {
	found, err := s.definitions(ctx, "SELECT body FROM transform_definition_versions "+
		"WHERE definition_id = ? AND version = ? AND workspace_id = ?", []arg{id, version, workspaceID})
	if err != nil || len(found) == 0 {
		return parley.TransformDefinition{}, orNotFound(err, "version of the definition")
	}
	return found[0], nil
}

// TransformDefinitionVersions implements store.Transforms.
func (s *Store) TransformDefinitionVersions(
	ctx context.Context,
	workspaceID, id parley.ID,
	q store.AgentVersionQuery,
) ([]parley.TransformDefinition, error) {
	var l list
	l.must("v.definition_id = ? AND v.workspace_id = ?", id, workspaceID)
	word, after := direction(q.Ascending)
	if q.After != 0 {
		l.must("v.version "+after+" ?", q.After)
	}
	return s.definitions(ctx, "SELECT v.body FROM transform_definition_versions v WHERE "+l.where.String()+
		" ORDER BY v.version "+word+" LIMIT ?", append(l.args, limited(q.Limit)))
}

// TransformDefinitions implements store.Transforms.
func (s *Store) TransformDefinitions(
	ctx context.Context,
	workspaceID parley.ID,
	q store.TransformDefinitionQuery,
) ([]parley.TransformDefinition, error) {
	var l list
	l.must("d.workspace_id = ?", workspaceID)
	if q.Status != "" {
		l.must("d.status = ?", string(q.Status))
	}
	word, after := direction(!q.Descending)
	if q.AfterSlug != "" {
		l.must("d.slug "+after+" ?", q.AfterSlug)
	}
	return s.definitions(ctx, "SELECT d.body FROM transform_definitions d INDEXED BY transform_definitions_slug WHERE "+
		l.where.String()+" ORDER BY d.slug "+word+" LIMIT ?", append(l.args, limited(q.Limit)))
}

func (s *Store) definitions(
	ctx context.Context,
	text string,
	args []arg,
) (found []parley.TransformDefinition, err error) {
	err = s.read(ctx, func(c *conn) error {
		found = []parley.TransformDefinition{}
		return eachListed(c, &found, scanTransformDefinition, text, args...)
	})
	return found, err
}
