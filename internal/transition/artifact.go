package transition

import (
	"strings"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// Artifacts move under the lock of their own row, not of a session's head: a person writes them, too. What both stores
// decide about them is here; they read and write.

// ArtifactRow is an artifact with the columns that only its row has.
type ArtifactRow struct {
	*parley.Artifact
	Idempotency store.Idempotency
}

// ArtifactVersionRow is a version with the columns that only its row has.
type ArtifactVersionRow struct {
	*parley.ArtifactVersion
	Idempotency store.Idempotency
}

// CreateArtifact completes a new artifact and its first version.
func CreateArtifact(creating *store.NewArtifact, now parley.Time) (parley.Artifact, parley.ArtifactVersion) {
	a, v := creating.Artifact, creating.Version
	a.CreatedAt, a.UpdatedAt, a.Revision, a.SearchName = now, now, 1, strings.ToLower(a.Name)
	if a.Labels == nil {
		a.Labels = []string{}
	}
	v.ArtifactID, v.WorkspaceID, v.Number, v.CreatedAt = a.ID, a.WorkspaceID, 1, now
	a.Version, a.Newest, a.MediaType = 1, 1, v.MediaType
	a.ContentHash, a.Bytes = creating.Content.Hash, creating.Content.Bytes
	v.ContentHash, v.Bytes = a.ContentHash, a.Bytes
	named(&v, &creating.Edit)
	return a, v
}

// named has a version that is written by hand name its edit.
func named(v *parley.ArtifactVersion, edit *store.Edit) {
	if !edit.ID.IsZero() {
		v.TransformID = edit.ID
	}
}

// EditOf returns the transform that stands for a version written by hand, to be stored with it; nil for none. Its
// output has no schema, because that would be stored again with each version.
func EditOf(edit *store.Edit, a *parley.Artifact, v *parley.ArtifactVersion) *parley.Transform {
	if edit.ID.IsZero() {
		return nil
	}
	made := &parley.Transform{
		ID: edit.ID, WorkspaceID: a.WorkspaceID, ProjectID: a.ProjectID, Kind: parley.TransformEdit,
		TransformSpec: parley.TransformSpec{Name: edit.Name}, Status: parley.TransformCompleted,
		OwnerID: a.OwnerID, CreatedByID: v.Author.ID,
		CreatedAt: v.CreatedAt, StartedAt: v.CreatedAt, EndedAt: v.CreatedAt,
		Outputs: []parley.TransformOutput{{
			TransformTarget: parley.TransformTarget{
				Name: parley.DefaultTransformOutput, Kind: a.Kind, Title: a.Name,
			},
			ArtifactID: a.ID, Creates: v.Number == 1, BaseVersion: v.Parent, Version: v.Number,
			Sources: []parley.TransformSource{},
		}},
	}
	for _, read := range []int{v.Parent, v.RestoredFrom} {
		if read != 0 && (len(made.Inputs) == 0 || made.Inputs[0].Version != read) {
			made.Inputs = append(made.Inputs, parley.TransformInput{ArtifactID: a.ID, Version: read})
		}
	}
	return made
}

// WriteArtifact gives an artifact, as it is stored, its next version, which becomes the current one, and completes it.
func WriteArtifact(
	a *parley.Artifact,
	writing *store.NewArtifactVersion,
	now parley.Time,
) (parley.ArtifactVersion, error) {
	v := writing.Version
	switch {
	case a.ArchivedAt != 0:
		return v, ArtifactArchived()
	case a.Version != v.Parent:
		return v, ArtifactMovedOn(v.Parent, a.Version)
	case a.Newest >= parley.MaxArtifactVersions:
		return v, parley.Errorf(parley.CodeConflict,
			"this artifact has %d versions, and no more are kept; make a new one from it", a.Newest)
	}
	a.Newest++
	a.Version = a.Newest
	a.Revision++
	a.UpdatedAt = max(now, a.UpdatedAt)
	a.ContentHash, a.Bytes, a.MediaType = writing.Content.Hash, writing.Content.Bytes, v.MediaType
	v.Number, v.CreatedAt, v.ContentHash, v.Bytes = a.Version, now, a.ContentHash, a.Bytes
	named(&v, &writing.Edit)
	return v, nil
}

// UpdateArtifact applies a change of an artifact to the row as it is stored.
func UpdateArtifact(stored, changed *parley.Artifact, now parley.Time) error {
	if stored.Revision != changed.Revision {
		return parley.Errorf(parley.CodeConflict, "the artifact was changed meanwhile; read it again")
	}
	changed.Revision++
	changed.UpdatedAt, changed.SearchName = max(now, stored.UpdatedAt), strings.ToLower(changed.Name)
	if changed.ArchivedAt != 0 && stored.ArchivedAt == 0 {
		changed.ArchivedAt = now
	}
	return nil
}

// ArtifactArchived is the error for writing an archived artifact.
func ArtifactArchived() error {
	return parley.Errorf(parley.CodeArchived,
		`this artifact is archived; reopen it with PATCH /v1/artifacts/{artifact} and {"archived":false}`)
}

// ArtifactMovedOn is the error for a version that was made from one that is not the newest.
func ArtifactMovedOn(base, newest int) error {
	return parley.StaleVersion(base, newest)
}

// ArtifactNews tells the feed of a new or changed artifact.
func ArtifactNews(a *parley.Artifact, created bool) store.Commit {
	project := parley.OrNull(a.ProjectID)
	if created {
		return artifactNews(a, event.ArtifactCreated{ArtifactID: a.ID, ProjectID: project, Version: a.Version}.Encode())
	}
	return artifactNews(a, event.ArtifactUpdated{ArtifactID: a.ID, ProjectID: project, Version: a.Version}.Encode())
}

// ArtifactGone tells the feed of a deleted artifact, and leaves its purge to the outbox.
func ArtifactGone(a *parley.Artifact) store.Commit {
	commit := artifactNews(a, event.ArtifactDeleted{ArtifactID: a.ID}.Encode())
	commit.Outbox = true
	return commit
}

func artifactNews(a *parley.Artifact, news event.Encoded) store.Commit {
	return store.Commit{WorkspaceID: a.WorkspaceID, SessionID: a.SessionID, Feed: []store.FeedEvent{{
		WorkspaceID: a.WorkspaceID, SessionID: a.SessionID, Type: news.Type(), OwnerID: a.OwnerID,
		Visibility: a.Visibility, Data: news.Data(),
	}}}
}

// PurgeArtifact deletes the versions of a deleted artifact, and the contents that nothing else needs.
type PurgeArtifact struct {
	ArtifactID parley.ID `json:"-"`
}

// Kind implements Work.
func (PurgeArtifact) Kind() string { return "artifact_purge" }

// Target implements Work.
func (w PurgeArtifact) Target() parley.ID { return w.ArtifactID }

func (w PurgeArtifact) do(workspaceID parley.ID, by Doer) (bool, error) {
	return by.PurgeArtifact(workspaceID, w.ArtifactID)
}
