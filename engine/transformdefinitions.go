package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/schema"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// DefinitionInput is a new definition of a transform.
type DefinitionInput struct {
	Slug         string             `json:"slug,omitempty" doc:"Unique in the workspace; made from the name when absent. 409 if it is taken."`
	Name         string             `json:"name" required:"true"`
	Description  string             `json:"description,omitempty"`
	AgentID      string             `json:"agent_id,omitempty" doc:"Id or slug of the agent whose system prompt and settings count; parley by default."`
	Instructions string             `json:"instructions" required:"true" doc:"What to write."`
	Model        parley.ModelID     `json:"model,omitempty"`
	Parameters   *parley.Parameters `json:"parameters,omitempty"`
	Cite         bool               `json:"cite,omitempty" doc:"Ask the model for the sources of what it writes."`
	Outputs      []DefinedTarget    `json:"outputs" required:"true" maxItems:"16"`
}

// DefinedTarget is an output of a definition.
type DefinedTarget struct {
	Name   string              `json:"name,omitempty" doc:"What the model calls it; needed for several outputs."`
	Kind   parley.ArtifactKind `json:"kind" required:"true" enum:"json,markdown,text,code,csv,html,svg"`
	Title  string              `json:"title,omitempty" doc:"Name of the artifact; that of the definition by default."`
	Schema json.RawMessage     `json:"schema,omitempty" doc:"Of a json artifact: its JSON Schema."`
}

// DefinitionPatch changes a definition: absent fields stay.
type DefinitionPatch struct {
	Slug         parley.Change[string]             `json:"slug,omitzero"`
	Name         parley.Change[string]             `json:"name,omitzero"`
	Description  parley.Change[string]             `json:"description,omitzero"`
	AgentID      parley.Change[string]             `json:"agent_id,omitzero" doc:"Id or slug; null is parley."`
	Instructions parley.Change[string]             `json:"instructions,omitzero"`
	Model        parley.Change[parley.ModelID]     `json:"model,omitzero"`
	Parameters   parley.Change[*parley.Parameters] `json:"parameters,omitzero"`
	Cite         parley.Change[bool]               `json:"cite,omitzero"`
	Outputs      parley.Change[[]DefinedTarget]    `json:"outputs,omitzero" maxItems:"16"`
	Status       parley.Change[parley.AgentStatus] `json:"status,omitzero" enum:"active,archived"`
}

// DefinitionList selects definitions, by slug ascending by default. Archived ones are left out unless Status includes
// them.
type DefinitionList struct {
	Paging
	Status AgentFilter
}

// targetsOf returns the outputs of a definition as it keeps them.
func targetsOf(given []DefinedTarget, title string) []parley.TransformTarget {
	targets := make([]parley.TransformTarget, len(given))
	for i, target := range given {
		if target.Name == "" && len(given) == 1 {
			target.Name = parley.DefaultTransformOutput
		}
		if bytes.Equal(bytes.TrimSpace(target.Schema), []byte("null")) {
			target.Schema = nil
		}
		targets[i] = parley.TransformTarget{
			Name: target.Name, Kind: target.Kind, Title: either(strings.TrimSpace(target.Title), title),
			Schema: target.Schema,
		}
	}
	return targets
}

// checkDefinition validates a definition.
func (e *Engine) checkDefinition(d *parley.TransformDefinition) error {
	if err := d.TransformSpec.Validate(); err != nil {
		return err
	}
	if err := parley.ValidateSlug(d.Slug); err != nil {
		return err
	}
	if d.Status != parley.AgentActive && d.Status != parley.AgentArchived {
		return parley.InvalidField("status", "%q is not one of active, archived", parley.Clip(string(d.Status), 32))
	}
	if err := parley.CheckText("description", d.Description, parley.MaxTextBytes); err != nil {
		return err
	}
	if err := parley.ValidateTargets(d.Outputs); err != nil {
		return err
	}
	for i := range d.Outputs {
		if d.Outputs[i].Schema == nil {
			continue
		}
		if _, err := schema.Read(d.Outputs[i].Schema); err != nil {
			return parley.InvalidField("outputs.schema", "%s", parley.Clip(err.Error(), 300))
		}
	}
	return e.checkSettings(setting.Session, &parley.Settings{Model: d.Model, Parameters: d.Parameters})
}

