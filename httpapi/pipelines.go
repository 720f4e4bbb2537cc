package httpapi

import (
	"context"
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveStartPipelineRun(a *api, x *exchange) error {
	var input engine.PipelineInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency("")
	if err != nil {
		return err
	}
	run, _, err := a.engine.StartPipelineRun(x.r.Context(), x.principal, input, idempotency)
	return x.sendRun(run, err)
}

func serveStartExamplePipeline(a *api, x *exchange) error {
	idempotency, err := x.idempotency("")
	if err != nil {
		return err
	}
	run, _, err := a.engine.StartExamplePipeline(x.r.Context(), x.principal, idempotency)
	return x.sendRun(run, err)
}

// sendRun sends a run that has started.
func (x *exchange) sendRun(run parley.PipelineRun, err error) error {
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/pipeline-runs/"+run.ID.String())
	return sendJSON(x, http.StatusCreated, run)
}

func serveListPipelineRuns(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.PipelineList{
		Paging: args.paging(), ProjectID: args.id("project"), Status: parley.PipelineStatus(args.text("status")),
	}
	if args.err != nil {
		return args.err
	}
	runs, err := a.engine.PipelineRuns(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, runs)
}

func servePipelineRun(a *api, x *exchange) error {
	return x.withRun(a.engine.PipelineRun)
}

func serveCancelPipelineRun(a *api, x *exchange) error {
	return x.withRun(a.engine.CancelPipelineRun)
}

func serveRetryPipelineRun(a *api, x *exchange) error {
	return x.withRun(a.engine.RetryPipelineRun)
}

// withRun sends the run of the path after a verb.
func (x *exchange) withRun(
	verb func(context.Context, parley.Principal, parley.ID) (parley.PipelineRun, error),
) error {
	id, err := x.pathID("run")
	if err != nil {
		return err
	}
	run, err := verb(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, run)
}
