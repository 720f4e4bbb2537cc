package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/store"
)

// TestSchedulesOnTheCommandLine: a schedule is previewed, made, found, changed, switched off and deleted.
func TestSchedulesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Digger", "--model", "sim/script")
	times := strings.Fields(d.say("schedules", "preview", "--cron", "30 9 * * *", "--time-zone", "Asia/Kolkata"))
	if len(times) != parley.SchedulePreviews {
		t.Fatalf("the preview is %q", times)
	}
	for _, at := range times {
		if !strings.HasSuffix(at, "T04:00:00.000Z") {
			t.Errorf("half past nine in Kolkata is %s", at)
		}
	}
	shows := func(out string, wanted ...string) (id string) {
		t.Helper()
		fields := row(t, out, "Round")
		if len(fields) == 0 {
			t.Fatalf("no schedule in\n%s", out)
		}
		for _, want := range wanted {
			if !strings.Contains(strings.Join(fields, " "), want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
		return fields[0]
	}
	id := shows(d.say("schedules", "create", "Look around.", "--agent", "digger", "--name", "Round",
		"--cron", "30 9 * * *", "--time-zone", "Asia/Kolkata"), "30 9 * * * (Asia/Kolkata) "+times[0]+" -")
	shows(d.say("schedules", "list", "--agent", "digger"), id)
	shows(d.say("schedules", "show", id), id, times[0])
	shows(d.say("schedules", "update", id, "--every", "2h"), "every 2h")
	shows(d.say("schedules", "update", id, "--enabled", "false"), "disabled")
	d.expect(1, "every", "schedules", "create", "x", "--agent", "digger", "--every", "1s")
	d.expect(2, "--agent is missing", "schedules", "create", "x", "--every", "1h")
	d.expect(1, "time_zone", "schedules", "preview", "--cron", "* * * * *", "--time-zone", "Mars/Olympus")
	d.say("schedules", "delete", id)
	if out := d.say("schedules", "list"); strings.Contains(out, "Round") {
		t.Errorf("the deleted schedule is in\n%s", out)
	}
}

// TestRunsOfASchedule: the history lists what was posted, with its turn, and says why a run was skipped; the schedule's
// row says how the last run went.
func TestRunsOfASchedule(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Digger", "--model", "sim/lorem-100000-20")
	id := row(t, d.say("schedules", "create", "Look around.", "--agent", "digger", "--every", "1h"), "1h")[0]
	first := d.due(id)
	d.due(id) // while the first one goes on
	runs := d.say("schedules", "runs", id)
	posted, skipped := row(t, runs, "posted"), row(t, runs, "skipped")
	if len(posted) < 3 || posted[2] != first.TurnID.String() || len(skipped) < 4 || skipped[2] != "overlap" ||
		skipped[3] != "-" {
		t.Errorf("turn %s is not in the history, or no reason:\n%s", first.TurnID, runs)
	}
	if out := d.say("schedules", "show", id); !strings.Contains(out, "skipped: overlap") {
		t.Errorf("the schedule's last run is not in\n%s", out)
	}
	d.say("turns", "cancel", first.SessionID.String()) // or the server would wait for it
}

// due makes a schedule due and waits until the server has acted on it.
func (d *desk) due(text string) parley.ScheduleRun {
	d.t.Helper()
	id, err := parley.ParseID(text)
	if err != nil {
		d.t.Fatal(err)
	}
	workspace, err := d.store.Workspace(d.t.Context(), parley.DefaultWorkspace)
	if err != nil {
		d.t.Fatal(err)
	}
	schedule := func() parley.Schedule {
		found, err := d.store.Schedule(d.t.Context(), workspace, id)
		if err != nil {
			d.t.Fatal(err)
		}
		return found
	}
	before := schedule()
	due := parley.Now() - 1
	if moved, err := d.store.MoveSchedule(d.t.Context(), store.ScheduleMove{
		Schedule: before, NextAt: due,
	}); err != nil || !moved {
		d.t.Fatalf("MoveSchedule: %t, %v", moved, err)
	}
	for until := time.Now().Add(turnTime); ; runtime.Gosched() {
		if now := schedule(); now.LastRun != nil && now.LastRun.DueAt == due {
			return *now.LastRun
		} else if time.Now().After(until) {
			d.t.Fatalf("the schedule was due and never ran: %+v", now)
		}
	}
}

// TestATaskWithAFile: what is given with --file is uploaded and reaches the agent.
func TestATaskWithAFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.say("agents", "create", "Digger", "--model", "sim/echo", "--draw-knowledge", "false")
	path := filepath.Join(t.TempDir(), "notes, north.txt")
	if err := os.WriteFile(path, []byte("The north is rocky."), 0o600); err != nil {
		t.Fatal(err)
	}
	out := d.say("agents", "task", "digger", "Where shall we dig?", "--file", path)
	fields := strings.Fields(out)
	if len(fields) != 5 || fields[0] != "task" {
		t.Fatalf("giving the task prints %q", out)
	}
	session, err := parley.ParseID(fields[4])
	if err != nil {
		t.Fatal(err)
	}
	for frame, err := range d.client.WatchSession(t.Context(), session, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventSessionCompleted {
			break
		}
	}
	shown := d.say("sessions", "show", session.String())
	for _, said := range []string{"Where shall we dig?", "The north is rocky."} {
		if !strings.Contains(shown, said) {
			t.Errorf("%q is missing in\n%s", said, shown)
		}
	}
	d.expect(1, "no such file", "agents", "task", "digger", "And there?", "--file", path+".missing")
	d.expect(1, "agent", "agents", "task", "nobody", "Dig.")
}
