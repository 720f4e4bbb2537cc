package transition

import (
	"encoding/json"
	"slices"
	"sort"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// DefinitionRow is a transform's definition with the columns that only its row has.
type DefinitionRow struct {
	*parley.TransformDefinition
	Body        string // its JSON
	Idempotency store.Idempotency
}

// MovedTransform is a change of a transform: everything that may change in its row, and what it has written.
type MovedTransform struct {
	parley.Transform
	End *store.TransformEnd // of one that has completed; its writings are ordered by artifact
}

// openTransform opens a transform with the session that is made for it.
func (t *Tx) openTransform(h *Head, wanted *store.NewSession) {
	if wanted.Transform == nil {
		return
	}
	made := *wanted.Transform // the closure may run again
	made.Kind, made.WorkspaceID = parley.TransformGeneration, h.WorkspaceID
	made.SessionID, made.OwnerID = h.ID, h.OwnerID
	made.TurnID, made.Status, made.CreatedAt = wanted.First.TurnID, parley.TransformPending, t.now
	h.Changes.NewTransform = &made
	t.tellTransform(h, &made)
}

// startTransform moves the transform of a turn that starts for the first time.
func (t *Tx) startTransform(h *Head, turn *parley.Turn) {
	if turn.TransformID.IsZero() || turn.Attempt > 1 {
		return
	}
	moved := h.Changes.NewTransform
	if moved == nil {
		h.Changes.Transform = &MovedTransform{
			Transform: parley.Transform{ID: turn.TransformID, WorkspaceID: h.WorkspaceID},
		}
		moved = &h.Changes.Transform.Transform
	}
	moved.Status, moved.StartedAt = parley.TransformStreaming, t.now
	t.tellTransform(h, moved)
}

// endTransform moves the transform of a turn that has ended.
func (t *Tx) endTransform(h *Head, turn *parley.Turn, end *store.TurnEnd) {
	if turn.TransformID.IsZero() {
		return
	}
	moved := &MovedTransform{Transform: parley.Transform{
		ID: turn.TransformID, WorkspaceID: h.WorkspaceID, Status: parley.TransformStatusOf(turn.Status),
		Failure: turn.Error, StartedAt: turn.StartedAt, EndedAt: t.now,
	}}
	if with := end.Transform; with != nil {
		moved.Chunks = with.Chunks
		if with.Chunks > 0 {
			moved.LastChunkAt = t.now
		}
		if moved.Status == parley.TransformCompleted {
			ordered := *with
			ordered.Written = slices.Clone(with.Written)
			sort.Slice(ordered.Written, func(i, j int) bool {
				return ordered.Written[i].Output.ArtifactID.Compare(ordered.Written[j].Output.ArtifactID) < 0
			})
			moved.End = &ordered
		}
	}
	h.Changes.Transform = moved
	h.leavePipelineEnd()
	t.tellTransform(h, &moved.Transform)
}

// tellTransform tells the feed of a transform that was opened or has moved.
func (t *Tx) tellTransform(h *Head, moved *parley.Transform) {
	t.feed(h, event.TransformUpdated{TransformID: moved.ID, Status: moved.Status}.Encode())
}

// ranTransform is the result of a call that has run a transform.
type ranTransform struct {
	TransformID parley.ID              `json:"transform_id"`
	SessionID   parley.ID              `json:"session_id"`
	Status      parley.TransformStatus `json:"status"`
	Outputs     []writtenOutput        `json:"outputs"`
}

// writtenOutput is an output of a transform that a call has run.
type writtenOutput struct {
	Name       string              `json:"name"`
	ArtifactID parley.ID           `json:"artifact_id"`
	Kind       parley.ArtifactKind `json:"kind"`
	Title      string              `json:"title"`
	Version    int                 `json:"version"`
	Conflict   bool                `json:"conflict,omitempty"` // the version did not become the current one
}

// transformResult returns the content of the result of a call that has run a transform: what it has written. An output
// whose artifact takes no version is left out.
func (t *Tx) transformResult(
	turn *parley.Turn, answers []parley.Message, tookMS *int64, m *parley.Message,
) (json.RawMessage, error) {
	ran, err := t.rows.TransformOfRun(turn.WorkspaceID, turn.TransformID)
	if err != nil {
		return nil, err
	}
	if ran == nil {
		return failedResult(childDeleted, tookMS)
	}
	if len(answers) > 0 {
		m.Author = answers[len(answers)-1].Author
	}
	told := ranTransform{ran.ID, ran.SessionID, ran.Status, []writtenOutput{}}
	for i := range ran.Outputs {
		if out := &ran.Outputs[i]; out.Version != 0 {
			told.Outputs = append(told.Outputs, writtenOutput{
				out.Name, out.ArtifactID, out.Kind, out.Title, out.Version, out.Conflict,
			})
		}
	}
	result, err := parley.EncodeJSON(told)
	if err != nil {
		return nil, err
	}
	return parley.EncodeContent(parley.ToolResultContent{Result: result, Success: true, ExecutionTimeMS: tookMS})
}

// CreateTransformed completes an artifact that a transform creates, and its first version. One that a call has run
// creates it in the session of the call, whose agent works with it.
func CreateTransformed(
	h *Head, end *store.TransformEnd, w *store.TransformWriting, now parley.Time,
) (parley.Artifact, parley.ArtifactVersion) {
	var sessionID parley.ID
	if h.AnswersCall() {
		sessionID = h.ParentSessionID
	}
	return CreateArtifact(&store.NewArtifact{
		Artifact: parley.Artifact{
			ID:          w.Output.ArtifactID,
			WorkspaceID: h.WorkspaceID,
			ProjectID:   end.Transform.ProjectID,
			SessionID:   sessionID,
			OwnerID:     h.OwnerID,
			Visibility:  h.Visibility,
			Kind:        w.Output.Kind,
			Name:        w.Output.Title,
			Schema:      w.Output.Schema,
		},
		Version: transformed(h, end), Content: w.Content,
	}, now)
}

// WriteTransformed gives an artifact, as it is stored, the version that a transform has made. It reports false if the
// artifact takes none.
func WriteTransformed(
	a *parley.Artifact, h *Head, end *store.TransformEnd, w *store.TransformWriting, now parley.Time,
) (parley.ArtifactVersion, bool) {
	v := transformed(h, end)
	if a.Newest >= parley.MaxArtifactVersions {
		return v, false
	}
	v.ArtifactID, v.WorkspaceID, v.Number, v.CreatedAt = a.ID, a.WorkspaceID, a.Newest+1, now
	v.Parent, v.Base = w.Output.BaseVersion, w.Output.BaseVersion
	v.ContentHash, v.Bytes = w.Content.Hash, w.Content.Bytes
	v.Conflict = a.Version != w.Output.BaseVersion || a.ArchivedAt != 0
	a.Newest++
	a.Revision++
	a.UpdatedAt = max(now, a.UpdatedAt)
	if !v.Conflict {
		a.Version, a.ContentHash, a.Bytes = v.Number, v.ContentHash, v.Bytes
	}
	return v, true
}

// transformed returns what every version that a transform writes has.
func transformed(h *Head, end *store.TransformEnd) parley.ArtifactVersion {
	return parley.ArtifactVersion{
		Author: end.Author, SessionID: h.ID, MessageID: end.MessageID, TransformID: end.Transform.ID,
	}
}

// NextDefinition makes a definition the next version of the current one. CodeConflict if it was made from an older one.
func NextDefinition(current, next *parley.TransformDefinition, now parley.Time) error {
	if current.Version != next.Version {
		return parley.Errorf(parley.CodeConflict, "the definition was changed meanwhile; read it again")
	}
	next.Version, next.CreatedAt, next.UpdatedAt = current.Version+1, current.CreatedAt, max(now, current.UpdatedAt)
	return nil
}

// DefinitionSlugTaken is the error for a slug that another definition has.
func DefinitionSlugTaken(slug string) error {
	return parley.Errorf(parley.CodeConflict,
		"another definition of this workspace has the slug %q; choose another slug or name", slug)
}

// ReadDefinition reads the stored form of a definition.
func ReadDefinition(body []byte) (d parley.TransformDefinition, err error) {
	err = json.Unmarshal(body, &d)
	for i := range d.Outputs {
		if string(d.Outputs[i].Schema) == "null" {
			d.Outputs[i].Schema = nil
		}
	}
	return d, err
}
