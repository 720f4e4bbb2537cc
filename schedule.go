package parley

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Schedule makes an agent work at set times (E6): at each, its message is posted into the agent's background session
// and starts a turn there. Exactly one of Cron, Every and At says when.
type Schedule struct {
	ID          ID              `json:"id"`
	WorkspaceID ID              `json:"workspace_id"`
	AgentID     ID              `json:"agent_id"`
	Name        string          `json:"name,omitempty"`
	Timing                      // flat
	Message     string          `json:"message"` // posted as a user message
	Enabled     bool            `json:"enabled"`
	Overlap     ScheduleOverlap `json:"overlap"`
	Missed      ScheduleMissed  `json:"missed"`
	// Deadline is a duration: a turn that works for the schedule and has not ended by then is stopped, whatever it
	// waits for. "": DefaultRunDeadline.
	Deadline string `json:"deadline"`
	// Author wrote the message last; the posted messages are theirs.
	Author Author `json:"author"`
	// NextAt is when it is due next, jitter included; null: never again, disabled, or the agent is archived.
	NextAt Time `json:"next_at"`
	// LastRun is what came of the last time; null before the first.
	LastRun *ScheduleRun `json:"last_run"`
	// SkippedInARow counts the runs skipped since the last one that was posted; those missed while no server ran do
	// not count.
	SkippedInARow int  `json:"skipped_in_a_row"`
	CreatedAt     Time `json:"created_at"`
	UpdatedAt     Time `json:"updated_at"` // by people; runs do not change it

	// Revision counts all changes of the row: a change names the one that it is made to.
	Revision int64 `json:"-"`
	// MovedAt is when NextAt was set, by the database's clock: it lies ahead only if that was set back since.
	MovedAt Time `json:"-"`
	// TurnID is the turn of the last run that was posted.
	TurnID ID `json:"-"`
	// Resting says that the agent is archived: NextAt waits until it comes back.
	Resting bool `json:"-"`
}

// MarshalJSON writes null for absent fields.
func (s Schedule) MarshalJSON() ([]byte, error) {
	type plain Schedule
	if s.Resting {
		s.NextAt = 0
	}
	if s.Deadline == "" {
		s.Deadline = DefaultRunDeadline
	}
	return EncodeJSON(struct {
		*plain
		Name *string `json:"name"`
		shownTiming
	}{(*plain)(&s), OrNull(s.Name), s.shown()})
}

// RunDeadline returns how long a turn that works for the schedule may take, from its message on.
func (s *Schedule) RunDeadline() time.Duration {
	if d, err := time.ParseDuration(s.Deadline); err == nil {
		return d
	}
	return DefaultDelegationDeadline
}

// Timing says when a schedule is due: exactly one of Cron, Every and At is set.
type Timing struct {
	Cron     string `json:"cron,omitempty"`   // minute, hour, day of month, month, day of week
	Every    string `json:"every,omitempty"`  // a duration, such as 90m
	At       Time   `json:"at"`               // once
	TimeZone string `json:"time_zone"`        // of Cron, such as Europe/Berlin
	Jitter   string `json:"jitter,omitempty"` // a duration: the schedule runs later by up to it, always by the same
	// Anchor is the time from which Every counts.
	Anchor Time `json:"-"`
}

// shownTiming has null for the absent fields of a Timing.
type shownTiming struct {
	Cron   *string `json:"cron"`
	Every  *string `json:"every"`
	Jitter *string `json:"jitter"`
}

func (t *Timing) shown() shownTiming {
	return shownTiming{OrNull(t.Cron), OrNull(t.Every), OrNull(t.Jitter)}
}

// ScheduleOverlap says what happens to a run that is due while the schedule's previous one has not ended.
type ScheduleOverlap string

// The overlaps.
const (
	OverlapSkip  ScheduleOverlap = "skip"  // it is skipped (default)
	OverlapQueue ScheduleOverlap = "queue" // it waits; one waits at most, further ones are skipped
)

// ScheduleMissed says what happens to runs that were due while no server ran.
type ScheduleMissed string

