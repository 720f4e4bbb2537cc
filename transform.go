package parley

import (
	"encoding/json"
	"slices"
	"strings"
)

// Transform is one change of documents: it reads versions of some and writes versions of others. A generation has its
// model calls in a tool session of its own, and its status follows that session's first turn. An edit is what somebody
// wrote by hand: it has no session, agent or instructions, and is completed as soon as it exists.
type Transform struct {
	ID          ID            `json:"id"`
	WorkspaceID ID            `json:"workspace_id"`
	ProjectID   ID            `json:"project_id"`
	Kind        TransformKind `json:"kind" doc:"generation, or edit for a version that somebody wrote by hand."`
	// DefinitionID and DefinitionVersion name the definition that it was run from; null for one run by itself.
	DefinitionID      ID  `json:"definition_id"`
	DefinitionVersion int `json:"definition_version,omitempty"`

	TransformSpec
	Inputs  []TransformInput  `json:"inputs"`
	Outputs []TransformOutput `json:"outputs"`

	Status TransformStatus `json:"status"`
	// Progress is the part that is done, from 0 to 1, judged by the length of what it replaces; null while unknown.
	Progress    *float64 `json:"progress"`
	Chunks      int      `json:"chunks" doc:"Pieces in which the answer has arrived."`
	LastChunkAt Time     `json:"last_chunk_at"`

	SessionID ID `json:"session_id" doc:"Its tool session; null for an edit."`
	TurnID    ID `json:"turn_id" doc:"The turn of its tool session; null for an edit."`
	// TriggerSessionID and TriggerMessageID name the message that asked for it, and that message's session.
	TriggerSessionID ID `json:"trigger_session_id"`
	TriggerMessageID ID `json:"trigger_message_id"`
	OwnerID          ID `json:"owner_id"`
	CreatedByID      ID `json:"created_by_id" doc:"The principal or agent that started it; of an edit, who wrote."`
	RetryOfID        ID `json:"retry_of_id" doc:"The transform that it repeats."`
	// RunID and Node place it in a run of a pipeline.
	RunID     ID       `json:"run_id"`
	Node      string   `json:"node,omitempty"`
	Failure   *Failure `json:"failure"`
	CreatedAt Time     `json:"created_at"`
	StartedAt Time     `json:"started_at"`
	EndedAt   Time     `json:"ended_at"`
}

// TransformSpec says how a transform generates, whatever it reads and writes.
type TransformSpec struct {
	Name         string  `json:"name"`
	AgentID      ID      `json:"agent_id" doc:"Whose system prompt and settings count; null for an edit."`
	Instructions string  `json:"instructions"`
	Model        ModelID `json:"model,omitempty"`
	Parameters           // flat
	Cite         bool    `json:"cite" doc:"Whether the model is asked for the sources of what it writes."`
}

// TransformKind is what a transform is.
type TransformKind string

// The kinds of transforms.
const (
	TransformGeneration TransformKind = "generation" // by a model
	TransformEdit       TransformKind = "edit"       // by hand
)

// TransformKinds lists every kind.
func TransformKinds() []TransformKind { return []TransformKind{TransformGeneration, TransformEdit} }

// The names of edits say what happened.
const (
	EditCreated  = "Create"  // an artifact with its first version
	EditWritten  = "Edit"    // a version, by content, edits or a patch, merged or not
	EditRestored = "Restore" // an earlier version
	EditImported = "Import"  // an artifact or a version, from a file
)

// TransformStatus is the state of a transform. It follows the first turn of its session.
type TransformStatus string

// The states of transforms.
const (
	TransformPending   TransformStatus = "pending"
	TransformStreaming TransformStatus = "streaming"
	TransformCompleted TransformStatus = "completed"
	TransformFailed    TransformStatus = "failed"
	TransformCancelled TransformStatus = "cancelled"
)

// TransformStatuses lists every state.
func TransformStatuses() []TransformStatus {
	return []TransformStatus{
		TransformPending, TransformStreaming, TransformCompleted, TransformFailed, TransformCancelled,
	}
}

// Finished reports whether the transform has ended.
func (s TransformStatus) Finished() bool {
	return s == TransformCompleted || s == TransformFailed || s == TransformCancelled
}

