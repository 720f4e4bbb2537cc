package engine

import (
	"bytes"
	"context"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/timetable"
	"example.org/parley/store"
)

// ScheduleInput is a schedule to create.
type ScheduleInput struct {
	AgentID string `json:"agent_id" required:"true" doc:"Id or slug of the agent that is to work."`
	Name    string `json:"name,omitempty" doc:"For people."`
	Message string `json:"message" required:"true" doc:"The text that begins each run."`
	TimingInput
	Enabled  *bool                  `json:"enabled,omitempty" doc:"true by default."`
	Overlap  parley.ScheduleOverlap `json:"overlap,omitempty" enum:"skip,queue" doc:"What happens to a run that is due before the previous one has ended: skip, the default, or queue, which holds one waiting run."`
	Missed   parley.ScheduleMissed  `json:"missed,omitempty" enum:"once,skip" doc:"What happens after a time without a server: once, the default, makes up for all missed runs by one; skip waits for the next time."`
	Deadline string                 `json:"deadline,omitempty" doc:"A duration between 1m and 720h, 24h by default: a turn of a run that has not ended by then is stopped, and the inbox has an alert."`
}

// TimingInput says when a schedule is due; exactly one of Cron, Every and At.
type TimingInput struct {
	Cron     string      `json:"cron,omitempty" doc:"Five fields: minute, hour, day of month, month, day of week. A local time that a change of the clocks leaves out runs once, at the change; one that it repeats runs once."`
	Every    string      `json:"every,omitempty" doc:"A duration of at least a minute, as 90m or 24h, counted from the creation."`
	At       parley.Time `json:"at,omitzero" doc:"Once, at this time."`
	TimeZone string      `json:"time_zone,omitempty" doc:"Of cron: a name such as Europe/Berlin; UTC by default."`
	Jitter   string      `json:"jitter,omitempty" doc:"A duration of at most an hour: the schedule runs later by up to as much, always by the same."`
}

func (t *TimingInput) timing() parley.Timing {
	zone := t.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	return parley.Timing{Cron: t.Cron, Every: t.Every, At: t.At, TimeZone: zone, Jitter: t.Jitter}
}

// SchedulePatch changes a schedule: absent fields stay. A new cron, every or at replaces the previous one.
type SchedulePatch struct {
	Name     parley.Change[string]                 `json:"name,omitzero"`
	Message  parley.Change[string]                 `json:"message,omitzero"`
	Cron     parley.Change[string]                 `json:"cron,omitzero"`
	Every    parley.Change[string]                 `json:"every,omitzero"`
	At       parley.Change[parley.Time]            `json:"at,omitzero"`
	TimeZone parley.Change[string]                 `json:"time_zone,omitzero"`
	Jitter   parley.Change[string]                 `json:"jitter,omitzero"`
	Enabled  parley.Change[bool]                   `json:"enabled,omitzero"`
	Overlap  parley.Change[parley.ScheduleOverlap] `json:"overlap,omitzero" enum:"skip,queue"`
	Missed   parley.Change[parley.ScheduleMissed]  `json:"missed,omitzero" enum:"once,skip"`
	Deadline parley.Change[string]                 `json:"deadline,omitzero"`
}

// SchedulePreview is when a schedule would run.
type SchedulePreview struct {
	Times []parley.Time `json:"times" doc:"The next times, at most five, before jitter."`
}

// ScheduleList selects schedules, oldest first by default.
type ScheduleList struct {
	Paging
	Agents []string // ids or slugs; none: any
}

// CreateSchedule makes a schedule of an agent, and the agent's background session if it has none. The bool reports an
// idempotent repeat.
func (e *Engine) CreateSchedule(
	ctx context.Context,
	principal parley.Principal,
	input ScheduleInput,
	idempotency store.Idempotency,
) (_ parley.Schedule, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "createSchedule", WriteAgents)
	if err != nil {
		return parley.Schedule{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.Schedule{}, false, err
	}
	agent, err := e.ownAgent(ctx, call, input.AgentID)
	if err != nil {
		return parley.Schedule{}, false, err
	}
	now := e.store.Now()
	schedule := parley.Schedule{
		ID: parley.NewID(), WorkspaceID: agent.WorkspaceID, AgentID: agent.ID, Name: input.Name,
		Timing: input.timing(), Message: input.Message, Enabled: input.Enabled == nil || *input.Enabled,
		Overlap: input.Overlap, Missed: input.Missed, Deadline: input.Deadline, Author: principal.Author(),
	}
	if schedule.Overlap == "" {
		schedule.Overlap = parley.OverlapSkip
	}
	if schedule.Missed == "" {
		schedule.Missed = parley.MissedOnce
	}
	schedule.Anchor = now
	if err := checkSchedule(&schedule); err != nil {
		return parley.Schedule{}, false, err
	}
	if err := plan(&schedule, now); err != nil {
		return parley.Schedule{}, false, err
	}
	made, repeat, err := e.store.CreateSchedule(ctx, store.NewSchedule{
		Schedule: schedule, MaxSessions: e.quotas.sessions, Idempotency: idempotency,
	})
	if err == nil {
		call.about(on(made.ID))
	}
	return made, repeat, err
}

