package event

import "example.org/parley"

// PipelineUpdated reports that the run of a pipeline has another status, is being cancelled, or cannot begin
// one of its nodes. The run's transforms report themselves with `tool.progress`.
//
//event:durable
type PipelineUpdated struct {
	RunID  parley.ID             `json:"run_id"` // the run, and its session
	Status parley.PipelineStatus `json:"status"` // its status now
}
