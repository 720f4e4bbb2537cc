package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// stepped moves stored times, which is as if the clock had been set the opposite way.
func (w *world) stepped(statement string, args ...any) {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, DatabaseFile)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close() // of a test
	if _, err := db.Exec(statement, args...); err != nil {
		w.t.Fatal(err)
	}
}

// TestRatesAfterTheClockWentBack: nobody has to wait until the clock catches up.
func TestRatesAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	w, subject, ctx := newWorld(t, Options{}), parley.NewID(), context.Background()
	take := func() time.Duration {
		t.Helper()
		wait, err := w.store.TakeRate(ctx, w.scope.WorkspaceID, subject, 2)
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
	w.stepped("UPDATE rates SET used_until = used_until + 3600000000") // an hour back
	if wait, err := w.store.RateWait(ctx, w.scope.WorkspaceID, subject, 2); err != nil || wait != 0 {
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
	w.stepped("UPDATE rates SET used_until = used_until - 3600000000") // an hour ahead
	if wait := take(); wait != 0 {
		t.Errorf("after the clock went ahead a request waits %s", wait)
	}
}

// TestErrandsAfterTheClockWentBack: errands are done after their original delay.
func TestErrandsAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t, Options{}), context.Background()
	session := w.session(nil)
	posted := w.post(session.ID, w.said("hello"), w.process)
	refusal := store.Refusal{Reason: parley.WaitRateLimit, Sentence: "Too fast.", After: time.Millisecond}
	if _, err := w.store.ParkRefused(ctx, posted.Claim.Fence, refusal); err != nil {
		t.Fatal(err)
	}
	w.stepped("UPDATE outbox SET created_at = created_at + 3600000, due_at = due_at + 3600000")
	if _, _, err := w.store.ApplyOutbox(ctx, parley.ID{}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.store.Turn(ctx, w.scope, posted.Turn.ID); err != nil || got.Status != parley.TurnWaiting {
		t.Fatalf("the turn is %s, %v; stepped changed nothing", got.Status, err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, err := w.store.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.store.ApplyOutbox(ctx, parley.ID{}); err != nil {
			t.Fatal(err)
		}
		if got, err := w.store.Turn(ctx, w.scope, posted.Turn.ID); err != nil || got.Status == parley.TurnQueued {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a turn that waits for its rate never resumed")
		}
	}
}

// TestAnErrandThatFails: an errand that fails is put off, and the others do not wait for it.
func TestAnErrandThatFails(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t, Options{}), context.Background()
	var turns []parley.ID
	for range 2 {
		posted := w.post(w.session(nil).ID, w.said("hello"), w.process)
		refusal := store.Refusal{Reason: parley.WaitRateLimit, Sentence: "Too fast.", After: time.Millisecond}
		if _, err := w.store.ParkRefused(ctx, posted.Claim.Fence, refusal); err != nil {
			t.Fatal(err)
		}
		turns = append(turns, posted.Turn.ID)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.stepped("UPDATE outbox SET due_at = id")
	w.stepped("DELETE FROM turns WHERE id = ?", turns[0][:])
	w.open(Options{})
	if _, more, err := w.store.ApplyOutbox(ctx, parley.ID{}); err == nil || !more {
		t.Fatalf("the errand of a damaged session: more %t, %v; it fails, and another one is due", more, err)
	}
	if _, _, err := w.store.ApplyOutbox(ctx, parley.ID{}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.store.Turn(ctx, w.scope, turns[1]); err != nil || got.Status != parley.TurnQueued {
		t.Errorf("the other turn is %s, %v", got.Status, err)
	}
}

// TestDaysOfBudgets: spending on one day does not count on another, earlier or later.
func TestDaysOfBudgets(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t, Options{}), context.Background()
	limits := parley.Limits{DailyTokens: new(int64(1000)), SessionTokens: new(int64(10_000))}
	session := w.session(func(s *parley.Session) { s.Limits = &limits })
	subject := store.BudgetSubject{ID: session.ID, Scope: parley.BudgetOfSession}
	if err := w.store.MakeBudgets(ctx, w.scope.WorkspaceID, []store.BudgetSubject{subject}); err != nil {
		t.Fatal(err)
	}
	spends := func(what string, total, today int64) {
		t.Helper()
		budgets := w.reads(subject)
		posted, begin := w.post(session.ID, w.said("hello"), w.process), stepBegin(1)
		begin.Reservation = &store.Reservation{Reserved: parley.Reserved{Tokens: 50}, Charges: []store.Charge{
			{
				Subject:     subject.ID,
				Revision:    budgets.Revision,
				Tokens:      limits.SessionTokens,
				DailyTokens: limits.DailyTokens,
			},
		}}
		if _, err := w.store.BeginStep(ctx, posted.Claim.Fence, begin); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.SettleStep(ctx, posted.Claim.Fence, stepSettle(begin, "said", completed)); err != nil {
			t.Fatal(err)
		}
		if b := w.reads(subject); b.Tokens != total || b.DayTokens != today {
			t.Errorf(
				"%s %d tokens are spent, %d of them today; want %d and %d",
				what,
				b.Tokens,
				b.DayTokens,
				total,
				today,
			)
		}
	}
	spends("at first", 30, 30)
	spends("on the same day", 60, 60)
	for what, days := range map[string]int{"on the next day": -1, "when the clock went back a day": 1} {
		w.stepped("UPDATE budgets SET day = day + ?, warned = 12", days)
		b := w.reads(subject)
		if b.DayTokens != 0 || b.DayCost != 0 || b.Warned != 0 {
			t.Errorf("%s nothing was spent yet, and the budget is %+v", what, b)
		}
		total := b.Tokens
		spends(what, total+30, 30)
		spends(what+", later", total+60, 60)
	}
}

func (w *world) reads(subject store.BudgetSubject) store.Budget {
	w.t.Helper()
	budgets, err := w.store.Budgets(context.Background(), w.scope.WorkspaceID, []store.BudgetSubject{subject})
	if err != nil || len(budgets) != 1 {
		w.t.Fatalf("%+v, %v", budgets, err)
	}
	return budgets[0]
}

// TestSchedulesAfterTheClockWentBack: a schedule whose next time was set while the clock was ahead is found.
func TestSchedulesAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t, Options{}), context.Background()
	agent := w.agent
	agent.ID, agent.Slug, agent.Name = parley.NewID(), "digger", "Digger"
	agent.OwnerID = parley.NewID()
	agent, _, err := w.store.CreateAgent(ctx, agent, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := w.store.CreateSchedule(ctx, store.NewSchedule{Schedule: parley.Schedule{
		ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, AgentID: agent.ID, Enabled: true, Message: "look around",
		Timing: parley.Timing{Every: "1h", TimeZone: "UTC"}, Overlap: parley.OverlapSkip, Missed: parley.MissedOnce,
		Author: parley.Author{Kind: parley.AuthorPerson, ID: agent.OwnerID, Name: "ada"},
		NextAt: parley.Now() + 3_600_000,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := w.store.DueSchedules(ctx, 10); err != nil || len(found.Ahead)+len(found.Due) > 0 {
		t.Fatalf("before the step: %+v, %v", found, err)
	}
	w.stepped("UPDATE schedules SET next_at = next_at + 86400000, moved_at = moved_at + 86400000") // a day back
	found, err := w.store.DueSchedules(ctx, 10)
	if err != nil || len(found.Ahead) != 1 || found.Ahead[0].ID != made.ID || len(found.Due) > 0 {
		t.Fatalf("after the clock went back: %+v, %v", found, err)
	}
	next := found.Now + 3_600_000
	if moved, err := w.store.MoveSchedule(ctx, store.ScheduleMove{
		Schedule: found.Ahead[0], NextAt: next,
	}); err != nil || !moved {
		t.Fatalf("MoveSchedule: %t, %v", moved, err)
	}
	if found, err = w.store.DueSchedules(ctx, 10); err != nil || len(found.Ahead) > 0 {
		t.Errorf("once it was found anew: %+v, %v", found, err)
	}
	w.stepped("UPDATE schedules SET next_at = next_at - 7200000, moved_at = moved_at - 7200000") // two hours ahead
	if found, err = w.store.DueSchedules(ctx, 10); err != nil || len(found.Due) != 1 {
		t.Errorf("after the clock went ahead: %+v, %v", found, err)
	}
}
