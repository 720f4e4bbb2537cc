package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// CreateSchedule implements store.Schedules.
func (s *Store) CreateSchedule(ctx context.Context, schedule store.NewSchedule) (parley.Schedule, bool, error) {
	created, err := transact(ctx, s, func(tx *txn) (transition.ScheduleCreated, error) {
		return tx.core.CreateSchedule(schedule)
	})
	return created.Schedule, created.Replayed, err
}

// UpdateSchedule implements store.Schedules.
func (s *Store) UpdateSchedule(ctx context.Context, schedule parley.Schedule) (parley.Schedule, error) {
	return transact(ctx, s, func(tx *txn) (parley.Schedule, error) {
		current, err := tx.Schedule(schedule.WorkspaceID, schedule.ID)
		switch {
		case err != nil:
			return parley.Schedule{}, err
		case current == nil:
			return parley.Schedule{}, transition.NotFound("schedule")
		case current.Revision != schedule.Revision:
			return parley.Schedule{}, transition.ScheduleMovedOn()
		}
		next := schedule // the closure may run again
		next.Revision, next.UpdatedAt = next.Revision+1, tx.now
		tx.means = next.ID
		return next, tx.updateSchedule(&next)
	})
}

func (t *txn) updateSchedule(schedule *parley.Schedule) error {
	args, err := updateScheduleArgs(nil, schedule)
	if err != nil {
		return err
	}
	_, err = t.exec(
		"UPDATE schedules SET "+updateScheduleSet+" WHERE id = ? AND workspace_id = ?",
		append(args, schedule.ID, schedule.WorkspaceID)...)
	return err
}

// reschedule changes an agent's schedules with it.
func (t *txn) reschedule(current, next *parley.Agent) error {
	concerned, otherOwner := transition.Reschedules(current, next)
	if !concerned {
		return nil
	}
	set, args := "", []arg{next.Status == parley.AgentArchived, next.WorkspaceID, next.ID}
	if otherOwner {
		set = ", author_kind = coalesce((SELECT kind FROM principals WHERE id = ?4 AND workspace_id = ?2), ?5), " +
			"author_id = ?4, author_name = ?6"
		args = append(args, next.OwnerID, string(parley.AuthorPerson), next.OwnerName)
	}
	_, err := t.exec("UPDATE schedules SET resting = ?1, revision = revision + 1"+set+
		" WHERE workspace_id = ?2 AND agent_id = ?3", args...)
	return err
}

// DeleteSchedule implements store.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, workspaceID, id parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		gone, err := tx.exec("DELETE FROM schedules WHERE id = ? AND workspace_id = ?", id, workspaceID)
		if err == nil && gone == 0 {
			tx.wrote = false
			err = transition.NotFound("schedule")
		}
		if err != nil {
			return err
		}
		tx.means = id
		_, err = tx.exec("DELETE FROM schedule_runs WHERE schedule_id = ?", id)
		return err
	})
}

// Schedule finds a schedule by id.
func (s *Store) Schedule(ctx context.Context, workspaceID, id parley.ID) (schedule parley.Schedule, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.schedule(workspaceID, id)
		if err == nil && found == nil {
			return transition.NotFound("schedule")
		}
		if found != nil {
			schedule = *found
		}
		return err
	})
	return schedule, err
}

func (c *conn) schedule(workspaceID, id parley.ID) (schedule *parley.Schedule, err error) {
	_, err = c.one("SELECT "+scheduleColumns+" FROM schedules c WHERE c.id = ? AND c.workspace_id = ?",
		func(r *row) error {
			found, err := scanSchedule(r)
			schedule = &found
			return err
		}, id, workspaceID)
	return schedule, err
}

