package postgres

import (
	"context"
	"encoding/json"

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
	audit := store.AuditFrom(ctx)
	var last error
	for range lookAgain {
		if idempotency.Key != "" {
			first, found, err := s.createdBefore(ctx, agent.WorkspaceID, idempotency)
			if err != nil || found && first.ID != agent.ID {
				return first, found, err
			}
		}
		b := tenant(agent.WorkspaceID)
		if err := insertAgent(b, &agent, idempotency); err != nil {
			return parley.Agent{}, false, err
		}
		b.audit(audit.Entries(parley.ID{}, agent.ID))
		err := s.send(ctx, b)
		switch index := violated(err); {
		case err == nil, index == "agents_pkey": // by an attempt whose result was lost
			audit.Wrote()
			return agent, false, nil
		case index == "agents_slug":
			if idempotency.Key != "" {
				if first, found, err := s.createdBefore(ctx, agent.WorkspaceID, idempotency); err != nil || found {
					return first, found, err
				}
			}
			return parley.Agent{}, false, errSlugTaken(agent.Slug)
		case index == "agents_idempotency", unknown(err) && ctx.Err() == nil: // look again for the winner
			last = err
		default:
			return parley.Agent{}, false, mapError(err)
		}
	}
	return parley.Agent{}, false, mapError(last)
}

func errSlugTaken(slug string) error {
	return parley.Errorf(
		parley.CodeConflict,
		"another agent of this workspace has the slug %q; choose another slug or name",
		slug,
	)
}

// createdBefore returns the first result under a key: version 1 of the agent that it created.
func (s *Store) createdBefore(
	ctx context.Context,
	workspaceID parley.ID,
	idempotency store.Idempotency,
) (agent parley.Agent, found bool, err error) {
	var fingerprint parley.Hash
	rows, err := all(ctx, s, tenant(workspaceID), func(r *row) (parley.Agent, error) {
		fingerprint = r.hash()
		return scanAgent(r)
	}, `SELECT a.fingerprint, v.body FROM parley.agents a JOIN parley.agent_versions v
		ON v.workspace_id = a.workspace_id AND v.agent_id = a.id AND v.version = 1
 WHERE a.workspace_id = $1 AND a.idempotency_key = $2`, 1, workspaceID, idempotency.Key)
	switch {
	case err != nil || len(rows) == 0:
		return agent, false, err
	case fingerprint != idempotency.Fingerprint:
		return agent, false, transition.KeyReused()
	}
	return rows[0], true, nil
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
			created_at, updated_at, owner_id)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
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
	)
	return recordAgent(b, agent, body, nil)
}

// UpdateAgent stores the next version of an agent.
func (s *Store) UpdateAgent(ctx context.Context, agent parley.Agent) (parley.Agent, error) {
	next := agent
	next.Version, next.UpdatedAt = agent.Version+1, s.clock.Now()
	audit := store.AuditFrom(ctx)
	var last error
	for range lookAgain {
		current, err := s.findAgent(ctx, agent.WorkspaceID, "a.id = $1", agent.ID)
		if err != nil {
			return parley.Agent{}, err
		}
		next.CreatedAt = current.CreatedAt
		body, tags, err := agentJSON(&next)
		if err != nil {
			return parley.Agent{}, err
		}
		if current.Version != agent.Version {
			if already, err := encode(current); err == nil && already == body { // by an attempt whose result was lost
				audit.Wrote()
				return next, nil
			}
			return parley.Agent{}, parley.Errorf(
				parley.CodeConflict,
				"somebody else changed the agent meanwhile: it is at version %d, your change was made to version %d; "+
					"read it again",
				current.Version,
				agent.Version,
			)
		}
		b := tenant(agent.WorkspaceID)
		b.write(
			`WITH changed AS (UPDATE parley.agents SET slug = $3, status = $4, version = $5, tags = $6, body = $7,
				updated_at = $8, owner_id = $9
 WHERE workspace_id = $1 AND id = $2 AND version = $5 - 1 RETURNING 1) SELECT parley.stale()
  WHERE NOT EXISTS (SELECT FROM changed)`,
			next.WorkspaceID,
			next.ID,
			next.Slug,
			string(next.Status),
			next.Version,
			tags,
			body,
			next.UpdatedAt,
			next.OwnerID,
		)
		if err := recordAgent(b, &next, body, current.Tags); err != nil {
			return parley.Agent{}, err
		}
		b.relimitAgent(&current, &next)
		b.audit(audit.Entries(parley.ID{}, next.ID))
		switch err := s.send(ctx, b); {
		case err == nil:
			audit.Wrote()
			return next, nil
		case violated(err) == "agents_slug":
			return parley.Agent{}, errSlugTaken(next.Slug)
		case (stateOf(err) == stateStale || unknown(err)) && ctx.Err() == nil:
			last = err
		default:
			return parley.Agent{}, mapError(err)
		}
	}
	return parley.Agent{}, mapError(last)
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
	b.inOrder = query.Tag == ""
	return page(ctx, s, b, scanAgent, text, rows, args...)
}

func agentsQuery(q store.AgentQuery) (text string, rows int, args []arg) {
	var l filter
	from := "parley.agents a"
	if q.Tag != "" {
		from = "parley.agent_tags g JOIN parley.agents a ON a.workspace_id = g.workspace_id AND a.id = g.agent_id"
		l.must("g.workspace_id = "+here+" AND g.tag = ?", q.Tag)
	}
	l.must("a.workspace_id = " + here)
	if !q.OwnerID.IsZero() {
		l.must("a.owner_id = ?", q.OwnerID)
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
