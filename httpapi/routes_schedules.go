package httpapi

import (
	"net/http"
	"reflect"

	"example.org/parley"
	"example.org/parley/engine"
)

// scheduleRoutes returns the routes that make agents work by themselves.
func scheduleRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  []string{"/v1/schedules"},
			name:   "createSchedule",
			tag:    "schedules",
			verb:   engine.WriteAgents,
			says:   "Create a schedule",
			about: "At each of its times the server posts message into the agent's background session and starts a " +
				"turn there. Several servers on one database post it once. Give exactly one of cron, every and at; " +
				"preview lists the times that follow from it. Only the agent's owner and admins may. 409 for an " +
				"archived agent, one without an owner, or one with too many schedules.",
			headers: idempotent(),
			input: inputOf[engine.ScheduleInput](
				`{"agent_id":"release-writer","name":"Morning round","cron":"0 9 * * 1-5",` +
					`"time_zone":"Europe/Berlin","message":"Look for new issues."}`,
			),
			serve:   serveCreateSchedule,
			answers: created[parley.Schedule]("The schedule, with its next time.", scheduleExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/schedules"},
			name:    "listSchedules",
			tag:     "schedules",
			verb:    engine.ReadAgents,
			says:    "List schedules",
			about:   "In the order of their creation, oldest first unless order says otherwise.",
			query:   with(paging(), many(text("agent", "Only schedules of this agent, by id or slug."))),
			serve:   serveListSchedules,
			answers: listed[parley.Schedule](scheduleExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/schedules/preview"},
			name:   "previewSchedule",
			tag:    "schedules",
			verb:   engine.ReadAgents,
			says:   "Preview a schedule's times",
			about:  "Returns the next five times of a timing, or fewer if there are no more. Writes nothing.",
			input: inputOf[engine.TimingInput](
				`{"cron":"0 9 * * 1-5","time_zone":"Europe/Berlin"}`,
			),
			serve: servePreviewSchedule,
			answers: found[engine.SchedulePreview](
				"The times.", `{"times":["2026-02-02T08:00:00.000Z","2026-02-03T08:00:00.000Z"]}`,
			),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/schedules/{schedule}"},
			name:   "getSchedule",
			tag:    "schedules",
			verb:   engine.ReadAgents,
			says:   "Read a schedule",
			about: "next_at is null once a schedule is disabled or has no further time; last_run says what came of " +
				"the last one.",
			serve:   serveSchedule,
			answers: found[parley.Schedule]("The schedule.", scheduleExample),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/schedules/{schedule}"},
			name:   "updateSchedule",
			tag:    "schedules",
			verb:   engine.WriteAgents,
			says:   "Change a schedule",
			about: "Fields that are left out keep their values. A new cron, every or at replaces the one before. " +
				"Whoever changes message is the author of what it posts from then on.",
			input:   inputOf[engine.SchedulePatch](`{"every":"6h","overlap":"queue"}`),
			serve:   serveUpdateSchedule,
			answers: found[parley.Schedule]("The changed schedule.", scheduleExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/schedules/{schedule}"},
			name:    "deleteSchedule",
			tag:     "schedules",
			verb:    engine.WriteAgents,
			says:    "Delete a schedule",
			about:   "With the history of its runs. What it has posted stays, and a turn that runs continues.",
			serve:   serveDeleteSchedule,
			answers: nothing("Deleted."),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/schedules/{schedule}/runs"},
			name:   "listScheduleRuns",
			tag:    "schedules",
			verb:   engine.ReadAgents,
			says:   "List a schedule's runs",
			about: "What came of it at each of its times, the latest first: posted, with the turn that tells the " +
				"rest, or skipped, with the reason. The latest 500 are kept.",
			query:   paging(),
			serve:   serveScheduleRuns,
			answers: listed[parley.ScheduleRun](scheduleRunExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/agents/{agent}/tasks"},
			name:   "giveTask",
			tag:    "schedules",
			verb:   engine.WriteAgents,
			says:   "Give an agent work",
			about: "Posts a task into the agent's background session; the first task makes that session. A task " +
				"waits until those before it are done. Only the agent's owner and admins may.",
			headers: idempotent(),
			input:   inputOf[engine.TaskInput](`{"text":"Find out why the build is slow."}`),
			serve:   serveGiveTask,
			answers: []answer{
				{
					status:  http.StatusCreated,
					about:   "The message, with its turn and session.",
					goType:  reflect.TypeFor[parley.Message](),
					example: messageExample,
					headers: []parameter{locationHeader(), sequenceHeader(), messageIDHeader()},
				},
			},
			fails: conflicting(),
		},
	}
}
