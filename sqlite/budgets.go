package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// There is only one writer, so what a transition read of a budget still holds when it writes.

const dayMS = 24 * 60 * 60 * 1000

func dayOf(now parley.Time) int64 { return int64(now) / dayMS }

// budgetColumns reads "b" of a day (?1). 12 is parley.DailyWarned.
const budgetColumns = `b.subject_id IS NOT NULL, b.revision, b.tokens, b.cost, iif(b.day = ?1, b.day_tokens, 0),
	iif(b.day = ?1, b.day_cost, 0),
 b.reserved_tokens, b.reserved_cost, iif(b.day = ?1, b.warned, b.warned & ~12)`

const (
	sessionBudget = "SELECT s.agent_id, s.overrides, " + budgetColumns +
		` FROM sessions s LEFT JOIN budgets b ON b.workspace_id = s.workspace_id AND b.subject_id = s.id
 WHERE s.workspace_id = ?2 AND s.id = ?3 AND s.deleted_at IS NULL`
	agentBudget = "SELECT NULL, a.body, " + budgetColumns +
		` FROM agents a LEFT JOIN budgets b ON b.workspace_id = a.workspace_id AND b.subject_id = a.id
 WHERE a.workspace_id = ?2 AND a.id = ?3`
)

// limitsHolder is the part of an agent's body and of a session's settings that contains the limits.
type limitsHolder struct {
	Limits *parley.Limits `json:"limits"`
}

func scanBudget(r *row, subject store.BudgetSubject) (store.Budget, error) {
	budget := store.Budget{BudgetSubject: subject, AgentID: r.id()}
	var settings limitsHolder
	if err := json.Unmarshal([]byte(r.text()), &settings); err != nil {
		return budget, fmt.Errorf("sqlite: the limits of %s cannot be read: %w", subject.ID, err)
	}
	if settings.Limits != nil {
		budget.Limits = *settings.Limits
	}
	budget.Made, budget.Revision, budget.Tokens, budget.Cost = r.bool(), r.int64(), r.int64(), parley.Money(r.int64())
	budget.DayTokens, budget.DayCost = r.int64(), parley.Money(r.int64())
	budget.ReservedTokens, budget.ReservedCost, budget.Warned = r.int64(), parley.Money(r.int64()), r.int64()
	return budget, nil
}

