package worker

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

const (
	minute = parley.Time(60_000)
	day    = 24 * 60 * minute
)

// agenda is a store with an agent and its schedules, and the scheduler of a worker that is not started.
type agenda struct {
	*testing.T
	store     *sqlite.Store
	scheduler *scheduler
	agent     parley.Agent
}

func newAgenda(t *testing.T) *agenda {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	workspace, err := db.Workspace(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	agent, _, err := db.CreateAgent(t.Context(), parley.Agent{
		WorkspaceID: workspace,
		Slug:        "digger",
		Name:        "Digger",
		Runtime:     parley.StandardRuntime,
		OwnerID:     parley.NewID(),
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	return &agenda{t, db, &scheduler{store: db, log: slog.New(slog.DiscardHandler)}, agent}
}

// due makes an hourly schedule that has been due for a while.
func (a *agenda) due(since parley.Time, missed parley.ScheduleMissed) parley.ID {
	a.Helper()
	next := parley.Now() - since
	made, _, err := a.store.CreateSchedule(a.Context(), store.NewSchedule{Schedule: parley.Schedule{
		ID: parley.NewID(), WorkspaceID: a.agent.WorkspaceID, AgentID: a.agent.ID, Enabled: true,
		Message: "look around", Timing: parley.Timing{Every: "1h", TimeZone: "UTC", Anchor: next},
		Overlap: parley.OverlapSkip, Missed: missed, NextAt: next,
		Author: parley.Author{Kind: parley.AuthorPerson, ID: a.agent.OwnerID, Name: "ada"},
	}})
	if err != nil {
		a.Fatal(err)
	}
	return made.ID
}

// refusing is a store that fails to post some schedules.
type refusing struct {
	Store
	broken map[parley.ID]bool
}

func (s *refusing) PostScheduled(ctx context.Context, post store.ScheduledPost) (*parley.ScheduleRun, error) {
	if s.broken[post.Schedule.ID] {
		return nil, parley.Errorf(parley.CodeInternal, "the row cannot be read")
	}
	return s.Store.PostScheduled(ctx, post)
}

func TestSchedulesThatFailHoldUpNoOthers(t *testing.T) {
	a := newAgenda(t)
	broken := &refusing{a.store, map[parley.ID]bool{}}
	for range schedulePosters {
		broken.broken[a.due(minute, parley.MissedOnce)] = true
	}
	good := a.due(minute, parley.MissedOnce)
	a.scheduler.store = broken
	found, err := a.store.DueSchedules(t.Context(), scheduleBatch)
	if err != nil || len(found.Due) != schedulePosters+1 {
		t.Fatalf("%d are due (%v)", len(found.Due), err)
	}
	at := slices.IndexFunc(found.Due, func(one parley.Schedule) bool { return one.ID == good })
	found.Due[at], found.Due[schedulePosters] = found.Due[schedulePosters], found.Due[at] // it is last
	if err := a.scheduler.postAll(t.Context(), found); err == nil {
		t.Error("nothing is said of the schedules that fail")
	}
	schedule, err := a.store.Schedule(t.Context(), a.agent.WorkspaceID, good)
	if err != nil || schedule.NextAt < parley.Now() {
		t.Errorf("the schedule behind those that fail: %+v (%v); want it posted", schedule, err)
	}
}

// post lets the scheduler act once and returns a schedule with its runs.
func (a *agenda) post(id parley.ID) (parley.Schedule, []parley.ScheduleRun) {
	a.Helper()
	if _, err := a.scheduler.post(a.Context()); err != nil {
		a.Fatal(err)
	}
	schedule, err := a.store.Schedule(a.Context(), a.agent.WorkspaceID, id)
	if err != nil {
		a.Fatal(err)
	}
	runs, err := a.store.ScheduleRuns(a.Context(), a.agent.WorkspaceID, id, store.ScheduleRunQuery{Limit: 10})
	if err != nil {
		a.Fatal(err)
	}
	return schedule, runs
}

// TestSchedulesAfterADayOff: after a day without a server, once posts one run for all that were missed, skip none; a
// run that is a little late is posted either way. The next one is due within the hour.
func TestSchedulesAfterADayOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		late   parley.Time
		missed parley.ScheduleMissed
		state  parley.RunState
	}{
		"once":               {day, parley.MissedOnce, parley.RunPosted},
		"skip":               {day, parley.MissedSkip, parley.RunSkipped},
		"skip, a bit late":   {minute, parley.MissedSkip, parley.RunPosted},
		"once, a bit late":   {minute, parley.MissedOnce, parley.RunPosted},
		"skip, late by more": {6 * minute, parley.MissedSkip, parley.RunSkipped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgenda(t)
			id := a.due(test.late, test.missed)
			schedule, runs := a.post(id)
			if len(runs) != 1 || runs[0].State != test.state ||
				test.state == parley.RunSkipped && runs[0].Reason != parley.SkipMissed {
				t.Errorf("the runs are %+v; want one that is %s", runs, test.state)
			}
			if left := schedule.NextAt - parley.Now(); left <= 0 || left > 60*minute {
				t.Errorf("the next run is due at %s", schedule.NextAt)
			}
			if _, runs = a.post(id); len(runs) != 1 {
				t.Errorf("at the next look there are %d runs", len(runs))
			}
		})
	}
}