// Schedules implements store.Schedules.
func (s *Store) Schedules(
	ctx context.Context,
	workspaceID parley.ID,
	query store.ScheduleQuery,
) (schedules []parley.Schedule, err error) {
	text, args := schedulesQuery(workspaceID, query)
	err = s.read(ctx, func(c *conn) error {
		schedules = []parley.Schedule{}
		return eachListed(c, &schedules, scanSchedule, text, args...)
	})
	return schedules, err
}

func schedulesQuery(workspaceID parley.ID, q store.ScheduleQuery) (string, []arg) {
	var l list
	index := "schedules_workspace"
	l.must("c.workspace_id = ?", workspaceID)
	if !q.AgentID.IsZero() {
		index = "schedules_agent"
		l.must("c.agent_id = ?", q.AgentID)
	}
	word, after := direction(!q.Descending)
	if !q.AfterID.IsZero() {
		l.must("c.id "+after+" ?", q.AfterID)
	}
	return "SELECT " + scheduleColumns + " FROM schedules c INDEXED BY " + index + " WHERE " + l.where.String() +
		" ORDER BY c.id " + word + " LIMIT ?", append(l.args, limited(q.Limit))
}

// ScheduleRuns implements store.Schedules.
func (s *Store) ScheduleRuns(
	ctx context.Context,
	workspaceID, scheduleID parley.ID,
	query store.ScheduleRunQuery,
) (runs []parley.ScheduleRun, err error) {
	text, args := scheduleRunsQuery(workspaceID, scheduleID, query)
	err = s.read(ctx, func(c *conn) error {
		if found, err := c.schedule(workspaceID, scheduleID); err != nil {
			return err
		} else if found == nil {
			return transition.NotFound("schedule")
		}
		runs = []parley.ScheduleRun{}
		return c.each(text, func(r *row) error {
			run, err := scanScheduleRun(r)
			runs = append(runs, run)
			return err
		}, args...)
	})
	return runs, err
}

func scheduleRunsQuery(workspaceID, scheduleID parley.ID, q store.ScheduleRunQuery) (string, []arg) {
	var l list
	l.must("u.schedule_id = ? AND u.workspace_id = ?", scheduleID, workspaceID)
	word, after := direction(q.Ascending)
	if q.AfterDue != 0 {
		l.must("u.due_at "+after+" ?", q.AfterDue)
	}
	return "SELECT " + scheduleRunColumns + " FROM schedule_runs u WHERE " + l.where.String() +
		" ORDER BY u.due_at " + word + " LIMIT ?", append(l.args, limited(q.Limit))
}

// The schedules to act on: those that are due, and those whose next time was set before the clock was set back.
const (
	// round counts a workspace's due schedules, longest due first: workspaces take turns.
	dueSchedules = "SELECT " + scheduleColumns + " FROM (" +
		"SELECT id, next_at, row_number() OVER (PARTITION BY workspace_id ORDER BY next_at, id) AS round " +
		"FROM schedules INDEXED BY schedules_due WHERE next_at IS NOT NULL AND resting = 0 AND next_at <= ? " +
		"ORDER BY round, next_at, id LIMIT ?) f CROSS JOIN schedules c ON c.id = f.id " +
		"ORDER BY f.round, f.next_at, f.id"
	aheadSchedules = "SELECT " + scheduleColumns + " FROM schedules c INDEXED BY schedules_moved " +
		"WHERE c.next_at IS NOT NULL AND c.resting = 0 AND c.moved_at > ? LIMIT ?"
)

// Now implements store.Schedules: the database's clock is this machine's.
func (*Store) Now() parley.Time { return parley.Now() }

// DueSchedules implements store.Schedules.
func (s *Store) DueSchedules(ctx context.Context, limit int) (due store.DueSchedules, err error) {
	err = s.read(ctx, func(c *conn) error {
		due = store.DueSchedules{Now: parley.Now()}
		if err := eachListed(c, &due.Ahead, scanSchedule, aheadSchedules,
			due.Now+transition.ClockSlack, limit); err != nil {
			return err
		}
		return eachListed(c, &due.Due, scanSchedule, dueSchedules, due.Now, limit)
	})
	return due, err
}

