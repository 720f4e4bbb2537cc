package httpapi

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// postedNow makes a schedule due and waits until the server's worker has acted on it.
func (s *testServer) postedNow(id string) parley.Schedule {
	s.Helper()
	return s.postedLate(id, 1)
}

// postedLate is postedNow for a schedule that has been due for so many milliseconds.
func (s *testServer) postedLate(id string, late parley.Time) parley.Schedule {
	s.Helper()
	schedule := want[parley.Schedule](s, 200, "GET", "/v1/schedules/"+id, "")
	scheduleID, err := parley.ParseID(id)
	if err != nil {
		s.Fatal(err)
	}
	stored, err := s.store.Schedule(s.Context(), schedule.WorkspaceID, scheduleID)
	if err != nil {
		s.Fatal(err)
	}
	before := stored.LastRun
	if moved, err := s.store.MoveSchedule(s.Context(), store.ScheduleMove{
		Schedule: stored, NextAt: parley.Now() - late,
	}); err != nil || !moved {
		s.Fatalf("MoveSchedule: %t, %v", moved, err)
	}
	for until := time.Now().Add(patience); ; runtime.Gosched() { // not over HTTP: each request is audited
		if stored, err = s.store.Schedule(s.Context(), schedule.WorkspaceID, scheduleID); err != nil {
			s.Fatal(err)
		}
		if last := stored.LastRun; last != nil && (before == nil || last.DueAt != before.DueAt) {
			return want[parley.Schedule](s, 200, "GET", "/v1/schedules/"+id, "")
		}
		if time.Now().After(until) {
			s.Fatalf("the schedule was due and never ran: %+v", stored)
		}
	}
}

// TestSchedulesThroughTheAPI: a schedule posts its message into the background session of its agent, its turn runs
// there, and the history names it.
func TestSchedulesThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Digger","model":"sim/echo"}`)
	const body = `{"agent_id":"digger","name":"Round","cron":"0 9 * * 1-5","time_zone":"Europe/Berlin",` +
		`"message":"Look around."}`
	made := want[parley.Schedule](s, 201, "POST", "/v1/schedules", body, "Idempotency-Key", "k")
	if repeat := want[parley.Schedule](s, 201, "POST", "/v1/schedules", body, "Idempotency-Key", "k"); repeat.ID !=
		made.ID {
		t.Errorf("the repeat gives schedule %s", repeat.ID)
	}
	if made.AgentID != agent.ID || made.NextAt == 0 || made.LastRun != nil || !made.Enabled ||
		made.Overlap != parley.OverlapSkip || made.Missed != parley.MissedOnce {
		t.Errorf("created: %+v", made)
	}
	path := "/v1/schedules/" + made.ID.String()
	ran := s.postedNow(made.ID.String())
	if ran.LastRun.State != parley.RunPosted || ran.NextAt != made.NextAt {
		t.Fatalf("it ran as %+v and is due at %s; want %s", ran.LastRun, ran.NextAt, made.NextAt)
	}
	session := "/v1/sessions/" + ran.LastRun.SessionID.String()
	s.awaitEnd(ran.LastRun.SessionID.String())
	messages := want[page[parley.Message]](s, 200, "GET", session+"/messages", "").Data
	if len(messages) != 2 || messages[0].ID != ran.LastRun.MessageID || messages[0].TurnID != ran.LastRun.TurnID {
		t.Errorf("the background session has %+v", messages)
	}
	if background := want[parley.Session](s, 200, "GET", session, ""); background.Mode != parley.ModeBackground ||
		background.Status != parley.SessionCompleted {
		t.Errorf("it ran in %+v", background)
	}
	runs := want[page[parley.ScheduleRun]](s, 200, "GET", path+"/runs", "").Data
	if len(runs) != 1 || runs[0].TurnID != ran.LastRun.TurnID {
		t.Errorf("the runs are %+v", runs)
	}

	changed := want[parley.Schedule](s, 200, "PATCH", path, `{"every":"2h","name":null}`)
	if changed.Cron != "" || changed.Every != "2h" || changed.Name != "" || changed.NextAt == made.NextAt {
		t.Errorf("changed: %+v", changed)
	}
	off := want[parley.Schedule](s, 200, "PATCH", path, `{"enabled":false}`)
	if off.Enabled || off.NextAt != 0 {
		t.Errorf("disabled: %+v", off)
	}
	if on := want[parley.Schedule](s, 200, "PATCH", path, `{"enabled":true}`); on.NextAt == 0 {
		t.Errorf("enabled: %+v", on)
	}
	if list := want[page[parley.Schedule]](s, 200, "GET", "/v1/schedules?agent=digger", "").Data; len(list) != 1 {
		t.Errorf("the agent's schedules are %+v", list)
	}
	if got := s.do("DELETE", path, ""); got.status != http.StatusNoContent {
		t.Errorf("DELETE: status %d", got.status)
	}
	if got := s.do("GET", path, ""); got.status != http.StatusNotFound {
		t.Errorf("afterwards: status %d", got.status)
	}
}

