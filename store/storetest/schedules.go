package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testSchedules(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"CreatedWithTheBackgroundSession":  scheduleCreated,
		"ARepeatGivesTheFirstSchedule":     scheduleRepeated,
		"AnAgentHasAFewAtMost":             scheduleBounded,
		"ListsAndWorkspaces":               scheduleLists,
		"AChangeNamesItsRevision":          scheduleChanged,
		"OnlyWhatIsDueIsDue":               scheduleDue,
		"WorkspacesTakeTurns":              schedulesTakeTurns,
		"ARunIsPostedOnce":                 schedulePosts,
		"ManyPostersPostOnce":              schedulePostersRace,
		"AnOverlapIsSkipped":               scheduleSkips,
		"AnOverlapIsQueuedOnce":            scheduleQueues,
		"ThreeSkipsInARowRaiseTheAlarm":    scheduleAlert,
		"WhatIsArchivedOrFullIsSkipped":    scheduleRefused,
		"TheSameTimeIsNeverPostedTwice":    scheduleClockBack,
		"AMissedRunIsNotedAndNoAlarm":      scheduleMissed,
		"TheLatestRunsAreKept":             scheduleRunsBounded,
		"ADeletedSessionIsMadeAnew":        scheduleNewSession,
		"ADeletedScheduleIsGone":           scheduleDeleted,
		"ChangesAreAudited":                scheduleAudited,
		"AnArchivedAgentGetsNoneAndNoPost": scheduleArchivedAgent,
		"SchedulesRestWithTheirAgent":      scheduleRests,
		"AnotherOwnerIsTheAuthor":          scheduleOtherOwner,
		"ARunIsStoppedAtItsDeadline":       scheduleRunExpires,
		"SoIsOneThatWaitsBehindOtherWork":  scheduleRunExpiresQueued,
		"SoIsATurnThatGoesOnWithARun":      scheduleRunContinues,
		"WhatEndsInTimeIsLeftAlone":        scheduleRunInTime,
	})
}

// longDue is a time at which every test's schedules are due.
const longDue = parley.Time(1_700_000_000_000)

func (w *world) newSchedule(agent parley.ID, changes ...func(*parley.Schedule)) parley.Schedule {
	schedule := parley.Schedule{
		ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, AgentID: agent, Name: "daily",
		Timing:  parley.Timing{Every: "1h", TimeZone: "UTC", Anchor: longDue},
		Message: "look around", Enabled: true, Overlap: parley.OverlapSkip, Missed: parley.MissedOnce,
		Author: w.owner.Author(), NextAt: longDue,
	}
	for _, change := range changes {
		change(&schedule)
	}
	return schedule
}

func (w *world) schedule(t reporter, agent parley.ID, changes ...func(*parley.Schedule)) parley.Schedule {
	t.Helper()
	made, _, err := w.store.CreateSchedule(w.ctx, store.NewSchedule{Schedule: w.newSchedule(agent, changes...)})
	must(t, "CreateSchedule", err)
	return made
}

func (w *world) scheduleState(t reporter, id parley.ID) parley.Schedule {
	t.Helper()
	schedule, err := w.store.Schedule(w.ctx, w.scope.WorkspaceID, id)
	must(t, "Schedule", err)
	return schedule
}

// due posts the schedule's run and moves it on by an hour.
func (w *world) due(t reporter, id parley.ID) *parley.ScheduleRun {
	t.Helper()
	schedule := w.scheduleState(t, id)
	run, err := w.store.PostScheduled(w.ctx, scheduledPost(&schedule))
	must(t, "PostScheduled", err)
	return run
}

func scheduledPost(schedule *parley.Schedule) store.ScheduledPost {
	content, err := parley.EncodeContent(parley.UserContent{Text: schedule.Message})
	if err != nil {
		panic(err) // text of the tests
	}
	return store.ScheduledPost{Schedule: *schedule, NextAt: schedule.NextAt + 3_600_000, Content: content}
}

func (w *world) scheduleRuns(t reporter, id parley.ID) []parley.ScheduleRun {
	t.Helper()
	runs, err := w.store.ScheduleRuns(w.ctx, w.scope.WorkspaceID, id, store.ScheduleRunQuery{Limit: parley.MaxPage})
	must(t, "ScheduleRuns", err)
	return runs
}