// PostScheduled implements store.Schedules.
func (s *Store) PostScheduled(ctx context.Context, post store.ScheduledPost) (*parley.ScheduleRun, error) {
	return transact(ctx, s, func(tx *txn) (*parley.ScheduleRun, error) { return tx.core.PostScheduled(post) })
}

// MoveSchedule implements store.Schedules.
func (s *Store) MoveSchedule(ctx context.Context, move store.ScheduleMove) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		current, err := tx.Schedule(move.Schedule.WorkspaceID, move.Schedule.ID)
		if err != nil || current == nil || current.Revision != move.Schedule.Revision {
			return false, err
		}
		moved, run := transition.Moved(&move, tx.now)
		return true, changes{tx}.moveSchedule(transition.MovedSchedule{Schedule: &moved, Run: run})
	})
}

// Schedule implements transition.Rows.
func (t *txn) Schedule(workspaceID, id parley.ID) (*parley.Schedule, error) {
	return t.schedule(workspaceID, id)
}

// CreatedSchedule implements transition.Rows.
func (t *txn) CreatedSchedule(workspaceID parley.ID, key string) (earlier transition.Earlier, err error) {
	_, err = t.one(
		"SELECT id, fingerprint FROM schedules WHERE workspace_id = ? AND idempotency_key = ?",
		func(r *row) error {
			earlier = transition.Earlier{ID: r.id(), Fingerprint: r.hash()}
			return nil
		},
		workspaceID,
		key,
	)
	return earlier, err
}

// CountSchedules implements transition.Rows.
func (t *txn) CountSchedules(workspaceID, agentID parley.ID) (ofAgent, ofWorkspace int64, err error) {
	_, err = t.one(
		"SELECT (SELECT count(*) FROM schedules WHERE workspace_id = ?1 AND agent_id = ?2), "+
			"(SELECT count(*) FROM schedules WHERE workspace_id = ?1)",
		func(r *row) error {
			ofAgent, ofWorkspace = r.int64(), r.int64()
			return nil
		},
		workspaceID,
		agentID,
	)
	return ofAgent, ofWorkspace, err
}

// InsertSchedules implements transition.Writer.
func (w changes) InsertSchedules(_ *transition.Head, schedules []transition.NewSchedule) error {
	for i := range schedules {
		args, err := insertScheduleArgs(nil, &schedules[i])
		if err != nil {
			return err
		}
		if _, err := w.exec(
			"INSERT INTO schedules ("+insertScheduleColumns+") VALUES ("+insertSchedulePlaces+")",
			args...); err != nil {
			return err
		}
	}
	return nil
}

// MoveSchedules implements transition.Writer. The one writer has read the rows in this transaction.
func (w changes) MoveSchedules(_ *transition.Head, moved []transition.MovedSchedule) error {
	for _, one := range moved {
		if err := w.moveSchedule(one); err != nil {
			return err
		}
	}
	return nil
}

func (w changes) moveSchedule(moved transition.MovedSchedule) error {
	if err := w.updateSchedule(moved.Schedule); err != nil || moved.Run == nil {
		return err
	}
	if _, err := w.exec(
		"INSERT INTO schedule_runs ("+insertScheduleRunColumns+") VALUES ("+insertScheduleRunPlaces+
			") ON CONFLICT DO NOTHING",
		insertScheduleRunArgs(nil, moved.Run)...); err != nil {
		return err
	}
	_, err := w.exec(
		"DELETE FROM schedule_runs WHERE schedule_id = ?1 AND due_at <= "+
			"(SELECT due_at FROM schedule_runs WHERE schedule_id = ?1 ORDER BY due_at DESC LIMIT 1 OFFSET ?2)",
		moved.ID,
		parley.MaxScheduleRuns,
	)
	return err
}
