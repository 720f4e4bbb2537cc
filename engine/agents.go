package engine

import (
	"bytes"
	"cmp"
	"context"
	"maps"

	"example.org/parley"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// AgentInput is a new agent. Only Name is required.
type AgentInput struct {
	Slug        string `json:"slug,omitempty" doc:"Unique in the workspace. When absent, it is made from the name, in Latin letters, with a number if that slug is taken; 409 only if a slug that you give is taken."`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Runtime     string `json:"runtime,omitempty" doc:"standard by default."`
	parley.Settings
	Tags      []string  `json:"tags,omitempty"`
	LeadID    string    `json:"lead_id,omitempty" doc:"Id or slug of the agent that leads this one."`
	BriefToID parley.ID `json:"brief_to_id,omitzero" doc:"The principal whose inbox gets briefings, questions and alerts of the agent and those below it, if its owner is a key and not the machine's user."`
}

// widens reports whether the agent says what it may run, in the sense of AgentPatch.widens.
func (a *AgentInput) widens() bool {
	return len(parley.ValueOf(a.Tools)) > 0 || len(parley.ValueOf(a.Grants)) > 0 || a.Runtime != ""
}

// apply sets a field if the change names it.
func apply[T any](change parley.Change[T], to *T) {
	if change.Set {
		*to = change.Value
	}
}

// AgentPatch changes an agent: absent fields stay, null clears them.
type AgentPatch struct {
	Slug        parley.Change[string] `json:"slug,omitzero"`
	Name        parley.Change[string] `json:"name,omitzero"`
	Description parley.Change[string] `json:"description,omitzero"`
	Runtime     parley.Change[string] `json:"runtime,omitzero"`
	parley.SettingsPatch
	Tags      parley.Change[[]string]           `json:"tags,omitzero"`
	LeadID    parley.Change[string]             `json:"lead_id,omitzero" doc:"Id or slug of the agent that leads this one."`
	BriefToID parley.Change[parley.ID]          `json:"brief_to_id,omitzero" doc:"The principal whose inbox gets briefings, questions and alerts of the agent and those below it, if its owner is a key and not the machine's user."`
	Status    parley.Change[parley.AgentStatus] `json:"status,omitzero" enum:"active,archived"`

	OwnerID parley.Change[parley.ID] `json:"owner_id,omitzero" doc:"For admins: the principal that may change the agent from now on; null leaves it to admins."`

	// If refuses the patch unless the agent is as the caller expects; nil: any is. It may be called several times.
	If func(current parley.Agent) error `json:"-"`
}

// widens reports whether the patch says what the agent may run.
func (p *AgentPatch) widens() bool { return p.Tools.Set || p.Grants.Set || p.Runtime.Set }

// AgentList selects agents, by slug ascending by default. Archived ones are left out unless Status includes them.
type AgentList struct {
	Paging
	Status AgentFilter
	Tags   []string
	Owners []string // principals' ids, or OwnerMe
}

// OwnerMe stands for the caller in AgentList.Owners.
const OwnerMe = "me"

// AgentFilter says which agents a list shows.
type AgentFilter string

// The filters; "" is AgentsActive.
const (
	AgentsActive   AgentFilter = AgentFilter(parley.AgentActive)
	AgentsArchived AgentFilter = AgentFilter(parley.AgentArchived)
	AgentsAny      AgentFilter = "any"
)

// CreateAgent makes an agent in version 1. The bool reports an idempotent repeat. It returns CodeConflict if the slug
// that the input names is taken; one that is derived from the name gets a number.
func (e *Engine) CreateAgent(
	ctx context.Context,
	principal parley.Principal,
	input AgentInput,
	idempotency store.Idempotency,
) (_ parley.Agent, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "createAgent", WriteAgents)
	if err != nil {
		return parley.Agent{}, false, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	agent := parley.Agent{
		ID: parley.NewID(), WorkspaceID: scope.WorkspaceID, Slug: input.Slug, Name: input.Name,
		Description: input.Description, Runtime: input.Runtime, Settings: input.Settings,
		Tags: input.Tags, BriefToID: input.BriefToID, Status: parley.AgentActive, Version: 1,
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
	if _, err := e.named(ctx, scope, "brief_to_id", input.BriefToID); err != nil {
		return parley.Agent{}, false, err
	}
	if agent.LeadID, err = e.leadID(ctx, scope, input.LeadID); err != nil {
		return parley.Agent{}, false, err
	}
	if agent.Accepted, err = e.accepts(ctx, scope, &agent, nil); err != nil {
		return parley.Agent{}, false, err
	}
	agent.Accepted.Grants = agent.Grants
	create := e.store.CreateAgent
	if input.Slug == "" {
		create = func(
			ctx context.Context, agent parley.Agent, idempotency store.Idempotency,
		) (parley.Agent, bool, error) {
			return e.createDerived(ctx, scope, agent, idempotency)
		}
	}
	made, repeat, err := create(ctx, agent, idempotency)
	if err == nil {
		call.about(on(made.ID))
	}
	return made, repeat, err
}

// Agent finds an agent by id or slug.
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
func (e *Engine) AgentVersion(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
	version int,
) (_ parley.Agent, err error) {
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

// AgentVersions lists the versions of an agent, the latest first by default.
func (e *Engine) AgentVersions(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
	paging Paging,
) (_ Page[parley.Agent], err error) {
	ctx, call, err := e.enter(ctx, principal, "listAgentVersions", ReadAgents)
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	defer call.end(ctx, &err)
	from, order, limit, err := paging.start("agent_versions", Descending)
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	agent, err := e.agent(ctx, call.Scope, idOrSlug)
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	call.about(on(agent.ID))
	rows, err := e.store.AgentVersions(ctx, call.Scope.WorkspaceID, agent.ID, store.AgentVersionQuery{
		Ascending: order == Ascending,
		After:     int(from.Sequence),
		Limit:     limit + 1,
	})
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Agent) cursor {
		return cursor{List: "agent_versions", Order: order, Sequence: int64(last.Version)}
	}), nil
}

// Agents lists agents.
func (e *Engine) Agents(
	ctx context.Context,
	principal parley.Principal,
	list AgentList,
) (_ Page[parley.Agent], err error) {
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
		return Page[parley.Agent]{}, parley.InvalidField(
			"status",
			"%q is not one of active, archived, any",
			parley.Clip(string(list.Status), 32),
		)
	}
	if err := checkAll(textsBound{"tag", list.Tags, parley.MaxNameBytes}); err != nil {
		return Page[parley.Agent]{}, err
	}
	owners, err := ownersOf(principal, list.Owners)
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	from, order, limit, err := list.start("agents", Ascending)
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	queries := []store.AgentQuery{{
		Status: status, Descending: order == Descending, AfterSlug: from.Slug, Limit: limit + 1,
	}}
	queries = apart(queries, list.Tags, func(q *store.AgentQuery, tag string) { q.Tag = tag })
	queries = apart(queries, owners, func(q *store.AgentQuery, id parley.ID) { q.OwnerID = id })
	rows, err := joined(union[parley.Agent]{
		limit: limit + 1, size: sizeOf[parley.Agent],
		compare: func(a, b *parley.Agent) int { return directed(order, cmp.Compare(a.Slug, b.Slug)) },
	}, queries, func(query store.AgentQuery) ([]parley.Agent, error) {
		return e.store.Agents(ctx, scope.WorkspaceID, query)
	})
	if err != nil {
		return Page[parley.Agent]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Agent) cursor {
		return cursor{List: "agents", Order: order, Slug: last.Slug}
	}), nil
}

