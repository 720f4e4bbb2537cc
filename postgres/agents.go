package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// CreateAgent stores version 1 of an agent.
func (s *Store) CreateAgent(
	ctx context.Context,
	agent parley.Agent,
	idempotency store.Idempotency,
) (parley.Agent, bool, error) {
	if agent.ID.IsZero() {
		agent.ID = parley.NewID()
	}
	if agent.Status == "" {
		agent.Status = parley.AgentActive
	}
	now := s.clock.Now()
	agent.Version, agent.CreatedAt, agent.UpdatedAt = 1, now, now
	type created struct {
		agent  parley.Agent
		repeat bool
	}
	answer, err := transactLocked(ctx, s, agent.WorkspaceID, func(a *attempt) (created, error) {
		made, first, err := a.agentLike(&agent, idempotency)
		switch {
		case err != nil:
			return created{}, err
		case first != nil:
			return created{agent: *first, repeat: true}, nil
		case made: // by an attempt whose result was lost
			a.audit.Wrote()
			return created{agent: agent}, nil
		}
		if err := a.tx.ChangeTeams(agent.WorkspaceID, nil, []parley.Agent{agent}); err != nil {
			return created{}, err
		}
		b := tenant(agent.WorkspaceID)
		if err := insertAgent(b, &agent, idempotency); err != nil {
			return created{}, err
		}
		a.extra = append(a.extra, b.statements...)
		a.tx.Means(agent.ID)
		return created{agent: agent}, nil
	})
	return answer.agent, answer.repeat, err
}

// agentLike looks for what may keep a new agent from being stored: itself, the first result under its idempotency key,
// or another agent with its slug, which is an error.
func (a *attempt) agentLike(
	agent *parley.Agent,
	idempotency store.Idempotency,
) (made bool, first *parley.Agent, err error) {
	taken := false
	var fingerprint parley.Hash
	err = a.ask(func() *batch {
		made, taken, first = false, false, nil
		b := tenant(agent.WorkspaceID)
		b.read("SELECT id FROM parley.agents WHERE workspace_id = $1 AND (id = $2 OR slug = $3)", func(r *row) error {
			if id := r.id(); id == agent.ID {
				made = true
			} else {
				taken = true
			}
			return nil
		}, agent.WorkspaceID, agent.ID, agent.Slug)
		if idempotency.Key != "" {
			b.read(createdAgent, func(r *row) error {
				fingerprint = r.hash()
				found, err := scanAgent(r)
				first = &found
				return err
			}, agent.WorkspaceID, idempotency.Key)
		}
		return b
	})
	switch {
	case err != nil || made:
		return made, nil, err
	case first != nil && fingerprint != idempotency.Fingerprint:
		return false, nil, transition.KeyReused()
	case first == nil && taken:
		return false, nil, errSlugTaken(agent.Slug)
	}
	return false, first, nil
}

// createdAgent finds the first result under a key: version 1 of the agent that it created.
const createdAgent = `SELECT a.fingerprint, v.body FROM parley.agents a JOIN parley.agent_versions v
		ON v.workspace_id = a.workspace_id AND v.agent_id = a.id AND v.version = 1
 WHERE a.workspace_id = $1 AND a.idempotency_key = $2`

func errSlugTaken(slug string) error {
	return parley.Errorf(
		parley.CodeConflict,
		"another agent of this workspace has the slug %q; choose another slug or name",
		slug,
	)
}

