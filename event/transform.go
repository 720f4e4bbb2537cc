package event

import "example.org/parley"

// TransformUpdated reports that a transform was opened, has started, or has ended: then the artifacts that it writes
// may have new versions.
//
//event:feed
type TransformUpdated struct {
	TransformID parley.ID              `json:"transform_id"` // the transform
	Status      parley.TransformStatus `json:"status"`       // pending, streaming, completed, failed or cancelled
}
