package transition

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// NewSchedule is a schedule with the columns that only its row has.
type NewSchedule struct {
	*parley.Schedule
	Idempotency store.Idempotency
}

// MovedSchedule is a schedule that goes from one time to the next. The row changes only if its revision is one less
// than the schedule's.
type MovedSchedule struct {
	*parley.Schedule
	Run *parley.ScheduleRun // to be noted
}

// ScheduleCreated is the result of CreateSchedule.
type ScheduleCreated struct {
	Schedule parley.Schedule
	Replayed bool
}

// CreateSchedule implements the transition of store.Schedules.
func (t *Tx) CreateSchedule(creating store.NewSchedule) (created ScheduleCreated, err error) {
	if earlier, err := t.scheduledBefore(&creating); err != nil || earlier != nil {
		if earlier == nil {
			return created, err
		}
		return ScheduleCreated{*earlier, true}, nil
	}
	s := creating.Schedule
	if err := t.checkAgent(s.WorkspaceID, s.AgentID); err != nil {
		return created, err
	}
	ofAgent, ofWorkspace, err := t.rows.CountSchedules(s.WorkspaceID, s.AgentID)
	switch {
	case err != nil:
		return created, err
	case ofAgent >= parley.MaxSchedulesOfAgent:
		return created, parley.Errorf(
			parley.CodeConflict,
			"this agent has %d schedules, and no more are allowed; delete one first",
			ofAgent,
		)
	case ofWorkspace >= parley.MaxSchedulesOfWorkspace:
		return created, parley.Errorf(
			parley.CodeConflict,
			"this workspace has %d schedules, and no more are allowed; delete one first",
			ofWorkspace,
		)
	}
	h, err := t.background(s.WorkspaceID, s.AgentID, creating.MaxSessions)
	if err != nil {
		return created, err
	}
	s.Revision, s.MovedAt, s.CreatedAt, s.UpdatedAt = 1, t.now, t.now, t.now
	s.LastRun, s.TurnID, s.SkippedInARow = nil, parley.ID{}, 0
	h.Changes.NewSchedules = append(h.Changes.NewSchedules, NewSchedule{&s, creating.Idempotency})
	t.about = Subject{SessionID: h.ID, TargetID: s.ID}
	return ScheduleCreated{Schedule: s}, nil
}

// scheduledBefore returns the schedule that was created under an idempotency key; nil if the key is new.
func (t *Tx) scheduledBefore(creating *store.NewSchedule) (*parley.Schedule, error) {
	key := creating.Idempotency.Key
	if key == "" {
		return nil, nil
	}
	earlier, err := t.rows.CreatedSchedule(creating.Schedule.WorkspaceID, key)
	if err != nil || earlier.ID.IsZero() {
		return nil, err
	}
	if earlier.Fingerprint != creating.Idempotency.Fingerprint {
		return nil, KeyReused()
	}
	return t.rows.Schedule(creating.Schedule.WorkspaceID, earlier.ID)
}

// PostScheduled implements the transition of store.Schedules.
func (t *Tx) PostScheduled(post store.ScheduledPost) (*parley.ScheduleRun, error) {
	read := &post.Schedule
	now, err := t.rows.Schedule(read.WorkspaceID, read.ID)
	if err != nil || now == nil || now.Revision != read.Revision || now.NextAt == 0 {
		return nil, err
	}
	if post.Refused {
		return t.refuseScheduled(now, post.NextAt)
	}
	h, err := t.background(read.WorkspaceID, read.AgentID, 0)
	if err != nil {
		return nil, err
	}
	if _, status, err := t.agent(read.WorkspaceID, read.AgentID); err != nil || status == parley.AgentArchived {
		return nil, err // archived meanwhile: it rests
	}
	run := &parley.ScheduleRun{
		WorkspaceID: now.WorkspaceID, ScheduleID: now.ID, DueAt: now.NextAt, State: parley.RunPosted, SessionID: h.ID,
		MessageID: parley.ScheduledMessageID(now.ID, now.NextAt), TurnID: parley.ScheduledTurnID(now.ID, now.NextAt),
		CreatedAt: t.now,
	}
	message, err := scheduledMessage(now, run, post.Content)
	if err != nil {
		return nil, err
	}
	if status, err := t.rows.MessageStatus(now.WorkspaceID, run.MessageID); err != nil {
		return nil, err
	} else if status != "" { // posted before the clock was set back
		run = nil
	} else if reason, err := t.skips(h, now, message); err != nil {
		return nil, err
	} else if reason != "" {
		run.State, run.Reason, run.MessageID, run.TurnID = parley.RunSkipped, reason, parley.ID{}, parley.ID{}
	} else if _, err := t.post(h, message, parley.ID{}); err != nil {
		return nil, err
	} else {
		t.limitRun(h, run.TurnID, now)
	}
	return run, t.moveSchedule(h, now, run, post.NextAt)
}

