package store

import (
	"context"

	"example.org/parley"
)

// NewSchedule is a schedule to be stored.
type NewSchedule struct {
	// Schedule has everything but what runs leave: the caller mints the id and sets NextAt.
	Schedule parley.Schedule
	// MaxSessions is the quota of sessions of the workspace, for the agent's background session; 0: unlimited.
	MaxSessions int64
	Idempotency Idempotency
}

// ScheduleQuery lists schedules by id, oldest first unless Descending.
type ScheduleQuery struct {
	AgentID    parley.ID // zero: any
	Descending bool
	AfterID    parley.ID
	Limit      int
}

// ScheduleRunQuery lists the runs of a schedule, latest first unless Ascending.
type ScheduleRunQuery struct {
	Ascending bool
	AfterDue  parley.Time // 0: from the beginning
	Limit     int
}

// DueSchedules are schedules to act on, with the time that it is.
type DueSchedules struct {
	Due []parley.Schedule
	// Ahead are schedules whose next time was set before the clock was set back: it must be found anew.
	Ahead []parley.Schedule
	Now   parley.Time // by the database's clock
}

// ScheduleMove takes a schedule from one time to the next. Schedule is the row as it was read.
type ScheduleMove struct {
	Schedule parley.Schedule
	NextAt   parley.Time       // 0: never again
	Reason   parley.SkipReason // of a skipped run, which is noted; "": nothing is noted
}

// ScheduledPost posts the message of a due schedule. Schedule is the row as it was read.
type ScheduledPost struct {
	Schedule parley.Schedule
	NextAt   parley.Time // 0: never again
	// Content is the canonical content of the message.
	Content []byte
	// Refused says that posting the message was refused: the run is only noted as skipped. CodeNotFound if the
	// schedule's author has no background session of the agent.
	Refused bool
}

// Schedules stores schedules and their runs. Every change of a schedule names the Revision that it is made to: if the
// row has moved on, nothing is written.
type Schedules interface {
	// CreateSchedule stores a schedule and makes the agent's background session, in one transaction. The bool reports
	// an idempotent repeat. CodeNotFound without the agent, CodeArchived, CodeConflict beyond the bounds of the agent
	// or the workspace, CodeKeyReused.
	CreateSchedule(ctx context.Context, schedule NewSchedule) (parley.Schedule, bool, error)
	// UpdateSchedule stores a changed schedule. CodeConflict unless its Revision is the current one, which goes up by
	// one; CodeNotFound.
	UpdateSchedule(ctx context.Context, schedule parley.Schedule) (parley.Schedule, error)
	// DeleteSchedule removes a schedule with its runs. What it posted stays.
	DeleteSchedule(ctx context.Context, workspaceID, id parley.ID) error
	Schedule(ctx context.Context, workspaceID, id parley.ID) (parley.Schedule, error)
	Schedules(ctx context.Context, workspaceID parley.ID, query ScheduleQuery) ([]parley.Schedule, error)
	ScheduleRuns(
		ctx context.Context,
		workspaceID, scheduleID parley.ID,
		query ScheduleRunQuery,
	) ([]parley.ScheduleRun, error)

	// Now returns the time by the database's clock, by which schedules are planned and due.
	Now() parley.Time
	// DueSchedules reads up to limit schedules that are due, in all workspaces, which take turns: first the longest due
	// of each workspace, then the second of each, and so on. It locks nothing.
	DueSchedules(ctx context.Context, limit int) (DueSchedules, error)
	// PostScheduled posts the message of a due schedule into the agent's background session, notes the run, and moves
	// the schedule on, in one transaction; any number of processes may try. The run is skipped, with its reason, while
	// the schedule's previous one has not ended (see parley.ScheduleOverlap), and if the session is archived or takes
	// no more. It returns nil if another process was faster. CodeArchived, with nothing written, if the agent is
	// archived and has no background session.
	PostScheduled(ctx context.Context, post ScheduledPost) (*parley.ScheduleRun, error)
	// MoveSchedule moves a schedule on without a post; false if another process was faster.
	MoveSchedule(ctx context.Context, move ScheduleMove) (bool, error)
}
