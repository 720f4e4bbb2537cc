package engine_test

import (
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// elsewhere is a store whose database has another clock than this machine.
type elsewhere struct {
	store.Store
	ahead parley.Time
}

func (e elsewhere) Now() parley.Time { return e.Store.Now() + e.ahead }

// TestSchedulesArePlannedByTheDatabasesClock: a server whose clock is wrong refuses no time that lies ahead, and plans
// nothing too early or too late. The database's clock says what is due, and so it says what comes next.
func TestSchedulesArePlannedByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	for name, apart := range map[string]time.Duration{"ahead": 2 * time.Hour, "behind": -2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := elsewhere{h.store, parley.Time(apart.Milliseconds())}
			e := engine.New(engine.Options{Store: db, Models: models(t)})
			agent, _, err := e.CreateAgent(t.Context(), h.member, engine.AgentInput{Name: name}, store.Idempotency{})
			if err != nil {
				t.Fatal(err)
			}
			const minute = parley.Time(60_000)
			soon := func(what string, at parley.Time) {
				t.Helper()
				if now := db.Now(); at <= now || at > now+2*minute {
					t.Errorf("%s is due at %s; the database's clock says %s", what, at, now)
				}
			}
			input := engine.ScheduleInput{AgentID: agent.Slug, Message: "look around"}
			input.At = db.Now() + minute
			once, _, err := e.CreateSchedule(t.Context(), h.member, input, store.Idempotency{})
			if err != nil {
				t.Fatalf("a time that lies ahead is refused: %v", err)
			}
			soon("at", once.NextAt)
			input.TimingInput = engine.TimingInput{Every: "1m"}
			every, _, err := e.CreateSchedule(t.Context(), h.member, input, store.Idempotency{})
			if err != nil {
				t.Fatal(err)
			}
			soon("every", every.NextAt)
			var patch engine.SchedulePatch
			patch.Cron = parley.Change[string]{Set: true, Value: "* * * * *"}
			changed, err := e.UpdateSchedule(t.Context(), h.member, every.ID, patch)
			if err != nil {
				t.Fatal(err)
			}
			soon("a changed cron", changed.NextAt)
			preview, err := e.PreviewSchedule(t.Context(), h.member, engine.TimingInput{Cron: "* * * * *"})
			if err != nil {
				t.Fatal(err)
			}
			soon("the first of a preview", preview.Times[0])
		})
	}
}
