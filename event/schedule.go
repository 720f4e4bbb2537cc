package event

import "example.org/parley"

// ScheduleAlert reports that a schedule of the session's agent has been skipped several times in a row. The next run
// that is posted ends that.
//
//event:durable
type ScheduleAlert struct {
	ScheduleID parley.ID         `json:"schedule_id"` // the schedule
	Name       string            `json:"name"`        // its name; may be empty
	Skipped    int               `json:"skipped"`     // how many runs were skipped
	Reason     parley.SkipReason `json:"reason"`      // why the last of them was
	DueAt      parley.Time       `json:"due_at"`      // when that was due
}
