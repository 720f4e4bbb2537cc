package event

import "example.org/parley"

// ArtifactCreated reports a new artifact.
//
//event:feed
type ArtifactCreated struct {
	ArtifactID parley.ID  `json:"artifact_id"` // the artifact
	ProjectID  *parley.ID `json:"project_id"`  // its project; null for none
	Version    int        `json:"version"`     // number of its newest version
}

// ArtifactUpdated reports that an artifact has a new version, or was changed otherwise: its
// name, labels, visibility, whether it is archived.
//
//event:feed
type ArtifactUpdated struct {
	ArtifactID parley.ID  `json:"artifact_id"` // the artifact
	ProjectID  *parley.ID `json:"project_id"`  // its project; null for none
	Version    int        `json:"version"`     // number of its newest version
}

// ArtifactDeleted reports that an artifact is gone.
//
//event:feed
type ArtifactDeleted struct {
	ArtifactID parley.ID `json:"artifact_id"` // the artifact
}
