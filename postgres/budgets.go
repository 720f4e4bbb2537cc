package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// A transition's batch ends with its changes to budgets, in the order of their ids. They void the batch if there is no
// room, if the reason for a refusal no longer holds, or if a warning was already given. Until then the core assumes
// that they succeed.

// today is the UTC day by the database's clock. The literal 12 below is parley.DailyWarned.
const today = "(parley.now_ms() / 86400000)"

// budgetColumns reads "b".
const budgetColumns = `b.subject_id IS NOT NULL, b.revision, b.tokens, b.cost, CASE WHEN b.day = ` + today +
	` THEN b.day_tokens ELSE 0 END,
 CASE WHEN b.day = ` + today + ` THEN b.day_cost ELSE 0 END, b.reserved_tokens, b.reserved_cost,
 CASE WHEN b.day = ` + today + ` THEN b.warned ELSE b.warned & ~12 END, 86400000 - parley.now_ms() % 86400000`

const (
	sessionBudget = "SELECT s.agent_id, s.overrides, " + budgetColumns + ` FROM parley.sessions s
 LEFT JOIN parley.budgets b ON b.workspace_id = s.workspace_id AND b.subject_id = s.id
  WHERE s.workspace_id = $1 AND s.id = $2 AND s.deleted_at IS NULL`
	agentBudget = "SELECT NULL::uuid, a.body, " + budgetColumns + ` FROM parley.agents a
 LEFT JOIN parley.budgets b ON b.workspace_id = a.workspace_id AND b.subject_id = a.id
  WHERE a.workspace_id = $1 AND a.id = $2`
)

// limitsHolder is the part of an agent's body and of a session's settings that contains the limits.
type limitsHolder struct {
	Limits *parley.Limits `json:"limits"`
}

func scanBudget(r *row, subject store.BudgetSubject) (store.Budget, error) {
	budget := store.Budget{BudgetSubject: subject, AgentID: r.id()}
	var settings limitsHolder
	if err := json.Unmarshal([]byte(r.text()), &settings); err != nil {
		return budget, fmt.Errorf("postgres: the limits of %s cannot be read: %w", subject.ID, err)
	}
	if settings.Limits != nil {
		budget.Limits = *settings.Limits
	}
	budget.Made, budget.Revision, budget.Tokens, budget.Cost = r.bool(), r.int64(), r.int64(), parley.Money(r.int64())
	budget.DayTokens, budget.DayCost = r.int64(), parley.Money(r.int64())
	budget.ReservedTokens, budget.ReservedCost, budget.Warned = r.int64(), parley.Money(r.int64()), r.int64()
	budget.DayLeft = time.Duration(r.int64()) * time.Millisecond
	return budget, nil
}

// Budgets implements store.Budgets.
func (s *Store) Budgets(
	ctx context.Context,
	workspaceID parley.ID,
	subjects []store.BudgetSubject,
) (budgets []store.Budget, err error) {
	err = s.read(ctx, func() *batch {
		budgets = nil
		b := tenant(workspaceID)
		for _, subject := range subjects {
			query, scan := sessionBudget, scanBudget
			switch subject.Scope {
			case parley.BudgetOfAgent:
				query = agentBudget
			case parley.BudgetOfChain:
				query, scan = chainBudget, scanChain
			}
			b.read(query, func(r *row) error {
				budget, err := scan(r, subject)
				budgets = append(budgets, budget)
				return err
			}, workspaceID, subject.ID)
		}
		return b
	})
	return budgets, err
}

