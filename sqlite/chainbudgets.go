package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/store"
)

// The budget of a chain belongs to the message that began it. Its limits are those of that message's session, else of
// the session's agent.

// chainBudget reads the settings that limit a chain, and its budget.
const chainBudget = "SELECT s.agent_id, s.overrides, " + budgetColumns + `, a.body
 FROM messages m JOIN sessions s ON s.id = m.session_id AND s.deleted_at IS NULL
 JOIN agents a ON a.id = s.agent_id
 LEFT JOIN budgets b ON b.workspace_id = m.workspace_id AND b.subject_id = m.id
 WHERE m.workspace_id = ?2 AND m.id = ?3`

// scanChain reads a row of chainBudget.
func scanChain(r *row, subject store.BudgetSubject) (store.Budget, error) {
	budget, err := scanBudget(r, subject)
	if err != nil {
		return budget, err
	}
	var agent limitsHolder
	if err := json.Unmarshal([]byte(r.text()), &agent); err != nil {
		return budget, fmt.Errorf("sqlite: the limits of %s cannot be read: %w", budget.AgentID, err)
	}
	budget.Limits = budget.Limits.Over(parley.ValueOf(agent.Limits))
	return budget, nil
}

// chainOf walks from a turn's session (n = 0) up to the root of its tree of tool sessions, takes the root's turn that
// opened the branch, and finds what began the chain of that turn's trigger.
const chainOf = `WITH RECURSIVE up (n, id, root_id, parent_session_id, parent_message_id) AS (
  SELECT 0, s.id, s.root_id, s.parent_session_id, s.parent_message_id
   FROM turns t JOIN sessions s ON s.id = t.session_id WHERE t.workspace_id = ?1 AND t.id = ?2
  UNION ALL SELECT n + 1, s.id, s.root_id, s.parent_session_id, s.parent_message_id
   FROM up JOIN sessions s ON s.id = up.parent_session_id WHERE up.root_id <> up.id AND n < ?3),
 top AS (SELECT * FROM up ORDER BY n DESC LIMIT 1),
 work AS (SELECT t.trigger_message_id AS id FROM turns t WHERE t.id = (SELECT CASE top.n WHEN 0 THEN ?2 ELSE
   (SELECT m.turn_id FROM up JOIN messages m ON m.id = up.parent_message_id WHERE up.n = top.n - 1) END FROM top)),
 began AS (SELECT coalesce((SELECT d.root_id FROM delegations d WHERE d.message_id = work.id),
   (SELECT d.root_id FROM delegations d WHERE d.return_message_id = work.id), work.id) AS id FROM work)
 SELECT began.id, s.agent_id, s.owner_id, coalesce(s.key, '')
  FROM began, top JOIN sessions s ON s.id = top.id`

// Chain implements store.Budgets.
func (s *Store) Chain(ctx context.Context, workspaceID, turnID parley.ID) (rootID parley.ID, err error) {
	err = s.read(ctx, func(c *conn) error {
		rootID = parley.ID{}
		var works parley.Session
		if _, err := c.one(chainOf, func(r *row) error {
			rootID = r.id()
			works.AgentID, works.OwnerID, works.Key = r.id(), r.id(), r.text()
			return nil
		}, workspaceID, turnID, parley.MaxToolDepth+1); err != nil {
			return err
		}
		limited := false
		if works.InBackground() {
			if _, err := c.one(chainBudget, func(r *row) error {
				budget, err := scanChain(r, store.BudgetSubject{})
				limited = budget.Limits.Chained()
				return err
			}, 0, workspaceID, rootID); err != nil {
				return err
			}
		}
		if !limited {
			rootID = parley.ID{}
		}
		return nil
	})
	return rootID, err
}

// Spending of a chain according to the record: the calls of the turns whose triggers began it, carried its delegations
// or returned their answers, and those of the tool sessions that these turns opened.
const (
	ofChain = `WITH RECURSIVE triggers (id) AS (SELECT ?2 UNION
   SELECT message_id FROM delegations WHERE root_id = ?2 AND message_id IS NOT NULL UNION
   SELECT return_message_id FROM delegations WHERE root_id = ?2 AND return_message_id IS NOT NULL),
 places (id) AS (SELECT session_id FROM messages WHERE id IN (SELECT id FROM triggers)),
 worked (id) AS (SELECT t.id FROM turns t WHERE t.workspace_id = ?1 AND t.session_id IN (SELECT id FROM places)
   AND t.trigger_message_id IN (SELECT id FROM triggers)),
 below (id) AS (SELECT s.id FROM worked JOIN messages m ON m.turn_id = worked.id
   JOIN sessions s ON s.workspace_id = ?1 AND s.parent_message_id = m.id AND s.root_id <> s.id
    AND s.deleted_at IS NULL
   UNION SELECT s.id FROM below JOIN sessions s ON s.workspace_id = ?1 AND s.parent_session_id = below.id
    AND s.root_id <> s.id AND s.deleted_at IS NULL),
 spent AS (SELECT c.* FROM worked JOIN calls c ON c.turn_id = worked.id UNION ALL
   SELECT c.* FROM below JOIN calls c ON c.session_id = below.id)
 `
	spentOfChain = ofChain + spentOf + "SELECT * FROM spent WHERE outcome <> 'open') c"
)

// makeChain makes the budget of a chain.
func (t *txn) makeChain(workspaceID, rootID parley.ID) error {
	var sessionID parley.ID
	found, err := t.one("SELECT session_id FROM messages WHERE workspace_id = ? AND id = ?", func(r *row) error {
		sessionID = r.id()
		return nil
	}, workspaceID, rootID)
	if err != nil || !found {
		return err
	}
	var tokens, cost int64
	if _, err := t.one(spentOfChain, func(r *row) error {
		tokens, cost = r.int64(), r.int64()
		return nil
	}, workspaceID, rootID); err != nil {
		return err
	}
	_, err = t.exec(
		"INSERT INTO budgets (workspace_id, subject_id, tokens, cost, day, session_id) VALUES (?, ?, ?, ?, ?, ?)",
		workspaceID, rootID, tokens, cost, dayOf(t.now), sessionID,
	)
	return err
}

// chainsOf selects the budgets of the chains that began in a session, or in the sessions of an agent.
const (
	chainsOfSession = "SELECT subject_id FROM budgets WHERE workspace_id = ?1 AND session_id = ?2"
	chainsOfAgent   = "SELECT b.subject_id FROM budgets b JOIN sessions s ON s.id = b.session_id " +
		"WHERE b.workspace_id = ?1 AND b.session_id IS NOT NULL AND s.agent_id = ?2"
)

// relimitChains is relimit for the chains that began in a session, or in the sessions of an agent.
func (t *txn) relimitChains(chains string, workspaceID, ownerID parley.ID, limited bool) error {
	var subjects []parley.ID
	if err := t.each(chains, func(r *row) error {
		subjects = append(subjects, r.id())
		return nil
	}, workspaceID, ownerID); err != nil {
		return err
	}
	for _, subject := range subjects {
		if err := t.relimit(workspaceID, subject, limited); err != nil {
			return err
		}
	}
	return nil
}