// What becomes of missed runs.
const (
	MissedOnce ScheduleMissed = "once" // one run makes up for all of them (default)
	MissedSkip ScheduleMissed = "skip" // none does
)

// ScheduleRun is what came of a schedule at one of its times.
type ScheduleRun struct {
	WorkspaceID ID         `json:"-"`
	ScheduleID  ID         `json:"schedule_id"`
	DueAt       Time       `json:"due_at"`
	State       RunState   `json:"state"`
	Reason      SkipReason `json:"reason,omitempty"` // of a skipped run
	SessionID   ID         `json:"session_id"`       // the agent's background session; null if skipped
	MessageID   ID         `json:"message_id"`
	TurnID      ID         `json:"turn_id"`
	CreatedAt   Time       `json:"created_at"` // when it was posted or skipped
}

// MarshalJSON writes null for absent fields.
func (r ScheduleRun) MarshalJSON() ([]byte, error) {
	type plain ScheduleRun
	return EncodeJSON(struct {
		*plain
		Reason *SkipReason `json:"reason"`
	}{(*plain)(&r), OrNull(r.Reason)})
}

// ScheduleLink is metadata of a message that a schedule posted.
type ScheduleLink struct {
	ScheduleID ID   `json:"schedule_id"`
	DueAt      Time `json:"due_at"`
}

// RunState is what came of a run.
type RunState string

// The states of runs.
const (
	RunPosted  RunState = "posted" // its turn tells the rest
	RunSkipped RunState = "skipped"
)

// SkipReason is why a run was skipped.
type SkipReason string

// The reasons.
const (
	SkipOverlap   SkipReason = "overlap"    // the previous run has not ended
	SkipMissed    SkipReason = "missed"     // it was due while no server ran
	SkipArchived  SkipReason = "archived"   // the agent's background session is archived
	SkipQueueFull SkipReason = "queue_full" // the background session's queue takes no more
	SkipRefused   SkipReason = "refused"    // the message was refused; the server's log says why
)

// The bounds of schedules.
const (
	MaxSchedulesOfAgent     = 32
	MaxSchedulesOfWorkspace = 20_000
	MaxScheduleMessageBytes = 64 << 10
	MaxCronBytes            = 256
	MaxTimeZoneBytes        = 64
	MaxScheduleRuns         = 500 // kept of each schedule

	MinScheduleEvery  = time.Minute
	MaxScheduleEvery  = 366 * 24 * time.Hour
	MaxScheduleJitter = time.Hour

	DefaultRunDeadline = "24h" // as DefaultDelegationDeadline
	MinRunDeadline     = MinDelegationDeadline
	MaxRunDeadline     = MaxDelegationDeadline

	// ScheduleGrace is how late a run may be before it counts as missed.
	ScheduleGrace = 5 * time.Minute
	// ScheduleAlertAfter is the number of runs skipped in a row that raises an alert.
	ScheduleAlertAfter = 3
	// SchedulePreviews is the number of times that a preview shows.
	SchedulePreviews = 5
)

// ScheduledMessageID returns the id of the message that a schedule posts for one of its times, and ScheduledTurnID that
// of its turn. They are derived, so that the same time can never be posted twice.
func ScheduledMessageID(scheduleID ID, dueAt Time) ID {
	return scheduledID("message", scheduleID, dueAt)
}

// ScheduledTurnID returns the id of the turn of ScheduledMessageID's message.
func ScheduledTurnID(scheduleID ID, dueAt Time) ID { return scheduledID("turn", scheduleID, dueAt) }

// scheduledID hashes the schedule's id and the time, with the time and version of a UUIDv7.
func scheduledID(what string, scheduleID ID, dueAt Time) ID {
	hashed := binary.BigEndian.AppendUint64(append([]byte("schedule "+what+" "), scheduleID[:]...), uint64(dueAt))
	sum := sha256.Sum256(hashed)
	id := FirstID(dueAt)
	copy(id[6:], sum[:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Size is about how many bytes the schedule holds.
func (s Schedule) Size() int { return len(s.Message) + len(s.Name) + 512 }
