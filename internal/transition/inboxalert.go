package transition

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/store"
)

// Alert is what the server itself tells the person behind a background session.
type Alert struct {
	Cause     parley.InboxAlertCause `json:"cause"`
	SubjectID parley.ID              `json:"subject_id"` // of the cause
	Title     string                 `json:"title"`
	Summary   string                 `json:"summary"`
	MessageID parley.ID              `json:"message_id"` // that it is about; zero: none
	SourceID  parley.ID              `json:"source_id"`  // the message that shows it; zero: none
	SourceIn  parley.ID              `json:"source_in"`  // its session
}

// raise puts an alert into the inbox of the person behind a background session. A cause that repeats brings its item
// up to date, and back to the top, unread; it says nothing new about the same message.
func (t *Tx) raise(h *Head, alert *Alert) error {
	principalID, err := t.recipient(h)
	if err != nil {
		return err
	}
	return t.raiseTo(h, principalID, alert)
}

// raiseTo is raise for the inbox of a principal.
func (t *Tx) raiseTo(h *Head, principalID parley.ID, alert *Alert) error {
	item := t.itemOf(h, principalID)
	item.ID, item.Type = parley.InboxAlertID(alert.Cause, alert.SubjectID), parley.InboxAlert
	item.Title = parley.TitleFrom(alert.Title)
	item.Summary = parley.Clip(alert.Summary, parley.MaxInboxSummaryBytes)
	item.MessageID, item.SourceMessageID, item.SourceSessionID = alert.MessageID, alert.SourceID, alert.SourceIn
	earlier, err := t.rows.InboxItem(h.WorkspaceID, item.ID)
	switch {
	case err != nil:
		return err
	case earlier == nil:
		t.addItem(h, item)
	case earlier.MessageID != item.MessageID || item.MessageID.IsZero():
		t.changeItem(h, item)
	}
	return nil
}

// alertFailedRun raises an alert if an ended turn failed and a schedule began its work, unless the turn worked for
// another agent, who is told.
func (t *Tx) alertFailedRun(h *Head, turn *parley.Turn) error {
	if turn.Status != parley.TurnFailed || h.Mode != parley.ModeBackground || !h.InBackground() {
		return nil
	}
	at, err := t.assigned(h, turn.TriggerMessageID)
	if err != nil || at.work != nil {
		return err
	}
	root, err := t.rows.Message(h.WorkspaceID, at.root)
	if err != nil || root == nil {
		return err
	}
	schedule, err := t.scheduleOf(root)
	if err != nil || schedule == nil {
		return err
	}
	return t.raise(h, &Alert{
		Cause: parley.AlertRunFailed, SubjectID: schedule.ID,
		Title:   "A scheduled run failed: " + scheduleTitle(schedule),
		Summary: failureText(turn.Error), MessageID: turn.TriggerMessageID, SourceID: turn.TriggerMessageID,
		SourceIn: h.ID,
	})
}

// scheduleOf returns the schedule that posted a message; nil if none did, or it is gone.
func (t *Tx) scheduleOf(m *parley.Message) (*parley.Schedule, error) {
	id := postedBy(m)
	if id.IsZero() {
		return nil, nil
	}
	return t.rows.Schedule(m.WorkspaceID, id)
}

// postedBy returns the id of the schedule that posted a message; zero if none did. Users write metadata too, so the
// message's id decides.
func postedBy(m *parley.Message) parley.ID {
	link := scheduleLink(m)
	if link.ScheduleID.IsZero() || m.ID != parley.ScheduledMessageID(link.ScheduleID, link.DueAt) {
		return parley.ID{}
	}
	return link.ScheduleID
}

// scheduleLink returns the run that a message's metadata names; zero for none.
func scheduleLink(m *parley.Message) (link parley.ScheduleLink) {
	if len(m.Metadata) <= len(`{}`) || json.Unmarshal(m.Metadata, &link) != nil {
		return parley.ScheduleLink{}
	}
	return link
}

// scheduleTitle is what people know a schedule by.
func scheduleTitle(s *parley.Schedule) string {
	if s.Name != "" {
		return s.Name
	}
	return parley.TitleFrom(s.Message)
}

