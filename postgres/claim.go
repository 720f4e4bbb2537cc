package postgres

import (
	"bytes"
	"context"
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Bounds of a claim.
const (
	claimBatch  = 64 // sessions per transaction
	claimRounds = 16 // transactions per Claim, including those lost to faster processes
)

// candidates reads the sessions of one priority ($1) that a claim would take, with everything that it needs of them. It
// steps through the waiting workspaces after $2 and around, whatever waits in each, skips those of $3, and takes the
// oldest session of $4 workspaces, then their second oldest, up to $4 in all.
const candidates = `WITH RECURSIVE walk (workspace_id, found, admitted, lap) AS (
  SELECT $2::uuid, false, 0, 1
 UNION ALL
  SELECT coalesce(n.workspace_id, '00000000-0000-0000-0000-000000000000'), n.workspace_id IS NOT NULL,
   w.admitted + CASE WHEN n.workspace_id IS NULL OR n.workspace_id = ANY($3) THEN 0 ELSE 1 END,
   	w.lap + CASE WHEN n.workspace_id IS NULL THEN 1 ELSE 0 END
  FROM walk w LEFT JOIN LATERAL (SELECT r.workspace_id FROM parley.ready r
  	WHERE r.priority = $1 AND r.workspace_id > w.workspace_id
   AND (w.lap = 1 OR r.workspace_id <= $2) ORDER BY r.workspace_id LIMIT 1) n ON true
  WHERE w.lap <= 2 AND w.admitted < $4),
 waiting AS MATERIALIZED (SELECT workspace_id, row_number() OVER () AS place FROM walk
  WHERE found AND workspace_id <> ALL($3)),
 chosen AS MATERIALIZED (SELECT w.workspace_id, o.session_id, o.ready_at FROM waiting w CROSS JOIN LATERAL (
   SELECT x.session_id, x.ready_at, row_number() OVER (ORDER BY x.ready_at, x.session_id) AS rank FROM (
    SELECT r.session_id, r.ready_at FROM parley.ready r WHERE r.priority = $1 AND r.workspace_id = w.workspace_id
    	AND r.not_before <= parley.now_ms()
    ORDER BY r.ready_at, r.session_id LIMIT $4 - (SELECT count(*) FROM waiting) + 1) x) o
  ORDER BY o.rank, w.place LIMIT $4)
 SELECT c.ready_at, ` + headColumns + ", " + turnColumns + ", g.version, " + messageColumns + ` FROM chosen c
 JOIN parley.heads h ON h.session_id = c.session_id AND h.workspace_id = c.workspace_id
 JOIN parley.sessions s ON s.workspace_id = c.workspace_id AND s.id = c.session_id
 LEFT JOIN parley.turns t ON t.workspace_id = c.workspace_id AND t.id = h.turn_id
 LEFT JOIN parley.messages m ON m.workspace_id = c.workspace_id AND m.id = t.trigger_message_id
 LEFT JOIN parley.agents g ON g.workspace_id = c.workspace_id AND g.id = s.agent_id`

// candidate is a session that may be claimed, as read.
type candidate struct {
	head    *transition.Head
	at      parley.Time
	rank    transition.Rank
	version int // current version of its agent
	trigger parley.Message
	loop    *parley.Loop // loop of the turn, if any
}

func scanCandidate(r *row) (c candidate, err error) {
	c.at = r.time()
	if c.head, err = scanHead(r); err != nil {
		return c, err
	}
	turn, err := scanTurn(r)
	if err != nil {
		return c, err
	}
	if !turn.ID.IsZero() {
		c.head.Remember(&turn, nil)
	}
	c.version = r.int()
	c.trigger, err = scanMessage(r)
	return c, err
}

// Claim implements store.Turns. It chooses sessions on one snapshot, locks those that no other process holds and that
// are unchanged, and claims them together.
func (s *Store) Claim(
	ctx context.Context,
	processID parley.ID,
	n int,
	occupancy store.Occupancy,
) (claims []store.Claim, err error) {
	n = min(n, store.MaxClaims)
	occupancy = occupancy.Clone()
	passed := 0
	for range claimRounds {
		if len(claims) >= n {
			break
		}
		wanted := min(n-len(claims), claimBatch)
		some, seen, err := s.claimSome(ctx, processID, wanted, passed, occupancy)
		if err != nil {
			if len(claims) > 0 { // these are claimed; the next call may return the error
				s.log.Warn("claiming stopped early", "error", err)
				return claims, nil
			}
			return nil, mapError(err)
		}
		for i := range some {
			occupancy.Take(some[i].Fence.WorkspaceID, some[i].Mode())
		}
		claims = append(claims, some...)
		if seen == len(some) && seen < wanted { // nothing else waited
			break
		}
		passed = min(seen-len(some), claimBatch)
	}
	return claims, nil
}

// claimSome claims up to n sessions in one transaction; seen is how many could be claimed when it looked. It examines
// more than it wants: as many more as the previous round skipped, since somebody may keep those locked for long.
func (s *Store) claimSome(
	ctx context.Context,
	processID parley.ID,
	n, passed int,
	occupancy store.Occupancy,
) (claims []store.Claim, seen int, err error) {
	found, suspects, err := s.candidates(ctx, processID, n+passed, occupancy)
	if err != nil || len(found) == 0 {
		return nil, 0, err
	}
	if err := s.agentsOf(ctx, found); err != nil {
		return nil, 0, err
	}
	if err := s.loopsOf(ctx, found); err != nil {
		return nil, 0, err
	}
	var commits []store.Commit
	a := newAttempt(ctx, s, parley.ID{}, &held{cache: s.heads}, exact)
	a.process = processID
	rows := &claimable{
		attempt: a, suspects: suspects, byID: map[parley.ID]*candidate{}, carried: map[parley.ID]*parley.Delegation{},
	}
	err = s.together(ctx, func(t *conversation) error {
		if err := t.send(rows.lock(found)); err != nil {
			return err
		}
		if len(rows.byID) == 0 {
			return t.end()
		}
		a.talk = t // what background turns need beside their candidates is read under the locks
		a.tx.Begin(rows, s.clock.Now())
		a.tx.LastServed = s.lastServed()
		if claims, err = a.tx.Claim(processID, n, occupancy, rows); err != nil {
			return err
		}
		commits = a.tx.Finish()
		b := system()
		b.guards(a)
		for _, h := range a.tx.Locked() {
			if err := h.Write(a.changes(b)); err != nil {
				return err
			}
		}
		return t.commit(b)
	})
	switch state := stateOf(err); {
	case unknown(err):
		claims, err = s.stillMine(context.WithoutCancel(ctx), processID, claims)
	case state == stateStale, contended(err), unsent(err):
		return nil, len(found), nil // the next round looks again
	case state == stateLeaseGone:
		err = errNoLease()
	}
	if err != nil || len(claims) == 0 {
		return nil, len(found), err
	}
	served := a.tx.LastServed
	s.served.Store(&served)
	a.settle(commits)
	for _, h := range a.tx.Locked() {
		s.heads.put(h)
	}
	s.tell(commits)
	return claims, len(found), nil
}

func errNoLease() error { return parley.Errorf(parley.CodeFenced, "this process has no lease") }

func (s *Store) lastServed() (id parley.ID) {
	if served := s.served.Load(); served != nil {
		id = *served
	}
	return id
}

// orZero replaces NULL with the zero id.
func orZero(id parley.ID) string {
	if id.IsZero() {
		return "00000000-0000-0000-0000-000000000000"
	}
	return id.String()
}

// candidates reads what a process may claim, of each rank. CodeFenced without a lease. Suspected turns are rare; what
// they need is read only if there are any.
func (s *Store) candidates(
	ctx context.Context,
	processID parley.ID,
	n int,
	occupancy store.Occupancy,
) (found []candidate, suspects transition.Suspects, err error) {
	leased := false
	err = s.read(ctx, func() *batch {
		found, suspects, leased = nil, transition.Suspects{}, false
		b := system()
		b.snapshot = true
		b.read("SELECT 1 FROM parley.processes WHERE id = $1 AND lease_until > parley.now_ms()", func(*row) error {
			leased = true
			return nil
		}, processID)
		b.read(anySuspects, func(*row) error {
			suspects.Waiting = true
			return nil
		}, int(transition.FirstSuspected), int(transition.FirstAccused))
		for _, mode := range []parley.Mode{parley.ModeForeground, parley.ModeBackground} {
			s.readCandidates(b, &found, transition.RankOf(mode, parley.Unsuspected), n, occupancy)
		}
		return b
	})
	if err == nil && !leased {
		err = errNoLease()
	}
	if err != nil || !suspects.Waiting {
		return found, suspects, err
	}
	if err := s.read(ctx, func() *batch {
		b := system()
		b.read(heldSuspects, func(r *row) error {
			suspects.Held, suspects.Twice = r.int(), r.int() > 1
			return nil
		}, processID)
		return b
	}); err != nil {
		return nil, suspects, err
	}
	var suspected []candidate
	err = s.read(ctx, func() *batch {
		suspected = nil
		b := system()
		b.snapshot = true
		for rank := transition.FirstSuspected; rank < transition.FirstAccused; rank++ {
			s.readCandidates(b, &suspected, rank, suspects.Room(rank.Suspicion(), n), occupancy)
		}
		return b
	})
	return append(suspected, found...), suspects, err
}

// readCandidates adds the query for up to n ready sessions of a rank.
func (s *Store) readCandidates(b *batch, found *[]candidate, rank transition.Rank, n int, occupancy store.Occupancy) {
	if n <= 0 || !occupancy.AdmitsAny(rank.Mode()) {
		return
	}
	refused := []parley.ID{}
	for id := range occupancy.Held {
		if !occupancy.Admits(id, rank.Mode()) {
			refused = append(refused, id)
		}
	}
	served := s.lastServed()
	b.read(candidates, func(r *row) error {
		c, err := scanCandidate(r)
		c.rank = rank
		*found = append(*found, c)
		return err
	}, int(rank), orZero(served), refused, n)
}

// agentsOf reads the agent versions that candidates need and that are not cached.
func (s *Store) agentsOf(ctx context.Context, found []candidate) error {
	wanted := map[agentKey]bool{}
	for i := range found {
		c := &found[i]
		key := agentKey{c.head.WorkspaceID, c.head.AgentID, c.version}
		if agentID, version := c.head.RunsAgent(); version > 0 {
			key.agentID, key.version = agentID, version
		}
		if s.agents.version(key.workspaceID, key.agentID, key.version) == nil {
			wanted[key] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return s.read(ctx, func() *batch {
		b := system()
		for key := range wanted {
			b.read(
				"SELECT body FROM parley.agent_versions WHERE workspace_id = $1 AND agent_id = $2 AND version = $3",
				func(r *row) error {
					agent, err := scanAgent(r)
					s.agents.keep(key.workspaceID, key.agentID, key.version, &agent)
					return err
				},
				key.workspaceID,
				key.agentID,
				key.version,
			)
		}
		return b
	})
}

// stillMine returns those claims of a transaction with an unknown result that this process holds: no epoch is used
// twice.
func (s *Store) stillMine(ctx context.Context, processID parley.ID, claims []store.Claim) ([]store.Claim, error) {
	mine := map[parley.ID]int64{}
	ids := make([]parley.ID, len(claims))
	for i := range claims {
		ids[i] = claims[i].Fence.SessionID
	}
	err := s.read(ctx, func() *batch {
		clear(mine)
		b := system()
		b.read(
			"SELECT session_id, epoch FROM parley.heads WHERE session_id = ANY($1) AND holder = $2 "+
				"AND turn_id IS NOT NULL",
			func(r *row) error {
				mine[r.id()] = r.int64()
				return nil
			},
			ids,
			processID,
		)
		return b
	})
	return slices.DeleteFunc(claims, func(c store.Claim) bool { return mine[c.Fence.SessionID] != c.Fence.Epoch }), err
}

// claimable holds the candidates that a claim has locked. It implements transition.Rows and transition.Waiting.
type claimable struct {
	*attempt
	suspects transition.Suspects
	byID     map[parley.ID]*candidate
	carried  map[parley.ID]*parley.Delegation      // by the trigger that carries it, or brings its end; nil: neither
	order    [transition.FirstAccused][]*candidate // by rank, oldest first
}

// lock locks candidates that are unchanged and that nobody else is working on.
func (c *claimable) lock(found []candidate) *batch {
	sessions, workspaces, revisions := make(
		[]parley.ID,
		len(found),
	), make(
		[]parley.ID,
		len(found),
	), make(
		[]int64,
		len(found),
	)
	byID := make(map[parley.ID]*candidate, len(found))
	for i := range found {
		h := found[i].head
		sessions[i], workspaces[i], revisions[i] = h.ID, h.WorkspaceID, h.Revision
		byID[h.ID] = &found[i]
	}
	b := system()
	b.read(
		`SELECT h.session_id FROM parley.heads h JOIN unnest($1::uuid[], $2::uuid[], $3::bigint[]) seen (session_id,
			workspace_id, revision)
 ON h.session_id = seen.session_id AND h.workspace_id = seen.workspace_id
  AND h.revision = seen.revision FOR NO KEY UPDATE OF h SKIP LOCKED`,
		func(r *row) error {
			id := r.id()
			c.byID[id] = byID[id]
			return nil
		},
		sessions,
		workspaces,
		revisions,
	)
	c.readCarried(b, found)
	return b
}

// readCarried reads the delegations that triggers carry, after the locks.
func (c *claimable) readCarried(b *batch, found []candidate) {
	var triggers, workspaces []parley.ID
	for i := range found {
		if one := &found[i]; one.head.Mode == parley.ModeBackground && transition.CarriesDelegation(&one.trigger) {
			triggers, workspaces = append(triggers, one.trigger.ID), append(workspaces, one.head.WorkspaceID)
			c.carried[one.trigger.ID] = nil
		}
	}
	if len(triggers) == 0 {
		return
	}
	const seen = " FROM unnest($1::uuid[], $2::uuid[]) seen (id, workspace_id) " +
		"JOIN parley.delegations d ON d.workspace_id = seen.workspace_id AND d."
	b.read(
		"SELECT seen.id, "+delegationColumns+seen+"message_id = seen.id UNION ALL "+
			"SELECT seen.id, "+delegationColumns+seen+"return_message_id = seen.id",
		func(r *row) error {
			id := r.id()
			d, err := scanDelegation(r)
			c.carried[id] = &d
			return err
		},
		triggers,
		workspaces,
	)
}

// DelegationOf implements transition.Rows.
func (c *claimable) DelegationOf(h *transition.Head, messageID parley.ID) (*parley.Delegation, error) {
	if d, read := c.carried[messageID]; read {
		return d, nil
	}
	return c.attempt.DelegationOf(h, messageID)
}

// Suspects implements transition.Waiting.
func (c *claimable) Suspects(parley.ID) (transition.Suspects, error) { return c.suspects, nil }

// inOrder returns the locked candidates of a rank, oldest first.
func (c *claimable) inOrder(rank transition.Rank) []*candidate {
	order := &c.order[rank]
	if *order == nil {
		*order = []*candidate{}
		for _, one := range c.byID {
			if one.rank == rank {
				*order = append(*order, one)
			}
		}
		slices.SortFunc(*order, func(a, b *candidate) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return a.head.ID.Compare(b.head.ID)
		})
	}
	return *order
}

// NextWorkspace implements transition.Waiting.
func (c *claimable) NextWorkspace(after parley.ID, rank transition.Rank) (next parley.ID, err error) {
	for _, one := range c.inOrder(rank) {
		if id := one.head.WorkspaceID; bytes.Compare(id[:], after[:]) > 0 && (next.IsZero() || id.Compare(next) < 0) {
			next = id
		}
	}
	return next, nil
}

// NextReady implements transition.Waiting.
func (c *claimable) NextReady(
	workspaceID parley.ID,
	rank transition.Rank,
	after transition.Ready,
) (transition.Ready, error) {
	for _, one := range c.inOrder(rank) {
		if one.head.WorkspaceID == workspaceID &&
			(one.at > after.At || one.at == after.At && one.head.ID.Compare(after.SessionID) > 0) {
			return transition.Ready{SessionID: one.head.ID, At: one.at}, nil
		}
	}
	return transition.Ready{}, nil
}

// Head implements transition.Rows.
func (c *claimable) Head(id parley.ID) (*transition.Head, error) { return c.byID[id].head, nil }

// Message implements transition.Rows.
func (c *claimable) Message(_, messageID parley.ID) (*parley.Message, error) {
	for _, one := range c.byID {
		if one.trigger.ID == messageID {
			return &one.trigger, nil
		}
	}
	return nil, nil
}

// Agent implements transition.Rows.
func (c *claimable) Agent(_, agentID parley.ID) (int, parley.AgentStatus, error) {
	for _, one := range c.byID {
		if one.head.AgentID == agentID {
			return one.version, parley.AgentActive, nil
		}
	}
	return 0, "", nil
}

// MayClaim implements transition.Rows.
func (c *claimable) MayClaim(parley.ID) (bool, error) { return true, nil }