// Budgets implements store.Budgets.
func (s *Store) Budgets(
	ctx context.Context,
	workspaceID parley.ID,
	subjects []store.BudgetSubject,
) (budgets []store.Budget, err error) {
	err = s.read(ctx, func(c *conn) error {
		budgets = nil
		now := parley.Now()
		for _, subject := range subjects {
			query, scan := sessionBudget, scanBudget
			switch subject.Scope {
			case parley.BudgetOfAgent:
				query = agentBudget
			case parley.BudgetOfChain:
				query, scan = chainBudget, scanChain
			}
			if _, err := c.one(query, func(r *row) error {
				budget, err := scan(r, subject)
				budget.DayLeft = time.Duration(dayMS-int64(now)%dayMS) * time.Millisecond
				budgets = append(budgets, budget)
				return err
			}, dayOf(now), workspaceID, subject.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return budgets, err
}

// Spending according to the record, and to what dry runs used. Calls that were estimated count with their estimate,
// both in cost and in tokens.
const (
	spentOf = `SELECT coalesce(sum(coalesce((c.usage ->> '$.input_tokens') + (c.usage ->> '$.output_tokens'),
		(c.estimate ->> '$.input_tokens') + (c.estimate ->> '$.output_tokens'),
		iif(c.estimated, c.reserved_tokens, 0))), 0), coalesce(sum(c.cost), 0) FROM (`
	ofCalls = `SELECT c.usage, c.estimate, c.estimated, c.reserved_tokens, c.cost
 FROM sessions s JOIN calls c ON c.session_id = s.id WHERE s.workspace_id = ?1 AND c.outcome <> 'open' AND `
	ofDryCalls = ` UNION ALL SELECT c.usage, c.estimate, c.estimated, NULL, c.cost FROM `
	ofDryTree  = ofDryCalls + "sessions s JOIN dry_calls c ON c.session_id = s.id WHERE s.workspace_id = ?1 AND "
	ofTree     = "(s.id = ?2 OR s.root_id = ?2)"
	today      = " AND c.created_at >= ?3"

	spentOfTree = spentOf + ofCalls + ofTree + ofDryTree + ofTree + ") c"
	spentToday  = spentOf + ofCalls + ofTree + today + ofDryTree + ofTree + today + ") c"
	agentToday  = spentOf + ofCalls + "s.agent_id = ?2 AND s.updated_at >= ?3" + today +
		ofDryCalls + "dry_calls c WHERE c.workspace_id = ?1 AND c.agent_id = ?2" + today + ") c"
)

// MakeBudgets implements store.Budgets.
func (s *Store) MakeBudgets(ctx context.Context, workspaceID parley.ID, subjects []store.BudgetSubject) error {
	return s.write(ctx, func(tx *txn) error {
		for _, subject := range subjects {
			if err := tx.makeBudget(workspaceID, subject); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *txn) makeBudget(workspaceID parley.ID, subject store.BudgetSubject) error {
	made, err := t.has("SELECT 1 FROM budgets WHERE workspace_id = ? AND subject_id = ?", workspaceID, subject.ID)
	if err != nil || made {
		return err
	}
	if subject.Scope == parley.BudgetOfChain {
		return t.makeChain(workspaceID, subject.ID)
	}
	var tokens, cost, dayTokens, dayCost int64
	begun := dayOf(t.now) * dayMS
	sum := func(query string, tokens, cost *int64, args ...arg) error {
		_, err := t.one(query, func(r *row) error {
			*tokens, *cost = r.int64(), r.int64()
			return nil
		}, args...)
		return err
	}
	if subject.Scope == parley.BudgetOfAgent {
		err = sum(agentToday, &dayTokens, &dayCost, workspaceID, subject.ID, begun)
	} else if err = sum(spentOfTree, &tokens, &cost, workspaceID, subject.ID); err == nil {
		err = sum(spentToday, &dayTokens, &dayCost, workspaceID, subject.ID, begun)
	}
	if err != nil {
		return err
	}
	_, err = t.exec(
		"INSERT INTO budgets (workspace_id, subject_id, tokens, cost, day, day_tokens, day_cost) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?)",
		workspaceID,
		subject.ID,
		tokens,
		cost,
		dayOf(t.now),
		dayTokens,
		dayCost,
	)
	return err
}

// WarnLimit implements store.Budgets.
func (s *Store) WarnLimit(
	ctx context.Context,
	fence store.Fence,
	warning parley.LimitWarning,
	subject parley.ID,
) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.WarnLimit(fence, warning, subject) })
}

// ParkRefused implements store.Budgets.
func (s *Store) ParkRefused(ctx context.Context, fence store.Fence, refusal store.Refusal) (parley.Turn, error) {
	return transact(ctx, s, func(tx *txn) (parley.Turn, error) { return tx.core.ParkRefused(fence, refusal) })
}

// budget reads a budget's row; nil if there is none.
func (t *txn) budget(workspaceID, subject parley.ID) (budget *store.Budget, err error) {
	_, err = t.one(
		"SELECT NULL, '{}', "+budgetColumns+" FROM budgets b WHERE b.workspace_id = ?2 AND b.subject_id = ?3",
		func(r *row) error {
			found, err := scanBudget(r, store.BudgetSubject{ID: subject})
			budget = &found
			return err
		},
		dayOf(t.now),
		workspaceID,
		subject,
	)
	return budget, err
}

// Fits implements transition.Rows. A budget that is gone has no limit.
func (t *txn) Fits(workspaceID parley.ID, charge *store.Charge, estimate parley.Reserved) (bool, error) {
	budget, err := t.budget(workspaceID, charge.Subject)
	if err != nil || budget == nil {
		return true, err
	}
	return charge.Fits(budget, estimate), nil
}

// Refuses implements transition.Rows.
func (t *txn) Refuses(workspaceID parley.ID, refusal *store.Refusal) (bool, error) {
	full := refusal.Certain
	for i := range refusal.Charges {
		charge := &refusal.Charges[i]
		budget, err := t.budget(workspaceID, charge.Subject)
		if err != nil || budget == nil || budget.Revision != charge.Revision {
			return false, err
		}
		full = full || !charge.Fits(budget, refusal.Reserved)
	}
	return full, nil
}

// Warned implements transition.Rows.
func (t *txn) Warned(workspaceID, subject parley.ID, limit parley.Limit) (bool, error) {
	budget, err := t.budget(workspaceID, subject)
	return budget == nil || budget.Warned&limit.WarnedBit() != 0, err
}

// Spend implements transition.Writer.
func (w changes) Spend(h *transition.Head, spent []transition.Spent) error {
	for i := range spent {
		if err := w.spend(h.WorkspaceID, &spent[i]); err != nil {
			return err
		}
	}
	return nil
}

// Reserve implements transition.Writer.
func (w changes) Reserve(h *transition.Head, calls []transition.NewCall) error {
	for i := range calls {
		if err := w.reserve(h, &calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// Park implements transition.Writer.
func (w changes) Park(h *transition.Head, parked *transition.Parked) error {
	for _, charge := range parked.Refusal.Charges {
		if _, err := w.exec(
			"INSERT INTO parked (workspace_id, subject_id, session_id, parked_at) VALUES (?, ?, ?, ?) ON CONFLICT "+
				"DO UPDATE SET parked_at = excluded.parked_at",
			h.WorkspaceID,
			charge.Subject,
			h.ID,
			h.Changes.At,
		); err != nil {
			return err
		}
	}
	return nil
}

// Warn implements transition.Writer.
func (w changes) Warn(h *transition.Head, warned *transition.Warned) error {
	_, err := w.exec(
		"UPDATE budgets SET warned = iif(day = ?1, warned, warned & ~12) | ?2, "+
			"day_tokens = iif(day = ?1, day_tokens, 0), day_cost = iif(day = ?1, day_cost, 0), day = ?1 "+
			"WHERE workspace_id = ?3 AND subject_id = ?4",
		dayOf(h.Changes.At),
		warned.Limit.WarnedBit(),
		h.WorkspaceID,
		warned.Subject,
	)
	return err
}

// CountRequest implements transition.Writer.
func (w changes) CountRequest(h *transition.Head, rated *transition.Rated) error {
	return w.countRequest(h.WorkspaceID, h.ID, rated.PerMinute)
}

// Relimit implements transition.Writer.
func (w changes) Relimit(h *transition.Head) error {
	limits := parley.ValueOf(h.Limits)
	if err := w.relimitChains(chainsOfSession, h.WorkspaceID, h.ID, limits.Chained()); err != nil {
		return err
	}
	return w.relimit(h.WorkspaceID, h.ID, limits.Budgeted())
}

// reserve charges the budgets of a new call with its estimate.
func (t *txn) reserve(h *transition.Head, call *transition.NewCall) error {
	if call.Reservation == nil {
		return nil
	}
	reserved := call.Reservation.Reserved
	var from []parley.ID
	for _, charge := range call.Reservation.Charges {
		if charge.Watched {
			continue
		}
		from = append(from, charge.Subject)
		if _, err := t.exec(
			"UPDATE budgets SET reserved_tokens = reserved_tokens + ?, reserved_cost = reserved_cost + ? "+
				"WHERE workspace_id = ? AND subject_id = ?",
			reserved.Tokens,
			orNothing(reserved.Cost),
			h.WorkspaceID,
			charge.Subject,
		); err != nil {
			return err
		}
	}
	_, err := t.exec("UPDATE calls SET reserved_tokens = ?, reserved_cost = ?, reserved_from = ? WHERE id = ?",
		reserved.Tokens, reserved.Cost, transition.JoinIDs(from), call.Call.ID)
	return err
}

// spend replaces a call's reservation with its usage and wakes sessions that wait for room.
func (t *txn) spend(workspaceID parley.ID, spent *transition.Spent) error {
	for _, subject := range spent.From {
		if _, err := t.exec(
			`UPDATE budgets SET tokens = tokens + ?2, cost = cost + ?3, day_tokens = iif(day = ?1, day_tokens, 0) + ?2,
				day_cost = iif(day = ?1, day_cost, 0) + ?3,
 warned = iif(day = ?1, warned, warned & ~12), day = ?1, reserved_tokens = max(0, reserved_tokens - ?4),
  reserved_cost = max(0, reserved_cost - ?5) WHERE workspace_id = ?6 AND subject_id = ?7`,
			dayOf(
				t.now,
			),
			spent.Used.Tokens,
			orNothing(spent.Used.Cost),
			spent.Reserved.Tokens,
			orNothing(spent.Reserved.Cost),
			workspaceID,
			subject,
		); err != nil {
			return err
		}
		if err := t.wakeParked(workspaceID, subject); err != nil {
			return err
		}
	}
	return nil
}

// wakeParked leaves errands for the sessions that have waited longest for a budget, or for all if no open call can
// leave room.
func (t *txn) wakeParked(workspaceID, subject parley.ID) error {
	waiting, err := t.has("SELECT 1 FROM parked WHERE workspace_id = ? AND subject_id = ?", workspaceID, subject)
	if err != nil || !waiting {
		return err
	}
	budget, err := t.budget(workspaceID, subject)
	if err != nil {
		return err
	}
	if budget == nil || budget.ReservedTokens == 0 && budget.ReservedCost == 0 {
		return t.wakeAll(workspaceID, subject, -1)
	}
	return t.wakeAll(workspaceID, subject, transition.WokenAtOnce)
}

// wakeAll leaves errands for up to n sessions; -1 means all.
func (t *txn) wakeAll(workspaceID, subject parley.ID, n int) error {
	const oldest = " FROM parked WHERE workspace_id = ? AND subject_id = ? ORDER BY parked_at, session_id LIMIT ?"
	if _, err := t.exec(
		"INSERT INTO outbox (workspace_id, kind, target_id, created_at, due_at) SELECT workspace_id, '"+
			transition.WakeSession{}.Kind()+"', session_id, "+
			fmt.Sprintf(
				"%d, %d",
				t.now,
				t.now,
			)+oldest,
		workspaceID,
		subject,
		n,
	); err != nil {
		return err
	}
	_, err := t.exec(
		"DELETE FROM parked WHERE (workspace_id, subject_id, session_id) IN (SELECT workspace_id, subject_id, "+
			"session_id"+oldest+")",
		workspaceID,
		subject,
		n,
	)
	return err
}

// relimit reacts to changed limits of a subject: it wakes waiting sessions and deletes a budget without limits.
func (t *txn) relimit(workspaceID, subject parley.ID, budgeted bool) error {
	if err := t.wakeAll(workspaceID, subject, -1); err != nil {
		return err
	}
	statement := "DELETE FROM budgets WHERE workspace_id = ? AND subject_id = ?"
	if budgeted {
		statement = "UPDATE budgets SET revision = revision + 1, warned = 0 WHERE workspace_id = ? AND subject_id = ?"
	}
	_, err := t.exec(statement, workspaceID, subject)
	return err
}

// relimitAgent is relimit for an agent, whose limits also apply to its sessions: their budgets go, too, if nothing
// limits them.
func (t *txn) relimitAgent(before, agent *parley.Agent) error {
	if transition.SameLimits(before.Limits, agent.Limits) {
		return nil
	}
	if parley.ValueOf(before.Limits).Budgeted() && !parley.ValueOf(agent.Limits).Budgeted() {
		if _, err := t.exec(
			"DELETE FROM budgets WHERE workspace_id = ?1 AND EXISTS (SELECT 1 FROM sessions s "+
				"WHERE s.id = budgets.subject_id AND s.workspace_id = ?1 AND s.agent_id = ?2)",
			agent.WorkspaceID,
			agent.ID,
		); err != nil {
			return err
		}
	}
	limits := parley.ValueOf(agent.Limits)
	if err := t.relimitChains(chainsOfAgent, agent.WorkspaceID, agent.ID, limits.Chained()); err != nil {
		return err
	}
	return t.relimit(agent.WorkspaceID, agent.ID, limits.Budgeted())
}

func orNothing(cost *parley.Money) int64 {
	if cost == nil {
		return 0
	}
	return int64(*cost)
}

// TakeRate implements store.Budgets.
func (s *Store) TakeRate(ctx context.Context, workspaceID, subject parley.ID, perMinute int) (time.Duration, error) {
	return transact(
		ctx,
		s,
		func(tx *txn) (time.Duration, error) { return tx.takeRate(workspaceID, subject, perMinute) },
	)
}

// RateWait implements store.Budgets.
func (s *Store) RateWait(
	ctx context.Context,
	workspaceID, subject parley.ID,
	perMinute int,
) (wait time.Duration, err error) {
	err = s.read(ctx, func(c *conn) error {
		wait, err = rateWait(c, workspaceID, subject, perMinute, time.Now().UnixMicro())
		return err
	})
	return wait, err
}

func (t *txn) takeRate(workspaceID, subject parley.ID, perMinute int) (time.Duration, error) {
	wait, err := t.Rate(workspaceID, subject, perMinute)
	if err != nil || wait > 0 {
		return wait, err
	}
	return 0, t.countRequest(workspaceID, subject, perMinute)
}

// Rate implements transition.Rows.
func (t *txn) Rate(workspaceID, subject parley.ID, perMinute int) (time.Duration, error) {
	return rateWait(t.conn, workspaceID, subject, perMinute, int64(t.now)*1000)
}

// usedUntil is the time that a subject's requests have used up, at most a minute ahead. Anything further ahead was
// counted before the clock was set back and no longer counts; otherwise nobody would be admitted until the clock
// catches up.
const usedUntil = "iif(used_until BETWEEN ?1 AND ?1 + 60000000, used_until, ?1)"

// rateWait returns how long a subject must wait, at a time in microseconds.
func rateWait(c *conn, workspaceID, subject parley.ID, perMinute int, now int64) (time.Duration, error) {
	until := now
	if _, err := c.one(
		"SELECT "+usedUntil+" FROM rates WHERE workspace_id = ?2 AND subject_id = ?3",
		func(r *row) error {
			until = r.int64()
			return nil
		},
		now,
		workspaceID,
		subject,
	); err != nil {
		return 0, err
	}
	over := until + each(perMinute) - now - time.Minute.Microseconds()
	return max(0, time.Duration(over)*time.Microsecond), nil
}

// each returns the share of a minute that one request takes, in microseconds.
func each(perMinute int) int64 { return time.Minute.Microseconds() / int64(perMinute) }

func (t *txn) countRequest(workspaceID, subject parley.ID, perMinute int) error {
	now := int64(t.now) * 1000
	_, err := t.exec(
		"INSERT INTO rates (workspace_id, subject_id, used_until) VALUES (?2, ?3, ?1 + ?4) ON CONFLICT DO UPDATE "+
			"SET used_until = "+usedUntil+" + ?4",
		now,
		workspaceID,
		subject,
		each(perMinute),
	)
	return err
}
