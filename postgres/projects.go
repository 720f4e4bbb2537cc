package postgres

import (
	"context"

	"example.org/parley"
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
