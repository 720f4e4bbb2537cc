package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// pipelineRoutes returns the routes that run transforms which read what others write.
func pipelineRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  []string{"/v1/pipeline-runs"},
			name:   "startPipelineRun",
			tag:    "pipelines",
			verb:   engine.RunPipelines,
			says:   "Start a run of a pipeline",
			about: "A pipeline is a graph of transforms. Each node begins as soon as what it reads exists, and " +
				"independent ones run at the same time; each creates its documents. The run is a session, whose " +
				"events tell how far it is, and each of its transforms stands in a tool session below it. 422 for a " +
				"cycle, unknown names and too many nodes.",
			headers: idempotent(),
			input: inputOf[engine.PipelineInput](
				`{"name":"A book about frost","nodes":[{"name":"outline","instructions":"Outline a book about ` +
					`frost.","outputs":[{"kind":"json","title":"Outline","schema":{"type":"object","properties":` +
					`{"chapters":{"type":"array","items":{"type":"string"}}},"required":["chapters"]}}]},` +
					`{"name":"chapter","instructions":"Write this chapter.","inputs":[{"node":"outline",` +
					`"pointer":"/chapters","each":true}],"outputs":[{"kind":"markdown","title":"Chapter"}]}]}`,
			),
			serve:   serveStartPipelineRun,
			answers: created[parley.PipelineRun]("The run.", pipelineRunExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/pipeline-runs/example"},
			name:   "startExamplePipeline",
			tag:    "pipelines",
			verb:   engine.RunPipelines,
			makes:  true,
			says:   "Start the example pipeline",
			about: "Brainstorm, outline, a chapter for each entry of the outline, and a summary of the chapters. The " +
				"simulator plays it, so it needs no provider's key.",
			headers: idempotent(),
			serve:   serveStartExamplePipeline,
			answers: created[parley.PipelineRun]("The run.", pipelineRunExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/pipeline-runs"},
			name:   "listPipelineRuns",
			tag:    "pipelines",
			verb:   engine.ReadPipelines,
			says:   "List runs of pipelines",
			about:  "The latest first.",
			query: with(
				paging(),
				id("project", "Only runs in this project."),
				choice("status", "Only runs in this state.", "pending", "running", "completed", "failed", "cancelled"),
			),
			serve:   serveListPipelineRuns,
			answers: listed[parley.PipelineRun](pipelineRunExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/pipeline-runs/{run}"},
			name:   "getPipelineRun",
			tag:    "pipelines",
			verb:   engine.ReadPipelines,
			says:   "Read a run of a pipeline",
			about: "With how far each node is, and the documents that it has created. " +
				"`GET /v1/sessions/{session}/events`, with the id of the run, streams what happens in it.",
			serve:   servePipelineRun,
			answers: found[parley.PipelineRun]("The run.", pipelineRunExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/pipeline-runs/{run}/cancel"},
			name:   "cancelPipelineRun",
			tag:    "pipelines",
			verb:   engine.RunPipelines,
			says:   "Cancel a run of a pipeline",
			about: "Nothing begins any more, and unfinished transforms are cancelled; the run ends when they have " +
				"ended. What has completed stays. 409 if the run has ended.",
			serve:   serveCancelPipelineRun,
			answers: found[parley.PipelineRun]("The run.", pipelineRunExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/pipeline-runs/{run}/retry"},
			name:   "retryPipelineRun",
			tag:    "pipelines",
			verb:   engine.RunPipelines,
			says:   "Retry a run of a pipeline",
			about: "Resumes a run where it failed or was cancelled, in new transforms; what has completed stays. 409 " +
				"while the run is unfinished, and if it has completed.",
			serve:   serveRetryPipelineRun,
			answers: found[parley.PipelineRun]("The run.", pipelineRunExample),
			fails:   conflicting(),
		},
	}
}