// CreateTransformDefinition defines a transform, in version 1. The bool reports an idempotent repeat.
func (e *Engine) CreateTransformDefinition(
	ctx context.Context,
	principal parley.Principal,
	input DefinitionInput,
	idempotency store.Idempotency,
) (_ parley.TransformDefinition, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "createTransformDefinition", SetTransforms)
	if err != nil {
		return parley.TransformDefinition{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.TransformDefinition{}, false, err
	}
	name := strings.TrimSpace(input.Name)
	d := parley.TransformDefinition{
		ID: parley.NewID(), WorkspaceID: call.Scope.WorkspaceID, Slug: either(input.Slug, slugFrom(name)),
		Description: input.Description, Status: parley.AgentActive, OwnerID: principal.ID, ChangedByID: principal.ID,
		TransformSpec: parley.TransformSpec{
			Name: name, Instructions: input.Instructions, Model: input.Model,
			Parameters: parley.ValueOf(input.Parameters), Cite: input.Cite,
		},
		Outputs: targetsOf(input.Outputs, name),
	}
	agent, err := e.agent(ctx, call.Scope, either(input.AgentID, parley.BuiltinAgentSlug))
	if err != nil {
		return parley.TransformDefinition{}, false, err
	}
	d.AgentID = agent.ID
	if err := e.checkDefinition(&d); err != nil {
		return parley.TransformDefinition{}, false, err
	}
	made, repeat, err := e.store.CreateTransformDefinition(ctx, d, idempotency)
	if err == nil {
		call.about(on(made.ID))
	}
	return made, repeat, err
}

// definition finds a definition by id or slug, in a version or, for 0, the current one.
func (e *Engine) definition(
	ctx context.Context,
	scope store.Scope,
	idOrSlug string,
	version int,
) (parley.TransformDefinition, error) {
	if err := parley.CheckText("definition", idOrSlug, parley.MaxNameBytes); err != nil {
		return parley.TransformDefinition{}, err
	}
	d, err := e.store.TransformDefinition(ctx, scope.WorkspaceID, idOrSlug)
	if err != nil || version == 0 || version == d.Version {
		return d, err
	}
	old, err := e.store.TransformDefinitionVersion(ctx, scope.WorkspaceID, d.ID, version)
	old.Status = d.Status
	return old, err
}

// TransformDefinition reads a definition by id or slug, in a version or, for 0, the current one.
func (e *Engine) TransformDefinition(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
	version int,
) (_ parley.TransformDefinition, err error) {
	ctx, call, err := e.enter(ctx, principal, "getTransformDefinition", ReadTransforms)
	if err != nil {
		return parley.TransformDefinition{}, err
	}
	defer call.end(ctx, &err)
	d, err := e.definition(ctx, call.Scope, idOrSlug, version)
	if err == nil {
		call.about(on(d.ID))
	}
	return d, err
}

// TransformDefinitionVersions lists the versions of a definition, the latest first by default.
func (e *Engine) TransformDefinitionVersions(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
	paging Paging,
) (_ Page[parley.TransformDefinition], err error) {
	ctx, call, err := e.enter(ctx, principal, "listTransformDefinitionVersions", ReadTransforms)
	if err != nil {
		return Page[parley.TransformDefinition]{}, err
	}
	defer call.end(ctx, &err)
	from, order, limit, err := paging.start("definition_versions", Descending)
	if err != nil {
		return Page[parley.TransformDefinition]{}, err
	}
	d, err := e.definition(ctx, call.Scope, idOrSlug, 0)
	if err != nil {
		return Page[parley.TransformDefinition]{}, err
	}
	call.about(on(d.ID))
	rows, err := e.store.TransformDefinitionVersions(ctx, call.Scope.WorkspaceID, d.ID, store.AgentVersionQuery{
		Ascending: order == Ascending, After: int(from.Sequence), Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.TransformDefinition]{}, err
	}
	return largePageOf(rows, limit, func(last parley.TransformDefinition) cursor {
		return cursor{List: "definition_versions", Order: order, Sequence: int64(last.Version)}
	}), nil
}

