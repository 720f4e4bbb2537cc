package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

func serveCreateSchedule(a *api, x *exchange) error {
	var input engine.ScheduleInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency("")
	if err != nil {
		return err
	}
	schedule, _, err := a.engine.CreateSchedule(x.r.Context(), x.principal, input, idempotency)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/schedules/"+schedule.ID.String())
	return sendJSON(x, http.StatusCreated, schedule)
}

func serveListSchedules(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.ScheduleList{Paging: args.paging(), Agents: words[string](args, "agent")}
	if args.err != nil {
		return args.err
	}
	schedules, err := a.engine.Schedules(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, schedules)
}

func servePreviewSchedule(a *api, x *exchange) error {
	var input engine.TimingInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	preview, err := a.engine.PreviewSchedule(x.r.Context(), x.principal, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, preview)
}

func serveSchedule(a *api, x *exchange) error {
	id, err := x.pathID("schedule")
	if err != nil {
		return err
	}
	schedule, err := a.engine.Schedule(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, schedule)
}

func serveUpdateSchedule(a *api, x *exchange) error {
	id, err := x.pathID("schedule")
	if err != nil {
		return err
	}
	var patch engine.SchedulePatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	schedule, err := a.engine.UpdateSchedule(x.r.Context(), x.principal, id, patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, schedule)
}

func serveDeleteSchedule(a *api, x *exchange) error {
	id, err := x.pathID("schedule")
	if err != nil {
		return err
	}
	if err := a.engine.DeleteSchedule(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	return x.sendNothing()
}

func serveScheduleRuns(a *api, x *exchange) error {
	args := x.arguments()
	paging := args.paging()
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("schedule")
	if err != nil {
		return err
	}
	return sendPage(x, id, paging, a.engine.ScheduleRuns)
}

func serveGiveTask(a *api, x *exchange) error {
	var input engine.TaskInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency(x.r.PathValue("agent"))
	if err != nil {
		return err
	}
	posted, err := a.engine.GiveTask(x.r.Context(), x.principal, x.r.PathValue("agent"), input, idempotency)
	if err != nil {
		return err
	}
	x.tellPosted(&posted)
	x.w.Header().Set("Location", "/v1/messages/"+posted.Message.ID.String())
	return x.sendMessage(http.StatusCreated, &posted.Message)
}
