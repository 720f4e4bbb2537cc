package engine

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/transform"
	"example.org/parley/store"
)

// RunTransformInput asks for a transform: by itself, or by a definition, whose fields hold where the request has none.
type RunTransformInput struct {
	Definition        string                `json:"definition,omitempty" doc:"Id or slug of a definition."`
	DefinitionVersion int                   `json:"definition_version,omitempty" minimum:"1" doc:"The version of the definition; the current one by default."`
	Name              string                `json:"name,omitempty" doc:"For people; required without a definition."`
	Instructions      string                `json:"instructions,omitempty" doc:"What to write; required without a definition, else added after its instructions."`
	AgentID           string                `json:"agent_id,omitempty" doc:"Id or slug of the agent whose system prompt and settings count; parley by default."`
	Model             parley.ModelID        `json:"model,omitempty"`
	Parameters        *parley.Parameters    `json:"parameters,omitempty"`
	Cite              *bool                 `json:"cite,omitempty" doc:"Ask the model for the sources of what it writes."`
	Inputs            []TransformReadInput  `json:"inputs,omitempty" maxItems:"64"`
	Outputs           []TransformWriteInput `json:"outputs,omitempty" maxItems:"16" doc:"What to write; with a definition, the artifacts to write for outputs of these names, in place of new ones."`
	ProjectID         parley.ID             `json:"project_id,omitzero" doc:"The project of new artifacts; that of the trigger's session by default."`
	TriggerSessionID  parley.ID             `json:"trigger_session_id,omitzero" doc:"The session whose budget counts, and with which the tool session goes."`
	TriggerMessageID  parley.ID             `json:"trigger_message_id,omitzero" doc:"The message that asks for it."`
	Visibility        parley.Visibility     `json:"visibility,omitempty" enum:"private,workspace" doc:"Who sees the tool session, with the inputs, and new artifacts; private by default."`
	DryInput
}

// TransformReadInput is an input of a new transform.
type TransformReadInput struct {
	Name       string    `json:"name,omitempty" doc:"What the model calls it; the artifact's name by default."`
	ArtifactID parley.ID `json:"artifact_id" required:"true"`
	Version    int       `json:"version,omitempty" minimum:"1" doc:"The current one by default."`
	Pointer    string    `json:"pointer,omitempty" doc:"JSON Pointer (RFC 6901) of the part to read; all of it by default."`
}

// TransformWriteInput is an output of a new transform: an artifact to write, or one to create.
type TransformWriteInput struct {
	Name        string              `json:"name,omitempty" doc:"What the model calls it; needed for several outputs."`
	ArtifactID  parley.ID           `json:"artifact_id,omitzero" doc:"The artifact to write; without it, one is created."`
	BaseVersion int                 `json:"base_version,omitempty" minimum:"1" doc:"The version to replace; the current one by default."`
	Kind        parley.ArtifactKind `json:"kind,omitempty" enum:"json,markdown,text,code,csv,html,svg" doc:"Of a new artifact."`
	Title       string              `json:"title,omitempty" doc:"Name of a new artifact; that of the transform by default."`
	Schema      json.RawMessage     `json:"schema,omitempty" doc:"JSON Schema of a new json artifact."`
}

// TransformList selects transforms, the latest first by default.
type TransformList struct {
	Paging
	ProjectID        parley.ID
	TriggerSessionID parley.ID
	Definition       string // id or slug
	RunID            parley.ID
	Status           parley.TransformStatus
	Kind             parley.TransformKind
}

// RunTransform opens a transform with its tool session and starts its turn. The bool reports an idempotent repeat.
// CodeNotFound for an artifact that the principal does not see by itself: the reach of admins does not count.
func (e *Engine) RunTransform(
	ctx context.Context,
	principal parley.Principal,
	input RunTransformInput,
	idempotency store.Idempotency,
) (_ parley.Transform, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "runTransform", RunTransforms)
	if err != nil {
		return parley.Transform{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.Transform{}, false, err
	}
	if err := input.notDry("dry_run"); err != nil {
		return parley.Transform{}, false, err
	}
	wanted, err := e.transformOf(ctx, call.Scope, principal, &input)
	if err != nil {
		return parley.Transform{}, false, err
	}
	return e.openTransform(ctx, call, principal, wanted, input.Visibility, idempotency)
}

