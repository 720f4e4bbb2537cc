package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// The schedules that repeat in the trials of teams.
const (
	rhythmStep  = 3 * time.Second // shorter than people may ask for, so that a short trial has many runs
	rhythmPace  = 2000            // longest pause after each of a run's two words, in milliseconds: some runs overlap
	rhythmLate  = 10 * time.Minute
	rhythmSlack = parley.Time(1000) // between two times that different transactions noted, in milliseconds
)

// rhythm is a schedule that repeats, of an agent that does nothing else.
type rhythm struct {
	account *account
	id      parley.ID
	agent   parley.ID
	cron    bool
	overlap parley.ScheduleOverlap
	missed  parley.ScheduleMissed
	// It is due at anchor and at each step from there.
	anchor, step parley.Time
}

func (r *rhythm) String() string {
	timing := "every"
	if r.cron {
		timing = "cron"
	}
	return fmt.Sprintf("the schedule %s (%s, %s, %s)", r.id, timing, r.overlap, r.missed)
}

// after returns the first time after another at which it is due.
func (r *rhythm) after(t parley.Time) parley.Time { return r.anchor + ((t-r.anchor)/r.step+1)*r.step }

// keepTime makes schedules that repeat, as they stand after a time without a server: due for ten minutes.
func (c *company) keepTime(ctx context.Context) {
	c.x.t.Helper()
	random := rand.New(rand.NewPCG(c.x.seed, 1<<46))
	for i, one := range []rhythm{
		{overlap: parley.OverlapSkip, missed: parley.MissedOnce},
		{overlap: parley.OverlapQueue, missed: parley.MissedOnce},
		{overlap: parley.OverlapSkip, missed: parley.MissedSkip},
		{overlap: parley.OverlapQueue, missed: parley.MissedSkip},
		{overlap: parley.OverlapSkip, missed: parley.MissedOnce, cron: true},
		{overlap: parley.OverlapQueue, missed: parley.MissedSkip, cron: true},
	} {
		one.account = c.x.accounts[i%len(c.x.accounts)]
		if err := one.create(ctx, c.x, i, random); err != nil {
			c.x.t.Fatal(err)
		}
		c.rhythms = append(c.rhythms, &one)
	}
	c.x.terminate()
	db := c.x.database.open(c.x.t, c.x)
	for _, r := range c.rhythms {
		if err := r.shift(ctx, db); err != nil {
			c.x.t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		c.x.t.Fatal(err)
	}
	for _, p := range c.x.processes {
		if err := p.start(ctx); err != nil {
			c.x.t.Fatal(err)
		}
	}
}

// create makes the agent and, still paused, its schedule.
func (r *rhythm) create(ctx context.Context, x *trial, i int, random *rand.Rand) error {
	by, drawn, enabled := r.account.clients[0], false, false
	clock := client.AgentInput{Name: fmt.Sprint("clock-", i)}
	clock.Model, clock.DrawKnowledge = parley.ModelID("openai/"+teamModel), &drawn
	clock.Policy = &parley.Policy{Kind: parley.PolicySingle}
	agent, err := by.CreateAgent(ctx, clock)
	if err != nil {
		return err
	}
	input := client.ScheduleInput{
		AgentID: agent.Slug, Enabled: &enabled, Overlap: r.overlap, Missed: r.missed,
		Message: job{N: int(x.next.Add(1)), PaceMS: random.IntN(rhythmPace)}.String(),
	}
	if input.Every = "1h"; r.cron {
		input.Every, input.Cron = "", "* * * * *"
	}
	schedule, err := by.CreateSchedule(ctx, input)
	r.id, r.agent = schedule.ID, agent.ID
	return err
}

// shift makes the schedule one that has been due for ten minutes. No process runs.
func (r *rhythm) shift(ctx context.Context, db store.Store) error {
	workspace, err := db.Workspace(ctx, r.account.workspace)
	if err != nil {
		return err
	}
	schedule, err := db.Schedule(ctx, workspace, r.id)
	if err != nil {
		return err
	}
	r.anchor, r.step = db.Now()-parley.Time(rhythmLate.Milliseconds()), parley.Time(rhythmStep.Milliseconds())
	if r.cron {
		r.step = parley.Time(time.Minute.Milliseconds())
		r.anchor -= r.anchor % r.step
	} else {
		schedule.Every, schedule.Anchor = rhythmStep.String(), r.anchor
	}
	schedule.Enabled, schedule.NextAt = true, r.anchor+r.step
	_, err = db.UpdateSchedule(ctx, schedule)
	return err
}

// stopTime waits until each short rhythm has posted again, whatever was broken before, and pauses all of them.
func (c *company) stopTime(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	random := rand.New(rand.NewPCG(c.x.seed, 1<<47))
	since := parley.Now()
	for _, r := range c.rhythms {
		for !r.cron {
			var now parley.Schedule
			err := c.x.ask(bounded, r.account, random, func(ctx context.Context, by *client.Client) (err error) {
				now, err = by.Schedule(ctx, r.id)
				return err
			})
			last := now.LastRun
			if err == nil && last != nil && last.State == parley.RunPosted && last.CreatedAt > since {
				break
			}
			if err != nil || !pause(bounded, 200*time.Millisecond) {
				c.x.problem("%s does not go on: %+v, %v", r, last, err)
				break
			}
		}
	}
	for _, r := range c.rhythms {
		patch := client.SchedulePatch{Enabled: parley.Change[bool]{Set: true}}
		if !r.cron { // the API takes no such short one
			patch.Every = parley.Change[string]{Set: true, Value: "1h"}
		}
		if err := c.x.ask(ctx, r.account, random, func(ctx context.Context, by *client.Client) error {
			_, err := by.UpdateSchedule(ctx, r.id, patch)
			return err
		}); err != nil {
			c.x.problem("pausing %s: %v", r, err)
		}
	}
	c.stopped = true
}

// ticks reports whether a session belongs to a rhythm that has not been stopped.
func (c *company) ticks(s *parley.Session) bool {
	return !c.stopped && slices.ContainsFunc(c.rhythms, func(r *rhythm) bool { return r.agent == s.AgentID })
}

// checkRhythm: no time ran twice and none was lost, and what was skipped was noted, with its reason.
func (l *ledger) checkRhythm(ctx context.Context, db store.Store, r *rhythm) {
	workspace, err := db.Workspace(ctx, r.account.workspace)
	if err != nil {
		l.x.t.Fatal(err)
	}
	runs, err := db.ScheduleRuns(ctx, workspace, r.id, store.ScheduleRunQuery{
		Ascending: true, Limit: parley.MaxScheduleRuns,
	})
	if err != nil {
		l.x.t.Fatal(err)
	}
	posted := 0
	for i := range runs {
		if runs[i].State != parley.RunPosted {
			continue
		}
		if posted++; posted == 1 {
			s, err := storetest.TakeSnapshot(ctx, db, store.Scope{WorkspaceID: workspace}, runs[i].SessionID)
			if err != nil {
				l.x.t.Fatal(err)
			}
			l.take(&s)
			l.checkSession(&s)
		}
	}
	times := map[parley.Time]parley.ID{}
	for _, m := range l.scheduled[r.id] {
		var link parley.ScheduleLink
		if err := json.Unmarshal(m.Metadata, &link); err != nil || !times[link.DueAt].IsZero() {
			l.x.problem("%s posted twice for %s, or %v", r, link.DueAt, err)
		}
		times[link.DueAt] = m.ID
	}
	if len(times) != posted {
		l.x.problem("%s posted %d messages for %d runs", r, len(times), posted)
	}
	var last, before *parley.ScheduleRun // of all, and of those that were posted
	for i := range runs {
		run := &runs[i]
		if (run.DueAt-r.anchor)%r.step != 0 {
			l.x.problem("%s ran for %s, which is not one of its times", r, run.DueAt)
		}
		if last != nil && run.DueAt > r.after(max(last.DueAt, last.CreatedAt)) {
			l.x.problem("%s lost the times between %s, noted at %s, and %s", r, last.DueAt, last.CreatedAt, run.DueAt)
		}
		l.checkRun(r, run, before, last == nil)
		if last = run; run.State == parley.RunPosted {
			before = run
			if times[run.DueAt] != run.MessageID {
				l.x.problem("%s posted message %s for %s, not %s", r, times[run.DueAt], run.DueAt, run.MessageID)
			}
		}
		l.x.count(fmt.Sprintf("repeated runs %s %s", run.State, run.Reason))
	}
}

// checkRun: a run was posted or skipped as its schedule says, given the previous one that was posted.
func (l *ledger) checkRun(r *rhythm, run, before *parley.ScheduleRun, first bool) {
	late := run.CreatedAt - run.DueAt
	grace := parley.Time(parley.ScheduleGrace.Milliseconds())
	misses := r.missed == parley.MissedSkip && late > grace
	if first && misses != (run.Reason == parley.SkipMissed) || run.Reason == parley.SkipMissed && !misses ||
		run.State == parley.RunPosted && misses && late > grace+parley.Time(time.Minute.Milliseconds()) {
		l.x.problem("%s was %s %s for %s, %d ms late", r, run.State, run.Reason, run.DueAt, late)
	}
	if run.Reason == parley.SkipMissed {
		return
	}
	// The time from which the next run may be posted: when the previous one ended, or began if one may wait.
	var free parley.Time
	if before != nil {
		if free = l.turns[before.TurnID].FinishedAt; r.overlap == parley.OverlapQueue {
			free = l.turns[before.TurnID].StartedAt
		}
	}
	switch {
	case run.State == parley.RunPosted && free > run.CreatedAt+rhythmSlack:
		l.x.problem("%s was posted at %s, before %s, when the previous run made room", r, run.CreatedAt, free)
	case run.State == parley.RunSkipped && (run.Reason != parley.SkipOverlap || free+rhythmSlack < run.CreatedAt):
		l.x.problem("%s was skipped (%s) at %s; the previous run made room at %s", r, run.Reason, run.CreatedAt, free)
	}
}
