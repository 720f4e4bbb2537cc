package sqlite

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
	type created struct {
		agent  parley.Agent
		repeat bool
	}
	answer, err := transact(ctx, s, func(tx *txn) (created, error) {
		if idempotency.Key != "" {
			first, found, err := createdBefore(tx.conn, agent.WorkspaceID, idempotency)
			if err != nil || found {
				return created{first, true}, err
			}
		}
		made, err := insertAgent(tx, agent, idempotency)
		tx.means = made.ID
		return created{agent: made}, err
	})
	return answer.agent, answer.repeat, err
}

// createdBefore returns the first result under a key: version 1 of the agent that it created.
func createdBefore(
	c *conn,
	workspaceID parley.ID,
	idempotency store.Idempotency,
) (agent parley.Agent, found bool, err error) {
	var fingerprint parley.Hash
	found, err = c.one(
		`SELECT a.fingerprint, v.body FROM agents a JOIN agent_versions v ON v.agent_id = a.id AND v.version = 1
 WHERE a.workspace_id = ? AND a.idempotency_key = ?`,
		func(r *row) (err error) {
			fingerprint = r.hash()
			agent, err = scanAgent(r)
			return err
		},
		workspaceID,
		idempotency.Key,
	)
	if err == nil && found && fingerprint != idempotency.Fingerprint {
		err = transition.KeyReused()
	}
	return agent, found, err
}