// RetryTransform runs a failed or cancelled transform again, as a new one that names it: on the same versions, over
// what its artifacts are now.
func (e *Engine) RetryTransform(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	idempotency store.Idempotency,
) (_ parley.Transform, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "retryTransform", RunTransforms, on(id))
	if err != nil {
		return parley.Transform{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.Transform{}, false, err
	}
	failed, err := e.store.Transform(ctx, call.Scope, id)
	if err != nil {
		return parley.Transform{}, false, err
	}
	if failed.Kind == parley.TransformEdit {
		return parley.Transform{}, false, parley.Conflict(failed.Status,
			"This is an edit: somebody wrote the version by hand, so there is nothing to run again.")
	}
	if failed.Status != parley.TransformFailed && failed.Status != parley.TransformCancelled {
		return parley.Transform{}, false, parley.Conflict(failed.Status,
			"only a failed or cancelled transform can be retried; this one is %s", failed.Status)
	}
	again := parley.Transform{
		ProjectID: failed.ProjectID, DefinitionID: failed.DefinitionID, DefinitionVersion: failed.DefinitionVersion,
		TransformSpec: failed.TransformSpec, Inputs: failed.Inputs, RetryOfID: failed.ID,
		TriggerSessionID: failed.TriggerSessionID, TriggerMessageID: failed.TriggerMessageID,
	}
	for _, out := range failed.Outputs {
		target := parley.TransformOutput{TransformTarget: out.TransformTarget}
		if !out.Creates {
			target.ArtifactID = out.ArtifactID
		}
		again.Outputs = append(again.Outputs, target)
	}
	if again.TriggerSessionID, again.TriggerMessageID, err = e.triggerNow(ctx, call.Scope, &failed); err != nil {
		return parley.Transform{}, false, err
	}
	visibility := parley.VisibilityPrivate
	if session, err := e.store.Session(ctx, call.Scope, failed.SessionID); err == nil {
		visibility = session.Visibility
	}
	return e.openTransform(ctx, call, principal, &again, visibility, idempotency)
}

// triggerNow returns the trigger of a transform unless it is gone.
func (e *Engine) triggerNow(
	ctx context.Context,
	scope store.Scope,
	t *parley.Transform,
) (session, message parley.ID, err error) {
	if t.TriggerSessionID.IsZero() {
		return session, message, nil
	}
	if _, err := e.store.Session(ctx, scope, t.TriggerSessionID); parley.ErrorCode(err) == parley.CodeNotFound {
		return session, message, nil
	} else if err != nil {
		return session, message, err
	}
	return t.TriggerSessionID, t.TriggerMessageID, nil
}