// Spending according to the record and to what dry runs used, as six columns after the ids. Calls that were estimated
// count with their estimate, both in tokens and in cost.
const (
	callTokens = `coalesce((c.usage::json ->> 'input_tokens')::bigint + (c.usage::json ->> 'output_tokens')::bigint,
		(c.estimate::json ->> 'input_tokens')::bigint + (c.estimate::json ->> 'output_tokens')::bigint,
		CASE WHEN c.estimated THEN c.reserved_tokens END, 0)`
	dryTokens = `coalesce((c.usage::json ->> 'input_tokens')::bigint + (c.usage::json ->> 'output_tokens')::bigint,
		(c.estimate::json ->> 'input_tokens')::bigint + (c.estimate::json ->> 'output_tokens')::bigint, 0)`
	makeSession = `INSERT INTO parley.budgets (workspace_id, subject_id, tokens, cost, day, day_tokens, day_cost)
 SELECT $1, $2, coalesce(sum(x.tokens), 0), coalesce(sum(x.cost), 0), n.day,
  coalesce(sum(x.tokens) FILTER (WHERE x.created_at >= n.day * 86400000), 0),
 coalesce(sum(x.cost) FILTER (WHERE x.created_at >= n.day * 86400000), 0) FROM (SELECT ` + today + ` AS day) n
 LEFT JOIN (SELECT c.cost, c.created_at, ` + callTokens + ` AS tokens FROM parley.sessions s
 JOIN parley.calls c ON c.workspace_id = s.workspace_id AND c.session_id = s.id
 WHERE s.workspace_id = $1 AND (s.id = $2 OR s.root_id = $2) AND c.outcome <> 'open'
 UNION ALL SELECT c.cost, c.created_at, ` + dryTokens + ` FROM parley.sessions s
 JOIN parley.dry_calls c ON c.workspace_id = s.workspace_id AND c.session_id = s.id
 WHERE s.workspace_id = $1 AND (s.id = $2 OR s.root_id = $2)) x ON true GROUP BY n.day
  ON CONFLICT DO NOTHING`
	makeAgent = `INSERT INTO parley.budgets (workspace_id, subject_id, day, day_tokens, day_cost)
 SELECT $1, $2, n.day, coalesce(sum(x.tokens), 0), coalesce(sum(x.cost), 0) FROM (SELECT ` + today + ` AS day) n
 LEFT JOIN (SELECT s.updated_at, c.cost, c.created_at, ` + callTokens + ` AS tokens FROM parley.sessions s
 JOIN parley.calls c ON c.workspace_id = s.workspace_id AND c.session_id = s.id
 WHERE s.workspace_id = $1 AND s.agent_id = $2 AND c.outcome <> 'open'
 UNION ALL SELECT c.created_at, c.cost, c.created_at, ` + dryTokens + ` FROM parley.dry_calls c
 WHERE c.workspace_id = $1 AND c.agent_id = $2) x ON x.updated_at >= n.day * 86400000
  AND x.created_at >= n.day * 86400000
 GROUP BY n.day ON CONFLICT DO NOTHING`
)

// MakeBudgets implements store.Budgets.
func (s *Store) MakeBudgets(ctx context.Context, workspaceID parley.ID, subjects []store.BudgetSubject) error {
	return s.read(ctx, func() *batch { // existing rows stay, so it may be sent again
		b := tenant(workspaceID)
		for _, subject := range subjects {
			statement := makeSession
			switch subject.Scope {
			case parley.BudgetOfAgent:
				statement = makeAgent
			case parley.BudgetOfChain:
				statement = makeChain
			}
			b.write(statement, workspaceID, subject.ID)
		}
		return b
	})
}

// WarnLimit implements store.Budgets.
func (s *Store) WarnLimit(
	ctx context.Context,
	fence store.Fence,
	warning parley.LimitWarning,
	subject parley.ID,
) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.WarnLimit(fence, warning, subject) })
}

// ParkRefused implements store.Budgets.
func (s *Store) ParkRefused(ctx context.Context, fence store.Fence, refusal store.Refusal) (parley.Turn, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (parley.Turn, error) { return a.tx.ParkRefused(fence, refusal) },
	)
}