// TestARefusedScheduleDoesNotStop: a schedule whose message is refused is skipped with the reason, and holds up nobody.
func TestARefusedScheduleDoesNotStop(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	id := a.due(minute, parley.MissedOnce)
	owner := a.agent.OwnerID
	a.agent.OwnerID = parley.ID{} // nobody whose session it could be posted into
	agent, err := a.store.UpdateAgent(t.Context(), a.agent)
	if err != nil {
		t.Fatal(err)
	}
	schedule, runs := a.post(id)
	if len(runs) != 1 || runs[0].Reason != parley.SkipRefused || schedule.NextAt <= parley.Now() {
		t.Errorf("without an owner the schedule is %+v, with the runs %+v", schedule, runs)
	}
	agent.OwnerID = owner
	if _, err := a.store.UpdateAgent(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	if schedule, err = a.store.Schedule(t.Context(), agent.WorkspaceID, id); err != nil { // its author has changed
		t.Fatal(err)
	}
	if moved, err := a.store.MoveSchedule(t.Context(), store.ScheduleMove{
		Schedule: schedule, NextAt: parley.Now() - 1,
	}); err != nil || !moved {
		t.Fatalf("MoveSchedule: %t, %v", moved, err)
	}
	if _, runs = a.post(id); len(runs) != 2 || runs[0].State != parley.RunPosted {
		t.Errorf("with its owner again, the runs are %+v", runs)
	}
}

// idleSchedules is how many idle agents TestIdleSchedulesHoldNoMemory makes; figures are taken with 10,000.
var idleSchedules = flag.Int("idle-schedules", 1000, "how many idle agents with a schedule are made")

// TestIdleSchedulesHoldNoMemory: an idle agent with a schedule is rows. However many there are, a process that looks
// for due ones holds nothing of them.
func TestIdleSchedulesHoldNoMemory(t *testing.T) {
	const bound = 256 << 10 // bytes for all of them: their rows alone, as structs, would take more
	look := func(schedules int) memory {
		dir := t.TempDir()
		fillIdle(t, dir, schedules)
		db, err := sqlite.Open(t.Context(), dir, sqlite.Options{}) // which has seen none of them
		if err != nil {
			t.Fatal(err)
		}
		s := &scheduler{store: db, log: slog.New(slog.DiscardHandler)}
		for range 3 {
			if more, err := s.post(t.Context()); err != nil || more {
				t.Fatalf("more is due: %t, %v", more, err)
			}
		}
		held := holding()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return held
	}
	look(1)
	few := look(1)
	many := look(*idleSchedules)
	more := many.heap - few.heap // not the stacks: they belong to what filled the database
	t.Logf("with 1 idle agent with a schedule %d B are in use, with %d %d B: %d B each",
		few.heap, *idleSchedules, many.heap, more/int64(*idleSchedules))
	if more > bound {
		t.Errorf("%d idle agents with schedules hold %d B, the bound is %d", *idleSchedules, more, bound)
	}
	if many.goroutines > few.goroutines {
		t.Errorf("%d idle agents have %d goroutines, one has %d", *idleSchedules, many.goroutines, few.goroutines)
	}
}

// fillIdle makes agents with a schedule each that is due in a day.
func fillIdle(t *testing.T, dir string, schedules int) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	workspace, err := db.Workspace(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	const atOnce = 16
	for writer := range atOnce {
		writers.Go(func() {
			for i := writer; i < schedules; i += atOnce {
				agent, _, err := db.CreateAgent(t.Context(), parley.Agent{
					WorkspaceID: workspace, Slug: fmt.Sprintf("digger-%d", i), Name: "Digger",
					Runtime: parley.StandardRuntime, OwnerID: parley.NewID(),
				}, store.Idempotency{})
				if err == nil {
					_, _, err = db.CreateSchedule(t.Context(), store.NewSchedule{Schedule: parley.Schedule{
						ID: parley.NewID(), WorkspaceID: workspace, AgentID: agent.ID, Enabled: true,
						Message: "look around", Timing: parley.Timing{Every: "24h", TimeZone: "UTC", Anchor: db.Now()},
						Overlap: parley.OverlapSkip, Missed: parley.MissedOnce, NextAt: db.Now() + day,
						Author: parley.Author{Kind: parley.AuthorPerson, ID: agent.OwnerID, Name: "ada"},
					}})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		t.FailNow()
	}
}
