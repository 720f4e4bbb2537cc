package engine

import (
	"context"

	"parley"
	"parley/store"
)

// AgentInput is a new agent. Only Name is needed.
type AgentInput struct {
	Slug         string         `json:"slug,omitempty" doc:"Unique in the workspace; made from the name when absent."`
	Name         string         `json:"name"`
	Description  string         `json:"description,omitempty"`
	SystemPrompt string         `json:"system_prompt,omitempty" doc:"May hold placeholders such as {{session.title}}; {{{{ is a literal {{."`
	Runtime      string         `json:"runtime,omitempty" doc:"standard by default."`
	Model        parley.ModelID `json:"model,omitempty" doc:"provider/model"`
	parley.Parameters
	Tools  []parley.ToolRef   `json:"tools,omitempty" doc:"Names of the server's tools, or inline definitions that a client answers."`
	Policy *parley.Policy     `json:"context_policy,omitempty"`
	Retry  parley.RetryPolicy `json:"retry_policy,omitzero"`
	Grants []parley.Grant     `json:"grants,omitempty" doc:"Rules about the agent's tool calls; without one that matches, what is destructive is asked about."`

	Limits parley.Limits `json:"limits,omitzero" doc:"What its turns may use."`

	Middleware parley.MiddlewareSettings `json:"middleware,omitzero" doc:"What stands around its calls."`
	// Compaction is kept as it is given.
	Compaction *parley.CompactionSettings `json:"compaction,omitempty" doc:"How the summaries of its sessions are written."`

	ResponseCache *parley.ResponseCacheSettings `json:"response_cache,omitempty" doc:"Its answers are kept and given again to equal requests of the workspace."`

	ApprovalTimeout int `json:"approval_timeout,omitempty" minimum:"1" maximum:"2592000" doc:"Seconds until an approval that nobody answers is denied; default 86400."`

	Tags   []string  `json:"tags,omitempty"`
	LeadID parley.ID `json:"lead_id,omitzero"`
}

// widens reports an agent that says what it may run, as a patch does.
func (a *AgentInput) widens() bool {
	return len(a.Tools) > 0 || len(a.Grants) > 0 || a.Runtime != ""
}

// ParameterPatch changes sampling settings one by one; null unsets.
type ParameterPatch struct {
	Temperature     parley.Change[*float64] `json:"temperature,omitzero"`
	TopP            parley.Change[*float64] `json:"top_p,omitzero"`
	MaxTokens       parley.Change[*int]     `json:"max_tokens,omitzero"`
	Seed            parley.Change[*int64]   `json:"seed,omitzero"`
	ReasoningEffort parley.Change[*string]  `json:"reasoning_effort,omitzero"`
}

func (p ParameterPatch) apply(to *parley.Parameters) {
	apply(p.Temperature, &to.Temperature)
	apply(p.TopP, &to.TopP)
	apply(p.MaxTokens, &to.MaxTokens)
	apply(p.Seed, &to.Seed)
	apply(p.ReasoningEffort, &to.ReasoningEffort)
}

// apply sets a field that the change names.
func apply[T any](change parley.Change[T], to *T) {
	if change.Set {
		*to = change.Value
	}
}