// TransformStatusOf returns the state of a transform whose turn has ended.
func TransformStatusOf(turn TurnStatus) TransformStatus {
	switch turn {
	case TurnCompleted:
		return TransformCompleted
	case TurnCancelled:
		return TransformCancelled
	}
	return TransformFailed
}

// TransformInput is a version of an artifact, or a part of it, that a transform reads.
type TransformInput struct {
	TransformID ID     `json:"-"`
	WorkspaceID ID     `json:"-"`
	Position    int    `json:"position" doc:"From 1."`
	Name        string `json:"name,omitempty" doc:"What the model calls it."`
	ArtifactID  ID     `json:"artifact_id"`
	Version     int    `json:"version"`
	Pointer     string `json:"pointer" doc:"JSON Pointer of the part that is read; empty for all of it."`
	Purged      bool   `json:"purged" doc:"Whether the artifact was deleted."`
}

// TransformOutput is an artifact that a transform writes.
type TransformOutput struct {
	TransformID ID  `json:"-"`
	WorkspaceID ID  `json:"-"`
	Position    int `json:"position" doc:"From 1."`
	TransformTarget
	ArtifactID  ID   `json:"artifact_id" doc:"The artifact; one that is created exists once a version was written."`
	Creates     bool `json:"creates" doc:"Whether the transform creates the artifact."`
	BaseVersion int  `json:"base_version,omitempty" doc:"The version that it replaces; null for a new artifact."`
	Version     int  `json:"version,omitempty" doc:"The version written; null until then."`
	// Conflict tells that the artifact had moved on: the version is kept, and did not become the current one.
	Conflict bool              `json:"conflict"`
	Sources  []TransformSource `json:"sources" doc:"What it was made from, as far as the model said; null: all inputs."`
	Purged   bool              `json:"purged" doc:"Whether the artifact was deleted."`
}

// TransformTarget says what an output is: what to create, or what the artifact is already.
type TransformTarget struct {
	Name   string          `json:"name" doc:"What the model calls it."`
	Kind   ArtifactKind    `json:"kind"`
	Title  string          `json:"title" doc:"The artifact's name."`
	Schema json.RawMessage `json:"schema" doc:"JSON Schema of a json artifact; null for none."`
}

// TransformSource is a part of an input that a part of an output was made from.
type TransformSource struct {
	Target     string `json:"target" doc:"JSON Pointer into the output; empty for all of it."`
	ArtifactID ID     `json:"artifact_id"`
	Version    int    `json:"version"`
	Pointer    string `json:"pointer" doc:"JSON Pointer into the input; empty for all of it."`
	FromLine   int    `json:"from_line,omitempty" doc:"First line of the passage in a text, from 1."`
	ToLine     int    `json:"to_line,omitempty" doc:"Last line of the passage."`
}

// TransformDefinition is a transform that can be run again and again. Every change makes a new version.
type TransformDefinition struct {
	ID          ID     `json:"id"`
	WorkspaceID ID     `json:"workspace_id"`
	Slug        string `json:"slug"`
	Description string `json:"description"`
	TransformSpec
	Outputs     []TransformTarget `json:"outputs"`
	Status      AgentStatus       `json:"status"`
	OwnerID     ID                `json:"owner_id" doc:"Principal that may change it, besides admins."`
	ChangedByID ID                `json:"changed_by_id" doc:"Principal that made this version."`
	Version     int               `json:"version" doc:"From 1."`
	CreatedAt   Time              `json:"created_at"`
	UpdatedAt   Time              `json:"updated_at"`
}

// RunTransformTool is the built-in tool by which an agent runs a definition: each call opens a transform, whose end is
// the call's result.
const RunTransformTool = "run_transform"

// The bounds of transforms.
const (
	MaxTransformInputs       = 64
	MaxTransformOutputs      = 16
	MaxTransformInputBytes   = 512 << 10 // of its instructions and inputs, as the model reads them
	MaxTransformInstructions = 64 << 10  // bytes
	MaxTransformPointer      = 1024      // bytes
	MaxTransformSources      = 256       // of an output
	MaxTransformNode         = 256       // bytes
	DefaultTransformOutput   = "content" // name of an output that has none
)