// ownAgent finds an agent that the principal may change.
func (e *Engine) ownAgent(ctx context.Context, call verbCall, idOrSlug string) (parley.Agent, error) {
	agent, err := e.agent(ctx, call.Scope, idOrSlug)
	if err == nil {
		err = ownsAgent(call.Principal, WriteAgents, &agent)
	}
	return agent, err
}

// checkSchedule validates a schedule from outside.
func checkSchedule(s *parley.Schedule) error {
	if strings.TrimSpace(s.Message) == "" {
		return parley.InvalidField("message", "is empty; say what the agent is to do")
	}
	if err := checkTexts(
		textBound{"message", s.Message, parley.MaxScheduleMessageBytes},
		textBound{"name", s.Name, parley.MaxNameBytes},
	); err != nil {
		return err
	}
	switch {
	case s.Overlap != parley.OverlapSkip && s.Overlap != parley.OverlapQueue:
		return parley.InvalidField("overlap", "%q is not one of skip, queue", parley.Clip(string(s.Overlap), 32))
	case s.Missed != parley.MissedOnce && s.Missed != parley.MissedSkip:
		return parley.InvalidField("missed", "%q is not one of once, skip", parley.Clip(string(s.Missed), 32))
	}
	if _, err := timetable.Duration("deadline", s.Deadline, parley.MinRunDeadline, parley.MaxRunDeadline); err != nil {
		return err
	}
	return timetable.Check(&s.Timing)
}

// plan sets when a schedule is due next. It refuses a single time in the past.
func plan(s *parley.Schedule, now parley.Time) error {
	s.NextAt, s.MovedAt = 0, now
	if !s.Enabled {
		return nil
	}
	if s.NextAt = timetable.Next(s, now); s.NextAt == 0 {
		return parley.InvalidField("at", "lies in the past")
	}
	return nil
}

// Schedule reads a schedule.
func (e *Engine) Schedule(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Schedule, err error) {
	ctx, call, err := e.enter(ctx, principal, "getSchedule", ReadAgents, on(id))
	if err != nil {
		return parley.Schedule{}, err
	}
	defer call.end(ctx, &err)
	return e.store.Schedule(ctx, call.Scope.WorkspaceID, id)
}

// Schedules lists schedules.
func (e *Engine) Schedules(
	ctx context.Context,
	principal parley.Principal,
	list ScheduleList,
) (_ Page[parley.Schedule], err error) {
	ctx, call, err := e.enter(ctx, principal, "listSchedules", ReadAgents)
	if err != nil {
		return Page[parley.Schedule]{}, err
	}
	defer call.end(ctx, &err)
	from, order, limit, err := list.start("schedules", Ascending)
	if err != nil {
		return Page[parley.Schedule]{}, err
	}
	agents, err := e.agentIDs(ctx, call.Scope, list.Agents)
	if err != nil {
		return Page[parley.Schedule]{}, err
	}
	queries := apart([]store.ScheduleQuery{{
		Descending: order == Descending, AfterID: from.ID, Limit: limit + 1,
	}}, agents, func(q *store.ScheduleQuery, id parley.ID) { q.AgentID = id })
	rows, err := joined(union[parley.Schedule]{
		limit: limit + 1, size: sizeOf[parley.Schedule],
		compare: func(a, b *parley.Schedule) int { return directed(order, bytes.Compare(a.ID[:], b.ID[:])) },
	}, queries, func(query store.ScheduleQuery) ([]parley.Schedule, error) {
		return e.store.Schedules(ctx, call.Scope.WorkspaceID, query)
	})
	if err != nil {
		return Page[parley.Schedule]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Schedule) cursor {
		return cursor{List: "schedules", Order: order, ID: last.ID}
	}), nil
}

