package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// The statements of a step of a lineage. $1 are the ids of the nodes, $2 the versions of artifacts, $3 the most rows.
// The lateral subqueries have a limit, so that the planner follows an index for each node instead of reading a whole
// table.
const (
	lineageNodes = " FROM unnest($1::uuid[], $2::bigint[]) f (id, version) "

	lineageVersions = `SELECT f.id, f.version, v.number IS NULL OR a.session_id IS NOT NULL AND s.id IS NULL,
 coalesce(a.name, ''), coalesce(s.owner_id, a.owner_id), coalesce(s.visibility, a.visibility, ''),
 coalesce(v.author_kind, ''), v.author_id, coalesce(v.author_name, ''), coalesce(v.created_at, 0),
 coalesce(v.parent, 0), coalesce(v.restored_from, 0), v.message_id,
 v.transform_id IS NOT NULL AND ` + staleTransform + lineageNodes + `
 LEFT JOIN parley.artifacts a ON a.workspace_id = ` + here + ` AND a.id = f.id AND a.deleted_at IS NULL
 LEFT JOIN parley.sessions s ON s.workspace_id = a.workspace_id AND s.id = a.session_id AND s.deleted_at IS NULL
 LEFT JOIN LATERAL (SELECT * FROM parley.artifact_versions v WHERE v.workspace_id = ` + here + `
  AND v.artifact_id = a.id AND v.number = f.version LIMIT 1) v ON true`

	// staleTransform tells that an input of the generation that wrote version "v" has a newer current version, and
	// one that it has not written itself. Nothing makes an edit stale, which is asked first: a document may have
	// thousands. For the same reason OFFSET 0 has the outputs found by their transform, not by the document.
	staleTransform = `EXISTS (SELECT 1 FROM parley.transforms g
 WHERE g.workspace_id = ` + here + ` AND g.id = v.transform_id AND g.kind = 'generation')
 AND EXISTS (SELECT 1 FROM parley.transform_inputs i
 JOIN parley.artifacts x ON x.workspace_id = i.workspace_id AND x.id = i.artifact_id
 WHERE i.workspace_id = ` + here + ` AND i.transform_id = v.transform_id AND x.version > i.version
 AND x.deleted_at IS NULL AND x.version > coalesce((SELECT max(o.version) FROM
  (SELECT o.artifact_id, o.version FROM parley.transform_outputs o WHERE o.workspace_id = ` + here + `
    AND o.transform_id = i.transform_id OFFSET 0) o
  WHERE o.artifact_id = x.id), 0))`

	// Of an edit, "v" is the version that it wrote, "a" the version's artifact and "h" the artifact's session; of a
	// generation, "s" is its tool session. They are two joins for the reason of transformTables.
	lineageTransforms = `SELECT f.id,
 CASE t.kind WHEN 'edit' THEN a.id IS NULL OR a.session_id IS NOT NULL AND h.id IS NULL ELSE s.id IS NULL END,
 coalesce(t.name, ''), coalesce(t.status, ''), coalesce(s.owner_id, h.owner_id, a.owner_id, t.owner_id),
 coalesce(s.visibility, h.visibility, a.visibility, ''), t.session_id,
 coalesce(t.created_at, 0), t.trigger_message_id,
 coalesce(t.kind = 'edit', false), coalesce(v.author_kind, ''), v.author_id, coalesce(v.author_name, '')` +
		lineageNodes + `
 LEFT JOIN parley.transforms t ON t.workspace_id = ` + here + ` AND t.id = f.id
 LEFT JOIN parley.transform_outputs o ON t.kind = 'edit' AND o.workspace_id = t.workspace_id
  AND o.transform_id = t.id AND o.position = 1
 LEFT JOIN parley.artifacts a ON a.workspace_id = o.workspace_id AND a.id = o.artifact_id AND a.deleted_at IS NULL
 LEFT JOIN LATERAL (SELECT * FROM parley.artifact_versions v WHERE v.workspace_id = ` + here + `
  AND v.artifact_id = a.id AND v.number = o.version LIMIT 1) v ON true
 LEFT JOIN parley.sessions h ON h.workspace_id = a.workspace_id AND h.id = a.session_id AND h.deleted_at IS NULL
 LEFT JOIN parley.sessions s ON s.workspace_id = t.workspace_id AND s.id = t.session_id AND s.deleted_at IS NULL`

	lineageMessages = `SELECT f.id, s.id IS NULL, coalesce(s.title, ''), coalesce(m.status, ''), s.owner_id,
 coalesce(s.visibility, ''), m.session_id, coalesce(m.author_kind, ''), m.author_id, coalesce(m.author_name, ''),
 coalesce(m.created_at, 0)` + lineageNodes + `
 LEFT JOIN parley.messages m ON m.workspace_id = ` + here + ` AND m.id = f.id
 LEFT JOIN parley.sessions s ON s.workspace_id = m.workspace_id AND s.id = m.session_id AND s.deleted_at IS NULL`

	lineageCalls = `SELECT f.id, s.id IS NULL, coalesce(c.model, ''), coalesce(c.outcome, ''), s.owner_id,
 coalesce(s.visibility, ''), c.session_id, coalesce(c.created_at, 0)` + lineageNodes + `
 LEFT JOIN parley.calls c ON c.workspace_id = ` + here + ` AND c.id = f.id
 LEFT JOIN parley.sessions s ON s.workspace_id = c.workspace_id AND s.id = c.session_id AND s.deleted_at IS NULL`

	// sourcesWithin are the sources of output "o" unless they are too long to be read with many others: it then counts
	// as made of all inputs.
	sourcesWithin = "CASE WHEN octet_length(o.sources) <= 32768 THEN o.sources END"

	lineageWriters = `SELECT o.transform_id, o.artifact_id, o.version, o.sources` + lineageNodes + `
 CROSS JOIN LATERAL (SELECT o.transform_id, o.artifact_id, o.version, ` + sourcesWithin + ` AS sources
  FROM parley.transform_outputs o
  WHERE o.workspace_id = ` + here + ` AND o.artifact_id = f.id AND o.version = f.version LIMIT $3) o LIMIT $3`

	lineageInputs = `SELECT i.transform_id, i.artifact_id, i.version, i.pointer` + lineageNodes + `
 CROSS JOIN LATERAL (SELECT * FROM parley.transform_inputs i
  WHERE i.workspace_id = ` + here + ` AND i.transform_id = f.id ORDER BY i.position LIMIT $3) i LIMIT $3`

	lineageMessageCalls = `SELECT f.id, c.id` + lineageNodes + `
 JOIN parley.messages m ON m.workspace_id = ` + here + ` AND m.id = f.id AND m.role IN ('assistant', 'tool_call')
 CROSS JOIN LATERAL (SELECT c.id FROM parley.calls c WHERE c.workspace_id = m.workspace_id AND c.turn_id = m.turn_id
  AND c.step = m.step AND c.purpose = '' ORDER BY c.ordinal DESC LIMIT 1) c`

	lineageChildren = `SELECT f.id, f.version, v.number, v.restored` + lineageNodes + `
 CROSS JOIN LATERAL (SELECT v.number, false AS restored FROM parley.artifact_versions v
  WHERE v.workspace_id = ` + here + ` AND v.artifact_id = f.id AND v.parent = f.version
  UNION ALL SELECT v.number, true FROM parley.artifact_versions v
  WHERE v.workspace_id = ` + here + ` AND v.artifact_id = f.id AND v.restored_from = f.version LIMIT $3) v
 LIMIT $3`

	lineageReaders = `SELECT i.transform_id, i.artifact_id, i.version, i.pointer` + lineageNodes + `
 CROSS JOIN LATERAL (SELECT * FROM parley.transform_inputs i WHERE i.workspace_id = ` + here + `
  AND i.artifact_id = f.id AND i.version = f.version LIMIT $3) i LIMIT $3`

	lineageOutputs = `SELECT o.transform_id, o.artifact_id, o.version, o.sources` + lineageNodes + `
 CROSS JOIN LATERAL (SELECT o.transform_id, o.artifact_id, o.version, ` + sourcesWithin + ` AS sources
  FROM parley.transform_outputs o
  WHERE o.workspace_id = ` + here + ` AND o.transform_id = f.id AND o.version IS NOT NULL
  ORDER BY o.position LIMIT $3) o LIMIT $3`
)

