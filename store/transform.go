package store

import (
	"context"

	"example.org/parley"
)

// TransformQuery lists transforms, the latest first unless Ascending. Zero fields select any.
type TransformQuery struct {
	Kind             parley.TransformKind
	ProjectID        parley.ID
	TriggerSessionID parley.ID
	DefinitionID     parley.ID
	RunID            parley.ID
	Status           parley.TransformStatus
	Ascending        bool
	AfterID          parley.ID
	Limit            int
}

// OfKind is the kind that the query selects, for an index: only generations are in another state than completed.
func (q *TransformQuery) OfKind() parley.TransformKind {
	if q.Kind == "" && q.Status != "" && q.Status != parley.TransformCompleted {
		return parley.TransformGeneration
	}
	return q.Kind
}

// TransformDefinitionQuery lists definitions by slug.
type TransformDefinitionQuery struct {
	Status     parley.AgentStatus
	Descending bool
	AfterSlug  string
	Limit      int
}

// TransformEnd is what the turn of a transform ends with: the transform as its worker has read it and, of a completed
// turn, what it writes.
type TransformEnd struct {
	Transform parley.Transform
	Author    parley.Author // of the versions
	MessageID parley.ID     // of the answer
	Chunks    int           // pieces in which the answer arrived
	Written   []TransformWriting
}

// TransformWriting is the content of an output of a transform. The transition that ends the turn writes it as a version
// of the artifact, which it creates if the output says so. If the artifact's current version is not the output's base,
// or it is archived, the version is marked as a conflict and does not become the current one. An artifact that was
// deleted, or that the transform's owner may no longer see, gets none.
type TransformWriting struct {
	Output  parley.TransformOutput
	Content ArtifactContent
	Sources []parley.TransformSource
}

// Transforms stores generations on documents and their definitions, and shows edits. EnsureSession opens a generation
// with its tool session (NewSession.Transform); it moves with the first turn of that session. A scope sees the
// generations of the sessions that it sees; one whose session is deleted is seen by its owner alone. Artifacts stores
// edits; a scope sees those of the artifacts that it sees.
type Transforms interface {
	// Transform reads a transform with its inputs and outputs. CodeNotFound.
	Transform(ctx context.Context, scope Scope, id parley.ID) (parley.Transform, error)
	Transforms(ctx context.Context, scope Scope, query TransformQuery) ([]parley.Transform, error)

	// CreateTransformDefinition stores version 1. CodeConflict if the slug is taken. The bool reports a repeat of the
	// idempotency key; CodeKeyReused.
	CreateTransformDefinition(
		ctx context.Context, definition parley.TransformDefinition, idempotency Idempotency,
	) (parley.TransformDefinition, bool, error)
	// UpdateTransformDefinition stores the definition as a new version and returns it. CodeConflict unless it has the
	// current Version, and if the slug is taken; CodeNotFound.
	UpdateTransformDefinition(
		ctx context.Context, definition parley.TransformDefinition,
	) (parley.TransformDefinition, error)
	// TransformDefinition finds a definition by id or slug.
	TransformDefinition(
		ctx context.Context, workspaceID parley.ID, idOrSlug string,
	) (parley.TransformDefinition, error)
	// TransformDefinitionVersion finds a version; TransformDefinitionVersions lists them, the latest first.
	TransformDefinitionVersion(
		ctx context.Context, workspaceID, id parley.ID, version int,
	) (parley.TransformDefinition, error)
	TransformDefinitionVersions(
		ctx context.Context, workspaceID, id parley.ID, query AgentVersionQuery,
	) ([]parley.TransformDefinition, error)
	TransformDefinitions(
		ctx context.Context, workspaceID parley.ID, query TransformDefinitionQuery,
	) ([]parley.TransformDefinition, error)
}