// Fits implements transition.Rows. It assumes yes; the write checks.
func (a *attempt) Fits(parley.ID, *store.Charge, parley.Reserved) (bool, error) { return true, nil }

// Refuses implements transition.Rows. It assumes yes; the write checks.
func (a *attempt) Refuses(parley.ID, *store.Refusal) (bool, error) { return true, nil }

// Warned implements transition.Rows. It assumes no; the write checks.
func (a *attempt) Warned(parley.ID, parley.ID, parley.Limit) (bool, error) { return false, nil }

// Rate implements transition.Rows. It assumes no wait; the write checks.
func (a *attempt) Rate(parley.ID, parley.ID, int) (time.Duration, error) { return 0, nil }

// Spend implements transition.Writer.
func (w *changes) Spend(h *transition.Head, spent []transition.Spent) error {
	for i := range spent {
		w.spend(h.WorkspaceID, &spent[i])
	}
	return nil
}

// Reserve implements transition.Writer.
func (w *changes) Reserve(h *transition.Head, calls []transition.NewCall) error {
	for i := range calls {
		w.reserve(h, &calls[i])
	}
	return nil
}

// Park implements transition.Writer.
func (w *changes) Park(h *transition.Head, parked *transition.Parked) error {
	w.park(h, &parked.Refusal)
	return nil
}

// Warn implements transition.Writer.
func (w *changes) Warn(h *transition.Head, warned *transition.Warned) error {
	w.write(
		`WITH warned AS (UPDATE parley.budgets b SET warned = CASE WHEN b.day = n.day THEN b.warned ELSE b.warned &
			~12 END | $3,
 day_tokens = CASE WHEN b.day = n.day THEN b.day_tokens ELSE 0 END,
  day_cost = CASE WHEN b.day = n.day THEN b.day_cost ELSE 0 END, day = n.day
 FROM (SELECT `+today+` AS day) n WHERE b.workspace_id = $1 AND b.subject_id = $2
  AND CASE WHEN b.day = n.day THEN b.warned ELSE b.warned & ~12 END & $3 = 0 RETURNING 1)
 SELECT CASE WHEN EXISTS (SELECT 1 FROM warned) THEN 0 ELSE parley.warned_before() END`,
		h.WorkspaceID,
		warned.Subject,
		warned.Limit.WarnedBit(),
	)
	return nil
}

// CountRequest implements transition.Writer.
func (w *changes) CountRequest(h *transition.Head, rated *transition.Rated) error {
	w.read(
		rateOrVoid,
		nothing,
		h.WorkspaceID,
		h.ID,
		time.Minute.Microseconds()/int64(rated.PerMinute),
		int64(rated.PerMinute),
	)
	return nil
}

// Relimit implements transition.Writer.
func (w *changes) Relimit(h *transition.Head) error {
	limits := parley.ValueOf(h.Limits)
	w.relimitChains(chainsOfSession, h.WorkspaceID, h.ID, limits.Chained())
	w.relimit(h.WorkspaceID, h.ID, limits.Budgeted())
	return nil
}

// reserveIn charges a budget with an estimate, or voids the batch. A budget that is gone has no limit.
const reserveIn = `WITH taken AS (UPDATE parley.budgets b SET reserved_tokens = b.reserved_tokens + $3,
	reserved_cost = b.reserved_cost + $4
 FROM (SELECT ` + today + ` AS day) n WHERE b.workspace_id = $1 AND b.subject_id = $2
 AND ($5::bigint IS NULL OR b.tokens + b.reserved_tokens + $3 <= $5)
  AND ($6::bigint IS NULL OR b.cost + b.reserved_cost + $4 <= $6)
 AND ($7::bigint IS NULL OR CASE WHEN b.day = n.day THEN b.day_tokens ELSE 0 END + b.reserved_tokens + $3 <= $7)
 AND ($8::bigint IS NULL OR CASE WHEN b.day = n.day THEN b.day_cost ELSE 0 END + b.reserved_cost + $4 <= $8)
  RETURNING 1)
 SELECT CASE WHEN EXISTS (SELECT 1 FROM taken) OR NOT EXISTS (SELECT 1 FROM parley.budgets
  WHERE workspace_id = $1 AND subject_id = $2) THEN 0 ELSE parley.over_budget() END`

