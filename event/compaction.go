package event

import "example.org/parley"

// CompactionStarted reports that a model is being asked for a summary, or for the next part of one that is written in
// several requests. A compaction ends with compaction.completed, or with a compaction.failed whose again is false; it
// belongs to no turn.
//
//event:durable
type CompactionStarted struct {
	CompactionID  parley.ID               `json:"compaction_id"`  // the compaction
	CallID        parley.ID               `json:"call_id"`        // the record of the model call
	Reason        parley.CompactionReason `json:"reason"`         // why it was begun
	Attempt       int                     `json:"attempt"`        // the attempt, from 1
	Model         parley.ModelID          `json:"model"`          // provider/model that writes the summary
	CoversFrom    int64                   `json:"covers_from"`    // sequence of the first message that is summed up
	CoversThrough int64                   `json:"covers_through"` // sequence of the last one
	Part          int                     `json:"part"`           // which request for the summary this is, from 1
	Parts         int                     `json:"parts"`          // how many there will be; 1 for most summaries
}

// CompactionCompleted reports that the summary is written.
//
//event:durable
type CompactionCompleted struct {
	CompactionID  parley.ID `json:"compaction_id"`  // the compaction
	CallID        parley.ID `json:"call_id"`        // the record of the model call
	MessageID     parley.ID `json:"message_id"`     // the summary
	CoversFrom    int64     `json:"covers_from"`    // sequence of the first message that is summed up
	CoversThrough int64     `json:"covers_through"` // sequence of the last one
	Queued        bool      `json:"queued"`         // it enters the record when the running turn ends
}

// CompactionFailed reports that an attempt at a summary failed. The record is unchanged.
//
//event:durable
type CompactionFailed struct {
	CompactionID parley.ID      `json:"compaction_id"` // the compaction
	CallID       *parley.ID     `json:"call_id"`       // the record of the model call; null when it failed before one
	Attempt      int            `json:"attempt"`       // the attempt, from 1
	Error        parley.Failure `json:"error"`         // why it failed
	Again        bool           `json:"again"`         // another attempt follows
}