// AgentPatch changes an agent: absent fields stay, null clears.
type AgentPatch struct {
	Slug         parley.Change[string]         `json:"slug,omitzero"`
	Name         parley.Change[string]         `json:"name,omitzero"`
	Description  parley.Change[string]         `json:"description,omitzero"`
	SystemPrompt parley.Change[string]         `json:"system_prompt,omitzero"`
	Runtime      parley.Change[string]         `json:"runtime,omitzero"`
	Model        parley.Change[parley.ModelID] `json:"model,omitzero"`
	ParameterPatch
	Tools  parley.Change[[]parley.ToolRef]   `json:"tools,omitzero"`
	Policy parley.Change[*parley.Policy]     `json:"context_policy,omitzero"`
	Retry  parley.Change[parley.RetryPolicy] `json:"retry_policy,omitzero"`
	Grants parley.Change[[]parley.Grant]     `json:"grants,omitzero"`

	Limits parley.Change[*parley.LimitsPatch] `json:"limits,omitzero" doc:"Fields that are left out stay, null lifts one; null in its place lifts all."`

	Middleware parley.Change[parley.MiddlewareSettings]  `json:"middleware,omitzero"`
	Compaction parley.Change[*parley.CompactionSettings] `json:"compaction,omitzero"`

	ResponseCache parley.Change[*parley.ResponseCacheSettings] `json:"response_cache,omitzero"`

	ApprovalTimeout parley.Change[int] `json:"approval_timeout,omitzero" minimum:"1" maximum:"2592000"`

	Tags   parley.Change[[]string]           `json:"tags,omitzero"`
	LeadID parley.Change[parley.ID]          `json:"lead_id,omitzero"`
	Status parley.Change[parley.AgentStatus] `json:"status,omitzero" enum:"active,archived"`

	OwnerID parley.Change[parley.ID] `json:"owner_id,omitzero" doc:"For admins: the principal that may change it from now on; null leaves it to admins."`
}

// widens reports a patch that says what the agent may run.
func (p *AgentPatch) widens() bool { return p.Tools.Set || p.Grants.Set || p.Runtime.Set }

// AgentList asks for agents, by slug ascending by default. Archived ones are
// left out unless Status asks for them.
type AgentList struct {
	Paging
	Status AgentFilter
	Tag    string
	Owner  string // a principal's id, or OwnerMe
}

// OwnerMe stands for the caller in AgentList.Owner.
const OwnerMe = "me"

// AgentFilter says which agents a list shows.
type AgentFilter string

// The filters; "" is AgentsActive.
const (
	AgentsActive   AgentFilter = AgentFilter(parley.AgentActive)
	AgentsArchived AgentFilter = AgentFilter(parley.AgentArchived)
	AgentsAny      AgentFilter = "any"
)

// CreateAgent makes an agent in version 1. The bool reports an idempotent
// repeat. CodeConflict when the slug is taken.
func (e *Engine) CreateAgent(ctx context.Context, principal parley.Principal, input AgentInput, idempotency store.Idempotency) (_ parley.Agent, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "createAgent", WriteAgents)
	if err != nil {
		return parley.Agent{}, false, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	agent := parley.Agent{
		ID: parley.NewID(), WorkspaceID: scope.WorkspaceID, Slug: input.Slug, Name: input.Name,
		Description: input.Description, SystemPrompt: input.SystemPrompt, Runtime: input.Runtime, Model: input.Model,
		Parameters: input.Parameters, Tools: input.Tools, Policy: input.Policy, Retry: input.Retry,
		Grants: input.Grants, Limits: input.Limits, Middleware: input.Middleware, Compaction: input.Compaction, ResponseCache: input.ResponseCache, ApprovalTimeout: input.ApprovalTimeout,
		Tags: input.Tags, LeadID: input.LeadID, Status: parley.AgentActive, Version: 1,
		OwnerID: principal.ID, OwnerName: principal.Name, ChangedByID: principal.ID,
	}
	if input.widens() {
		if _, err := authorise(principal, GrantAgents); err != nil {
			return parley.Agent{}, false, err
		}
	}
	if err := e.checkAgent(ctx, scope, &agent); err != nil {
		return parley.Agent{}, false, err
	}
	if err := checkIdempotency(idempotency); err != nil {
		return parley.Agent{}, false, err
	}
	if agent.Accepted, err = e.accepts(ctx, scope, &agent, nil); err != nil {
		return parley.Agent{}, false, err
	}
	agent.Accepted.Grants = &agent.Grants
	made, repeat, err := e.store.CreateAgent(ctx, agent, idempotency)
	if err == nil {
		call.about(on(made.ID))
	}
	return made, repeat, err
}