// reserve charges the budgets of a new call with its estimate.
func (b *batch) reserve(h *transition.Head, call *transition.NewCall) {
	if call.Reservation == nil {
		return
	}
	reserved := call.Reservation.Reserved
	var from []parley.ID
	for i := range call.Reservation.Charges {
		if c := &call.Reservation.Charges[i]; !c.Watched {
			from = append(from, c.Subject)
			b.read(
				reserveIn,
				nothing,
				h.WorkspaceID,
				c.Subject,
				reserved.Tokens,
				orNothing(reserved.Cost),
				c.Tokens,
				c.Cost,
				c.DailyTokens,
				c.DailyCost,
			)
		}
	}
	b.write(
		"UPDATE parley.calls SET reserved_tokens = $3, reserved_cost = $4, reserved_from = $5 "+
			"WHERE workspace_id = $1 AND id = $2",
		h.WorkspaceID,
		call.Call.ID,
		reserved.Tokens,
		reserved.Cost,
		transition.JoinIDs(from),
	)
}

func nothing(*row) error { return nil }

// wakeSome leaves errands for the sessions that have waited longest for a budget, or for all if no open call can leave
// room.
const wakeSome = `WITH room AS (SELECT CASE WHEN EXISTS (SELECT 1 FROM parley.budgets
	WHERE workspace_id = $1 AND subject_id = $2 AND (reserved_tokens > 0
		OR reserved_cost > 0)) THEN $4::bigint END AS most),
 gone AS (DELETE FROM parley.parked p WHERE p.workspace_id = $1 AND p.subject_id = $2 AND p.session_id IN
 (SELECT o.session_id FROM parley.parked o WHERE o.workspace_id = $1 AND o.subject_id = $2
  ORDER BY o.parked_at, o.session_id LIMIT (SELECT most FROM room)) RETURNING p.session_id)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) SELECT $1, $3, g.session_id, now, now
  FROM gone g, parley.now_ms() now`

// spend replaces a call's reservation with its usage and wakes sessions that wait for room.
func (b *batch) spend(workspaceID parley.ID, spent *transition.Spent) {
	for _, subject := range spent.From {
		b.write(
			`UPDATE parley.budgets b SET tokens = b.tokens + $3, cost = b.cost + $4,
				day_tokens = CASE WHEN b.day = n.day THEN b.day_tokens ELSE 0 END + $3,
 day_cost = CASE WHEN b.day = n.day THEN b.day_cost ELSE 0 END + $4,
  warned = CASE WHEN b.day = n.day THEN b.warned ELSE b.warned & ~12 END, day = n.day,
 reserved_tokens = greatest(0, b.reserved_tokens - $5), reserved_cost = greatest(0, b.reserved_cost - $6)
  FROM (SELECT `+today+` AS day) n
 WHERE b.workspace_id = $1 AND b.subject_id = $2`,
			workspaceID,
			subject,
			spent.Used.Tokens,
			orNothing(spent.Used.Cost),
			spent.Reserved.Tokens,
			orNothing(spent.Reserved.Cost),
		)
		b.write(wakeSome, workspaceID, subject, transition.WakeSession{}.Kind(), transition.WokenAtOnce)
	}
}