// insertAgent stores a new agent; also the built-in agent of a new workspace.
func insertAgent(tx *txn, agent parley.Agent, idempotency store.Idempotency) (parley.Agent, error) {
	if err := freeSlug(tx.conn, &agent); err != nil {
		return parley.Agent{}, err
	}
	if agent.ID.IsZero() {
		agent.ID = parley.NewID()
	}
	if agent.Status == "" {
		agent.Status = parley.AgentActive
	}
	if err := tx.core.ChangeTeams(agent.WorkspaceID, nil, []parley.Agent{agent}); err != nil {
		return parley.Agent{}, err
	}
	agent.Version, agent.CreatedAt, agent.UpdatedAt = 1, tx.now, tx.now
	body, tags, err := agentJSON(&agent)
	if err != nil {
		return parley.Agent{}, err
	}
	var key, fingerprint arg
	if idempotency.Key != "" {
		key, fingerprint = idempotency.Key, idempotency.Fingerprint
	}
	if _, err := tx.exec(
		`INSERT INTO agents (id, workspace_id, slug, status, version, tags, body, idempotency_key, fingerprint,
			created_at, updated_at, owner_id, lead_id)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		agent.ID,
		agent.WorkspaceID,
		agent.Slug,
		string(agent.Status),
		agent.Version,
		tags,
		body,
		key,
		fingerprint,
		tx.now,
		tx.now,
		agent.OwnerID,
		agent.LeadID,
	); err != nil {
		return parley.Agent{}, err
	}
	return agent, recordAgent(tx, &agent, body, nil)
}

// UpdateAgent stores the next version of an agent, and of others with it.
func (s *Store) UpdateAgent(
	ctx context.Context,
	agent parley.Agent,
	others ...parley.Agent,
) (parley.Agent, error) {
	return transact(ctx, s, func(tx *txn) (parley.Agent, error) {
		// the closure may run again, so the caller's copies must not change
		after := append([]parley.Agent{agent}, others...)
		before := make([]parley.Agent, len(after))
		for i := range after {
			current, _, err := findAgent(tx.conn, "a.workspace_id = ? AND a.id = ?", agent.WorkspaceID, after[i].ID)
			if err != nil {
				return parley.Agent{}, err
			}
			if before[i] = current; current.Version != after[i].Version {
				return parley.Agent{}, transition.AgentChanged(&current, &after[i])
			}
		}
		if err := tx.core.ChangeTeams(agent.WorkspaceID, before, after); err != nil {
			return parley.Agent{}, err
		}
		for i := range after {
			if err := updateAgent(tx, &before[i], &after[i]); err != nil {
				return parley.Agent{}, err
			}
		}
		tx.means = agent.ID
		return after[0], nil
	})
}

// updateAgent stores the next version of an agent.
func updateAgent(tx *txn, current, next *parley.Agent) error {
	if errand, leaves := transition.LeavesTeam(current, next, tx.now); leaves {
		if err := tx.leaveFor(errand); err != nil {
			return err
		}
	}
	if err := freeSlug(tx.conn, next); err != nil {
		return err
	}
	next.Version, next.CreatedAt, next.UpdatedAt = current.Version+1, current.CreatedAt, tx.now
	body, tags, err := agentJSON(next)
	if err != nil {
		return err
	}
	delete(tx.current, next.ID)
	if _, err := tx.exec(
		"UPDATE agents SET slug = ?, status = ?, version = ?, tags = ?, body = ?, updated_at = ?, owner_id = ?, "+
			"lead_id = ? WHERE id = ? AND workspace_id = ?",
		next.Slug,
		string(next.Status),
		next.Version,
		tags,
		body,
		tx.now,
		next.OwnerID,
		next.LeadID,
		next.ID,
		next.WorkspaceID,
	); err != nil {
		return err
	}
	if err := tx.relimitAgent(current, next); err != nil {
		return err
	}
	if err := tx.reschedule(current, next); err != nil {
		return err
	}
	return recordAgent(tx, next, body, current.Tags)
}

// recordAgent stores a version and updates the index of tags.
func recordAgent(tx *txn, agent *parley.Agent, body string, tagsBefore []string) error {
	accepted, err := encodeMaybe(agent.Accepted)
	if err != nil {
		return err
	}
	if _, err := tx.exec(
		"INSERT INTO agent_versions (agent_id, version, workspace_id, body, created_at, changed_by, accepted) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?)",
		agent.ID,
		agent.Version,
		agent.WorkspaceID,
		body,
		tx.now,
		agent.ChangedByID,
		accepted,
	); err != nil {
		return err
	}
	for _, tag := range tagsBefore {
		if _, err := tx.exec(
			"DELETE FROM agent_tags WHERE workspace_id = ? AND tag = ? AND agent_id = ?",
			agent.WorkspaceID,
			tag,
			agent.ID,
		); err != nil {
			return err
		}
	}
	for _, tag := range agent.Tags {
		if _, err := tx.exec(
			"INSERT OR IGNORE INTO agent_tags (workspace_id, tag, agent_id) VALUES (?, ?, ?)",
			agent.WorkspaceID,
			tag,
			agent.ID,
		); err != nil {
			return err
		}
	}
	return nil
}

// freeSlug refuses a slug that another agent of the workspace has.
func freeSlug(c *conn, agent *parley.Agent) error {
	taken := false
	if _, err := c.one("SELECT id FROM agents WHERE workspace_id = ? AND slug = ?", func(r *row) error {
		taken = r.id() != agent.ID
		return nil
	}, agent.WorkspaceID, agent.Slug); err != nil || !taken {
		return err
	}
	return parley.Errorf(
		parley.CodeConflict,
		"another agent of this workspace has the slug %q; choose another slug or name",
		agent.Slug,
	)
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
	err = json.Unmarshal(r.bytes(), &agent)
	setting.Complete(&agent.Settings) // the version may be older than some settings
	return agent, err
}

// findAgent returns an agent, and how many bytes its JSON has.
func findAgent(c *conn, where string, args ...arg) (agent parley.Agent, size int, err error) {
	found, err := c.one("SELECT a.body, octet_length(a.body) FROM agents a WHERE "+where, func(r *row) (err error) {
		agent, err = scanAgent(r)
		size = r.int()
		return err
	}, args...)
	if err == nil && !found {
		err = transition.NotFound("agent")
	}
	return agent, size, err
}

// Agent finds an agent by id or, failing that, by slug.
func (s *Store) Agent(ctx context.Context, workspaceID parley.ID, idOrSlug string) (agent parley.Agent, err error) {
	name := agentName{workspaceID, idOrSlug}
	agent, round, cached := s.agents.find(name)
	if cached {
		return agent, nil
	}
	size := 0
	err = s.read(ctx, func(c *conn) error {
		if id, parseErr := parley.ParseID(idOrSlug); parseErr == nil {
			agent, size, err = findAgent(c, "a.workspace_id = ? AND a.id = ?", workspaceID, id)
			if parley.ErrorCode(err) != parley.CodeNotFound {
				return err
			}
		}
		agent, size, err = findAgent(c, "a.workspace_id = ? AND a.slug = ?", workspaceID, idOrSlug)
		return err
	})
	if err == nil && size <= longestKept {
		s.agents.keep(name, agent, round)
	}
	return agent, err
}

// AgentVersion finds one version of an agent.
func (s *Store) AgentVersion(
	ctx context.Context,
	workspaceID, agentID parley.ID,
	version int,
) (agent parley.Agent, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT body FROM agent_versions WHERE agent_id = ? AND version = ? AND workspace_id = ?",
			func(r *row) (err error) {
				agent, err = scanAgent(r)
				return err
			},
			agentID,
			version,
			workspaceID,
		)
		if err == nil && !found {
			err = transition.NotFound("version of the agent")
		}
		return err
	})
	return agent, err
}

// AgentVersionBy finds a principal's latest version, up to a given one.
func (s *Store) AgentVersionBy(
	ctx context.Context,
	workspaceID, agentID, principalID parley.ID,
	through int,
) (agent parley.Agent, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			`SELECT body, accepted FROM agent_versions WHERE agent_id = ? AND version <= ? AND workspace_id = ?
				AND changed_by = ?
 ORDER BY version DESC LIMIT 1`,
			func(r *row) (err error) {
				if agent, err = scanAgent(r); err != nil {
					return err
				}
				agent.Accepted, err = scanAccepted(r)
				return err
			},
			agentID,
			through,
			workspaceID,
			principalID,
		)
		if err == nil && !found {
			err = transition.NotFound("version of the agent")
		}
		return err
	})
	return agent, err
}

// AgentVersions lists the versions of an agent by number.
func (s *Store) AgentVersions(
	ctx context.Context,
	workspaceID, agentID parley.ID,
	query store.AgentVersionQuery,
) (versions []parley.Agent, err error) {
	text, args := agentVersionsQuery(workspaceID, agentID, query)
	err = s.read(ctx, func(c *conn) error {
		versions = []parley.Agent{}
		return eachListed(c, &versions, scanAgent, text, args...)
	})
	return versions, err
}

func agentVersionsQuery(workspaceID, agentID parley.ID, q store.AgentVersionQuery) (string, []arg) {
	var l list
	l.must("v.agent_id = ? AND v.workspace_id = ?", agentID, workspaceID)
	word, after := direction(q.Ascending)
	if q.After != 0 {
		l.must("v.version "+after+" ?", q.After)
	}
	return "SELECT v.body FROM agent_versions v WHERE " + l.where.String() + " ORDER BY v.version " + word +
		" LIMIT ?", append(l.args, limited(q.Limit))
}

// Agents lists agents by slug.
func (s *Store) Agents(
	ctx context.Context,
	workspaceID parley.ID,
	query store.AgentQuery,
) (agents []parley.Agent, err error) {
	text, args := agentsQuery(workspaceID, query)
	err = s.read(ctx, func(c *conn) error {
		agents = []parley.Agent{}
		return eachListed(c, &agents, scanAgent, text, args...)
	})
	return agents, err
}

func agentsQuery(workspaceID parley.ID, q store.AgentQuery) (string, []arg) {
	var l list
	from := ""
	if q.Tag != "" {
		from = "agent_tags g CROSS JOIN agents a ON a.id = g.agent_id"
		l.must("g.workspace_id = ? AND g.tag = ?", workspaceID, q.Tag)
	}
	if !q.Around.IsZero() {
		from = "(SELECT ? AS id" +
			" UNION SELECT id FROM agents INDEXED BY agents_lead WHERE workspace_id = ? AND lead_id = ?" +
			" UNION SELECT lead_id FROM agents WHERE id = ?) t CROSS JOIN agents a ON a.id = t.id"
		l.args = append(l.args, q.Around, workspaceID, q.Around, q.Around)
	}
	l.must("a.workspace_id = ?", workspaceID)
	if !q.OwnerID.IsZero() {
		l.by("agents_owner", "a.owner_id = ?", q.OwnerID)
	}
	if q.Leads {
		l.must("a.lead_id IS NULL AND EXISTS (SELECT 1 FROM agents b INDEXED BY agents_lead "+
			"WHERE b.workspace_id = ? AND b.lead_id = a.id AND b.status = 'active')", workspaceID)
	}
	if q.Status != "" {
		l.by("agents_status", "a.status = ?", string(q.Status))
	}
	word, after := direction(!q.Descending)
	if q.AfterSlug != "" {
		l.must("a.slug "+after+" ?", q.AfterSlug)
	}
	if from == "" {
		from = "agents a" + l.indexed("agents_slug")
	}
	return "SELECT a.body FROM " + from + " WHERE " + l.where.String() + " ORDER BY a.slug " + word +
			" LIMIT ?", append(
			l.args,
			limited(q.Limit),
		)
}