// transformOf makes a transform of a request.
func (e *Engine) transformOf(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	input *RunTransformInput,
) (*parley.Transform, error) {
	t := &parley.Transform{
		ProjectID: input.ProjectID, TriggerSessionID: input.TriggerSessionID,
		TriggerMessageID: input.TriggerMessageID,
	}
	if input.Definition != "" {
		d, err := e.definition(ctx, scope, input.Definition, input.DefinitionVersion)
		if err != nil {
			return nil, err
		}
		if err := transform.Define(t, &d, input.Instructions); err != nil {
			return nil, err
		}
	} else if input.DefinitionVersion != 0 {
		return nil, parley.InvalidField("definition", "is missing beside definition_version")
	}
	if err := e.specify(ctx, scope, input, &t.TransformSpec); err != nil {
		return nil, err
	}
	for _, in := range input.Inputs {
		t.Inputs = append(t.Inputs, parley.TransformInput{
			Name: in.Name, ArtifactID: in.ArtifactID, Version: in.Version, Pointer: in.Pointer,
		})
	}
	for i := range input.Outputs {
		if err := target(t, &input.Outputs[i], input.Definition != ""); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// target adds an output of a request to a transform that has no definition, and to another one its artifact.
func target(t *parley.Transform, given *TransformWriteInput, defined bool) error {
	if !defined {
		t.Outputs = append(t.Outputs, parley.TransformOutput{
			TransformTarget: parley.TransformTarget{
				Name: given.Name, Kind: given.Kind, Title: given.Title, Schema: given.Schema,
			},
			ArtifactID: given.ArtifactID, BaseVersion: given.BaseVersion,
		})
		return nil
	}
	out, err := transform.Defined(t, given.Name)
	if err != nil {
		return err
	}
	if given.Kind != "" && given.Kind != out.Kind || len(given.Schema) > 0 {
		return parley.InvalidField("outputs", "the definition says what kind of artifact %q is", out.Name)
	}
	out.ArtifactID, out.BaseVersion = given.ArtifactID, given.BaseVersion
	if given.Title != "" {
		out.Title = given.Title
	}
	return nil
}

// specify applies what a request says of how to generate.
func (e *Engine) specify(
	ctx context.Context,
	scope store.Scope,
	input *RunTransformInput,
	spec *parley.TransformSpec,
) error {
	if input.Name != "" {
		spec.Name = input.Name
	}
	if spec.Instructions == "" {
		spec.Instructions = input.Instructions
	}
	if input.Model != "" {
		spec.Model = input.Model
	}
	if input.Parameters != nil {
		spec.Parameters = *input.Parameters
	}
	if input.Cite != nil {
		spec.Cite = *input.Cite
	}
	if input.AgentID == "" && !spec.AgentID.IsZero() {
		return nil
	}
	agent, err := e.agent(ctx, scope, either(input.AgentID, parley.BuiltinAgentSlug))
	spec.AgentID = agent.ID
	return err
}

// transformSession is the input of the tool session of a transform, completed.
func (e *Engine) transformSession(
	ctx context.Context,
	call verbCall,
	principal parley.Principal,
	t *parley.Transform,
	visibility parley.Visibility,
) (SessionInput, error) {
	// What the owner sees by itself counts, because that is looked up again at the end.
	text, output, err := transform.Prepare(ctx, e.store, e.documents,
		store.Scope{WorkspaceID: principal.WorkspaceID, ViewerID: principal.ID}, t)
	if err != nil {
		return SessionInput{}, err
	}
	if !t.TriggerSessionID.IsZero() && t.ProjectID.IsZero() {
		session, err := e.store.Session(ctx, call.Scope, t.TriggerSessionID)
		if err != nil {
			return SessionInput{}, err
		}
		t.ProjectID = session.ProjectID
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return SessionInput{}, err
	}
	return SessionInput{
		AgentID: t.AgentID.String(), ProjectID: t.ProjectID, ParentSessionID: t.TriggerSessionID,
		ParentMessageID: t.TriggerMessageID, Visibility: either(visibility, parley.VisibilityPrivate),
		Kind: parley.KindTool, Title: t.Name,
		Settings: parley.Settings{
			Model: t.Model, Parameters: t.Parameters, Tools: &[]parley.ToolRef{}, Output: output,
		},
		Message: &MessageInput{Content: content},
	}, nil
}

// openTransform stores a transform with its tool session, and has its turn run.
func (e *Engine) openTransform(
	ctx context.Context,
	call verbCall,
	principal parley.Principal,
	t *parley.Transform,
	visibility parley.Visibility,
	idempotency store.Idempotency,
) (parley.Transform, bool, error) {
	input, err := e.transformSession(ctx, call, principal, t, visibility)
	if err != nil {
		return parley.Transform{}, false, err
	}
	session, err := e.newSession(ctx, call.Scope, principal, input)
	if err != nil {
		return parley.Transform{}, false, err
	}
	first, err := e.newMessage(principal, *input.Message)
	if err != nil {
		return parley.Transform{}, false, err
	}
	if err := traced(ctx, &first); err != nil {
		return parley.Transform{}, false, err
	}
	t.ID, t.CreatedByID = parley.TransformID(session.ID), principal.ID
	run := e.offer(call.Scope.WorkspaceID, true)
	opened, err := e.store.EnsureSession(ctx, call.Scope, store.NewSession{
		Session: session, First: &first, Transform: t, Quota: e.sessionsQuota(principal), Idempotency: idempotency,
	}, run.processID())
	call.opened(&opened, err)
	if err != nil || opened.Posted == nil {
		run.settle(nil)
		return parley.Transform{}, false, err
	}
	run.settle(opened.Posted.Claim)
	made, err := e.store.Transform(ctx, call.Scope, parley.TransformID(opened.Session.ID))
	settledProgress(&made)
	return made, opened.Replayed, err
}

// DryRunTransform asks the model of a transform without writing anything, and returns when its turn has ended.
func (e *Engine) DryRunTransform(
	ctx context.Context,
	principal parley.Principal,
	input RunTransformInput,
	watch DryWatch,
) (_ DryRun, err error) {
	ctx, call, err := e.enter(ctx, principal, "runTransform", RunTransforms)
	if err != nil {
		return DryRun{}, err
	}
	defer call.end(ctx, &err)
	wanted, err := e.transformOf(ctx, call.Scope, principal, &input)
	if err != nil {
		return DryRun{}, err
	}
	session, err := e.transformSession(ctx, call, principal, wanted, input.Visibility)
	if err != nil {
		return DryRun{}, err
	}
	session.DryInput = input.DryInput
	return e.DryRunSession(ctx, principal, session, watch)
}

// Transform reads a transform. While it streams, it tells how far the answer has come.
func (e *Engine) Transform(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Transform, err error) {
	ctx, call, err := e.enter(ctx, principal, "getTransform", ReadTransforms, on(id))
	if err != nil {
		return parley.Transform{}, err
	}
	defer call.end(ctx, &err)
	t, err := e.store.Transform(ctx, call.Scope, id)
	if err != nil {
		return parley.Transform{}, err
	}
	call.about(in(t.SessionID, t.ID))
	return t, e.progress(ctx, call.Scope, &t)
}

// settledProgress completes how far a transform is that does not stream.
func settledProgress(t *parley.Transform) {
	switch t.Status {
	case parley.TransformCompleted:
		t.Progress = new(float64(1))
	case parley.TransformPending:
		t.Progress = new(float64(0))
	}
}

// progress completes how far a transform is.
func (e *Engine) progress(ctx context.Context, scope store.Scope, t *parley.Transform) error {
	if settledProgress(t); t.Status != parley.TransformStreaming {
		return nil
	}
	rows, err := e.store.Messages(ctx, scope, t.SessionID, store.MessageQuery{
		Roles: []parley.Role{parley.RoleAssistant}, Status: parley.MessageStreaming, TurnID: t.TurnID, Descending: true,
		Limit: 1,
	})
	if err != nil || len(rows) == 0 {
		return ignoreGone(err)
	}
	versions, err := e.store.Versions(ctx, scope, rows[0].ID)
	if err != nil || len(versions) == 0 {
		return ignoreGone(err)
	}
	last := &versions[len(versions)-1]
	t.Chunks, t.LastChunkAt = last.Chunks, last.CreatedAt
	var expected int64
	for i := range t.Outputs {
		if t.Outputs[i].Creates {
			return nil
		}
		version, err := e.store.ArtifactVersion(ctx, scope, t.Outputs[i].ArtifactID, t.Outputs[i].BaseVersion)
		if err != nil {
			return ignoreGone(err)
		}
		expected += version.Bytes
	}
	if expected > 0 && last.Kind == parley.KindText {
		t.Progress = new(min(float64(last.End)/float64(expected), almost))
	}
	return nil
}

// almost is the most progress of an answer that still streams.
const almost = 0.99

// ignoreGone drops the error for what was deleted meanwhile.
func ignoreGone(err error) error {
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil
	}
	return err
}

// Transforms lists transforms.
func (e *Engine) Transforms(
	ctx context.Context,
	principal parley.Principal,
	list TransformList,
) (_ Page[parley.Transform], err error) {
	ctx, call, err := e.enter(ctx, principal, "listTransforms", ReadTransforms)
	if err != nil {
		return Page[parley.Transform]{}, err
	}
	defer call.end(ctx, &err)
	if list.Status != "" {
		if err := oneOfEach("status", []parley.TransformStatus{list.Status}, parley.TransformStatuses()); err != nil {
			return Page[parley.Transform]{}, err
		}
	}
	if list.Kind != "" {
		if err := oneOfEach("kind", []parley.TransformKind{list.Kind}, parley.TransformKinds()); err != nil {
			return Page[parley.Transform]{}, err
		}
	}
	from, order, limit, err := list.start("transforms", Descending)
	if err != nil {
		return Page[parley.Transform]{}, err
	}
	query := store.TransformQuery{
		ProjectID: list.ProjectID, TriggerSessionID: list.TriggerSessionID, RunID: list.RunID, Status: list.Status,
		Kind: list.Kind, Ascending: order == Ascending, AfterID: from.ID, Limit: limit + 1,
	}
	if list.Definition != "" {
		d, err := e.definition(ctx, call.Scope, list.Definition, 0)
		if err != nil {
			return Page[parley.Transform]{}, err
		}
		query.DefinitionID = d.ID
	}
	rows, err := e.store.Transforms(ctx, call.Scope, query)
	if err != nil {
		return Page[parley.Transform]{}, err
	}
	for i := range rows {
		settledProgress(&rows[i])
	}
	return largePageOf(rows, limit, func(last parley.Transform) cursor {
		return cursor{List: "transforms", Order: order, ID: last.ID}
	}), nil
}

// CancelTransform stops a transform; what it has written so far of its answer stays in its tool session. Cancelling a
// cancelled one returns it. CodeConflict if it has ended otherwise.
func (e *Engine) CancelTransform(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Transform, err error) {
	ctx, call, err := e.enter(ctx, principal, "cancelTransform", StopTransforms, on(id))
	if err != nil {
		return parley.Transform{}, err
	}
	defer call.end(ctx, &err)
	t, err := e.store.Transform(ctx, call.Scope, id)
	if err != nil {
		return parley.Transform{}, err
	}
	switch {
	case t.Kind == parley.TransformEdit:
		return parley.Transform{}, parley.Conflict(t.Status,
			"This is an edit: somebody wrote the version by hand, so there is nothing to cancel. Restore the version "+
				"before it to undo it.")
	case t.Status == parley.TransformCancelled:
		return t, nil
	case t.Status.Finished():
		return parley.Transform{}, parley.Conflict(t.Status, "The transform has already ended: it is %s.", t.Status)
	}
	if _, err := e.Cancel(ctx, principal, t.SessionID, CancelInput{TurnID: t.TurnID}); err != nil {
		return parley.Transform{}, err
	}
	return e.store.Transform(ctx, call.Scope, id)
}