// stillRefused voids the batch unless every budget has its revision and one of them refuses.
const stillRefused = `WITH c AS (SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::boolean[], $5::bigint[],
	$6::bigint[], $7::bigint[], $8::bigint[])
 AS c (subject_id, revision, watched, tokens, cost, daily_tokens, daily_cost)),
 locked AS MATERIALIZED (SELECT b.* FROM parley.budgets b WHERE b.workspace_id = $1 AND b.subject_id = ANY($2)
  ORDER BY b.subject_id FOR NO KEY UPDATE),
 judged AS (SELECT b.revision = c.revision AS same, NOT c.watched
  AND (coalesce(b.tokens + b.reserved_tokens + $9 > c.tokens, false)
  OR coalesce(b.cost + b.reserved_cost + $10 > c.cost, false)
  OR coalesce(CASE WHEN b.day = n.day THEN b.day_tokens ELSE 0 END + b.reserved_tokens + $9 > c.daily_tokens, false)
  OR coalesce(CASE WHEN b.day = n.day THEN b.day_cost ELSE 0 END + b.reserved_cost + $10 > c.daily_cost,
  	false)) AS full_up
  FROM locked b JOIN c ON c.subject_id = b.subject_id, (SELECT ` + today + ` AS day) n)
 SELECT CASE WHEN count(*) = cardinality($2::uuid[]) AND bool_and(same)
  AND ($11::boolean OR bool_or(full_up)) THEN 0 ELSE parley.fits_again() END FROM judged`

// park marks a session as waiting for room.
func (b *batch) park(h *transition.Head, refusal *store.Refusal) {
	n := len(refusal.Charges)
	subjects, revisions, watched := make([]parley.ID, n), make([]int64, n), make([]bool, n)
	tokens, costs, dailyTokens, dailyCosts := make([]*int64, n), make([]*int64, n), make([]*int64, n), make([]*int64, n)
	for i := range refusal.Charges {
		c := &refusal.Charges[i]
		subjects[i], revisions[i], watched[i] = c.Subject, c.Revision, c.Watched
		tokens[i], costs[i], dailyTokens[i], dailyCosts[i] = c.Tokens, (*int64)(
			c.Cost,
		), c.DailyTokens, (*int64)(
			c.DailyCost,
		)
	}
	b.read(stillRefused, nothing, h.WorkspaceID, subjects, revisions, watched, tokens, costs, dailyTokens, dailyCosts,
		refusal.Tokens, orNothing(refusal.Cost), refusal.Certain)
	b.write(
		`INSERT INTO parley.parked (workspace_id, subject_id, session_id, parked_at)
			SELECT $1, subject, $3, parley.now_ms() FROM unnest($2::uuid[]) subject
 ON CONFLICT (workspace_id, subject_id, session_id) DO UPDATE SET parked_at = excluded.parked_at`,
		h.WorkspaceID,
		subjects,
		h.ID,
	)
}

// relimit reacts to changed limits of a subject: it wakes waiting sessions and deletes a budget without limits.
func (b *batch) relimit(workspaceID, subject parley.ID, budgeted bool) {
	statement := "DELETE FROM parley.budgets WHERE workspace_id = $1 AND subject_id = $2"
	if budgeted {
		statement = "UPDATE parley.budgets SET revision = revision + 1, warned = 0 " +
			"WHERE workspace_id = $1 AND subject_id = $2"
	}
	b.write(statement, workspaceID, subject)
	b.write(`WITH gone AS (DELETE FROM parley.parked WHERE workspace_id = $1 AND subject_id = $2 RETURNING session_id)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) SELECT $1, $3, g.session_id, now, now
  FROM gone g, parley.now_ms() now`,
		workspaceID, subject, transition.WakeSession{}.Kind())
}

