package worker

import (
	"context"
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/transform"
	"example.org/parley/store"
)

// transformRun are the arguments of a call that runs a definition.
type transformRun struct {
	Definition   string `json:"definition"`
	Instructions string `json:"instructions"`
	Inputs       []struct {
		Name       string    `json:"name"`
		ArtifactID parley.ID `json:"artifact_id"`
		Version    int       `json:"version"`
		Pointer    string    `json:"pointer"`
	} `json:"inputs"`
	Outputs []struct {
		Name        string    `json:"name"`
		ArtifactID  parley.ID `json:"artifact_id"`
		BaseVersion int       `json:"base_version"`
		Title       string    `json:"title"`
	} `json:"outputs"`
}

// shownDefinitions is how many definitions a model is told of that named none of them.
const shownDefinitions = 20

// reach reads only the documents that a session's agent works with.
type reach struct {
	artifact.Reader

	session *parley.Session
}

// Artifact implements artifact.Reader.
func (r reach) Artifact(ctx context.Context, scope store.Scope, id parley.ID) (parley.Artifact, error) {
	found, err := r.Reader.Artifact(ctx, scope, id)
	if parley.ErrorCode(err) == parley.CodeNotFound || err == nil && !r.session.Reaches(&found) {
		err = parley.InvalidField("artifact_id", "there is no artifact %s in this conversation or its project", id)
	}
	return found, err
}

// transformSession is the tool session in which the transform of a call generates. What it reads and writes are
// documents that the agent's other tools reach, too.
func (t *tools) transformSession(call *toolCall) (store.NewSession, error) {
	// What the call's session is now decides what it reads: its owner may have shared it since the turn began.
	parent, err := t.w.store.Session(t.writes, store.Scope{WorkspaceID: t.fence.WorkspaceID}, t.fence.SessionID)
	if err != nil {
		return store.NewSession{}, err
	}
	made := &parley.Transform{
		ID: parley.TransformID(parley.ChildID(call.messageID)), WorkspaceID: parent.WorkspaceID,
		ProjectID: parent.ProjectID, Inputs: []parley.TransformInput{}, TriggerSessionID: parent.ID,
		TriggerMessageID: call.messageID, CreatedByID: t.author.ID,
	}
	if err := t.describeTransform(call, made); err != nil {
		return store.NewSession{}, err
	}
	text, output, err := transform.Prepare(t.writes, reach{t.w.store, &parent}, t.w.documents,
		store.Scope{WorkspaceID: parent.WorkspaceID, ViewerID: parent.ReaderID()}, made)
	if err != nil {
		return store.NewSession{}, err
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return store.NewSession{}, err
	}
	return store.NewSession{
		Session: parley.Session{
			AgentID: made.AgentID, Title: parley.TitleFrom(made.Name),
			Settings: parley.Settings{
				Model: made.Model, Parameters: made.Parameters, Tools: &[]parley.ToolRef{}, Output: output,
			},
		},
		First:     &store.NewMessage{Content: content},
		Transform: made,
	}, nil
}

// describeTransform says what the transform of a call reads and writes.
func (t *tools) describeTransform(call *toolCall, made *parley.Transform) error {
	var given transformRun
	if err := json.Unmarshal(call.arguments, &given); err != nil {
		return parley.Errorf(parley.CodeInvalid, "the arguments do not fit the tool: %s",
			parley.Clip(err.Error(), 256))
	}
	definition, err := t.definition(given.Definition)
	if err != nil {
		return err
	}
	if err := transform.Define(made, &definition, strings.TrimSpace(given.Instructions)); err != nil {
		return err
	}
	for _, in := range given.Inputs {
		made.Inputs = append(made.Inputs, parley.TransformInput{
			Name: in.Name, ArtifactID: in.ArtifactID, Version: in.Version, Pointer: in.Pointer,
		})
	}
	for _, one := range given.Outputs {
		out, err := transform.Defined(made, one.Name)
		if err != nil {
			return err
		}
		out.ArtifactID, out.BaseVersion = one.ArtifactID, one.BaseVersion
		if one.Title != "" {
			out.Title = one.Title
		}
	}
	return nil
}

// definition finds the definition that a model names. The error for an unknown one lists those that exist.
func (t *tools) definition(named string) (parley.TransformDefinition, error) {
	if err := parley.CheckText("definition", named, parley.MaxNameBytes); err != nil {
		return parley.TransformDefinition{}, err
	}
	found, err := t.w.store.TransformDefinition(t.writes, t.fence.WorkspaceID, named)
	if parley.ErrorCode(err) != parley.CodeNotFound {
		return found, err
	}
	known, err := t.w.store.TransformDefinitions(t.writes, t.fence.WorkspaceID, store.TransformDefinitionQuery{
		Status: parley.AgentActive, Limit: shownDefinitions + 1,
	})
	if err != nil {
		return found, err
	}
	var list strings.Builder
	for i := range known[:min(len(known), shownDefinitions)] {
		list.WriteString(" " + known[i].Slug)
	}
	switch {
	case len(known) == 0:
		list.WriteString(" none")
	case len(known) > shownDefinitions:
		list.WriteString(" and more")
	}
	return found, parley.InvalidField("definition", "no definition has the id or slug %q; known:%s",
		parley.Clip(named, 64), list.String())
}