// ScheduleRuns lists what came of a schedule at its times, the latest first by default.
func (e *Engine) ScheduleRuns(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	paging Paging,
) (_ Page[parley.ScheduleRun], err error) {
	ctx, call, err := e.enter(ctx, principal, "listScheduleRuns", ReadAgents, on(id))
	if err != nil {
		return Page[parley.ScheduleRun]{}, err
	}
	defer call.end(ctx, &err)
	from, order, limit, err := paging.start("schedule_runs", Descending)
	if err != nil {
		return Page[parley.ScheduleRun]{}, err
	}
	rows, err := e.store.ScheduleRuns(ctx, call.Scope.WorkspaceID, id, store.ScheduleRunQuery{
		Ascending: order == Ascending, AfterDue: from.At, Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.ScheduleRun]{}, err
	}
	return pageOf(rows, limit, func(last parley.ScheduleRun) cursor {
		return cursor{List: "schedule_runs", Order: order, At: last.DueAt}
	}), nil
}

// UpdateSchedule changes a schedule. When it is due is found anew only if its timing changes, or if it is enabled.
func (e *Engine) UpdateSchedule(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	patch SchedulePatch,
) (_ parley.Schedule, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateSchedule", WriteAgents, on(id))
	if err != nil {
		return parley.Schedule{}, err
	}
	defer call.end(ctx, &err)
	for attempt := 1; ; attempt++ {
		current, err := e.ownSchedule(ctx, call, id)
		if err != nil {
			return parley.Schedule{}, err
		}
		changed, err := patch.over(current, principal, e.store.Now())
		if err != nil || changed == current {
			return changed, err
		}
		updated, err := e.store.UpdateSchedule(ctx, changed)
		if parley.ErrorCode(err) != parley.CodeConflict || attempt == patchAttempts {
			return updated, err
		}
	}
}

// ownSchedule reads a schedule of an agent that the principal may change.
func (e *Engine) ownSchedule(ctx context.Context, call verbCall, id parley.ID) (parley.Schedule, error) {
	schedule, err := e.store.Schedule(ctx, call.Scope.WorkspaceID, id)
	if err == nil {
		_, err = e.ownAgent(ctx, call, schedule.AgentID.String())
	}
	return schedule, err
}

// over applies a patch to a schedule.
func (p *SchedulePatch) over(
	current parley.Schedule,
	principal parley.Principal,
	now parley.Time,
) (parley.Schedule, error) {
	s := current
	if p.Cron.Value != "" || p.Every.Value != "" || p.At.Value != 0 {
		s.Cron, s.Every, s.At = "", "", 0
	}
	apply(p.Name, &s.Name)
	apply(p.Message, &s.Message)
	apply(p.Cron, &s.Cron)
	apply(p.Every, &s.Every)
	apply(p.At, &s.At)
	apply(p.TimeZone, &s.TimeZone)
	apply(p.Jitter, &s.Jitter)
	apply(p.Enabled, &s.Enabled)
	apply(p.Overlap, &s.Overlap)
	apply(p.Missed, &s.Missed)
	apply(p.Deadline, &s.Deadline)
	if s.TimeZone == "" {
		s.TimeZone = "UTC"
	}
	if s.Every != current.Every {
		s.Anchor = now
	}
	if s.Message != current.Message {
		s.Author = principal.Author()
	}
	if err := checkSchedule(&s); err != nil {
		return parley.Schedule{}, err
	}
	if s.Timing != current.Timing || s.Enabled != current.Enabled {
		if err := plan(&s, now); err != nil {
			return parley.Schedule{}, err
		}
	}
	return s, nil
}

// DeleteSchedule deletes a schedule with the history of its runs. What it has posted stays.
func (e *Engine) DeleteSchedule(ctx context.Context, principal parley.Principal, id parley.ID) (err error) {
	ctx, call, err := e.enter(ctx, principal, "deleteSchedule", WriteAgents, on(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	if _, err := e.ownSchedule(ctx, call, id); err != nil {
		return err
	}
	return e.store.DeleteSchedule(ctx, call.Scope.WorkspaceID, id)
}

// PreviewSchedule returns the next times of a timing. Nothing is stored.
func (e *Engine) PreviewSchedule(
	ctx context.Context,
	principal parley.Principal,
	input TimingInput,
) (_ SchedulePreview, err error) {
	ctx, call, err := e.enter(ctx, principal, "previewSchedule", ReadAgents)
	if err != nil {
		return SchedulePreview{}, err
	}
	defer call.end(ctx, &err)
	schedule := parley.Schedule{Timing: input.timing()}
	if err := timetable.Check(&schedule.Timing); err != nil {
		return SchedulePreview{}, err
	}
	next := e.store.Now()
	schedule.Anchor = next
	preview := SchedulePreview{Times: make([]parley.Time, 0, parley.SchedulePreviews)}
	for range parley.SchedulePreviews {
		if next = timetable.Next(&schedule, next); next == 0 {
			break
		}
		preview.Times = append(preview.Times, next)
	}
	return preview, nil
}
