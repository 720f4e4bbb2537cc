package postgres

import (
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// TestRatesAfterTheClockWentBack: nobody has to wait until the database's clock catches up. The test moves stored
// times, which is as if the clock had been set the opposite way.
func TestRatesAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	store, url := opened(t)
	conn, ctx, subject := connected(t, url), t.Context(), parley.NewID()
	run(t, conn, "SET ROLE parley_system")
	workspace, err := store.Workspace(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	take := func() time.Duration {
		t.Helper()
		wait, err := store.TakeRate(ctx, workspace, subject, 2)
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}
	for range 2 {
		if wait := take(); wait != 0 {
			t.Fatalf("a request of two a minute waits %s", wait)
		}
	}
	if wait := take(); wait <= 0 || wait > 30*time.Second {
		t.Fatalf("the third of two a minute waits %s", wait)
	}
	run(t, conn, "UPDATE parley.rates SET used_until = used_until + 3600000000") // an hour back
	if wait, err := store.RateWait(ctx, workspace, subject, 2); err != nil || wait != 0 {
		t.Errorf("after the clock went back a request would wait %s, %v", wait, err)
	}
	for range 2 {
		if wait := take(); wait != 0 {
			t.Fatalf("after the clock went back a request waits %s", wait)
		}
	}
	if wait := take(); wait <= 0 || wait > 30*time.Second {
		t.Errorf("the third one since waits %s", wait)
	}
	run(t, conn, "UPDATE parley.rates SET used_until = used_until - 3600000000") // an hour ahead
	if wait := take(); wait != 0 {
		t.Errorf("after the clock went ahead a request waits %s", wait)
	}
}

// TestErrandsAfterTheClockWentBack: errands are done after their original delay.
func TestErrandsAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	store, url := opened(t)
	conn, ctx := connected(t, url), t.Context()
	run(
		t,
		conn,
		"SET ROLE parley_system",
		`INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at)
 SELECT gen_random_uuid(), 'wake_session', gen_random_uuid(), now + 3600000, now + 3600000 + 1500
  FROM parley.now_ms() now`,
	)
	if _, err := store.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	var delay, ahead int64
	if err := conn.QueryRow(ctx, "SELECT due_at - created_at, due_at - parley.now_ms() FROM parley.outbox").
		Scan(&delay, &ahead); err != nil {
		t.Fatal(err)
	}
	if delay != 1500 || ahead > delay {
		t.Errorf("an errand that was left with a delay of 1.5 s is due in %d ms, %d ms after it was left", ahead, delay)
	}
}

// TestDaysOfBudgets: spending on one day does not count on another, earlier or later.
func TestDaysOfBudgets(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	conn, ctx := connected(t, url), t.Context()
	run(t, conn, "SET ROLE parley_system")
	workspace, err := db.Workspace(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	agent, err := db.Agent(ctx, workspace, parley.BuiltinAgentSlug)
	if err != nil {
		t.Fatal(err)
	}
	subject := store.BudgetSubject{ID: agent.ID, Scope: parley.BudgetOfAgent}
	if err := db.MakeBudgets(ctx, workspace, []store.BudgetSubject{subject}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		days  string
		spent int64
	}{"today": {"0", 40}, "yesterday": {"-1", 0}, "tomorrow, before the clock went back": {"1", 0}} {
		run(
			t,
			conn,
			"UPDATE parley.budgets SET day_tokens = 40, day_cost = 40, warned = 12, "+
				"day = parley.now_ms() / 86400000 + "+c.days,
		)
		budgets, err := db.Budgets(ctx, workspace, []store.BudgetSubject{subject})
		if err != nil || len(budgets) != 1 {
			t.Fatalf("%+v, %v", budgets, err)
		}
		if b := budgets[0]; b.DayTokens != c.spent || int64(b.DayCost) != c.spent || (b.Warned == 0) != (c.spent == 0) {
			t.Errorf("of the spending %s, %d tokens and %d count, warned %d", what, b.DayTokens, b.DayCost, b.Warned)
		}
	}
}

// TestSchedulesAfterTheClockWentBack: a schedule whose next time was set while the clock was ahead is found.
func TestSchedulesAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	conn, ctx := connected(t, url), t.Context()
	run(t, conn, "SET ROLE parley_system")
	workspace, err := db.Workspace(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	owner := parley.NewID()
	agent, _, err := db.CreateAgent(ctx, parley.Agent{
		ID: parley.NewID(), WorkspaceID: workspace, Slug: "digger", Name: "Digger", Runtime: parley.StandardRuntime,
		OwnerID: owner,
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := db.CreateSchedule(ctx, store.NewSchedule{Schedule: parley.Schedule{
		ID: parley.NewID(), WorkspaceID: workspace, AgentID: agent.ID, Enabled: true, Message: "look around",
		Timing: parley.Timing{Every: "1h", TimeZone: "UTC"}, Overlap: parley.OverlapSkip, Missed: parley.MissedOnce,
		Author: parley.Author{Kind: parley.AuthorPerson, ID: owner, Name: "ada"}, NextAt: parley.Now() + 3_600_000,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := db.DueSchedules(ctx, 10); err != nil || len(found.Ahead)+len(found.Due) > 0 {
		t.Fatalf("before the step: %+v, %v", found, err)
	}
	run(t, conn, "UPDATE parley.schedules SET next_at = next_at + 86400000, moved_at = moved_at + 86400000")
	found, err := db.DueSchedules(ctx, 10)
	if err != nil || len(found.Ahead) != 1 || found.Ahead[0].ID != made.ID || len(found.Due) > 0 {
		t.Fatalf("after the clock went back: %+v, %v", found, err)
	}
	if moved, err := db.MoveSchedule(ctx, store.ScheduleMove{
		Schedule: found.Ahead[0], NextAt: found.Now + 3_600_000,
	}); err != nil || !moved {
		t.Fatalf("MoveSchedule: %t, %v", moved, err)
	}
	if found, err = db.DueSchedules(ctx, 10); err != nil || len(found.Ahead) > 0 {
		t.Errorf("once it was found anew: %+v, %v", found, err)
	}
	run(t, conn, "UPDATE parley.schedules SET next_at = next_at - 7200000, moved_at = moved_at - 7200000")
	if found, err = db.DueSchedules(ctx, 10); err != nil || len(found.Due) != 1 {
		t.Errorf("after the clock went ahead: %+v, %v", found, err)
	}
}