// Agent finds by id or slug.
func (e *Engine) Agent(ctx context.Context, principal parley.Principal, idOrSlug string) (_ parley.Agent, err error) {
	ctx, call, err := e.enter(ctx, principal, "getAgent", ReadAgents)
	if err != nil {
		return parley.Agent{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	agent, err := e.agent(ctx, scope, idOrSlug)
	if err == nil {
		call.about(on(agent.ID))
	}
	return agent, err
}

// AgentVersion finds an earlier (or the current) version of an agent.
func (e *Engine) AgentVersion(ctx context.Context, principal parley.Principal, idOrSlug string, version int) (_ parley.Agent, err error) {
	ctx, call, err := e.enter(ctx, principal, "getAgentVersion", ReadAgents)
	if err != nil {
		return parley.Agent{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	agent, err := e.agent(ctx, scope, idOrSlug)
	if err == nil {
		call.about(on(agent.ID))
	}
	if err != nil || agent.Version == version {
		return agent, err
	}
	return e.store.AgentVersion(ctx, scope.WorkspaceID, agent.ID, version)
}

// Agents lists.
func (e *Engine) Agents(ctx context.Context, principal parley.Principal, list AgentList) (_ Page[parley.Agent], err error) {
	ctx, call, err := e.enter(ctx, principal, "listAgents", ReadAgents)
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	status := parley.AgentActive
	switch list.Status {
	case "", AgentsActive:
	case AgentsArchived:
		status = parley.AgentArchived
	case AgentsAny:
		status = ""
	default:
		return Page[parley.Agent]{}, parley.InvalidField("status", "%q is not one of active, archived, any", parley.Clip(string(list.Status), 32))
	}
	if err := parley.CheckText("tag", list.Tag, parley.MaxNameBytes); err != nil {
		return Page[parley.Agent]{}, err
	}
	owner, err := ownerOf(principal, list.Owner)
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	from, order, limit, err := list.start("agents", Ascending)
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	rows, err := e.store.Agents(ctx, scope.WorkspaceID, store.AgentQuery{
		Status: status, Tag: list.Tag, OwnerID: owner, Descending: order == Descending, AfterSlug: from.Slug, Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	return pageOf(rows, limit, func(last parley.Agent) cursor {
		return cursor{List: "agents", Order: order, Slug: last.Slug}
	}), nil
}

// ownerOf is the owner that a list asks for; zero for any.
func ownerOf(principal parley.Principal, owner string) (parley.ID, error) {
	switch owner {
	case "":
		return parley.ID{}, nil
	case OwnerMe:
		return principal.ID, nil
	}
	id, err := parley.ParseID(owner)
	if err != nil {
		return id, parley.InvalidField("owner_id", "%q is neither a principal's id nor %s", parley.Clip(owner, 64), OwnerMe)
	}
	return id, nil
}

// patchAttempts bounds how often a patch is tried against writers of other processes.
const patchAttempts = 3

// UpdateAgent applies a patch as a new version. CodeConflict when the new slug
// is taken.
func (e *Engine) UpdateAgent(ctx context.Context, principal parley.Principal, idOrSlug string, patch AgentPatch) (_ parley.Agent, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateAgent", WriteAgents)
	if err != nil {
		return parley.Agent{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	agent, err := e.agent(ctx, scope, idOrSlug)
	if err != nil {
		return parley.Agent{}, err
	}
	call.about(on(agent.ID))
	if err := mayPatch(principal, &agent, &patch); err != nil {
		return parley.Agent{}, err
	}
	owner, err := e.newOwner(ctx, scope, &patch)
	if err != nil {
		return parley.Agent{}, err
	}
	defer e.patch(agent.ID)()
	for attempt := 1; ; attempt++ {
		if agent, err = e.store.Agent(ctx, scope.WorkspaceID, agent.ID.String()); err != nil {
			return parley.Agent{}, err
		}
		if err := mayPatch(principal, &agent, &patch); err != nil { // it has another owner now
			return parley.Agent{}, err
		}
		before := agent.Version
		patch.apply(&agent)
		if patch.OwnerID.Set {
			agent.OwnerName = owner.Name
		}
		agent.ChangedByID = principal.ID
		if err := e.checkAgent(ctx, scope, &agent); err != nil {
			return parley.Agent{}, err
		}
		next := agent
		next.Version++ // as the store will number it
		if agent.Accepted, err = e.acceptsPatch(ctx, scope, principal, &next, &patch); err != nil {
			return parley.Agent{}, err
		}
		updated, err := e.store.UpdateAgent(ctx, agent)
		if parley.ErrorCode(err) != parley.CodeConflict || attempt == patchAttempts {
			return updated, err
		}
		// A conflict is a lost race only if the version moved; a taken slug stays one.
		now, readErr := e.store.Agent(ctx, scope.WorkspaceID, agent.ID.String())
		if readErr != nil || now.Version == before {
			return parley.Agent{}, err
		}
	}
}

// mayPatch refuses a patch of somebody else's agent, and that of its owner by all but admins.
func mayPatch(principal parley.Principal, agent *parley.Agent, patch *AgentPatch) error {
	if err := ownsAgent(principal, WriteAgents, agent); err != nil {
		return err
	}
	if patch.OwnerID.Set && ReachOf(principal.Role, WriteAgents) != ReachAll {
		return parley.Errorf(parley.CodeForbidden, "Only an admin may give an agent another owner.")
	}
	if !patch.widens() {
		return nil
	}
	if _, err := authorise(principal, GrantAgents); err != nil {
		return err
	}
	return ownsAgent(principal, GrantAgents, agent)
}

// newOwner finds the principal that a patch names as the owner.
func (e *Engine) newOwner(ctx context.Context, scope store.Scope, patch *AgentPatch) (parley.Principal, error) {
	if patch.OwnerID.Value.IsZero() {
		return parley.Principal{}, nil
	}
	owner, err := e.store.Principal(ctx, scope.WorkspaceID, patch.OwnerID.Value)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = parley.InvalidField("owner_id", "this workspace has no such principal")
	}
	return owner, err
}

// ArchiveAgent archives: its sessions stay, new ones are refused. Archiving
// twice is no error.
func (e *Engine) ArchiveAgent(ctx context.Context, principal parley.Principal, idOrSlug string) (_ parley.Agent, err error) {
	ctx, call, err := e.enter(ctx, principal, "archiveAgent", WriteAgents)
	if err != nil {
		return parley.Agent{}, err
	}
	defer call.end(ctx, &err)
	agent, err := e.agent(ctx, call.Scope, idOrSlug)
	if err == nil {
		call.about(on(agent.ID))
		err = ownsAgent(principal, WriteAgents, &agent)
	}
	if err != nil || agent.Status == parley.AgentArchived {
		return agent, err
	}
	return e.UpdateAgent(ctx, principal, agent.ID.String(), AgentPatch{
		Status: parley.Change[parley.AgentStatus]{Set: true, Value: parley.AgentArchived},
	})
}

// agent finds by id or slug; what cannot be either is not found.
func (e *Engine) agent(ctx context.Context, scope store.Scope, idOrSlug string) (parley.Agent, error) {
	if len(idOrSlug) > parley.MaxNameBytes || parley.CheckText("agent", idOrSlug, parley.MaxNameBytes) != nil {
		return parley.Agent{}, parley.Errorf(parley.CodeNotFound, "There is no such agent.")
	}
	return e.store.Agent(ctx, scope.WorkspaceID, idOrSlug)
}

func (p AgentPatch) apply(agent *parley.Agent) {
	apply(p.Slug, &agent.Slug)
	apply(p.Name, &agent.Name)
	apply(p.Description, &agent.Description)
	apply(p.SystemPrompt, &agent.SystemPrompt)
	apply(p.Runtime, &agent.Runtime)
	apply(p.Model, &agent.Model)
	p.ParameterPatch.apply(&agent.Parameters)
	apply(p.Tools, &agent.Tools)
	apply(p.Policy, &agent.Policy)
	apply(p.Retry, &agent.Retry)
	apply(p.Grants, &agent.Grants)
	if p.Limits.Set {
		agent.Limits = p.Limits.Value.Over(agent.Limits)
	}
	apply(p.ApprovalTimeout, &agent.ApprovalTimeout)
	apply(p.Middleware, &agent.Middleware)
	apply(p.Compaction, &agent.Compaction)
	apply(p.ResponseCache, &agent.ResponseCache)
	apply(p.Tags, &agent.Tags)
	apply(p.LeadID, &agent.LeadID)
	apply(p.Status, &agent.Status)
	apply(p.OwnerID, &agent.OwnerID)
}