// insertAgent adds the statements for a new agent; also for the built-in agent of a new workspace.
func insertAgent(b *batch, agent *parley.Agent, idempotency store.Idempotency) error {
	body, tags, err := agentJSON(agent)
	if err != nil {
		return err
	}
	var key arg
	if idempotency.Key != "" {
		key = idempotency.Key
	}
	b.write(
		`INSERT INTO parley.agents (id, workspace_id, slug, status, version, tags, body, idempotency_key, fingerprint,
			created_at, updated_at, owner_id, lead_id)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		agent.ID,
		agent.WorkspaceID,
		agent.Slug,
		string(agent.Status),
		agent.Version,
		tags,
		body,
		key,
		idempotency.Fingerprint,
		agent.CreatedAt,
		agent.UpdatedAt,
		agent.OwnerID,
		agent.LeadID,
	)
	return recordAgent(b, agent, body, nil)
}

// UpdateAgent stores the next version of an agent, and of others with it.
func (s *Store) UpdateAgent(
	ctx context.Context,
	agent parley.Agent,
	others ...parley.Agent,
) (parley.Agent, error) {
	now := s.clock.Now()
	return transactLocked(ctx, s, agent.WorkspaceID, func(a *attempt) (parley.Agent, error) {
		after := append([]parley.Agent{agent}, others...)
		before, err := a.agentsNow(agent.WorkspaceID, after)
		if err != nil {
			return parley.Agent{}, err
		}
		stored := 0
		b := tenant(agent.WorkspaceID)
		teams := slices.Clone(after)
		for i := range after {
			current, next := &before[i], &after[i]
			next.Version, next.CreatedAt, next.UpdatedAt = next.Version+1, current.CreatedAt, now
			body, tags, err := agentJSON(next)
			if err != nil {
				return parley.Agent{}, err
			}
			if current.Version != teams[i].Version {
				if already, err := encode(*current); err != nil || already != body {
					return parley.Agent{}, transition.AgentChanged(current, &teams[i])
				}
				stored++ // by an attempt whose result was lost
				continue
			}
			if err := updateAgent(b, current, next, body, tags); err != nil {
				return parley.Agent{}, err
			}
			if errand, leaves := transition.LeavesTeam(current, next, now); leaves {
				if err := b.errands(
					errand.WorkspaceID,
					[]transition.Errand{errand},
					make([]*ownErrand, 1),
				); err != nil {
					return parley.Agent{}, err
				}
			}
		}
		if stored == len(after) {
			a.audit.Wrote()
			return after[0], nil
		}
		if err := a.tx.ChangeTeams(agent.WorkspaceID, before, teams); err != nil {
			return parley.Agent{}, err
		}
		a.extra = append(a.extra, b.statements...)
		a.tx.Means(agent.ID)
		return after[0], nil
	})
}

// agentsNow reads the current versions of agents, in their order, and locks them. An agent's new slug must be free.
func (a *attempt) agentsNow(workspaceID parley.ID, wanted []parley.Agent) ([]parley.Agent, error) {
	ids := make([]parley.ID, len(wanted))
	for i := range wanted {
		ids[i] = wanted[i].ID
	}
	found := map[parley.ID]parley.Agent{}
	taken := ""
	if err := a.ask(func() *batch {
		clear(found)
		taken = ""
		b := tenant(workspaceID)
		b.read(
			"SELECT body FROM parley.agents WHERE workspace_id = $1 AND id = ANY($2) ORDER BY id FOR NO KEY UPDATE",
			func(r *row) error {
				agent, err := scanAgent(r)
				found[agent.ID] = agent
				return err
			},
			workspaceID,
			ids,
		)
		for i := range wanted {
			b.read(
				"SELECT slug FROM parley.agents WHERE workspace_id = $1 AND slug = $2 AND id <> $3",
				func(r *row) error {
					taken = r.text()
					return nil
				},
				workspaceID,
				wanted[i].Slug,
				wanted[i].ID,
			)
		}
		return b
	}); err != nil {
		return nil, err
	}
	current := make([]parley.Agent, len(wanted))
	for i, id := range ids {
		agent, ok := found[id]
		if !ok {
			return nil, transition.NotFound("agent")
		}
		current[i] = agent
	}
	if taken != "" {
		return nil, errSlugTaken(taken)
	}
	return current, nil
}

// updateAgent adds the statements that store the next version of an agent.
func updateAgent(b *batch, current, next *parley.Agent, body, tags string) error {
	b.write(
		`UPDATE parley.agents SET slug = $3, status = $4, version = $5, tags = $6, body = $7, updated_at = $8,
			owner_id = $9, lead_id = $10
 WHERE workspace_id = $1 AND id = $2`,
		next.WorkspaceID,
		next.ID,
		next.Slug,
		string(next.Status),
		next.Version,
		tags,
		body,
		next.UpdatedAt,
		next.OwnerID,
		next.LeadID,
	)
	if err := recordAgent(b, next, body, current.Tags); err != nil {
		return err
	}
	b.relimitAgent(current, next)
	b.reschedule(current, next)
	return nil
}

// recordAgent adds the statements that store a version and update the index of tags.
func recordAgent(b *batch, agent *parley.Agent, body string, tagsBefore []string) error {
	accepted, err := encodeMaybe(agent.Accepted)
	if err != nil {
		return err
	}
	b.write(
		"INSERT INTO parley.agent_versions (agent_id, version, workspace_id, body, created_at, changed_by, accepted) "+
			"VALUES ($1, $2, $3, $4, $5, $6, $7)",
		agent.ID,
		agent.Version,
		agent.WorkspaceID,
		body,
		agent.UpdatedAt,
		agent.ChangedByID,
		accepted,
	)
	if len(tagsBefore) > 0 {
		b.write(
			"DELETE FROM parley.agent_tags WHERE workspace_id = $1 AND tag = ANY($2) AND agent_id = $3",
			agent.WorkspaceID,
			tagsBefore,
			agent.ID,
		)
	}
	if len(agent.Tags) > 0 {
		b.write(
			"INSERT INTO parley.agent_tags (workspace_id, tag, agent_id) SELECT $1, tag, $3 "+
				"FROM unnest($2::text[]) tag "+
				"ON CONFLICT DO NOTHING",
			agent.WorkspaceID,
			agent.Tags,
			agent.ID,
		)
	}
	return nil
}

// agentJSON encodes the agent's body and tags for their columns.
func agentJSON(agent *parley.Agent) (body, tags string, err error) {
	if agent.Tags == nil {
		agent.Tags = []string{}
	}
	setting.Complete(&agent.Settings)
	if body, err = encode(agent); err != nil {
		return "", "", err
	}
	tags, err = encode(agent.Tags)
	return body, tags, err
}

func scanAgent(r *row) (agent parley.Agent, err error) {
	err = json.Unmarshal(r.json(), &agent)
	setting.Complete(&agent.Settings) // the version may be older than some settings
	return agent, err
}

func (s *Store) findAgent(ctx context.Context, workspaceID parley.ID, where string, value arg) (parley.Agent, error) {
	return one(
		ctx,
		s,
		tenant(workspaceID),
		"agent",
		scanAgent,
		"SELECT a.body FROM parley.agents a WHERE a.workspace_id = "+here+" AND "+where,
		value,
	)
}

// Agent finds an agent by id or, failing that, by slug.
func (s *Store) Agent(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.Agent, error) {
	if id, err := parley.ParseID(idOrSlug); err == nil {
		if agent, err := s.findAgent(ctx, workspaceID, "a.id = $1", id); parley.ErrorCode(err) != parley.CodeNotFound {
			return agent, err
		}
	}
	return s.findAgent(ctx, workspaceID, "a.slug = $1", idOrSlug)
}

// AgentVersion finds one version of an agent.
func (s *Store) AgentVersion(ctx context.Context, workspaceID, agentID parley.ID, version int) (parley.Agent, error) {
	return one(
		ctx,
		s,
		tenant(workspaceID),
		"version of the agent",
		scanAgent,
		"SELECT body FROM parley.agent_versions WHERE workspace_id = $1 AND agent_id = $2 AND version = $3",
		workspaceID,
		agentID,
		version,
	)
}

// AgentVersionBy finds a principal's latest version, up to a given one.
func (s *Store) AgentVersionBy(
	ctx context.Context,
	workspaceID, agentID, principalID parley.ID,
	through int,
) (parley.Agent, error) {
	return one(ctx, s, tenant(workspaceID), "version of the agent", func(r *row) (agent parley.Agent, err error) {
		if agent, err = scanAgent(r); err != nil {
			return agent, err
		}
		agent.Accepted, err = scanAccepted(r)
		return agent, err
	}, `SELECT body, accepted FROM parley.agent_versions WHERE workspace_id = $1 AND agent_id = $2 AND version <= $3
		AND changed_by = $4
 ORDER BY version DESC LIMIT 1`, workspaceID, agentID, through, principalID)
}

// AgentVersions lists the versions of an agent by number.
func (s *Store) AgentVersions(
	ctx context.Context,
	workspaceID, agentID parley.ID,
	query store.AgentVersionQuery,
) ([]parley.Agent, error) {
	text, rows, args := agentVersionsQuery(agentID, query)
	b := ordered(workspaceID)
	b.inOrder = true
	return page(ctx, s, b, scanAgent, text, rows, args...)
}

func agentVersionsQuery(agentID parley.ID, q store.AgentVersionQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("v.workspace_id = " + here)
	l.must("v.agent_id = ?", agentID)
	word, after := direction(q.Ascending)
	if q.After != 0 {
		l.must("v.version "+after+" ?", q.After)
	}
	limit, rows := limited(q.Limit)
	return "SELECT v.body FROM parley.agent_versions v WHERE " + l.where.String() + " ORDER BY v.version " + word +
		limit, rows, l.args
}

// Agents lists agents by slug.
func (s *Store) Agents(ctx context.Context, workspaceID parley.ID, query store.AgentQuery) ([]parley.Agent, error) {
	text, rows, args := agentsQuery(query)
	b := ordered(workspaceID)
	b.inOrder = query.Tag == "" && query.Around.IsZero()
	return page(ctx, s, b, scanAgent, text, rows, args...)
}

func agentsQuery(q store.AgentQuery) (text string, rows int, args []arg) {
	var l filter
	from := "parley.agents a"
	if q.Tag != "" {
		from = "parley.agent_tags g JOIN parley.agents a ON a.workspace_id = g.workspace_id AND a.id = g.agent_id"
		l.must("g.workspace_id = "+here+" AND g.tag = ?", q.Tag)
	}
	if !q.Around.IsZero() {
		center := l.arg(q.Around)
		from = "(SELECT " + center + "::uuid AS id" +
			" UNION SELECT id FROM parley.agents WHERE workspace_id = " + here + " AND lead_id = " + center +
			" UNION SELECT lead_id FROM parley.agents WHERE workspace_id = " + here + " AND id = " + center +
			") t JOIN parley.agents a ON a.id = t.id"
	}
	l.must("a.workspace_id = " + here)
	if !q.OwnerID.IsZero() {
		l.must("a.owner_id = ?", q.OwnerID)
	}
	if q.Leads {
		l.must("a.lead_id IS NULL AND EXISTS (SELECT FROM parley.agents b WHERE b.workspace_id = " + here +
			" AND b.lead_id = a.id AND b.status = 'active')")
	}
	if q.Status != "" {
		l.must("a.status = ?", string(q.Status))
	}
	word, after := direction(!q.Descending)
	if q.AfterSlug != "" {
		l.must("a.slug "+after+" ?", q.AfterSlug)
	}
	limit, rows := limited(q.Limit)
	return "SELECT a.body FROM " + from + " WHERE " + l.where.String() + " ORDER BY a.slug " + word + limit,
		rows, l.args
}