// runSkipped requires a run that was skipped for a reason.
func runSkipped(t reporter, run *parley.ScheduleRun, reason parley.SkipReason) {
	t.Helper()
	if run == nil || run.State != parley.RunSkipped || run.Reason != reason || !run.MessageID.IsZero() {
		t.Fatalf("the run is %+v; want one skipped because of %s", run, reason)
	}
}

func scheduleCreated(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID, func(s *parley.Schedule) { s.Jitter = "5m" })
	if diff := cmp.Diff(made, w.scheduleState(t, made.ID)); diff != "" {
		t.Errorf("as created and as read (-created +read):\n%s", diff)
	}
	if made.CreatedAt == 0 || made.LastRun != nil || made.Jitter != "5m" || made.Author != w.owner.Author() {
		t.Errorf("created: %+v", made)
	}
	sessions, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{AgentID: agent.ID, Limit: 10})
	must(t, "Sessions", err)
	if len(sessions) != 1 || !sessions[0].InBackground() {
		t.Errorf("the agent's sessions are %+v; want its background session", sessions)
	}
	_, _, err = w.store.CreateSchedule(w.ctx, store.NewSchedule{Schedule: w.newSchedule(parley.NewID())})
	refused(t, "a schedule of no agent", err, parley.CodeNotFound)
}

func scheduleRepeated(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	creating := store.NewSchedule{
		Schedule:    w.newSchedule(agent.ID),
		Idempotency: store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))},
	}
	first, replayed, err := w.store.CreateSchedule(w.ctx, creating)
	must(t, "CreateSchedule", err)
	if replayed {
		t.Error("the first creation counts as a repeat")
	}
	creating.Schedule.ID = parley.NewID()
	again, replayed, err := w.store.CreateSchedule(w.ctx, creating)
	must(t, "CreateSchedule", err)
	if !replayed || again.ID != first.ID {
		t.Errorf("a repeat gives %s (%t); want %s", again.ID, replayed, first.ID)
	}
	creating.Idempotency.Fingerprint = parley.HashOf([]byte("other"))
	_, _, err = w.store.CreateSchedule(w.ctx, creating)
	refused(t, "another body under the key", err, parley.CodeKeyReused)
}

func scheduleBounded(t *testing.T, w *world) {
	agent, other := w.worker(t, "digger"), w.worker(t, "other")
	for range parley.MaxSchedulesOfAgent {
		w.schedule(t, agent.ID)
	}
	_, _, err := w.store.CreateSchedule(w.ctx, store.NewSchedule{Schedule: w.newSchedule(agent.ID)})
	refused(t, "one more", err, parley.CodeConflict)
	w.schedule(t, other.ID)
}