// scheduled makes an hourly schedule of a new agent whose work goes on for as long as a test takes.
func (s *testServer) scheduled(more string) (id, runs string) {
	s.Helper()
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Digger","model":"sim/lorem-100000-20"}`)
	id = want[parley.Schedule](s, 201, "POST", "/v1/schedules",
		`{"agent_id":"digger","name":"Round","every":"1h","message":"Look around."`+more+`}`).ID.String()
	return id, "/v1/schedules/" + id + "/runs"
}

// outcomes returns what came of a schedule, the latest run first.
func (s *testServer) outcomes(runs string) (all []string) {
	s.Helper()
	for _, run := range want[page[parley.ScheduleRun]](s, 200, "GET", runs, "").Data {
		outcome := string(run.State)
		if run.Reason != "" {
			outcome += ": " + string(run.Reason)
		}
		if (run.State == parley.RunPosted) == run.TurnID.IsZero() {
			s.Errorf("the %s run names turn %s", run.State, run.TurnID)
		}
		all = append(all, outcome)
	}
	return all
}

// TestAScheduleSkipsWhileItsRunGoesOn: the history says why, and the third run skipped in a row comes to the owner's
// inbox. Once the previous run has ended, the next one is posted.
func TestAScheduleSkipsWhileItsRunGoesOn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id, runs := s.scheduled("")
	first := s.postedNow(id).LastRun
	watch := s.stream("GET", "/v1/events", "")
	for range parley.ScheduleAlertAfter {
		if run := s.postedNow(id).LastRun; run.State != parley.RunSkipped || run.Reason != parley.SkipOverlap {
			t.Fatalf("while its first run goes on, a run is %+v", run)
		}
	}
	watch.until("inbox.created")
	items := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox", "").Data
	if len(items) != 1 || items[0].Type != parley.InboxAlert || items[0].SessionID != first.SessionID ||
		!strings.Contains(items[0].Title, "Round") ||
		items[0].Summary != "3 runs in a row were skipped, the last one because its previous run has not ended." {
		t.Errorf("the inbox has %+v", items)
	}
	want[engine.CancelResult](s, 200, "POST", "/v1/sessions/"+first.SessionID.String()+"/cancel", "")
	s.awaitEnd(first.SessionID.String())
	s.postedNow(id)
	const skipped = "skipped: overlap"
	if diff := cmp.Diff([]string{"posted", skipped, skipped, skipped, "posted"}, s.outcomes(runs)); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
}

// TestAScheduleQueuesOneRun: with overlap queue one run waits for the previous one and then works; further ones are
// skipped.
func TestAScheduleQueuesOneRun(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id, runs := s.scheduled(`,"overlap":"queue"`)
	first := s.postedNow(id).LastRun
	events := s.stream("GET", "/v1/sessions/"+first.SessionID.String()+"/events?flush_ms=0", "")
	events.until("step.generating") // it works, and does not wait itself
	second := s.postedNow(id).LastRun
	s.postedNow(id)
	if diff := cmp.Diff([]string{"skipped: overlap", "posted", "posted"}, s.outcomes(runs)); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	turn := func() parley.Turn {
		t.Helper()
		return want[parley.Turn](s, 200, "GET", "/v1/turns/"+second.TurnID.String(), "")
	}
	if now := turn(); now.Status != parley.TurnQueued {
		t.Errorf("while the first run goes on, the second is %s", now.Status)
	}
	want[engine.CancelResult](s, 200, "POST", "/v1/sessions/"+first.SessionID.String()+"/cancel", "")
	events.until("session.started")
	if now := turn(); now.Status == parley.TurnQueued {
		t.Errorf("after the first run the second is %s", now.Status)
	}
}