// relimitAgent is relimit for an agent, whose limits also apply to its sessions: their budgets go, too, if nothing
// limits them.
func (b *batch) relimitAgent(before, agent *parley.Agent) {
	if transition.SameLimits(before.Limits, agent.Limits) {
		return
	}
	if parley.ValueOf(before.Limits).Budgeted() && !parley.ValueOf(agent.Limits).Budgeted() {
		b.write(
			`DELETE FROM parley.budgets b USING parley.sessions s
				WHERE b.workspace_id = $1 AND s.workspace_id = $1 AND s.id = b.subject_id AND s.agent_id = $2`,
			agent.WorkspaceID,
			agent.ID,
		)
	}
	limits := parley.ValueOf(agent.Limits)
	b.relimitChains(chainsOfAgent, agent.WorkspaceID, agent.ID, limits.Chained())
	b.relimit(agent.WorkspaceID, agent.ID, limits.Budgeted())
}

func orNothing(cost *parley.Money) int64 {
	if cost == nil {
		return 0
	}
	return int64(*cost)
}

// Statements that count a request: a subject's time advances by one request's share, unless it would be more than a
// minute ahead; then early says by how much. A time further ahead is ignored: it predates a step back of the database's
// clock, and would refuse everybody until the clock catches up.
const (
	takenRate = `WITH n AS (SELECT parley.now_ms() * 1000 AS now),
 taken AS (INSERT INTO parley.rates AS r (workspace_id, subject_id, used_until) SELECT $1, $2, n.now + $3 FROM n
  ON CONFLICT (workspace_id, subject_id) DO UPDATE SET used_until = CASE WHEN r.used_until - (excluded.used_until - $3)
  	BETWEEN 0 AND 60000000 THEN r.used_until + $3 ELSE excluded.used_until END
  WHERE r.used_until - (excluded.used_until - $3) NOT BETWEEN 60000001 - $3 AND 60000000 RETURNING 1)`
	early = `greatest(1, coalesce((SELECT r.used_until FROM parley.rates r
		WHERE r.workspace_id = $1 AND r.subject_id = $2), 0) + $3 - n.now - 60000000)`
	takeRate = takenRate + ` SELECT CASE WHEN EXISTS (SELECT 1 FROM taken) THEN 0 ELSE ` + early + ` END FROM n`
	rateWait = `SELECT greatest(0, coalesce((SELECT r.used_until FROM parley.rates r
		WHERE r.workspace_id = $1 AND r.subject_id = $2 AND r.used_until BETWEEN n.now AND n.now + 60000000),
			n.now) + $3 - n.now - 60000000)
 FROM (SELECT parley.now_ms() * 1000 AS now) n`
	rateOrVoid = takenRate + ` SELECT CASE WHEN EXISTS (SELECT 1 FROM taken) THEN 0 ELSE parley.rate_limited(` + early +
		`, $4) END FROM n`
)

// TakeRate implements store.Budgets.
func (s *Store) TakeRate(
	ctx context.Context,
	workspaceID, subject parley.ID,
	perMinute int,
) (wait time.Duration, err error) {
	b := tenant(workspaceID)
	b.read(takeRate, func(r *row) error {
		wait = time.Duration(r.int64()) * time.Microsecond
		return nil
	}, workspaceID, subject, time.Minute.Microseconds()/int64(perMinute))
	return wait, mapError(s.send(ctx, b))
}

// RateWait implements store.Budgets.
func (s *Store) RateWait(
	ctx context.Context,
	workspaceID, subject parley.ID,
	perMinute int,
) (wait time.Duration, err error) {
	b := tenant(workspaceID)
	b.read(rateWait, func(r *row) error {
		wait = time.Duration(r.int64()) * time.Microsecond
		return nil
	}, workspaceID, subject, time.Minute.Microseconds()/int64(perMinute))
	return wait, mapError(s.send(ctx, b))
}

// rateLimited converts the refusal raised by parley.rate_limited().
func rateLimited(err error) error {
	var answer *pgconn.PgError
	var wait int64
	var perMinute int
	if errors.As(err, &answer) {
		if _, scanErr := fmt.Sscan(answer.Detail, &wait, &perMinute); scanErr != nil { // the function has changed
			return err
		}
	}
	return parley.RateLimited("This session", perMinute, time.Duration(wait)*time.Microsecond)
}
