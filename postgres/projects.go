package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// ChooseProject adds a project, or refreshes the one with its path: the last access, and the icon if given. Repeating
// it changes nothing more.
func (s *Store) ChooseProject(
	ctx context.Context,
	project parley.Project,
) (chosen parley.Project, isNew bool, err error) {
	if project.ID.IsZero() {
		project.ID = parley.NewID()
	}
	project.CreatedAt = s.clock.Now()
	project.LastAccessAt = project.CreatedAt
	audit := store.AuditFrom(ctx)
	err = s.read(ctx, func() *batch {
		b := tenant(project.WorkspaceID)
		b.read(
			"INSERT INTO parley.projects AS p ("+insertProjectColumns+") VALUES ("+insertProjectPlaces+`)
 ON CONFLICT (workspace_id, path) DO UPDATE SET last_access_at = excluded.last_access_at,
  icon = CASE WHEN excluded.icon <> '' THEN excluded.icon ELSE p.icon END
 RETURNING `+projectColumns,
			func(r *row) (err error) {
				chosen, err = scanProject(r)
				return err
			},
			insertProjectArgs(nil, &project)...)
		b.auditProject(audit.Entries(parley.ID{}, parley.ID{}), project.Path)
		return b
	})
	if err == nil {
		audit.Wrote()
	}
	return chosen, chosen.ID == project.ID, err
}

// auditProject adds entries about the project with a path, whatever its id.
func (b *batch) auditProject(entries []parley.AuditEntry, path string) {
	for i := range entries {
		b.write(
			insertAudit+"SELECT $1, $2, $3, $4, $5, $6, $7, coalesce($8, p.id), $9 FROM parley.projects p "+
				"WHERE p.workspace_id = $1 AND p.path = $10 ON CONFLICT DO NOTHING",
			append(insertAuditArgs(nil, &entries[i]), path)...)
	}
}

// Project finds a project by id.
func (s *Store) Project(ctx context.Context, workspaceID, id parley.ID) (parley.Project, error) {
	return one(ctx, s, tenant(workspaceID), "project", scanProject,
		"SELECT "+projectColumns+" FROM parley.projects p WHERE p.workspace_id = $1 AND p.id = $2", workspaceID, id)
}

// UpdateProject implements store.Projects.
func (s *Store) UpdateProject(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	change store.ProjectChange,
) (parley.Project, error) {
	workspaceID, used := scope.WorkspaceID, false
	return patched(ctx, s, workspaceID, id, patching[parley.Project]{
		read: func() (project parley.Project, err error) {
			project, err = one(ctx, s, tenant(workspaceID), "project", func(r *row) (parley.Project, error) {
				used = r.bool()
				return scanProject(r)
			}, "SELECT EXISTS ("+usedByOthers+"$3), "+projectColumns+
				" FROM parley.projects p WHERE p.workspace_id = $1 AND p.id = $2", workspaceID, id, scope.ViewerID)
			return project, err
		},
		over: func(project parley.Project) (parley.Project, error) {
			changed, err := change.Over(project)
			if err == nil && used && changed.Name != project.Name {
				return parley.Project{}, transition.ProjectOfOthers()
			}
			return changed, err
		},
		same: func(a, b parley.Project) bool { return a.Name == b.Name && a.Icon == b.Icon },
		update: "UPDATE parley.projects SET name = $3, icon = $4 WHERE workspace_id = $1 AND id = $2 " +
			"AND name = $5 AND icon = $6",
		args: func(from, to parley.Project) []arg {
			return []arg{workspaceID, id, to.Name, to.Icon, from.Name, from.Icon}
		},
	})
}

// patching changes a row without a version: an update names the values that it replaces.
type patching[T comparable] struct {
	read   func() (T, error)
	over   func(T) (T, error)
	same   func(a, b T) bool // in what a change may change
	update string            // matches no row if another change came first
	args   func(from, to T) []arg
}

// patched changes a row and audits the change, unless it changes nothing.
func patched[T comparable](
	ctx context.Context, s *Store, workspaceID, target parley.ID, p patching[T],
) (none T, _ error) {
	audit := store.AuditFrom(ctx)
	var wanted T
	var last error
	for range lookAgain {
		current, err := p.read()
		if err != nil {
			return none, err
		}
		if unknown(last) && p.same(current, wanted) { // by an attempt whose result was lost
			audit.Wrote()
			return current, nil
		}
		wanted, err = p.over(current)
		if err != nil || wanted == current {
			return wanted, err
		}
		b := tenant(workspaceID)
		b.write(
			"WITH changed AS ("+p.update+" RETURNING 1) SELECT parley.stale() WHERE NOT EXISTS (SELECT FROM changed)",
			p.args(current, wanted)...)
		b.audit(audit.Entries(parley.ID{}, target))
		switch last = s.send(ctx, b); {
		case last == nil:
			audit.Wrote()
			return wanted, nil
		case (stateOf(last) == stateStale || unknown(last)) && ctx.Err() == nil:
		default:
			return none, mapError(last)
		}
	}
	return none, mapError(last)
}

// Projects lists projects by last access.
func (s *Store) Projects(
	ctx context.Context,
	workspaceID parley.ID,
	query store.ProjectQuery,
) ([]parley.Project, error) {
	text, rows, args := projectsQuery(query)
	return all(ctx, s, ordered(workspaceID), scanProject, text, rows, args...)
}

func projectsQuery(q store.ProjectQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("p.workspace_id = " + here)
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("(p.last_access_at, p.id) "+after+" (?, ?)", int64(q.AfterAccess), q.AfterID)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + projectColumns + " FROM parley.projects p WHERE " + l.where.String() +
		" ORDER BY p.last_access_at " + word + ", p.id " + word + limit, rows, l.args
}