func scheduleLists(t *testing.T, w *world) {
	agent, other := w.worker(t, "digger"), w.worker(t, "other")
	first, second, third := w.schedule(t, agent.ID), w.schedule(t, other.ID), w.schedule(t, agent.ID)
	list := func(query store.ScheduleQuery) (ids []parley.ID) {
		t.Helper()
		query.Limit = 2
		schedules, err := w.store.Schedules(w.ctx, w.scope.WorkspaceID, query)
		must(t, "Schedules", err)
		for _, one := range schedules {
			ids = append(ids, one.ID)
		}
		return ids
	}
	for name, test := range map[string]struct {
		query store.ScheduleQuery
		want  []parley.ID
	}{
		"all":        {store.ScheduleQuery{}, []parley.ID{first.ID, second.ID}},
		"more":       {store.ScheduleQuery{AfterID: second.ID}, []parley.ID{third.ID}},
		"descending": {store.ScheduleQuery{Descending: true}, []parley.ID{third.ID, second.ID}},
		"an agent's": {store.ScheduleQuery{AgentID: agent.ID}, []parley.ID{first.ID, third.ID}},
	} {
		if diff := cmp.Diff(test.want, list(test.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	next := w.neighbour(t, "next")
	_, err := w.store.Schedule(w.ctx, next.scope.WorkspaceID, first.ID)
	refused(t, "another workspace's schedule", err, parley.CodeNotFound)
	_, err = w.store.ScheduleRuns(w.ctx, next.scope.WorkspaceID, first.ID, store.ScheduleRunQuery{Limit: 1})
	refused(t, "another workspace's runs", err, parley.CodeNotFound)
	refused(t, "deleting another workspace's",
		w.store.DeleteSchedule(w.ctx, next.scope.WorkspaceID, first.ID), parley.CodeNotFound)
	foreign := first
	foreign.WorkspaceID = next.scope.WorkspaceID
	_, err = w.store.UpdateSchedule(w.ctx, foreign)
	refused(t, "changing another workspace's", err, parley.CodeNotFound)
	if run, err := w.store.PostScheduled(w.ctx, scheduledPost(&foreign)); err != nil || run != nil {
		t.Errorf("posting another workspace's: %+v, %v", run, err)
	}
}

func scheduleChanged(t *testing.T, w *world) {
	made := w.schedule(t, w.worker(t, "digger").ID)
	changed := made
	changed.Message, changed.Every, changed.Cron, changed.Enabled, changed.NextAt = "dig", "", "0 9 * * *", false, 0
	changed, err := w.store.UpdateSchedule(w.ctx, changed)
	must(t, "UpdateSchedule", err)
	if diff := cmp.Diff(changed, w.scheduleState(t, made.ID)); diff != "" || changed.Revision != made.Revision+1 {
		t.Errorf("as changed and as read (-changed +read):\n%s", diff)
	}
	_, err = w.store.UpdateSchedule(w.ctx, made)
	refused(t, "a change of an older revision", err, parley.CodeConflict)
	w.due(t, w.schedule(t, w.worker(t, "other").ID).ID)
	if got := w.scheduleState(t, made.ID).Message; got != "dig" {
		t.Errorf("the message is %q", got)
	}
}

func scheduleDue(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	second := w.schedule(t, agent.ID, func(s *parley.Schedule) { s.NextAt = longDue + 1000 })
	first := w.schedule(t, agent.ID)
	w.schedule(t, agent.ID, func(s *parley.Schedule) { s.NextAt = parley.Now() + 3_600_000 })
	w.schedule(t, agent.ID, func(s *parley.Schedule) { s.Enabled, s.NextAt = false, 0 })
	found, err := w.store.DueSchedules(w.ctx, 10)
	must(t, "DueSchedules", err)
	if diff := cmp.Diff([]parley.Schedule{first, second}, found.Due); diff != "" || len(found.Ahead) > 0 ||
		found.Now < first.CreatedAt-parley.Time(2000) {
		t.Errorf("at %s, with %d ahead, these are due (-want +got):\n%s", found.Now, len(found.Ahead), diff)
	}
	if found, err = w.store.DueSchedules(w.ctx, 1); err != nil || len(found.Due) != 1 || found.Due[0].ID != first.ID {
		t.Errorf("one at most: %+v, %v", found.Due, err)
	}
}

// schedulesTakeTurns: a workspace with many schedules that are longer due does not delay another one's.
func schedulesTakeTurns(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	var many []parley.Schedule
	for n := range parley.Time(4) {
		many = append(many, w.schedule(t, agent.ID, func(s *parley.Schedule) { s.NextAt = longDue + n }))
	}
	other := w.neighbour(t, "other")
	later := func(by parley.Time) parley.Schedule {
		return other.schedule(t, other.worker(t, fmt.Sprintf("digger-%d", by)).ID,
			func(s *parley.Schedule) { s.NextAt = longDue + by })
	}
	first, second := later(1000), later(2000)
	want := []parley.Schedule{many[0], first, many[1], second, many[2]}
	found, err := w.store.DueSchedules(w.ctx, len(want))
	must(t, "DueSchedules", err)
	if diff := cmp.Diff(want, found.Due); diff != "" {
		t.Errorf("these are due (-want +got):\n%s", diff)
	}
}

func schedulePosts(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	session := w.background(t, &agent)
	post := scheduledPost(&made)
	run, err := w.store.PostScheduled(w.ctx, post)
	must(t, "PostScheduled", err)
	if run == nil || run.State != parley.RunPosted || run.DueAt != longDue || run.SessionID != session.ID ||
		run.MessageID != parley.ScheduledMessageID(made.ID, longDue) || run.CreatedAt == 0 {
		t.Fatalf("the run is %+v", run)
	}
	if again, err := w.store.PostScheduled(w.ctx, post); err != nil || again != nil {
		t.Errorf("a second post of the same time gives %+v, %v", again, err)
	}
	claim := w.claim(t)
	var link parley.ScheduleLink
	must(t, "reading the metadata", json.Unmarshal(claim.Trigger.Metadata, &link))
	if claim.Session.ID != session.ID || claim.Turn.ID != run.TurnID || claim.Trigger.ID != run.MessageID ||
		claim.Trigger.Author != w.owner.Author() || string(claim.Trigger.Content) != string(post.Content) ||
		link != (parley.ScheduleLink{ScheduleID: made.ID, DueAt: longDue}) {
		t.Errorf("it starts %+v with %+v, metadata %s", claim.Turn, claim.Trigger, claim.Trigger.Metadata)
	}
	w.answer(t, claim, "done")
	w.check(t, session.ID)
	now := w.scheduleState(t, made.ID)
	if now.NextAt != post.NextAt || now.LastRun == nil || *now.LastRun != (parley.ScheduleRun{
		ScheduleID: made.ID, DueAt: longDue, State: parley.RunPosted, SessionID: session.ID,
		MessageID: run.MessageID, TurnID: run.TurnID, CreatedAt: run.CreatedAt,
	}) || now.UpdatedAt != made.UpdatedAt {
		t.Errorf("afterwards it is %+v, last run %+v", now, now.LastRun)
	}
	w.due(t, made.ID)
	runs := w.scheduleRuns(t, made.ID)
	if len(runs) != 2 || runs[0].DueAt != post.NextAt || runs[1] != *run {
		t.Errorf("the runs are %+v", runs)
	}
	later, err := w.store.ScheduleRuns(w.ctx, w.scope.WorkspaceID, made.ID,
		store.ScheduleRunQuery{Ascending: true, AfterDue: longDue, Limit: 10})
	if err != nil || len(later) != 1 || later[0] != runs[0] {
		t.Errorf("after the first: %+v, %v", later, err)
	}
}

// schedulePostersRace: many posters of one time, as in several processes that read the same due schedule, post once.
func schedulePostersRace(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	post := scheduledPost(&made)
	const posters = 8
	var together sync.WaitGroup
	begin, runs, failures := make(chan struct{}), make([]*parley.ScheduleRun, posters), make([]error, posters)
	for i := range posters {
		together.Go(func() { // ends with its call
			<-begin
			runs[i], failures[i] = w.store.PostScheduled(w.ctx, post)
		})
	}
	close(begin)
	together.Wait()
	posted := 0
	for i, run := range runs {
		must(t, "PostScheduled", failures[i])
		if run != nil {
			posted++
		}
	}
	state := w.check(t, w.background(t, &agent).ID)
	if posted != 1 || len(state.Record) != 1 {
		t.Errorf(
			"%d of %d posters say that they posted; the session has %d messages",
			posted,
			posters,
			len(state.Record),
		)
	}
}

// sharedSchedules: two processes that read the same due schedules and post all of them post each once.
func sharedSchedules(t *testing.T, w, other *world) {
	const agents, each = 4, 5
	made := map[parley.ID]bool{}
	for n := range agents {
		agent := w.worker(t, "digger-"+string(rune('a'+n)))
		for range each {
			made[w.schedule(t, agent.ID, func(s *parley.Schedule) { s.Overlap = parley.OverlapQueue }).ID] = true
		}
	}
	var both sync.WaitGroup
	var mu sync.Mutex // guards runs and failed
	runs, failed := map[parley.ID]int{}, error(nil)
	for _, process := range []*world{w, other} {
		due, err := process.store.DueSchedules(w.ctx, parley.MaxPage)
		must(t, "DueSchedules", err)
		if len(due.Due) != len(made) {
			t.Fatalf("%d schedules are due; want %d", len(due.Due), len(made))
		}
		both.Go(func() { // ends with the last schedule
			for i := range due.Due {
				run, err := process.store.PostScheduled(w.ctx, scheduledPost(&due.Due[i]))
				mu.Lock()
				if err != nil {
					failed = err
				}
				if run != nil && run.State == parley.RunPosted {
					runs[run.ScheduleID]++
				}
				mu.Unlock()
			}
		})
	}
	both.Wait()
	must(t, "PostScheduled", failed)
	for id := range made {
		if stored := w.scheduleRuns(t, id); runs[id] != 1 || len(stored) != 1 {
			t.Errorf("schedule %s was posted %d times and has the runs %+v", id, runs[id], stored)
		}
	}
}

func scheduleSkips(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	w.due(t, made.ID)
	runSkipped(t, w.due(t, made.ID), parley.SkipOverlap) // it waits for a worker
	claim := w.claim(t)
	runSkipped(t, w.due(t, made.ID), parley.SkipOverlap)
	if now := w.scheduleState(t, made.ID); now.SkippedInARow != 2 || now.LastRun.Reason != parley.SkipOverlap {
		t.Errorf("after two skips it is %+v", now)
	}
	w.answer(t, claim, "done")
	if run := w.due(t, made.ID); run == nil || run.State != parley.RunPosted {
		t.Fatalf("after the end of the previous run: %+v", run)
	}
	if now := w.scheduleState(t, made.ID); now.SkippedInARow != 0 {
		t.Errorf("a posted run leaves %d skips in a row", now.SkippedInARow)
	}
}

// scheduleQueues: work of others does not count as an overlap; of its own runs, one may wait.
func scheduleQueues(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	made := w.schedule(t, agent.ID, func(s *parley.Schedule) { s.Overlap = parley.OverlapQueue })
	w.post(t, session.ID, w.say("something else"))
	first := w.due(t, made.ID)
	if first == nil || first.State != parley.RunPosted {
		t.Fatalf("behind other work: %+v", first)
	}
	runSkipped(t, w.due(t, made.ID), parley.SkipOverlap)
	w.answer(t, w.claim(t), "something else is done")
	claim := w.claim(t)
	if claim.Turn.ID != first.TurnID {
		t.Fatalf("turn %s runs; want %s", claim.Turn.ID, first.TurnID)
	}
	second := w.due(t, made.ID)
	if second == nil || second.State != parley.RunPosted {
		t.Fatalf("while the first runs: %+v", second)
	}
	runSkipped(t, w.due(t, made.ID), parley.SkipOverlap)
	w.answer(t, claim, "done")
	if next := w.claim(t); next.Turn.ID != second.TurnID {
		t.Errorf("then turn %s runs; want %s", next.Turn.ID, second.TurnID)
	}
}

func scheduleAlert(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	w.due(t, made.ID)
	alerts := func() (data []string) {
		t.Helper()
		for _, event := range w.check(t, w.background(t, &agent).ID).Events {
			if event.Type == parley.EventScheduleAlert {
				data = append(data, string(event.Data))
			}
		}
		return data
	}
	for range parley.ScheduleAlertAfter - 1 {
		w.due(t, made.ID)
	}
	if told := alerts(); len(told) != 0 {
		t.Fatalf("after two skips: %s", told)
	}
	third := w.due(t, made.ID)
	w.due(t, made.ID)
	told := alerts()
	var alert struct {
		ScheduleID parley.ID `json:"schedule_id"`
		Name       string
		Skipped    int
		Reason     parley.SkipReason
		DueAt      parley.Time `json:"due_at"`
	}
	if len(told) != 1 {
		t.Fatalf("after four skips there are %d alerts; want one", len(told))
	}
	must(t, "reading the alert", json.Unmarshal([]byte(told[0]), &alert))
	if alert.ScheduleID != made.ID || alert.Name != "daily" || alert.Skipped != parley.ScheduleAlertAfter ||
		alert.Reason != parley.SkipOverlap || alert.DueAt != third.DueAt {
		t.Errorf("the alert is %s", told[0])
	}
}

func scheduleRefused(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	made := w.schedule(t, agent.ID)
	_, err := w.store.UpdateSession(w.ctx, w.scope, session.ID, store.SessionChange{Archived: new(true)})
	must(t, "UpdateSession", err)
	runSkipped(t, w.due(t, made.ID), parley.SkipArchived)
	_, err = w.store.UpdateSession(w.ctx, w.scope, session.ID, store.SessionChange{Archived: new(false)})
	must(t, "UpdateSession", err)
	w.post(t, session.ID, w.say("runs"))
	for range parley.MaxQueued {
		w.post(t, session.ID, w.say("waits"))
	}
	runSkipped(t, w.due(t, made.ID), parley.SkipQueueFull)
	if now := w.scheduleState(t, made.ID); now.SkippedInARow != 2 {
		t.Errorf("%d runs were skipped in a row", now.SkippedInARow)
	}
}

// scheduleClockBack: a time that comes again, because the clock was set back after its run, posts nothing.
func scheduleClockBack(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	w.due(t, made.ID)
	w.answer(t, w.claim(t), "done")
	again := w.scheduleState(t, made.ID)
	moved, err := w.store.MoveSchedule(w.ctx, store.ScheduleMove{Schedule: again, NextAt: longDue})
	if err != nil || !moved {
		t.Fatalf("MoveSchedule: %t, %v", moved, err)
	}
	if run := w.due(t, made.ID); run != nil {
		t.Errorf("the same time gives the run %+v", run)
	}
	now := w.scheduleState(t, made.ID)
	if state := w.check(t, w.background(t, &agent).ID); len(state.Record) != 2 || now.NextAt != longDue+3_600_000 {
		t.Errorf("the session has %d messages; the schedule is due at %s", len(state.Record), now.NextAt)
	}
	if runs := w.scheduleRuns(t, made.ID); len(runs) != 1 {
		t.Errorf("the runs are %+v", runs)
	}
}

func scheduleMissed(t *testing.T, w *world) {
	made := w.schedule(t, w.worker(t, "digger").ID)
	move := store.ScheduleMove{Schedule: made, NextAt: longDue + 1, Reason: parley.SkipMissed}
	moved, err := w.store.MoveSchedule(w.ctx, move)
	if err != nil || !moved {
		t.Fatalf("MoveSchedule: %t, %v", moved, err)
	}
	if moved, err = w.store.MoveSchedule(w.ctx, move); err != nil || moved {
		t.Errorf("a second time: %t, %v", moved, err)
	}
	now, runs := w.scheduleState(t, made.ID), w.scheduleRuns(t, made.ID)
	if now.NextAt != move.NextAt || now.SkippedInARow != 0 || len(runs) != 1 || runs[0].Reason != parley.SkipMissed ||
		runs[0].DueAt != longDue {
		t.Errorf("it is %+v, with the runs %+v", now, runs)
	}
	w.claimsNothing(t)
}

func scheduleRunsBounded(t *testing.T, w *world) {
	made := w.schedule(t, w.worker(t, "digger").ID)
	for range parley.MaxScheduleRuns + 3 {
		moved, err := w.store.MoveSchedule(w.ctx, store.ScheduleMove{
			Schedule: made, NextAt: made.NextAt + 60_000, Reason: parley.SkipMissed,
		})
		if err != nil || !moved {
			t.Fatalf("MoveSchedule: %t, %v", moved, err)
		}
		made.NextAt += 60_000
		made.Revision++
	}
	runs := w.scheduleRuns(t, made.ID)
	if len(runs) != parley.MaxScheduleRuns || runs[0].DueAt != made.NextAt-60_000 {
		t.Errorf("%d runs are kept, the latest due at %s", len(runs), runs[0].DueAt)
	}
}

func scheduleNewSession(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	w.due(t, made.ID)
	before := w.background(t, &agent)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, before.ID))
	run := w.due(t, made.ID)
	if run == nil || run.State != parley.RunPosted || run.SessionID == before.ID {
		t.Fatalf("after the deletion the run is %+v", run)
	}
	if now := w.background(t, &agent); now.ID != run.SessionID {
		t.Errorf("it was posted into %s; the background session is %s", run.SessionID, now.ID)
	}
}

func scheduleDeleted(t *testing.T, w *world) {
	made := w.schedule(t, w.worker(t, "digger").ID)
	post := scheduledPost(&made)
	w.due(t, made.ID)
	must(t, "DeleteSchedule", w.store.DeleteSchedule(w.ctx, w.scope.WorkspaceID, made.ID))
	refused(t, "deleting it again", w.store.DeleteSchedule(w.ctx, w.scope.WorkspaceID, made.ID), parley.CodeNotFound)
	_, err := w.store.Schedule(w.ctx, w.scope.WorkspaceID, made.ID)
	refused(t, "reading it", err, parley.CodeNotFound)
	_, err = w.store.ScheduleRuns(w.ctx, w.scope.WorkspaceID, made.ID, store.ScheduleRunQuery{Limit: 1})
	refused(t, "reading its runs", err, parley.CodeNotFound)
	_, err = w.store.UpdateSchedule(w.ctx, made)
	refused(t, "changing it", err, parley.CodeNotFound)
	if run, err := w.store.PostScheduled(w.ctx, post); err != nil || run != nil {
		t.Errorf("its run: %+v, %v", run, err)
	}
	w.claim(t) // what it posted stays
}

func scheduleAudited(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	creating := store.NewSchedule{Schedule: w.newSchedule(agent.ID)}
	ctx, _ := w.calls("create")
	made, _, err := w.store.CreateSchedule(ctx, creating)
	must(t, "CreateSchedule", err)
	w.tells(t, "create", concern{session.ID, made.ID})
	ctx, _ = w.calls("update")
	_, err = w.store.UpdateSchedule(ctx, made)
	must(t, "UpdateSchedule", err)
	w.tells(t, "update", concern{Target: made.ID})
	ctx, _ = w.calls("stale")
	_, err = w.store.UpdateSchedule(ctx, made)
	refused(t, "an older revision", err, parley.CodeConflict)
	w.tells(t, "stale")
	ctx, _ = w.calls("delete")
	must(t, "DeleteSchedule", w.store.DeleteSchedule(ctx, w.scope.WorkspaceID, made.ID))
	refused(t, "again", w.store.DeleteSchedule(ctx, w.scope.WorkspaceID, made.ID), parley.CodeNotFound)
	w.tells(t, "delete", concern{Target: made.ID})
}

func scheduleArchivedAgent(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	agent.Status = parley.AgentArchived
	agent, err := w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	_, _, err = w.store.CreateSchedule(w.ctx, store.NewSchedule{Schedule: w.newSchedule(agent.ID)})
	refused(t, "a schedule of an archived agent", err, parley.CodeArchived)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, w.background(t, &agent).ID))
	now := w.scheduleState(t, made.ID)
	_, err = w.store.PostScheduled(w.ctx, scheduledPost(&now))
	refused(t, "a post without a session", err, parley.CodeArchived)
	if left := w.scheduleState(t, made.ID); left.Revision != now.Revision {
		t.Error("a refusal moved the schedule")
	}
}

