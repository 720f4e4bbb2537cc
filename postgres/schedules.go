package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// CreateSchedule implements store.Schedules.
func (s *Store) CreateSchedule(ctx context.Context, schedule store.NewSchedule) (parley.Schedule, bool, error) {
	created, err := transact(ctx, s, schedule.Schedule.WorkspaceID,
		func(a *attempt) (transition.ScheduleCreated, error) { return a.tx.CreateSchedule(schedule) })
	return created.Schedule, created.Replayed, err
}

// updateSchedule writes a schedule whose revision has gone up by one, and voids the batch if the row has moved on.
func (b *batch) updateSchedule(schedule *parley.Schedule) error {
	args, err := updateScheduleArgs([]arg{schedule.WorkspaceID, schedule.ID}, schedule)
	if err != nil {
		return err
	}
	b.write("WITH changed AS (UPDATE parley.schedules SET "+updateScheduleSet+
		" WHERE workspace_id = $1 AND id = $2 AND revision = "+updateSchedulePlace1+
		" RETURNING 1) SELECT parley.stale() WHERE NOT EXISTS (SELECT FROM changed)",
		append(args, schedule.Revision-1)...)
	return nil
}

// UpdateSchedule implements store.Schedules.
func (s *Store) UpdateSchedule(ctx context.Context, schedule parley.Schedule) (parley.Schedule, error) {
	next := schedule
	next.Revision, next.UpdatedAt = schedule.Revision+1, s.clock.Now()
	audit := store.AuditFrom(ctx)
	b := tenant(next.WorkspaceID)
	if err := b.updateSchedule(&next); err != nil {
		return parley.Schedule{}, err
	}
	b.audit(audit.Entries(parley.ID{}, next.ID))
	err := s.send(ctx, b)
	if stateOf(err) == stateStale {
		if _, err := s.Schedule(ctx, next.WorkspaceID, next.ID); err != nil {
			return parley.Schedule{}, err
		}
		return parley.Schedule{}, transition.ScheduleMovedOn()
	}
	if err != nil {
		return parley.Schedule{}, mapError(err)
	}
	audit.Wrote()
	return next, nil
}

// reschedule changes an agent's schedules with it.
func (b *batch) reschedule(current, next *parley.Agent) {
	concerned, otherOwner := transition.Reschedules(current, next)
	if !concerned {
		return
	}
	set, args := "", []arg{next.WorkspaceID, next.ID, next.Status == parley.AgentArchived}
	if otherOwner {
		set = ", author_kind = " +
			"coalesce((SELECT kind FROM parley.principals WHERE workspace_id = $1 AND id = $4), $5), " +
			"author_id = $4, author_name = $6"
		args = append(args, next.OwnerID, string(parley.AuthorPerson), next.OwnerName)
	}
	b.write("UPDATE parley.schedules SET resting = $3, revision = revision + 1"+set+
		" WHERE workspace_id = $1 AND agent_id = $2", args...)
}

// DeleteSchedule implements store.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, workspaceID, id parley.ID) error {
	audit, gone := store.AuditFrom(ctx), int64(0)
	b := tenant(workspaceID)
	b.auditIf(
		audit.Entries(parley.ID{}, id),
		"SELECT FROM parley.schedules WHERE workspace_id = $1 AND id = $10 FOR UPDATE",
		id,
	)
	b.counted(&gone, "DELETE FROM parley.schedules WHERE workspace_id = $1 AND id = $2", workspaceID, id)
	b.write("DELETE FROM parley.schedule_runs WHERE workspace_id = $1 AND schedule_id = $2", workspaceID, id)
	if err := s.send(ctx, b); err != nil {
		return mapError(err)
	}
	if gone == 0 {
		return transition.NotFound("schedule")
	}
	audit.Wrote()
	return nil
}

const oneSchedule = "SELECT " + scheduleColumns + " FROM parley.schedules c WHERE c.workspace_id = $1 AND c.id = $2"