// alertSkipped raises the alert about a schedule of which several runs in a row were skipped.
func (t *Tx) alertSkipped(h *Head, s *parley.Schedule, reason parley.SkipReason) error {
	why := map[parley.SkipReason]string{
		parley.SkipOverlap:   "its previous run has not ended",
		parley.SkipArchived:  "the agent's background session is archived",
		parley.SkipQueueFull: "the agent's queue is full",
		parley.SkipRefused:   "its message was refused, as the server's log says",
	}[reason]
	return t.raise(h, &Alert{
		Cause: parley.AlertRunSkipped, SubjectID: s.ID,
		SourceIn: h.ID, Title: "A schedule is skipped again and again: " + scheduleTitle(s),
		Summary: fmt.Sprintf("%d runs in a row were skipped, the last one because %s.", s.SkippedInARow, why),
	})
}

// alertBudget raises an alert if a turn of background work begins to wait for a budget, in that session or in a tool
// session below it.
func (t *Tx) alertBudget(h *Head, turn *parley.Turn, refusal *store.Refusal) error {
	if refusal.Reason != parley.WaitBudget || h.Mode != parley.ModeBackground {
		return nil
	}
	return t.tell(h, h.RootID, turn.ID, Alert{
		Cause: parley.AlertBudget, SubjectID: h.RootID, Title: "Background work waits for its budget",
		Summary: refusal.Sentence, MessageID: turn.TriggerMessageID, SourceID: turn.TriggerMessageID,
	})
}

// alertChain raises an alert in the session where a chain began if what a call wanted to send was refused because of a
// bound of the chain.
func (t *Tx) alertChain(h *Head, call *parley.Message, sending *parley.Sending) error {
	switch err := t.maySend(h, sending); {
	case parley.ErrorCode(err) == parley.CodeInvalid: // it was refused for that reason
		return nil
	case err != nil:
		return err
	}
	d, _, err := t.sent(h, call, sending)
	if err != nil {
		return err
	}
	bound := t.checkChain(h, d)
	if parley.ErrorCode(bound) != parley.CodeInvalid {
		return bound
	}
	t.tellRefused(h, call, d, bound.Error())
	root, err := t.rows.SessionOf(h.WorkspaceID, d.RootID)
	if err != nil || root.IsZero() {
		return err
	}
	agent, err := t.agentNow(h.WorkspaceID, h.AgentID)
	if err != nil || agent == nil {
		return err
	}
	return t.tell(h, root, call.ID, Alert{
		Cause: parley.AlertChain, SubjectID: d.RootID, Title: "Agents were stopped from passing work on",
		Summary:   fmt.Sprintf("%s (%s) could not send a %s: %s.", agent.Name, agent.Slug, d.Kind, bound),
		MessageID: d.RootID, SourceID: call.ID,
	})
}

// tell raises an alert in a background session: at once if that is the locked one, by an errand otherwise, once for
// each occasion.
func (t *Tx) tell(h *Head, sessionID, occasionID parley.ID, alert Alert) error {
	alert.SourceIn = h.ID
	if sessionID != h.ID {
		h.leave(RaiseAlert{OccasionID: occasionID, SessionID: sessionID, Alert: alert}, 0)
		return nil
	}
	if !h.InBackground() {
		return nil
	}
	return t.raise(h, &alert)
}

// RaiseAlert raises an alert in the background session for which another session worked.
type RaiseAlert struct {
	OccasionID parley.ID `json:"-"` // the turn or the call that it is about
	SessionID  parley.ID `json:"session_id"`
	Alert
}

// Kind implements Work.
func (RaiseAlert) Kind() string { return "alert_to_inbox" }

// Target implements Work.
func (w RaiseAlert) Target() parley.ID { return w.OccasionID }

func (w RaiseAlert) do(workspaceID parley.ID, by Doer) (bool, error) {
	return once(by, workspaceID, func(t *Tx) error {
		h, err := t.load(w.SessionID)
		if err != nil || h == nil || h.DeletedAt != 0 || !h.InBackground() {
			return err
		}
		first, err := t.deliver(h, Delivery{w.Kind(), w.OccasionID})
		if err != nil || !first {
			return err
		}
		return t.raise(h, &w.Alert)
	})
}