// ownersOf returns the owners that a list asks for.
func ownersOf(principal parley.Principal, named []string) (owners []parley.ID, err error) {
	for _, owner := range named {
		id := principal.ID
		if owner != OwnerMe {
			if id, err = parley.ParseID(owner); err != nil {
				return nil, parley.InvalidField(
					"owner",
					"%q is neither a principal's id nor %s",
					parley.Clip(owner, 64),
					OwnerMe,
				)
			}
		}
		owners = append(owners, id)
	}
	return owners, nil
}

// patchAttempts bounds how often a patch is retried when another process writes the agent first.
const patchAttempts = 3

// UpdateAgent applies a patch as a new version, unless it changes nothing. It returns CodeConflict if the new slug is
// taken, or if the built-in agent would be archived or get another slug.
func (e *Engine) UpdateAgent(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
	patch AgentPatch,
) (_ parley.Agent, err error) {
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
	owner, err := e.named(ctx, scope, "owner_id", patch.OwnerID.Value)
	if err != nil {
		return parley.Agent{}, err
	}
	if _, err := e.named(ctx, scope, "brief_to_id", patch.BriefToID.Value); err != nil {
		return parley.Agent{}, err
	}
	leadID, err := e.leadID(ctx, scope, patch.LeadID.Value)
	if err != nil {
		return parley.Agent{}, err
	}
	defer e.patch(agent.ID)()
	for attempt := 1; ; attempt++ {
		if agent, err = e.store.Agent(ctx, scope.WorkspaceID, agent.ID.String()); err != nil {
			return parley.Agent{}, err
		}
		if err := mayPatch(principal, &agent, &patch); err != nil { // it may have another owner now
			return parley.Agent{}, err
		}
		current := agent
		if patch.If != nil {
			if err := patch.If(current); err != nil {
				return parley.Agent{}, err
			}
		}
		patch.apply(&agent)
		if patch.OwnerID.Set {
			agent.OwnerName = owner.Name
		}
		if patch.LeadID.Set {
			agent.LeadID = leadID
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
		if err := builtinStays(&current, &agent); err != nil {
			return parley.Agent{}, err
		}
		same, err := e.sameAgent(ctx, scope, &current, &agent, patch.widens())
		if err != nil || same {
			return current, err
		}
		updated, err := e.store.UpdateAgent(ctx, agent)
		if parley.ErrorCode(err) != parley.CodeConflict || attempt == patchAttempts {
			return updated, err
		}
		// A conflict is a lost race only if the version moved; otherwise the slug is taken.
		now, readErr := e.store.Agent(ctx, scope.WorkspaceID, agent.ID.String())
		if readErr != nil || now.Version == current.Version {
			return parley.Agent{}, err
		}
	}
}

// builtinStays refuses to archive the agent that sessions use by default, or to give it another slug.
func builtinStays(before, after *parley.Agent) error {
	switch {
	case before.Slug != parley.BuiltinAgentSlug:
		return nil
	case after.Slug != before.Slug:
		return errBuiltinStays("get another slug")
	case after.Status == parley.AgentArchived && before.Status != parley.AgentArchived:
		return errBuiltinStays("be archived")
	}
	return nil
}

// sameAgent reports whether a patched agent needs no version, because nothing changed. A patch that says what the agent
// may run accepts that too: its principal must have accepted the same in the current version.
func (e *Engine) sameAgent(
	ctx context.Context,
	scope store.Scope,
	before, after *parley.Agent,
	accepts bool,
) (bool, error) {
	patched := *after
	patched.ChangedByID = before.ChangedByID
	if same, err := sameJSON(before, &patched); err != nil || !same {
		return false, err
	}
	if !accepts {
		return true, nil
	}
	if before.ChangedByID != after.ChangedByID {
		return false, nil
	}
	by, err := e.store.AgentVersionBy(ctx, scope.WorkspaceID, before.ID, after.ChangedByID, before.Version)
	if err != nil || by.Version != before.Version || by.Accepted == nil {
		return false, err
	}
	earlier, now := *by.Accepted, *after.Accepted // each names the version that it belongs to
	earlier.Agents, now.Agents = maps.Clone(earlier.Agents), maps.Clone(now.Agents)
	delete(earlier.Agents, before.ID)
	delete(now.Agents, before.ID)
	return sameJSON(&earlier, &now)
}

// sameJSON reports whether two values have the same JSON.
func sameJSON(one, other any) (bool, error) {
	first, err := parley.EncodeJSON(one)
	if err != nil {
		return false, err
	}
	second, err := parley.EncodeJSON(other)
	return err == nil && bytes.Equal(first, second), err
}

// mayPatch refuses a patch of somebody else's agent, and a change of owner by anyone but an admin.
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

// named finds the principal that a field of the input names; the zero value for a zero id.
func (e *Engine) named(ctx context.Context, scope store.Scope, field string, id parley.ID) (parley.Principal, error) {
	if id.IsZero() {
		return parley.Principal{}, nil
	}
	found, err := e.store.Principal(ctx, scope.WorkspaceID, id)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = parley.InvalidField(field, "is not a principal of this workspace")
	}
	return found, err
}

