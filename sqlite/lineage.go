package sqlite

import (
	"context"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// The statements of a step of a lineage. ?1 is the JSON array of the nodes, each a list of an id in hexadecimal digits
// and a version, ?2 the workspace, ?3 the most rows.
const (
	lineageNodes = "WITH f AS MATERIALIZED (SELECT unhex(value ->> 0) AS id, value ->> 1 AS version " +
		"FROM json_each(?1)) "

	lineageVersions = lineageNodes + `SELECT f.id, f.version,
 v.number IS NULL OR a.session_id IS NOT NULL AND s.id IS NULL,
 ifnull(a.name, ''), coalesce(s.owner_id, a.owner_id), ifnull(coalesce(s.visibility, a.visibility), ''),
 ifnull(v.author_kind, ''), v.author_id, ifnull(v.author_name, ''), ifnull(v.created_at, 0), ifnull(v.parent, 0),
 ifnull(v.restored_from, 0), v.message_id, v.transform_id IS NOT NULL AND ` + staleTransform + `
 FROM f LEFT JOIN artifacts a ON a.id = f.id AND a.workspace_id = ?2 AND a.deleted_at IS NULL
 LEFT JOIN sessions s ON s.id = a.session_id AND s.deleted_at IS NULL
 LEFT JOIN artifact_versions v ON v.artifact_id = a.id AND v.number = f.version`

	// staleTransform tells that an input of the generation that wrote version "v" has a newer current version, and
	// one that it has not written itself. Nothing makes an edit stale.
	staleTransform = `EXISTS (SELECT 1 FROM transform_inputs i CROSS JOIN artifacts x ON x.id = i.artifact_id
 WHERE i.transform_id = v.transform_id AND x.version > i.version AND x.deleted_at IS NULL
 AND x.version > ifnull((SELECT o.version FROM transform_outputs o
  WHERE o.transform_id = i.transform_id AND o.artifact_id = x.id), 0)
 AND EXISTS (SELECT 1 FROM transforms g WHERE g.id = i.transform_id AND g.kind = 'generation'))`

	// Of an edit, "v" is the version that it wrote, "a" the version's artifact and "s" the artifact's session.
	lineageTransforms = lineageNodes + `SELECT f.id,
 CASE t.kind WHEN 'edit' THEN a.id IS NULL OR a.session_id IS NOT NULL AND s.id IS NULL ELSE s.id IS NULL END,
 ifnull(t.name, ''), ifnull(t.status, ''),
 coalesce(s.owner_id, a.owner_id, t.owner_id), coalesce(s.visibility, a.visibility, ''), t.session_id,
 ifnull(t.created_at, 0), t.trigger_message_id,
 ifnull(t.kind = 'edit', 0), ifnull(v.author_kind, ''), v.author_id, ifnull(v.author_name, '')
 FROM f LEFT JOIN transforms t ON t.id = f.id AND t.workspace_id = ?2
 LEFT JOIN transform_outputs o ON t.kind = 'edit' AND o.transform_id = t.id AND o.position = 1
 LEFT JOIN artifacts a ON a.id = o.artifact_id AND a.deleted_at IS NULL
 LEFT JOIN artifact_versions v ON v.artifact_id = a.id AND v.number = o.version
 LEFT JOIN sessions s ON s.id = ifnull(a.session_id, t.session_id) AND s.deleted_at IS NULL`

	lineageMessages = lineageNodes + `SELECT f.id, s.id IS NULL, ifnull(s.title, ''), ifnull(m.status, ''), s.owner_id,
 ifnull(s.visibility, ''), m.session_id, ifnull(m.author_kind, ''), m.author_id, ifnull(m.author_name, ''),
 ifnull(m.created_at, 0)
 FROM f LEFT JOIN messages m ON m.id = f.id AND m.workspace_id = ?2
 LEFT JOIN sessions s ON s.id = m.session_id AND s.deleted_at IS NULL`

	lineageCalls = lineageNodes + `SELECT f.id, s.id IS NULL, ifnull(c.model, ''), ifnull(c.outcome, ''), s.owner_id,
 ifnull(s.visibility, ''), c.session_id, ifnull(c.created_at, 0)
 FROM f LEFT JOIN calls c ON c.id = f.id AND c.workspace_id = ?2
 LEFT JOIN sessions s ON s.id = c.session_id AND s.deleted_at IS NULL`

	// sourcesWithin are the sources of output "o" unless they are too long to be read with many others: it then counts
	// as made of all inputs.
	sourcesWithin = "CASE WHEN octet_length(o.sources) <= 32768 THEN o.sources END"

	lineageWriters = lineageNodes + `SELECT o.transform_id, o.artifact_id, o.version, ` + sourcesWithin + `
 FROM f CROSS JOIN transform_outputs o INDEXED BY transform_outputs_artifact
 ON o.workspace_id = ?2 AND o.artifact_id = f.id AND o.version = f.version LIMIT ?3`

	lineageInputs = lineageNodes + `SELECT i.transform_id, i.artifact_id, i.version, i.pointer
 FROM f CROSS JOIN transform_inputs i ON i.transform_id = f.id AND i.workspace_id = ?2 LIMIT ?3`

	lineageMessageCalls = lineageNodes + `SELECT m.id, c.id FROM f CROSS JOIN messages m ON m.id = f.id
 AND m.workspace_id = ?2 CROSS JOIN calls c INDEXED BY calls_turn ON c.turn_id = m.turn_id AND c.step = m.step
 WHERE m.role IN ('assistant', 'tool_call') AND c.purpose = '' ORDER BY m.id, c.ordinal LIMIT ?3`

	lineageChildren = lineageNodes + `SELECT v.artifact_id, f.version, v.number, 0
 FROM f CROSS JOIN artifact_versions v INDEXED BY artifact_versions_parent
 ON v.artifact_id = f.id AND v.parent = f.version AND v.workspace_id = ?2
 UNION ALL SELECT v.artifact_id, f.version, v.number, 1
 FROM f CROSS JOIN artifact_versions v INDEXED BY artifact_versions_restored
 ON v.artifact_id = f.id AND v.restored_from = f.version AND v.workspace_id = ?2 LIMIT ?3`

	lineageReaders = lineageNodes + `SELECT i.transform_id, i.artifact_id, i.version, i.pointer
 FROM f CROSS JOIN transform_inputs i INDEXED BY transform_inputs_artifact
 ON i.workspace_id = ?2 AND i.artifact_id = f.id AND i.version = f.version LIMIT ?3`

	lineageOutputs = lineageNodes + `SELECT o.transform_id, o.artifact_id, o.version, ` + sourcesWithin + `
 FROM f CROSS JOIN transform_outputs o ON o.transform_id = f.id AND o.workspace_id = ?2
 WHERE o.version IS NOT NULL LIMIT ?3`
)

// LineageLevel implements store.Lineages.
func (s *Store) LineageLevel(
	ctx context.Context, scope store.Scope, step store.LineageStep,
) (store.LineageLevel, error) {
	var found *transition.Lineage
	err := s.read(ctx, func(c *conn) error {
		found = transition.NewLineage(scope, step)
		w := lineage{conn: c, Lineage: found, workspaceID: scope.WorkspaceID}
		for _, read := range []func() error{w.versions, w.transforms, w.messages, w.models} {
			if err := read(); err != nil {
				return err
			}
		}
		return nil
	})
	return found.Level, err
}

// lineage reads one step.
type lineage struct {
	*conn
	*transition.Lineage
	workspaceID parley.ID
}

// over runs a statement on the nodes of a kind.
func (w *lineage) over(kind parley.LineageKind, wanted bool, text string, visit func(*row) error) error {
	ids, versions := w.Asked(kind)
	if !wanted || len(ids) == 0 {
		return nil
	}
	nodes := []byte{'['}
	for i, id := range ids {
		nodes = fmt.Appendf(nodes, `["%x",%d],`, id[:], versions[i])
	}
	nodes[len(nodes)-1] = ']'
	args := []arg{string(nodes), w.workspaceID}
	if strings.HasSuffix(text, "?3") {
		args = append(args, parley.MaxLineageEdges+1)
	}
	return w.each(text, visit, args...)
}

func (w *lineage) versions() error {
	const kind = parley.LineageArtifact
	err := w.over(kind, true, lineageVersions, func(r *row) error {
		n := transition.LineageRow{}
		n.Kind, n.ID, n.Version, n.Purged = kind, r.id(), r.int(), r.bool()
		n.Name, n.OwnerID, n.Visibility = r.text(), r.id(), parley.Visibility(r.text())
		n.Author = parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()}
		n.CreatedAt, n.Parent, n.RestoredFrom, n.MessageID, n.Stale = r.time(), r.int(), r.int(), r.id(), r.bool()
		w.Node(&n)
		return nil
	})
	if err == nil {
		err = w.over(kind, w.Up(), lineageWriters, w.output)
	}
	if err == nil {
		err = w.over(kind, w.Down(), lineageChildren, func(r *row) error {
			artifactID, from, to, edge := r.id(), r.int(), r.int(), parley.LineageParent
			if r.bool() {
				edge = parley.LineageRestored
			}
			w.Child(artifactID, from, to, edge)
			return nil
		})
	}
	if err == nil {
		err = w.over(kind, w.Down(), lineageReaders, w.input)
	}
	return err
}