// LineageLevel implements store.Lineages.
func (s *Store) LineageLevel(
	ctx context.Context, scope store.Scope, step store.LineageStep,
) (store.LineageLevel, error) {
	var found *transition.Lineage
	err := s.read(ctx, func() *batch {
		found = transition.NewLineage(scope, step)
		w := lineage{tenant(scope.WorkspaceID), found}
		w.versions()
		w.transforms()
		w.messages()
		w.models()
		return w.batch
	})
	return found.Level, err
}

// lineage is the batch of one step.
type lineage struct {
	*batch
	*transition.Lineage
}

// over adds a statement on the nodes of a kind.
func (w *lineage) over(kind parley.LineageKind, wanted bool, text string, visit func(*row) error) {
	if ids, versions := w.Asked(kind); wanted && len(ids) > 0 {
		w.read(text, visit, ids, versions)
	}
}

// bounded is over for edges.
func (w *lineage) bounded(kind parley.LineageKind, wanted bool, text string, visit func(*row) error) {
	if ids, versions := w.Asked(kind); wanted && len(ids) > 0 {
		w.read(text, visit, ids, versions, parley.MaxLineageEdges+1)
	}
}

func (w *lineage) versions() {
	const kind = parley.LineageArtifact
	w.over(kind, true, lineageVersions, func(r *row) error {
		n := transition.LineageRow{}
		n.Kind, n.ID, n.Version, n.Purged = kind, r.id(), r.int(), r.bool()
		n.Name, n.OwnerID, n.Visibility = r.text(), r.id(), parley.Visibility(r.text())
		n.Author = parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()}
		n.CreatedAt, n.Parent, n.RestoredFrom, n.MessageID, n.Stale = r.time(), r.int(), r.int(), r.id(), r.bool()
		w.Node(&n)
		return nil
	})
	w.bounded(kind, w.Up(), lineageWriters, w.output)
	w.bounded(kind, w.Down(), lineageChildren, func(r *row) error {
		artifactID, from, to, edge := r.id(), r.int(), r.int(), parley.LineageParent
		if r.bool() {
			edge = parley.LineageRestored
		}
		w.Child(artifactID, from, to, edge)
		return nil
	})
	w.bounded(kind, w.Down(), lineageReaders, w.input)
}