// ArchiveAgent archives an agent: its sessions stay, new ones are refused. Archiving twice is not an error.
func (e *Engine) ArchiveAgent(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
) (_ parley.Agent, err error) {
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

// agent finds an agent by id or slug; a value that cannot be either is not found.
func (e *Engine) agent(ctx context.Context, scope store.Scope, idOrSlug string) (parley.Agent, error) {
	if len(idOrSlug) > parley.MaxNameBytes || parley.CheckText("agent", idOrSlug, parley.MaxNameBytes) != nil {
		return parley.Agent{}, parley.Errorf(parley.CodeNotFound, "This agent does not exist.")
	}
	return e.store.Agent(ctx, scope.WorkspaceID, idOrSlug)
}

// leadID returns the id of a lead that is named by id or slug; zero for "".
func (e *Engine) leadID(ctx context.Context, scope store.Scope, idOrSlug string) (parley.ID, error) {
	if idOrSlug == "" {
		return parley.ID{}, nil
	}
	lead, err := e.agent(ctx, scope, idOrSlug)
	return lead.ID, err
}

// apply sets every field that names nothing to be looked up: all but the lead.
func (p AgentPatch) apply(agent *parley.Agent) {
	apply(p.Slug, &agent.Slug)
	apply(p.Name, &agent.Name)
	apply(p.Description, &agent.Description)
	apply(p.Runtime, &agent.Runtime)
	agent.Settings = setting.Patched(agent.Settings, &p.SettingsPatch)
	apply(p.Tags, &agent.Tags)
	apply(p.BriefToID, &agent.BriefToID)
	apply(p.Status, &agent.Status)
	apply(p.OwnerID, &agent.OwnerID)
}