// refuseScheduled skips a run whose message was refused. It is noted in the session in which the agent works for the
// schedule's author, though the agent may be nobody's by now: that is one reason to refuse.
func (t *Tx) refuseScheduled(s *parley.Schedule, next parley.Time) (*parley.ScheduleRun, error) {
	h, err := t.keyed(s.WorkspaceID, parley.BackgroundKey(s.AgentID, s.Author.ID))
	if err == nil && h == nil {
		err = NotFound("session")
	}
	if err != nil {
		return nil, err
	}
	run := &parley.ScheduleRun{
		WorkspaceID: s.WorkspaceID, ScheduleID: s.ID, DueAt: s.NextAt, State: parley.RunSkipped,
		Reason: parley.SkipRefused, SessionID: h.ID, CreatedAt: t.now,
	}
	return run, t.moveSchedule(h, s, run, next)
}

// scheduledMessage returns the message of a run.
func scheduledMessage(s *parley.Schedule, run *parley.ScheduleRun, content json.RawMessage) (
	message store.NewMessage, err error,
) {
	link, err := parley.EncodeJSON(parley.ScheduleLink{ScheduleID: s.ID, DueAt: run.DueAt})
	if err != nil {
		return message, err
	}
	if link, err = parley.CanonicalJSON(link); err != nil {
		return message, err
	}
	return store.NewMessage{
		ID: run.MessageID, TurnID: run.TurnID, Role: parley.RoleUser, Author: s.Author, Content: content,
		Metadata: link, During: parley.DuringQueue, Title: parley.TitleFrom(s.Message),
	}, nil
}

// skips says why a due schedule posts nothing; "" if it does.
func (t *Tx) skips(h *Head, s *parley.Schedule, message store.NewMessage) (parley.SkipReason, error) {
	if h.ArchivedAt != 0 {
		return parley.SkipArchived, nil
	}
	if !s.TurnID.IsZero() {
		last, err := t.rows.Turn(h, s.TurnID)
		if err != nil {
			return "", err
		}
		waits := last != nil && last.Status == parley.TurnQueued && last.Attempt == 0
		if last != nil && !last.Status.Finished() && (s.Overlap != parley.OverlapQueue || waits) {
			return parley.SkipOverlap, nil
		}
	}
	if h.TurnID.IsZero() {
		return "", nil
	}
	switch err := t.checkQueue(h, t.messageOf(h, message)); parley.ErrorCode(err) {
	case "":
		return "", err
	case parley.CodeConflict:
		return parley.SkipQueueFull, nil
	default:
		return "", err
	}
}

// moveSchedule takes a schedule to its next time, under the lock of the background session. A run that is the third in
// a row to be skipped raises the alarm.
func (t *Tx) moveSchedule(h *Head, s *parley.Schedule, run *parley.ScheduleRun, next parley.Time) error {
	Move(s, run, next, t.now)
	h.Changes.Schedules = append(h.Changes.Schedules, MovedSchedule{s, run})
	if run == nil || run.State != parley.RunSkipped || s.SkippedInARow != parley.ScheduleAlertAfter {
		return nil
	}
	t.event(h, parley.ID{}, event.ScheduleAlert{
		ScheduleID: s.ID, Name: s.Name, Skipped: s.SkippedInARow, Reason: run.Reason, DueAt: run.DueAt,
	}.Encode())
	return t.alertSkipped(h, s, run.Reason)
}

// Move takes a schedule to its next time, after a run; nil: none.
func Move(s *parley.Schedule, run *parley.ScheduleRun, next, now parley.Time) {
	s.NextAt, s.MovedAt = next, now
	s.Revision++
	if run == nil {
		return
	}
	s.LastRun = run
	switch {
	case run.State == parley.RunPosted:
		s.TurnID, s.SkippedInARow = run.TurnID, 0
	case run.Reason != parley.SkipMissed:
		s.SkippedInARow++
	}
}

// Moved returns what a move makes of a schedule, and the run to note; nil if there is none.
func Moved(move *store.ScheduleMove, now parley.Time) (parley.Schedule, *parley.ScheduleRun) {
	s := move.Schedule
	var run *parley.ScheduleRun
	if move.Reason != "" {
		run = &parley.ScheduleRun{
			WorkspaceID: s.WorkspaceID, ScheduleID: s.ID, DueAt: s.NextAt, State: parley.RunSkipped,
			Reason: move.Reason, CreatedAt: now,
		}
	}
	Move(&s, run, move.NextAt, now)
	return s, run
}

// Reschedules reports whether a change of an agent concerns its schedules: they rest while it is archived, and another
// owner is the author of what they post from then on.
func Reschedules(before, after *parley.Agent) (concerned, otherOwner bool) {
	otherOwner = before.OwnerID != after.OwnerID && !after.OwnerID.IsZero()
	return otherOwner || before.Status != after.Status, otherOwner
}

// ScheduleMovedOn is the error for a change of a schedule that somebody, or a run, changed meanwhile.
func ScheduleMovedOn() error {
	return parley.Errorf(parley.CodeConflict, "the schedule was changed meanwhile; read it again")
}
