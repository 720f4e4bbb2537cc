package sqlite

import (
	"context"
	"encoding/json"

	"parley"
)

// agentVersion names an immutable row of agent_versions.
type agentVersion struct {
	id      parley.ID
	version int
}

// cachedAgents bounds the cache of agents; a full one is emptied.
const cachedAgents = 256

// Claim implements parley.TurnStore: round robin over the workspaces that wait,
// beginning behind the one served last, the oldest session of each.
func (s *Store) Claim(ctx context.Context, processID parley.ID, n int, occupancy parley.Occupancy) ([]parley.Claim, error) {
	n = min(n, parley.MaxClaims)
	return transact(ctx, s, func(tx *txn) ([]parley.Claim, error) {
		allowed, err := tx.mayClaim(processID)
		if err != nil {
			return nil, err
		}
		if !allowed {
			return nil, parley.Errorf(parley.CodeFenced, "this process has no lease")
		}
		picker := newPicker(n, occupancy)
		var claims []parley.Claim
		for len(claims) < n {
			id, err := picker.next(tx)
			if err != nil || id.IsZero() {
				return claims, err
			}
			h, err := tx.load(id)
			if err != nil {
				return nil, err
			}
			if h == nil || h.turnStatus != parley.TurnQueued { // never; a stray row must not stop the others
				if _, err := tx.exec("DELETE FROM ready WHERE session_id = ?", id); err != nil {
					return nil, err
				}
				continue
			}
			claim, err := tx.claim(h, processID)
			if err != nil {
				return nil, err
			}
			picker.took(tx, h)
			claims = append(claims, claim)
		}
		return claims, nil
	})
}

// mayClaim reports whether a process has a lease.
func (t *txn) mayClaim(processID parley.ID) (bool, error) {
	if processID.IsZero() {
		return false, nil
	}
	return t.has("SELECT 1 FROM processes WHERE id = ?", processID)
}

// claimsDirectly reports whether a post to a session may claim its turn for a
// process: background turns wait for Claim, which knows their share.
func (t *txn) claimsDirectly(h *head, processID parley.ID) (bool, error) {
	if h.Mode == parley.ModeBackground {
		return false, nil
	}
	return t.mayClaim(processID)
}

// claim makes a process the holder of a session's queued turn: its trigger
// enters the record if it waited in the queue.
func (t *txn) claim(h *head, processID parley.ID) (parley.Claim, error) {
	turn, err := t.currentTurn(h)
	if err != nil {
		return parley.Claim{}, err
	}
	if err := t.unready(h); err != nil {
		return parley.Claim{}, err
	}
	trigger, err := t.readMessage("m.id = ?", turn.TriggerMessageID)
	if err != nil {
		return parley.Claim{}, err
	}
	if trigger == nil {
		return parley.Claim{}, notFound("message")
	}
	if trigger.Status == parley.MessageQueued {
		if err := t.enterRecord(h, trigger); err != nil {
			return parley.Claim{}, err
		}
	}
	if err := t.start(h, turn, processID); err != nil {
		return parley.Claim{}, err
	}
	if err := t.saveTurn(turn); err != nil {
		return parley.Claim{}, err
	}
	claim, err := t.claimOf(h, turn, trigger)
	if err != nil {
		return parley.Claim{}, err
	}
	return *claim, nil
}

// start moves a queued turn to running, in memory, under a new epoch.
func (t *txn) start(h *head, turn *parley.Turn, processID parley.ID) error {
	if err := h.move(turn, parley.MoveClaim); err != nil {
		return err
	}
	h.epoch++
	h.holder = processID
	turn.Attempt++
	if turn.StartedAt == 0 {
		turn.StartedAt = t.now
	}
	if h.StartedAt == 0 {
		h.StartedAt, h.listed = t.now, true
	}
	if turn.AgentVersion == 0 {
		version := 0
		if _, err := t.one("SELECT version FROM agents WHERE id = ? AND workspace_id = ?", func(r *row) error {
			version = r.int()
			return nil
		}, h.AgentID, h.WorkspaceID); err != nil {
			return err
		}
		turn.AgentID, turn.AgentVersion = h.AgentID, version
	}
	t.event(h, parley.EventSessionStarted, turn.ID, startedData(turn))
	return nil
}

// claimOf is what a worker gets.
func (t *txn) claimOf(h *head, turn *parley.Turn, trigger *parley.Message) (*parley.Claim, error) {
	agent, err := t.agent(turn.AgentID, turn.AgentVersion)
	if err != nil {
		return nil, err
	}
	return &parley.Claim{
		Fence:   parley.Fence{WorkspaceID: h.WorkspaceID, SessionID: h.ID, TurnID: turn.ID, Epoch: h.epoch},
		Session: h.Session, Agent: agent, Turn: *turn, Trigger: *trigger,
	}, nil
}

// agent reads an agent in a version.
func (t *txn) agent(id parley.ID, version int) (parley.Agent, error) {
	key := agentVersion{id, version}
	if agent, ok := t.agents[key]; ok {
		return agent, nil
	}
	var agent parley.Agent
	found, err := t.one("SELECT body FROM agent_versions WHERE agent_id = ? AND version = ?", func(r *row) error {
		return json.Unmarshal(r.json(), &agent)
	}, id, version)
	if err != nil {
		return agent, err
	}
	if !found {
		return agent, notFound("agent")
	}
	if len(t.agents) >= cachedAgents {
		clear(t.agents)
	}
	t.agents[key] = agent
	return agent, nil
}