// TransformDefinitions lists definitions.
func (e *Engine) TransformDefinitions(
	ctx context.Context,
	principal parley.Principal,
	list DefinitionList,
) (_ Page[parley.TransformDefinition], err error) {
	ctx, call, err := e.enter(ctx, principal, "listTransformDefinitions", ReadTransforms)
	if err != nil {
		return Page[parley.TransformDefinition]{}, err
	}
	defer call.end(ctx, &err)
	from, order, limit, err := list.start("definitions", Ascending)
	if err != nil {
		return Page[parley.TransformDefinition]{}, err
	}
	query := store.TransformDefinitionQuery{Descending: order == Descending, AfterSlug: from.Slug, Limit: limit + 1}
	switch list.Status {
	case "", AgentsActive:
		query.Status = parley.AgentActive
	case AgentsArchived:
		query.Status = parley.AgentArchived
	case AgentsAny:
	default:
		return Page[parley.TransformDefinition]{}, parley.InvalidField("status",
			"%q is not one of active, archived, any", parley.Clip(string(list.Status), 32))
	}
	rows, err := e.store.TransformDefinitions(ctx, call.Scope.WorkspaceID, query)
	if err != nil {
		return Page[parley.TransformDefinition]{}, err
	}
	return largePageOf(rows, limit, func(last parley.TransformDefinition) cursor {
		return cursor{List: "definitions", Order: order, Slug: last.Slug}
	}), nil
}

// UpdateTransformDefinition changes a definition, which makes a new version of it. A patch that changes nothing makes
// none.
func (e *Engine) UpdateTransformDefinition(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
	patch DefinitionPatch,
) (_ parley.TransformDefinition, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateTransformDefinition", SetTransforms)
	if err != nil {
		return parley.TransformDefinition{}, err
	}
	defer call.end(ctx, &err)
	agent := parley.Agent{}
	if patch.AgentID.Set {
		if agent, err = e.agent(ctx, call.Scope, either(patch.AgentID.Value, parley.BuiltinAgentSlug)); err != nil {
			return parley.TransformDefinition{}, err
		}
	}
	for attempt := 1; ; attempt++ {
		current, err := e.definition(ctx, call.Scope, idOrSlug, 0)
		if err != nil {
			return parley.TransformDefinition{}, err
		}
		call.about(on(current.ID))
		if ReachOf(principal.Role, SetTransforms) != ReachAll && current.OwnerID != principal.ID {
			return parley.TransformDefinition{}, parley.Errorf(
				parley.CodeForbidden,
				"Only the definition's owner or an admin may change it.",
			)
		}
		next := current
		patch.over(&next)
		if patch.AgentID.Set {
			next.AgentID = agent.ID
		}
		if err := e.checkDefinition(&next); err != nil {
			return parley.TransformDefinition{}, err
		}
		if same, err := sameDefinition(&current, &next); err != nil || same {
			return current, err
		}
		next.ChangedByID = principal.ID
		updated, err := e.store.UpdateTransformDefinition(ctx, next)
		if parley.ErrorCode(err) != parley.CodeConflict || attempt == patchAttempts {
			return updated, err
		}
		now, readErr := e.store.TransformDefinition(ctx, call.Scope.WorkspaceID, current.ID.String())
		if readErr != nil || now.Version == current.Version { // no lost race: the slug is taken
			return parley.TransformDefinition{}, err
		}
	}
}

// over applies the patch, apart from the agent.
func (p *DefinitionPatch) over(d *parley.TransformDefinition) {
	apply(p.Slug, &d.Slug)
	apply(p.Name, &d.Name)
	apply(p.Description, &d.Description)
	apply(p.Instructions, &d.Instructions)
	apply(p.Model, &d.Model)
	apply(p.Cite, &d.Cite)
	if p.Parameters.Set {
		d.Parameters = parley.ValueOf(p.Parameters.Value)
	}
	if p.Outputs.Set {
		d.Outputs = targetsOf(p.Outputs.Value, d.Name)
	}
	if p.Status.Set {
		d.Status = either(p.Status.Value, parley.AgentActive)
	}
}

// sameDefinition reports whether a patch left a definition as it was.
func sameDefinition(before, after *parley.TransformDefinition) (bool, error) {
	was, err := parley.EncodeJSON(before)
	if err != nil {
		return false, err
	}
	is, err := parley.EncodeJSON(after)
	return bytes.Equal(was, is), err
}
