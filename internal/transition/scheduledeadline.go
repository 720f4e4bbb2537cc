package transition

import (
	"fmt"

	"example.org/parley"
)

// ExpireRun stops a turn that works for a schedule, at its deadline.
type ExpireRun struct {
	TurnID     parley.ID   `json:"-"`
	SessionID  parley.ID   `json:"session_id"` // the agent's background session
	ScheduleID parley.ID   `json:"schedule_id"`
	DeadlineAt parley.Time `json:"deadline_at"`
}

// Kind implements Work.
func (ExpireRun) Kind() string { return "expire_run" }

// Target implements Work.
func (w ExpireRun) Target() parley.ID { return w.TurnID }

func (w ExpireRun) do(workspaceID parley.ID, by Doer) (bool, error) {
	again, err := by.LastStep(workspaceID, func(t *Tx) (bool, error) { return t.expireRun(w) })
	return !again, err
}

// limitRun gives a new turn the deadline of the schedule that it works for.
func (t *Tx) limitRun(h *Head, turnID parley.ID, s *parley.Schedule) {
	deadline := s.RunDeadline()
	h.leave(ExpireRun{
		TurnID: turnID, SessionID: h.ID, ScheduleID: s.ID, DeadlineAt: t.now + parley.Time(deadline.Milliseconds()),
	}, deadline)
}

// limitContinued gives a new turn, which goes on with the work for a root message, a deadline if a schedule posted that
// message here. Work for a delegation has the delegation's.
func (t *Tx) limitContinued(h *Head, turnID, rootID, workID parley.ID) error {
	if !workID.IsZero() {
		return nil
	}
	root, err := t.rows.Message(h.WorkspaceID, rootID)
	if err != nil || root == nil || root.SessionID != h.ID {
		return err
	}
	id := postedBy(root)
	if id.IsZero() {
		return nil
	}
	schedule, err := t.rows.Schedule(h.WorkspaceID, id)
	if err != nil {
		return err
	}
	if schedule == nil { // it was deleted; the work has the default
		schedule = &parley.Schedule{ID: id}
	}
	t.limitRun(h, turnID, schedule)
	return nil
}

// expireRun stops a turn whose deadline has passed by the database's clock, and tells the person behind it unless the
// schedule is gone. It reports whether another visit is needed: the turn's process settles it, or the clock was set
// back.
func (t *Tx) expireRun(w ExpireRun) (again bool, err error) {
	h, err := t.load(w.SessionID)
	if err != nil || h == nil || h.DeletedAt != 0 || h.TurnID.IsZero() {
		return false, err
	}
	turn, err := t.rows.Turn(h, w.TurnID)
	if err != nil || turn == nil || turn.Status.Finished() {
		return false, err
	}
	if t.now < w.DeadlineAt {
		return true, nil
	}
	schedule, err := t.rows.Schedule(h.WorkspaceID, w.ScheduleID)
	if err != nil {
		return false, err
	}
	if schedule != nil {
		if err := t.raise(h, &Alert{
			Cause: parley.AlertRunLate, SubjectID: schedule.ID,
			Title:     "A scheduled run passed its deadline: " + scheduleTitle(schedule),
			Summary:   fmt.Sprintf("It had not ended by %s, and was told to stop.", w.DeadlineAt),
			MessageID: turn.TriggerMessageID, SourceID: turn.TriggerMessageID, SourceIn: h.ID,
		}); err != nil {
			return false, err
		}
	}
	if turn.ID == h.TurnID {
		return t.stopCurrent(h)
	}
	return false, t.stopWaiting(h, turn)
}