// TestSchedulesThatWereMissed: of the runs that were due on a day without a server, one is made up for, or none, as the
// schedule says; the next run is due within the hour.
func TestSchedulesThatWereMissed(t *testing.T) {
	t.Parallel()
	const day = 24 * 60 * 60 * 1000
	for missed, outcome := range map[string]string{"once": "posted", "skip": "skipped: missed"} {
		t.Run(missed, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			id, runs := s.scheduled(`,"missed":"` + missed + `"`)
			after := s.postedLate(id, day)
			if left := after.NextAt - parley.Now(); left <= 0 || left > 60*60*1000 {
				t.Errorf("the next run is due at %s", after.NextAt)
			}
			if diff := cmp.Diff([]string{outcome}, s.outcomes(runs)); diff != "" {
				t.Errorf("the history (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSchedulesOfSeveralAgents: the list has the schedules of all named agents in one order, page by page.
func TestSchedulesOfSeveralAgents(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var made []string
	for _, name := range []string{"a", "b", "c", "a"} {
		if len(made) < 3 {
			want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"`+name+`","model":"sim/echo"}`)
		}
		made = append(made, want[parley.Schedule](s, 201, "POST", "/v1/schedules",
			`{"agent_id":"`+name+`","every":"1h","message":"dig"}`).ID.String())
	}
	for order, wanted := range map[string][]string{
		"asc": {made[0], made[1], made[3]}, "desc": {made[3], made[1], made[0]},
	} {
		var got []string
		for cursor := ""; ; {
			list := want[page[parley.Schedule]](s, 200, "GET",
				"/v1/schedules?agent=a&agent=b&limit=2&order="+order+cursor, "")
			for i := range list.Data {
				got = append(got, list.Data[i].ID.String())
			}
			if list.Next == nil {
				break
			}
			cursor = "&cursor=" + *list.Next
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", order, diff)
		}
	}
}

func TestSchedulesThatCannotBe(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Digger","model":"sim/echo"}`)
	for body, status := range map[string]int{
		`{"agent_id":"digger","every":"1h"}`:                                          422,
		`{"agent_id":"digger","every":"1h","message":" "}`:                            422,
		`{"agent_id":"digger","message":"x"}`:                                         422,
		`{"agent_id":"digger","every":"1s","message":"x"}`:                            422,
		`{"agent_id":"digger","every":"1h","cron":"* * * * *","message":"x"}`:         422,
		`{"agent_id":"digger","at":"2001-01-01T00:00:00Z","message":"x"}`:             422,
		`{"agent_id":"digger","every":"1h","message":"x","overlap":"both"}`:           422,
		`{"agent_id":"digger","every":"1h","message":"x","time_zone":"Mars/Olympus"}`: 422,
		`{"agent_id":"digger","every":"1h","message":"x","deadline":"59s"}`:           422,
		`{"agent_id":"digger","every":"1h","message":"x","deadline":"721h"}`:          422,
		`{"agent_id":"digger","every":"1h","message":"x","deadline":"a day"}`:         422,
		`{"agent_id":"nobody","every":"1h","message":"x"}`:                            404,
	} {
		if got := s.do("POST", "/v1/schedules", body); got.status != status {
			t.Errorf("%s: status %d, want %d: %s", body, got.status, status, got.body)
		}
	}
}

// TestARunIsStoppedAtItsDeadline: a run that waits for an approval for too long is stopped, and its owner finds out
// from the inbox.
func TestARunIsStoppedAtItsDeadline(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Digger","model":"sim/script",`+
		`"tools":["current_time"],"grants":[{"tool":"current_time","effect":"ask"}]}`)
	script, err := json.Marshal("[[" + call("current_time", map[string]string{}) + "]]")
	if err != nil {
		t.Fatal(err)
	}
	made := want[parley.Schedule](s, 201, "POST", "/v1/schedules",
		`{"agent_id":"digger","name":"Round","every":"1h","deadline":"90m","message":`+string(script)+`}`)
	if made.Deadline != "90m" {
		t.Errorf("its deadline is %q", made.Deadline)
	}
	path := "/v1/schedules/" + made.ID.String()
	if usual := want[parley.Schedule](s, 200, "PATCH", path, `{"deadline":null}`); usual.Deadline != "24h" {
		t.Errorf("without a deadline of its own it has %q", usual.Deadline)
	}
	stored, err := s.store.Schedule(t.Context(), made.WorkspaceID, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	stored.Deadline = "1s" // the API takes none below a minute
	if _, err := s.store.UpdateSchedule(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	run := s.postedNow(made.ID.String()).LastRun
	session := "/v1/sessions/" + run.SessionID.String()
	s.stream("GET", session+"/events", "").until("session.cancelled")
	turn := want[page[parley.Turn]](s, 200, "GET", session+"/turns", "").Data[0]
	if turn.ID != run.TurnID || turn.Status != parley.TurnCancelled {
		t.Errorf("after its deadline turn %s is %s", turn.ID, turn.Status)
	}
	alerts := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?type=alert", "").Data
	if len(alerts) != 1 || alerts[0].Title != "A scheduled run passed its deadline: Round" ||
		alerts[0].SessionID != run.SessionID || alerts[0].MessageID != run.MessageID {
		t.Errorf("the alerts are %+v", alerts)
	}
}

func TestPreviewOfASchedule(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	preview := want[engine.SchedulePreview](s, 200, "POST", "/v1/schedules/preview",
		`{"cron":"30 9 * * *","time_zone":"Asia/Kolkata"}`)
	if len(preview.Times) != parley.SchedulePreviews {
		t.Fatalf("the times are %v", preview.Times)
	}
	for i, at := range preview.Times {
		if std := at.Std(); std.Hour() != 4 || std.Minute() != 0 || i > 0 && at-preview.Times[i-1] != 86_400_000 {
			t.Errorf("time %d is %s", i+1, at)
		}
	}
	if once := want[engine.SchedulePreview](s, 200, "POST", "/v1/schedules/preview",
		`{"at":"2099-01-01T00:00:00Z"}`); len(once.Times) != 1 {
		t.Errorf("once comes at %v", once.Times)
	}
}

// TestSchedulesAreTheOwners: only an agent's owner and admins change its schedules and give it work.
func TestSchedulesAreTheOwners(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner, other := s.key("one", "ada", parley.RoleMember), s.key("one", "bob", parley.RoleMember)
	admin := s.key("one", "root", parley.RoleAdmin)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Digger","model":"sim/echo"}`, "Authorization", owner)
	const body = `{"agent_id":"digger","every":"1h","message":"Look around."}`
	made := want[parley.Schedule](s, 201, "POST", "/v1/schedules", body, "Authorization", owner)
	path := "/v1/schedules/" + made.ID.String()
	for _, try := range [][3]string{
		{"POST", "/v1/schedules", body},
		{"PATCH", path, `{"message":"Dig."}`},
		{"DELETE", path, ""},
		{"POST", "/v1/agents/digger/tasks", `{"text":"Dig."}`},
	} {
		if got := s.do(try[0], try[1], try[2], "Authorization", other); got.status != http.StatusForbidden {
			t.Errorf("%s %s by another member: status %d, want 403: %s", try[0], try[1], got.status, got.body)
		}
	}
	want[parley.Schedule](s, 200, "GET", path, "", "Authorization", other)
	changed := want[parley.Schedule](s, 200, "PATCH", path, `{"message":"Dig."}`, "Authorization", admin)
	if changed.Author == made.Author {
		t.Errorf("the author of the admin's message is %+v", changed.Author)
	}
	task := want[parley.Message](s, 201, "POST", "/v1/agents/digger/tasks", `{"text":"Dig."}`, "Authorization", owner)
	again := want[parley.Message](s, 201, "POST", "/v1/agents/digger/tasks", `{"text":"Dig on."}`,
		"Authorization", admin)
	if task.SessionID != again.SessionID || task.TurnID.IsZero() {
		t.Errorf("the tasks are %+v and %+v", task, again)
	}
	var content struct{ Text string }
	if err := json.Unmarshal(task.Content, &content); err != nil || content.Text != "Dig." {
		t.Errorf("the task says %s", task.Content)
	}
}
