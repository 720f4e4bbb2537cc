package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// The budget of a chain belongs to the message that began it. Its limits are those of that message's session, else of
// the session's agent.

// chainBudget reads the settings that limit a chain, and its budget.
const chainBudget = "SELECT s.agent_id, s.overrides, " + budgetColumns + `, a.body FROM parley.messages m
 JOIN parley.sessions s ON s.workspace_id = m.workspace_id AND s.id = m.session_id AND s.deleted_at IS NULL
 JOIN parley.agents a ON a.workspace_id = s.workspace_id AND a.id = s.agent_id
 LEFT JOIN parley.budgets b ON b.workspace_id = m.workspace_id AND b.subject_id = m.id
  WHERE m.workspace_id = $1 AND m.id = $2`

// scanChain reads a row of chainBudget.
func scanChain(r *row, subject store.BudgetSubject) (store.Budget, error) {
	budget, err := scanBudget(r, subject)
	if err != nil {
		return budget, err
	}
	var agent limitsHolder
	if err := json.Unmarshal([]byte(r.text()), &agent); err != nil {
		return budget, fmt.Errorf("postgres: the limits of %s cannot be read: %w", budget.AgentID, err)
	}
	budget.Limits = budget.Limits.Over(parley.ValueOf(agent.Limits))
	return budget, nil
}

// chainOf walks from a turn's session (n = 0) up to the root of its tree of tool sessions, takes the root's turn that
// opened the branch, and finds what began the chain of that turn's trigger. It reads what limits the chain, too.
const chainOf = `WITH RECURSIVE up (n, id, root_id, parent_session_id, parent_message_id) AS (
  SELECT 0, s.id, s.root_id, s.parent_session_id, s.parent_message_id FROM parley.turns t
   JOIN parley.sessions s ON s.workspace_id = t.workspace_id AND s.id = t.session_id
   WHERE t.workspace_id = $1 AND t.id = $2
  UNION ALL SELECT n + 1, s.id, s.root_id, s.parent_session_id, s.parent_message_id FROM up
   JOIN parley.sessions s ON s.workspace_id = $1 AND s.id = up.parent_session_id
   WHERE up.root_id <> up.id AND n < $3),
 top AS (SELECT * FROM up ORDER BY n DESC LIMIT 1),
 work AS MATERIALIZED (SELECT t.trigger_message_id AS id FROM parley.turns t WHERE t.workspace_id = $1
   AND t.id = (SELECT CASE top.n WHEN 0 THEN $2::uuid ELSE (SELECT m.turn_id FROM up JOIN parley.messages m
    ON m.workspace_id = $1 AND m.id = up.parent_message_id WHERE up.n = top.n - 1) END FROM top)),
 began AS MATERIALIZED (SELECT coalesce(
   (SELECT d.root_id FROM parley.delegations d WHERE d.workspace_id = $1 AND d.message_id = work.id),
   (SELECT d.root_id FROM parley.delegations d WHERE d.workspace_id = $1 AND d.return_message_id = work.id),
   work.id) AS id FROM work)
 SELECT began.id, s.agent_id, s.owner_id, coalesce(s.key, ''), o.overrides, a.body FROM began, top
  JOIN parley.sessions s ON s.workspace_id = $1 AND s.id = top.id,
  parley.messages m
  JOIN parley.sessions o ON o.workspace_id = $1 AND o.id = m.session_id AND o.deleted_at IS NULL
  JOIN parley.agents a ON a.workspace_id = $1 AND a.id = o.agent_id
  WHERE m.workspace_id = $1 AND m.id = began.id`

// Chain implements store.Budgets.
func (s *Store) Chain(ctx context.Context, workspaceID, turnID parley.ID) (rootID parley.ID, err error) {
	err = s.read(ctx, func() *batch {
		rootID = parley.ID{}
		b := tenant(workspaceID)
		b.read(chainOf, func(r *row) error {
			var works parley.Session
			began := r.id()
			works.AgentID, works.OwnerID, works.Key = r.id(), r.id(), r.text()
			var session, agent limitsHolder
			if err := json.Unmarshal([]byte(r.text()), &session); err != nil {
				return fmt.Errorf("postgres: the limits of a chain cannot be read: %w", err)
			}
			if err := json.Unmarshal([]byte(r.text()), &agent); err != nil {
				return fmt.Errorf("postgres: the limits of a chain cannot be read: %w", err)
			}
			limits := parley.ValueOf(session.Limits).Over(parley.ValueOf(agent.Limits))
			if works.InBackground() && limits.Chained() {
				rootID = began
			}
			return nil
		}, workspaceID, turnID, parley.MaxToolDepth+1)
		return b
	})
	return rootID, err
}