// MarshalJSON writes null for absent fields.
func (t Transform) MarshalJSON() ([]byte, error) {
	type plain Transform
	return EncodeJSON(struct {
		*plain
		DefinitionVersion *int     `json:"definition_version"`
		Model             *ModelID `json:"model"`
		Node              *string  `json:"node"`
	}{(*plain)(&t), OrNull(t.DefinitionVersion), OrNull(t.Model), OrNull(t.Node)})
}

// MarshalJSON writes null for absent fields.
func (i TransformInput) MarshalJSON() ([]byte, error) {
	type plain TransformInput
	return EncodeJSON(struct {
		*plain
		Name *string `json:"name"`
	}{(*plain)(&i), OrNull(i.Name)})
}

// MarshalJSON writes null for absent fields.
func (o TransformOutput) MarshalJSON() ([]byte, error) {
	type plain TransformOutput
	return EncodeJSON(struct {
		*plain
		BaseVersion *int `json:"base_version"`
		Version     *int `json:"version"`
	}{(*plain)(&o), OrNull(o.BaseVersion), OrNull(o.Version)})
}

// MarshalJSON writes null for absent fields.
func (s TransformSource) MarshalJSON() ([]byte, error) {
	type plain TransformSource
	return EncodeJSON(struct {
		*plain
		FromLine *int `json:"from_line"`
		ToLine   *int `json:"to_line"`
	}{(*plain)(&s), OrNull(s.FromLine), OrNull(s.ToLine)})
}

// MarshalJSON writes null for absent fields.
func (d TransformDefinition) MarshalJSON() ([]byte, error) {
	type plain TransformDefinition
	return EncodeJSON(struct {
		*plain
		Model *ModelID `json:"model"`
	}{(*plain)(&d), OrNull(d.Model)})
}

// TransformID returns the id of the transform of a tool session, from which it derives.
func TransformID(sessionID ID) ID { return derived("parley transform ", sessionID) }

// Validate reports the field that breaks a rule. The settings are for package setting.
func (s *TransformSpec) Validate() error {
	if strings.TrimSpace(s.Name) == "" {
		return InvalidField("name", "is missing or empty")
	}
	if err := CheckText("name", s.Name, MaxNameBytes); err != nil {
		return err
	}
	if strings.TrimSpace(s.Instructions) == "" {
		return InvalidField("instructions", "is missing; say what to write")
	}
	return CheckText("instructions", s.Instructions, MaxTransformInstructions)
}

// ValidateTargets checks the outputs of a transform or a definition. That their schemas can be checked against is for
// package schema.
func ValidateTargets(targets []TransformTarget) error {
	if len(targets) == 0 || len(targets) > MaxTransformOutputs {
		return InvalidField("outputs", "a transform has between 1 and %d outputs", MaxTransformOutputs)
	}
	for i := range targets {
		target := &targets[i]
		if target.Name == "" || len(target.Name) > MaxToolNameLength ||
			strings.ContainsFunc(target.Name, func(r rune) bool { return !isNameRune(r) }) {
			return InvalidField("outputs.name", "is up to %d letters, digits, _ and -", MaxToolNameLength)
		}
		if slices.ContainsFunc(targets[:i], func(o TransformTarget) bool { return o.Name == target.Name }) {
			return InvalidField("outputs.name", "two outputs are called %q", target.Name)
		}
		if target.Kind == ArtifactFile {
			return InvalidField("outputs.kind", "a model writes texts and JSON, not files")
		}
		artifact := Artifact{
			Name: target.Title, Kind: target.Kind, Schema: target.Schema, Visibility: VisibilityPrivate,
		}
		if err := artifact.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Structured reports whether the transform's answer is an object with its outputs by name; otherwise the answer's text
// is the content of the only output.
func (t *Transform) Structured() bool {
	return t.Cite || len(t.Outputs) != 1 || t.Outputs[0].Kind == ArtifactJSON
}

// Size is about how many bytes the transform's rows hold.
func (t Transform) Size() int {
	size := len(t.Name) + len(t.Instructions) + 256*len(t.Inputs) + 1024
	for i := range t.Outputs {
		size += len(t.Outputs[i].Schema) + 256*len(t.Outputs[i].Sources) + 256
	}
	return size
}

// Size is about how many bytes the definition's row holds.
func (d TransformDefinition) Size() int {
	size := len(d.Name) + len(d.Description) + len(d.Instructions) + 1024
	for i := range d.Outputs {
		size += len(d.Outputs[i].Schema) + 256
	}
	return size
}
