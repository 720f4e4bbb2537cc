package transition

import (
	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// Claim implements the transition of store.Turns: round robin over the waiting workspaces, starting after the one
// served last, taking the oldest session of each.
func (t *Tx) Claim(processID parley.ID, n int, occupancy store.Occupancy, waiting Waiting) ([]store.Claim, error) {
	allowed, err := t.mayClaim(processID)
	if err != nil {
		return nil, err
	}
	if !allowed {
		return nil, parley.Errorf(parley.CodeFenced, "this process has no lease")
	}
	suspects, err := waiting.Suspects(processID)
	if err != nil {
		return nil, err
	}
	n = min(n, store.MaxClaims)
	picker := newPicker(waiting, n, occupancy, suspects)
	var claims []store.Claim
	for len(claims) < n {
		id, err := picker.next(t.LastServed)
		if err != nil || id.IsZero() {
			return claims, err
		}
		h, err := t.load(id)
		if err != nil {
			return nil, err
		}
		if h == nil {
			continue
		}
		if h.TurnStatus != parley.TurnQueued { // should not happen; a stray row must not block the others
			h.unready()
			continue
		}
		if moved, err := t.reranked(h, picker.rank()); err != nil {
			return nil, err
		} else if moved {
			continue
		}
		claim, err := t.claim(h, processID)
		if err != nil {
			return nil, err
		}
		picker.took(h)
		t.LastServed = h.WorkspaceID
		claims = append(claims, claim)
	}
	return claims, nil
}

// mayClaim reports whether a process has a lease; the zero id has none.
func (t *Tx) mayClaim(processID parley.ID) (bool, error) {
	if processID.IsZero() {
		return false, nil
	}
	return t.rows.MayClaim(processID)
}

// reranked repairs a ready row whose rank differs from its turn's, as older programs may write it.
func (t *Tx) reranked(h *Head, offered Rank) (bool, error) {
	if _, err := t.currentTurn(h); err != nil || h.Rank() == offered {
		return false, err
	}
	h.Changes.Unready, h.Changes.Ready = true, true
	return true, nil
}

// claimsDirectly reports whether a post may claim the session's turn for a process. Background and suspected turns wait
// for Claim, which knows how many the process may run.
func (t *Tx) claimsDirectly(h *Head, processID parley.ID) (bool, error) {
	if h.Rank() != RankOf(parley.ModeForeground, parley.Unsuspected) {
		return false, nil
	}
	return t.mayClaim(processID)
}

// claimDelivered claims the turn that the message of a delegation has just started, if the process that does the errand
// has a place for it. A turn that waits behind another, or that others entered before, is left to Claim.
func (t *Tx) claimDelivered(h *Head, m *parley.Message, d *parley.Delegation) error {
	if t.ClaimBy.IsZero() || m.TurnID != h.TurnID || h.Rank() != RankOf(parley.ModeBackground, parley.Unsuspected) {
		return nil
	}
	turn, err := t.currentTurn(h)
	if err != nil || turn.TriggerMessageID != m.ID {
		return err
	}
	if allowed, err := t.mayClaim(t.ClaimBy); err != nil || !allowed {
		return err
	}
	h.Changes.Ready = false
	if err := t.start(h, turn, t.ClaimBy); err != nil {
		return err
	}
	if err := t.beginCarried(h, turn, m, d); err != nil {
		return err
	}
	t.Claimed, err = t.claimOf(h, turn, m)
	return err
}

// claim makes a process the holder of a session's queued turn; a queued trigger enters the record.
func (t *Tx) claim(h *Head, processID parley.ID) (store.Claim, error) {
	turn, err := t.currentTurn(h)
	if err != nil {
		return store.Claim{}, err
	}
	h.unready()
	trigger := h.Changes.made(turn.TriggerMessageID)
	if trigger == nil {
		if trigger, err = t.rows.Message(h.WorkspaceID, turn.TriggerMessageID); err != nil {
			return store.Claim{}, err
		}
	}
	if trigger == nil {
		return store.Claim{}, NotFound("message")
	}
	if h.Queued > 0 && h.Mode == parley.ModeBackground {
		// Read what enters with the trigger while the trigger is still in the queue: read later, the rows would put the
		// trigger back.
		if _, err := t.queueOf(h, true); err != nil {
			return store.Claim{}, err
		}
	}
	if trigger.Status == parley.MessageQueued {
		if err := t.enterRecord(h, trigger); err != nil {
			return store.Claim{}, err
		}
	}
	if err := t.enterMembers(h, turn); err != nil {
		return store.Claim{}, err
	}
	if err := t.start(h, turn, processID); err != nil {
		return store.Claim{}, err
	}
	if err := t.beginDelegated(h, turn, trigger); err != nil {
		return store.Claim{}, err
	}
	h.saveTurn(turn)
	claim, err := t.claimOf(h, turn, trigger)
	if err != nil {
		return store.Claim{}, err
	}
	return *claim, nil
}

// start moves a queued turn to running in memory, under a new epoch.
func (t *Tx) start(h *Head, turn *parley.Turn, processID parley.ID) error {
	if err := h.move(turn, parley.MoveClaim); err != nil {
		return err
	}
	h.Epoch++
	h.Holder = processID
	turn.Attempt++
	if turn.StartedAt == 0 {
		turn.StartedAt = t.now
	}
	if h.StartedAt == 0 {
		h.StartedAt, h.Changes.Listed = t.now, true
	}
	if turn.AgentVersion == 0 {
		version, _, err := t.agent(h.WorkspaceID, h.AgentID)
		if err != nil {
			return err
		}
		turn.AgentID, turn.AgentVersion = h.AgentID, version
	}
	t.startTransform(h, turn)
	t.event(h, turn.ID, event.SessionStarted{TurnID: turn.ID, Attempt: turn.Attempt}.Encode())
	return nil
}

// claimOf builds the claim for the worker.
func (t *Tx) claimOf(h *Head, turn *parley.Turn, trigger *parley.Message) (*store.Claim, error) {
	agent, err := t.rows.AgentVersion(h.WorkspaceID, turn.AgentID, turn.AgentVersion)
	if err != nil {
		return nil, err
	}
	if agent == nil {
		return nil, NotFound("agent")
	}
	claim := &store.Claim{
		Fence:   store.Fence{WorkspaceID: h.WorkspaceID, SessionID: h.ID, TurnID: turn.ID, Epoch: h.Epoch},
		Session: h.Session, Agent: *agent, Turn: *turn, Trigger: *trigger, Steers: h.Steers > 0,
	}
	if !turn.LoopID.IsZero() {
		loop, err := t.loopOf(h, turn.LoopID)
		if err != nil {
			return nil, err
		}
		shown := *loop.Loop // the transition's copy may still change
		claim.Loop = &shown
	}
	return claim, nil
}
