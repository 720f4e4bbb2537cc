package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// ChooseProject adds a project, or refreshes the one with its path: the last access, and the icon if given.
func (s *Store) ChooseProject(ctx context.Context, project parley.Project) (parley.Project, bool, error) {
	type chosen struct {
		project parley.Project
		isNew   bool
	}
	answer, err := transact(ctx, s, func(tx *txn) (chosen, error) {
		existing := parley.Project{}
		found, err := tx.one(
			"SELECT "+projectColumns+" FROM projects p WHERE p.workspace_id = ? AND p.path = ?",
			func(r *row) error {
				return fillProject(r, &existing)
			},
			project.WorkspaceID,
			project.Path,
		)
		if err != nil {
			return chosen{}, err
		}
		if found {
			existing.LastAccessAt, tx.means = tx.now, existing.ID
			if project.Icon != "" {
				existing.Icon = project.Icon
			}
			_, err := tx.exec("UPDATE projects SET last_access_at = ?, icon = ? WHERE id = ? AND workspace_id = ?",
				existing.LastAccessAt, existing.Icon, existing.ID, existing.WorkspaceID)
			return chosen{project: existing}, err
		}
		added := project
		if added.ID.IsZero() {
			added.ID = parley.NewID()
		}
		tx.means = added.ID
		added.CreatedAt, added.LastAccessAt = tx.now, tx.now
		_, err = tx.exec(
			"INSERT INTO projects ("+insertProjectColumns+") VALUES ("+insertProjectPlaces+")",
			insertProjectArgs(nil, &added)...)
		return chosen{project: added, isNew: true}, err
	})
	return answer.project, answer.isNew, err
}

// Project finds a project by id.
func (s *Store) Project(ctx context.Context, workspaceID, id parley.ID) (project parley.Project, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+projectColumns+" FROM projects p WHERE p.id = ? AND p.workspace_id = ?",
			func(r *row) error {
				return fillProject(r, &project)
			},
			id,
			workspaceID,
		)
		if err == nil && !found {
			err = transition.NotFound("project")
		}
		return err
	})
	return project, err
}

// UpdateProject implements store.Projects.
func (s *Store) UpdateProject(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	change store.ProjectChange,
) (parley.Project, error) {
	workspaceID := scope.WorkspaceID
	return transact(ctx, s, func(tx *txn) (project parley.Project, err error) {
		found, err := tx.one(
			"SELECT "+projectColumns+" FROM projects p WHERE p.id = ? AND p.workspace_id = ?",
			func(r *row) error {
				return fillProject(r, &project)
			},
			id,
			workspaceID,
		)
		if err == nil && !found {
			err = transition.NotFound("project")
		}
		if err != nil {
			return parley.Project{}, err
		}
		changed, err := change.Over(project)
		if err != nil || changed == project {
			return changed, err
		}
		if changed.Name != project.Name {
			used, err := tx.usedByOthers(scope, id)
			if err == nil && used {
				err = transition.ProjectOfOthers()
			}
			if err != nil {
				return parley.Project{}, err
			}
		}
		tx.means = id
		_, err = tx.exec("UPDATE projects SET name = ?, icon = ? WHERE id = ? AND workspace_id = ?",
			changed.Name, changed.Icon, id, workspaceID)
		return changed, err
	})
}

// Projects lists projects by last access.
func (s *Store) Projects(
	ctx context.Context,
	workspaceID parley.ID,
	query store.ProjectQuery,
) (projects []parley.Project, err error) {
	text, args := projectsQuery(workspaceID, query)
	err = s.read(ctx, func(c *conn) error {
		projects = []parley.Project{}
		return c.each(text, func(r *row) error {
			found, err := scanProject(r)
			projects = append(projects, found)
			return err
		}, args...)
	})
	return projects, err
}

func projectsQuery(workspaceID parley.ID, q store.ProjectQuery) (string, []arg) {
	var l list
	l.must("p.workspace_id = ?", workspaceID)
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("(p.last_access_at, p.id) "+after+" (?, ?)", int64(q.AfterAccess), q.AfterID)
	}
	return "SELECT " + projectColumns + " FROM projects p INDEXED BY projects_recent WHERE " + l.where.String() +
		" ORDER BY p.last_access_at " + word + ", p.id " + word + " LIMIT ?", append(l.args, limited(q.Limit))
}

// DeleteProject removes a project and detaches or deletes its sessions; sessions beyond projectBatch are left to the
// outbox.
func (s *Store) DeleteProject(ctx context.Context, scope store.Scope, id parley.ID, cascade bool) error {
	workspaceID := scope.WorkspaceID
	errand := transition.Errand{WorkspaceID: workspaceID, Work: transition.DetachProject{ProjectID: id}}
	if cascade {
		errand.Work = transition.DeleteSessions{ProjectID: id}
	}
	return s.write(ctx, func(tx *txn) error {
		switch found, err := tx.has("SELECT 1 FROM projects WHERE id = ? AND workspace_id = ?", id, workspaceID); {
		case err != nil:
			return err
		case !found:
			return transition.NotFound("project")
		}
		used, err := tx.usedByOthers(scope, id)
		if err != nil {
			return err
		}
		if used {
			return transition.ProjectOfOthers()
		}
		if _, err := tx.exec("DELETE FROM projects WHERE id = ? AND workspace_id = ?", id, workspaceID); err != nil {
			return err
		}
		if done, err := errand.Do(doer{tx}); err != nil || done {
			return err
		}
		return tx.leaveFor(errand)
	})
}

// usedByOthers reports whether sessions of anybody but the scope's viewer use a project.
func (t *txn) usedByOthers(scope store.Scope, id parley.ID) (bool, error) {
	return t.has(
		"SELECT 1 FROM sessions WHERE workspace_id = ?1 AND project_id = ?2 AND deleted_at IS NULL AND owner_id <> ?3",
		scope.WorkspaceID,
		id,
		scope.ViewerID,
	)
}