// makeChain makes a chain's budget from its spending according to the record: the calls of the turns whose triggers
// began it, carried its delegations or returned their answers, and those of the tool sessions that these turns opened.
const makeChain = `WITH RECURSIVE triggers (id) AS (SELECT $2::uuid UNION
   SELECT message_id FROM parley.delegations WHERE workspace_id = $1 AND root_id = $2 AND message_id IS NOT NULL UNION
   SELECT return_message_id FROM parley.delegations
    WHERE workspace_id = $1 AND root_id = $2 AND return_message_id IS NOT NULL),
 worked (id) AS (SELECT t.id FROM parley.turns t WHERE t.workspace_id = $1
   AND t.session_id IN (SELECT m.session_id FROM triggers
    JOIN parley.messages m ON m.workspace_id = $1 AND m.id = triggers.id)
   AND t.trigger_message_id IN (SELECT id FROM triggers)),
 below (id) AS (SELECT s.id FROM worked JOIN parley.messages m ON m.workspace_id = $1 AND m.turn_id = worked.id
   JOIN parley.sessions s ON s.workspace_id = $1 AND s.parent_message_id = m.id AND s.root_id <> s.id
    AND s.deleted_at IS NULL
   UNION SELECT s.id FROM below JOIN parley.sessions s ON s.workspace_id = $1 AND s.parent_session_id = below.id
    AND s.root_id <> s.id AND s.deleted_at IS NULL),
 spent AS (SELECT c.cost, ` + callTokens + ` AS tokens FROM worked
   JOIN parley.calls c ON c.workspace_id = $1 AND c.turn_id = worked.id WHERE c.outcome <> 'open'
  UNION ALL SELECT c.cost, ` + callTokens + ` FROM below
   JOIN parley.calls c ON c.workspace_id = $1 AND c.session_id = below.id WHERE c.outcome <> 'open')
 INSERT INTO parley.budgets (workspace_id, subject_id, tokens, cost, day, session_id)
  SELECT $1, m.id, (SELECT coalesce(sum(tokens), 0) FROM spent), (SELECT coalesce(sum(cost), 0) FROM spent),
   ` + today + `, m.session_id FROM parley.messages m WHERE m.workspace_id = $1 AND m.id = $2
  ON CONFLICT DO NOTHING`

// chainsOf select the budgets of the chains that began in a session, or in the sessions of an agent.
const (
	chainsOfSession = "SELECT subject_id FROM parley.budgets WHERE workspace_id = $1 AND session_id = $2"
	chainsOfAgent   = "SELECT b.subject_id FROM parley.budgets b JOIN parley.sessions s " +
		"ON s.workspace_id = $1 AND s.id = b.session_id " +
		"WHERE b.workspace_id = $1 AND b.session_id IS NOT NULL AND s.agent_id = $2"
)

// relimitChains is relimit for the chains that began in a session, or in the sessions of an agent.
func (b *batch) relimitChains(chains string, workspaceID, ownerID parley.ID, limited bool) {
	b.write(`WITH gone AS (DELETE FROM parley.parked WHERE workspace_id = $1 AND subject_id IN (`+chains+`)
  RETURNING session_id)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) SELECT $1, $3, g.session_id, now, now
  FROM (SELECT DISTINCT session_id FROM gone) g, parley.now_ms() now`,
		workspaceID, ownerID, transition.WakeSession{}.Kind())
	statement := "DELETE FROM parley.budgets WHERE workspace_id = $1 AND subject_id IN (" + chains + ")"
	if limited {
		statement = "UPDATE parley.budgets SET revision = revision + 1, warned = 0 " +
			"WHERE workspace_id = $1 AND subject_id IN (" + chains + ")"
	}
	b.write(statement, workspaceID, ownerID)
}