func (w *lineage) transforms() {
	const kind = parley.LineageTransform
	w.over(kind, true, lineageTransforms, func(r *row) error {
		n := transition.LineageRow{}
		n.Kind, n.ID, n.Purged, n.Name, n.Status = kind, r.id(), r.bool(), r.text(), r.text()
		n.OwnerID, n.Visibility, n.SessionID = r.id(), parley.Visibility(r.text()), r.id()
		n.CreatedAt, n.MessageID, n.Edit = r.time(), r.id(), r.bool()
		n.Author = parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()}
		w.Node(&n)
		return nil
	})
	w.bounded(kind, w.Up(), lineageInputs, w.input)
	w.bounded(kind, w.Down(), lineageOutputs, w.output)
}

func (w *lineage) messages() {
	const kind = parley.LineageMessage
	w.over(kind, true, lineageMessages, func(r *row) error {
		n := transition.LineageRow{}
		n.Kind, n.ID, n.Purged, n.Name, n.Status = kind, r.id(), r.bool(), r.text(), r.text()
		n.OwnerID, n.Visibility, n.SessionID = r.id(), parley.Visibility(r.text()), r.id()
		n.Author = parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()}
		n.CreatedAt = r.time()
		w.Node(&n)
		return nil
	})
	w.over(kind, w.Up(), lineageMessageCalls, func(r *row) error {
		w.Call(r.id(), r.id())
		return nil
	})
}

func (w *lineage) models() {
	const kind = parley.LineageCall
	w.over(kind, true, lineageCalls, func(r *row) error {
		n := transition.LineageRow{}
		n.Kind, n.ID, n.Purged, n.Name, n.Status = kind, r.id(), r.bool(), r.text(), r.text()
		n.OwnerID, n.Visibility, n.SessionID, n.CreatedAt = r.id(), parley.Visibility(r.text()), r.id(), r.time()
		w.Node(&n)
		return nil
	})
}

func (w *lineage) input(r *row) error {
	w.Input(r.id(), r.id(), r.int(), r.text())
	return nil
}

func (w *lineage) output(r *row) error { return w.Output(r.id(), r.id(), r.int(), r.json()) }