// scheduleRests: while its agent is archived, a schedule keeps its time, nothing is noted, and nobody looks for it. It
// goes on from there when the agent comes back.
func scheduleRests(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	isDue := func() bool {
		t.Helper()
		found, err := w.store.DueSchedules(w.ctx, 1000)
		must(t, "DueSchedules", err)
		return slices.ContainsFunc(found.Due, func(s parley.Schedule) bool { return s.ID == made.ID })
	}
	becomes := func(status parley.AgentStatus) {
		t.Helper()
		agent.Status = status
		var err error
		agent, err = w.store.UpdateAgent(w.ctx, agent)
		must(t, "UpdateAgent", err)
	}
	if !isDue() {
		t.Fatal("the schedule is not due")
	}
	becomes(parley.AgentArchived)
	if isDue() {
		t.Error("the schedule of an archived agent is due")
	}
	resting := w.scheduleState(t, made.ID)
	shown, err := json.Marshal(resting)
	must(t, "Marshal", err)
	if !resting.Resting || resting.NextAt != made.NextAt || !strings.Contains(string(shown), `"next_at":null`) {
		t.Errorf("the schedule rests as %s", shown)
	}
	for _, read := range []parley.Schedule{made, resting} { // read before the agent was archived, and after
		if run, err := w.store.PostScheduled(w.ctx, scheduledPost(&read)); err != nil || run != nil {
			t.Errorf("a run of an archived agent: %+v, %v", run, err)
		}
	}
	if runs, now := w.scheduleRuns(t, made.ID), w.scheduleState(t, made.ID); len(runs) != 0 ||
		now.Revision != resting.Revision || now.SkippedInARow != 0 {
		t.Errorf("the archived agent's schedule noted %+v, and is %+v", runs, now)
	}
	becomes(parley.AgentActive)
	if !isDue() {
		t.Error("the schedule does not go on with its agent")
	}
	if run := w.due(t, made.ID); run == nil || run.State != parley.RunPosted || run.DueAt != made.NextAt {
		t.Errorf("the run that was due meanwhile is %+v", run)
	}
}

// scheduleOtherOwner: what a schedule posts is by the agent's owner, also after another one got the agent.
func scheduleOtherOwner(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(t, agent.ID)
	other, err := w.store.CreateKey(w.ctx, newKey("default", "robot", parley.RoleMember))
	must(t, "CreateKey", err)
	agent.OwnerID, agent.OwnerName = other.PrincipalID, "robot"
	_, err = w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	w.due(t, made.ID)
	now := w.scheduleState(t, made.ID)
	want := parley.Author{Kind: parley.AuthorService, ID: other.PrincipalID, Name: "robot"}
	if now.Author != want {
		t.Errorf("the schedule is by %+v; want %+v", now.Author, want)
	}
	if m := w.message(t, now.LastRun.MessageID); m.Author != want {
		t.Errorf("its message is by %+v; want %+v", m.Author, want)
	}
}