// Schedule finds a schedule by id.
func (s *Store) Schedule(ctx context.Context, workspaceID, id parley.ID) (parley.Schedule, error) {
	return one(ctx, s, tenant(workspaceID), "schedule", scanSchedule, oneSchedule, workspaceID, id)
}

// Schedules implements store.Schedules.
func (s *Store) Schedules(
	ctx context.Context,
	workspaceID parley.ID,
	query store.ScheduleQuery,
) (schedules []parley.Schedule, err error) {
	text, rows, args := schedulesQuery(query)
	err = s.read(ctx, func() *batch {
		schedules = []parley.Schedule{}
		b := ordered(workspaceID)
		b.read(text, listed(rows, &schedules, scanSchedule), args...)
		return b
	})
	return schedules, err
}

func schedulesQuery(q store.ScheduleQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("c.workspace_id = " + here)
	if !q.AgentID.IsZero() {
		l.must("c.agent_id = ?", q.AgentID)
	}
	word, after := direction(!q.Descending)
	if !q.AfterID.IsZero() {
		l.must("c.id "+after+" ?", q.AfterID)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + scheduleColumns + " FROM parley.schedules c WHERE " + l.where.String() + " ORDER BY c.id " +
		word + limit, rows, l.args
}

// ScheduleRuns implements store.Schedules.
func (s *Store) ScheduleRuns(
	ctx context.Context,
	workspaceID, scheduleID parley.ID,
	query store.ScheduleRunQuery,
) ([]parley.ScheduleRun, error) {
	if _, err := s.Schedule(ctx, workspaceID, scheduleID); err != nil {
		return nil, err
	}
	text, rows, args := scheduleRunsQuery(scheduleID, query)
	return all(ctx, s, ordered(workspaceID), scanScheduleRun, text, rows, args...)
}

func scheduleRunsQuery(scheduleID parley.ID, q store.ScheduleRunQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("u.workspace_id = "+here+" AND u.schedule_id = ?", scheduleID)
	word, after := direction(q.Ascending)
	if q.AfterDue != 0 {
		l.must("u.due_at "+after+" ?", q.AfterDue)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + scheduleRunColumns + " FROM parley.schedule_runs u WHERE " + l.where.String() +
		" ORDER BY u.due_at " + word + limit, rows, l.args
}

// The schedules to act on: those that are due, and those whose next time was set before the clock was set back. The
// time is a query of its own, as in takeErrand, so that the others are not read.
const (
	// round counts a workspace's due schedules, longest due first: workspaces take turns.
	dueSchedules = "SELECT " + scheduleColumns + " FROM (" +
		"SELECT workspace_id, id, next_at, " +
		"row_number() OVER (PARTITION BY workspace_id ORDER BY next_at, id) AS round FROM parley.schedules " +
		"WHERE next_at IS NOT NULL AND NOT resting AND next_at <= (SELECT parley.now_ms()) " +
		"ORDER BY round, next_at, id LIMIT $1) f " +
		"JOIN parley.schedules c ON c.workspace_id = f.workspace_id AND c.id = f.id " +
		"ORDER BY f.round, f.next_at, f.id"
	aheadSchedules = "SELECT " + scheduleColumns + " FROM parley.schedules c " +
		"WHERE c.next_at IS NOT NULL AND NOT c.resting AND c.moved_at > (SELECT parley.now_ms()) + $2 LIMIT $1"
)

// Now implements store.Schedules.
func (s *Store) Now() parley.Time { return s.clock.Now() }

// DueSchedules implements store.Schedules.
func (s *Store) DueSchedules(ctx context.Context, limit int) (due store.DueSchedules, err error) {
	err = s.read(ctx, func() *batch {
		due = store.DueSchedules{}
		b := system()
		b.inOrder = true
		b.read("SELECT parley.now_ms()", func(r *row) error {
			due.Now = r.time()
			return nil
		})
		b.read(aheadSchedules, listed(limit, &due.Ahead, scanSchedule), limit, int64(transition.ClockSlack))
		b.read(dueSchedules, listed(limit, &due.Due, scanSchedule), limit)
		return b
	})
	return due, err
}

// PostScheduled implements store.Schedules.
func (s *Store) PostScheduled(ctx context.Context, post store.ScheduledPost) (*parley.ScheduleRun, error) {
	return transact(ctx, s, post.Schedule.WorkspaceID,
		func(a *attempt) (*parley.ScheduleRun, error) { return a.tx.PostScheduled(post) })
}

// MoveSchedule implements store.Schedules.
func (s *Store) MoveSchedule(ctx context.Context, move store.ScheduleMove) (bool, error) {
	moved, run := transition.Moved(&move, s.clock.Now())
	b := tenant(moved.WorkspaceID)
	if err := b.moveSchedule(transition.MovedSchedule{Schedule: &moved, Run: run}); err != nil {
		return false, err
	}
	err := s.send(ctx, b)
	if stateOf(err) == stateStale {
		return false, nil
	}
	return err == nil, mapError(err)
}

// Schedule implements transition.Rows.
func (a *attempt) Schedule(workspaceID, id parley.ID) (*parley.Schedule, error) {
	return first(a, scanSchedule, oneSchedule, workspaceID, id)
}

// CreatedSchedule implements transition.Rows.
func (a *attempt) CreatedSchedule(workspaceID parley.ID, key string) (transition.Earlier, error) {
	return a.earlier(
		"SELECT id, fingerprint, 0::bigint FROM parley.schedules WHERE workspace_id = $1 AND idempotency_key = $2",
		workspaceID,
		key,
	)
}

// CountSchedules implements transition.Rows.
func (a *attempt) CountSchedules(workspaceID, agentID parley.ID) (ofAgent, ofWorkspace int64, err error) {
	const counts = "(SELECT count(*) FROM parley.schedules WHERE workspace_id = $1 AND agent_id = $2), " +
		"(SELECT count(*) FROM parley.schedules WHERE workspace_id = $1)"
	_, err = first(a, func(r *row) (struct{}, error) {
		ofAgent, ofWorkspace = r.int64(), r.int64()
		return struct{}{}, nil
	}, "SELECT "+counts, workspaceID, agentID)
	a.requireRow(
		"SELECT 1 FROM (SELECT "+counts+") counted(of_agent, of_workspace) WHERE of_agent < $3 AND of_workspace < $4",
		workspaceID,
		agentID,
		parley.MaxSchedulesOfAgent,
		parley.MaxSchedulesOfWorkspace,
	)
	return ofAgent, ofWorkspace, err
}

// InsertSchedules implements transition.Writer.
func (w *changes) InsertSchedules(_ *transition.Head, schedules []transition.NewSchedule) error {
	for i := range schedules {
		args, err := insertScheduleArgs(nil, &schedules[i])
		if err != nil {
			return err
		}
		w.write("INSERT INTO parley.schedules ("+insertScheduleColumns+") VALUES ("+insertSchedulePlaces+")", args...)
	}
	return nil
}

// MoveSchedules implements transition.Writer.
func (w *changes) MoveSchedules(_ *transition.Head, moved []transition.MovedSchedule) error {
	for _, one := range moved {
		if err := w.moveSchedule(one); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) moveSchedule(moved transition.MovedSchedule) error {
	if err := b.updateSchedule(moved.Schedule); err != nil || moved.Run == nil {
		return err
	}
	b.write("INSERT INTO parley.schedule_runs ("+insertScheduleRunColumns+") VALUES ("+insertScheduleRunPlaces+
		") ON CONFLICT DO NOTHING", insertScheduleRunArgs(nil, moved.Run)...)
	b.write(
		"DELETE FROM parley.schedule_runs WHERE workspace_id = $1 AND schedule_id = $2 AND due_at <= "+
			"(SELECT due_at FROM parley.schedule_runs WHERE workspace_id = $1 AND schedule_id = $2 "+
			"ORDER BY due_at DESC LIMIT 1 OFFSET $3)",
		moved.WorkspaceID,
		moved.ID,
		parley.MaxScheduleRuns,
	)
	return nil
}
