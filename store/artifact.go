package store

import (
	"context"

	"example.org/parley"
)

// NewArtifact is an artifact to be stored with its first version. The caller mints its id.
type NewArtifact struct {
	Artifact    parley.Artifact
	Version     parley.ArtifactVersion
	Content     ArtifactContent
	Edit        Edit  // that creates it
	MaxStorage  int64 // bytes that the workspace may hold; 0: unlimited
	Idempotency Idempotency
}

// NewArtifactVersion is a version to be written: its Parent names the version that must be the current one.
type NewArtifactVersion struct {
	Version     parley.ArtifactVersion
	Content     ArtifactContent
	Edit        Edit  // that writes it
	MaxStorage  int64 // bytes that the workspace may hold; 0: unlimited
	Idempotency Idempotency
}

// Edit asks for the transform of kind edit that stands for a version written by hand. It is stored with the version,
// whose TransformID names it, and goes with the artifact. The zero Edit asks for none.
type Edit struct {
	ID   parley.ID // the caller mints it
	Name string    // what happened, such as parley.EditRestored
}

// ArtifactContent is a content as it is stored: a patch on another one, or on nothing.
type ArtifactContent struct {
	Hash     parley.Hash // of the content's bytes
	BaseHash parley.Hash // of the content that the patch is on; zero: on nothing
	Position int         // patches between it and the last content on nothing; 0 for one on nothing
	Bytes    int64       // of the content
	Patch    []byte
}

// MaxContentChain bounds how many patches lie between a content and one on nothing.
const MaxContentChain = 8

// ArtifactQuery lists artifacts, last changed first unless Ascending. Zero fields select any.
type ArtifactQuery struct {
	ProjectID    parley.ID
	SessionID    parley.ID
	Kinds        []parley.ArtifactKind
	Label        string
	Name         string // in lower case: what the name contains
	Archived     *bool
	Stale        bool // whose current version a transform wrote that read an older version than the current one
	Ascending    bool
	AfterUpdated parley.Time
	AfterID      parley.ID
	Limit        int
}

// ArtifactVersionQuery lists the versions of an artifact, newest first unless Ascending. After is the number of the
// last one of the page before; 0: none. ContentHash selects those with this content, unless it is zero.
type ArtifactVersionQuery struct {
	ContentHash parley.Hash
	Ascending   bool
	After       int
	Limit       int
}

// Artifacts stores documents with all their versions. A scope sees the artifacts of the sessions that it sees, and
// those without a session that are its viewer's or shared with the workspace. Contents are stored once per workspace
// and hash, and go with the last version or patch that needs them. Their bytes count for the artifact's owner, no
// matter who writes: the limit is that of the owner's key. Every change is told to the workspace's feed.
type Artifacts interface {
	// CreateArtifact stores an artifact with its first version. The bool reports a repeat of the idempotency key.
	// CodeNotFound without the session or the project; CodeKeyReused; CodeConflict beyond a quota.
	CreateArtifact(ctx context.Context, artifact NewArtifact) (parley.Artifact, bool, error)
	// WriteArtifact adds a version, which becomes the current one. The bool reports a repeat of the idempotency key.
	// CodeConflict unless the version's parent is the current one, beyond parley.MaxArtifactVersions, and beyond the
	// quota; CodeArchived; CodeKeyReused; CodeNotFound.
	WriteArtifact(ctx context.Context, version NewArtifactVersion) (parley.ArtifactVersion, bool, error)
	// WrittenVersion finds the version that was written under an idempotency key; nil if there is none. CodeKeyReused.
	WrittenVersion(
		ctx context.Context, workspaceID, artifactID parley.ID, idempotency Idempotency,
	) (*parley.ArtifactVersion, error)
	// UpdateArtifact stores what may change in an artifact. CodeConflict unless its Revision is the current one, which
	// goes up by one; CodeNotFound.
	UpdateArtifact(ctx context.Context, artifact parley.Artifact) (parley.Artifact, error)
	// DeleteArtifact hides an artifact at once; the outbox removes its versions, and their contents unless others need
	// them. CodeNotFound.
	DeleteArtifact(ctx context.Context, scope Scope, id parley.ID) error

	Artifact(ctx context.Context, scope Scope, id parley.ID) (parley.Artifact, error)
	Artifacts(ctx context.Context, scope Scope, query ArtifactQuery) ([]parley.Artifact, error)
	// ArtifactVersion reads a version of an artifact that the scope sees. ArtifactVersions lists them.
	ArtifactVersion(ctx context.Context, scope Scope, id parley.ID, number int) (parley.ArtifactVersion, error)
	ArtifactVersions(
		ctx context.Context, scope Scope, id parley.ID, query ArtifactVersionQuery,
	) ([]parley.ArtifactVersion, error)
	// ArtifactContent reads a content with those that it is a patch on, the one on nothing first. CodeNotFound.
	ArtifactContent(ctx context.Context, workspaceID parley.ID, hash parley.Hash) ([]ArtifactContent, error)
}