func (w *lineage) transforms() error {
	const kind = parley.LineageTransform
	err := w.over(kind, true, lineageTransforms, func(r *row) error {
		n := transition.LineageRow{}
		n.Kind, n.ID, n.Purged, n.Name, n.Status = kind, r.id(), r.bool(), r.text(), r.text()
		n.OwnerID, n.Visibility, n.SessionID = r.id(), parley.Visibility(r.text()), r.id()
		n.CreatedAt, n.MessageID, n.Edit = r.time(), r.id(), r.bool()
		n.Author = parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()}
		w.Node(&n)
		return nil
	})
	if err == nil {
		err = w.over(kind, w.Up(), lineageInputs, w.input)
	}
	if err == nil {
		err = w.over(kind, w.Down(), lineageOutputs, w.output)
	}
	return err
}

func (w *lineage) messages() error {
	const kind = parley.LineageMessage
	err := w.over(kind, true, lineageMessages, func(r *row) error {
		n := transition.LineageRow{}
		n.Kind, n.ID, n.Purged, n.Name, n.Status = kind, r.id(), r.bool(), r.text(), r.text()
		n.OwnerID, n.Visibility, n.SessionID = r.id(), parley.Visibility(r.text()), r.id()
		n.Author = parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()}
		n.CreatedAt = r.time()
		w.Node(&n)
		return nil
	})
	if err == nil {
		err = w.over(kind, w.Up(), lineageMessageCalls, func(r *row) error {
			w.Call(r.id(), r.id())
			return nil
		})
	}
	return err
}

func (w *lineage) models() error {
	const kind = parley.LineageCall
	return w.over(kind, true, lineageCalls, func(r *row) error {
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
