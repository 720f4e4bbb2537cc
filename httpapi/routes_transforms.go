package httpapi

import (
	"net/http"
	"reflect"

	"example.org/parley"
	"example.org/parley/engine"
)

// transformRoutes returns the routes of generations on documents and their definitions.
func transformRoutes() []route {
	return append(transformRuns(), transformDefinitions()...)
}

func transformRuns() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  []string{"/v1/transforms"},
			name:   "runTransform",
			tag:    "transforms",
			verb:   engine.RunTransforms,
			says:   "Run a transform",
			about: "A generation that reads versions of artifacts and writes a version of others. Its model call " +
				"stands in a tool session of its own, which session_id names: watch that one's events. The versions " +
				"are written in the transaction that settles the answer; where an artifact has moved on meanwhile, " +
				"the version is kept, marked as a conflict, and does not become the current one. Inputs are the " +
				"artifacts that the caller sees by itself, and the same is looked up at the end. With dry_run, the " +
				"model is asked and nothing is written.",
			headers: idempotent(),
			input: inputOf[engine.RunTransformInput](
				`{"name":"Summary","instructions":"Sum up the outline in three sentences.","inputs":[{"artifact_id":"` +
					otherIDExample + `"}],"outputs":[{"kind":"markdown","title":"Summary"}]}`,
			),
			serve: serveRunTransform,
			answers: append(created[parley.Transform]("The transform.", transformExample), answer{
				status:  http.StatusOK,
				about:   "With dry_run, what would have been written.",
				goType:  reflect.TypeFor[engine.DryRun](),
				example: dryRunExample,
			}),
			fails:  []parley.Code{parley.CodeConflict, parley.CodeTooLarge},
			crowds: true,
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/transforms"},
			name:   "listTransforms",
			tag:    "transforms",
			verb:   engine.ReadTransforms,
			says:   "List transforms",
			about: "Generations, and the edits that stand for what people wrote by hand. The latest first. An edit " +
				"is seen by everybody who sees its document.",
			query: with(
				paging(),
				choice("kind", "Only generations, or only edits.", "generation", "edit"),
				id("project", "Only transforms of this project."),
				id("session", "Only transforms that messages of this session asked for."),
				text("definition", "Only runs of this definition, by id or slug."),
				id("run", "Only transforms of this run of a pipeline."),
				choice("status", "Only transforms in this state.", "pending", "streaming", "completed", "failed",
					"cancelled"),
			),
			serve:   serveListTransforms,
			answers: listed[parley.Transform](transformExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/transforms/{transform}"},
			name:   "getTransform",
			tag:    "transforms",
			verb:   engine.ReadTransforms,
			says:   "Read a transform",
			about: "The status of a generation follows the turn of its tool session. While it streams, chunks and " +
				"last_chunk_at tell how far the answer has come; progress is null unless it replaces versions whose " +
				"length is known. An edit is completed, and has no session.",
			serve:   serveTransform,
			answers: found[parley.Transform]("The transform.", transformExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/transforms/{transform}/cancel"},
			name:   "cancelTransform",
			tag:    "transforms",
			verb:   engine.StopTransforms,
			says:   "Cancel a transform",
			about: "Its tool session keeps what has arrived of the answer; no version is written. Cancelling it " +
				"again gives the same answer. An edit cannot be cancelled (409).",
			serve:   serveCancelTransform,
			answers: found[parley.Transform]("The cancelled transform.", transformExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/transforms/{transform}/retry"},
			name:   "retryTransform",
			tag:    "transforms",
			verb:   engine.RunTransforms,
			says:   "Retry a transform",
			about: "Runs a failed or cancelled transform again on the same versions, as a new one whose retry_of_id " +
				"names it. An edit cannot be retried (409).",
			headers: idempotent(),
			serve:   serveRetryTransform,
			answers: created[parley.Transform]("The new transform.", transformExample),
			fails:   []parley.Code{parley.CodeConflict, parley.CodeTooLarge},
			crowds:  true,
		},
	}
}

func transformDefinitions() []route {
	return []route{
		{
			method:  http.MethodPost,
			paths:   []string{"/v1/transforms/definitions"},
			name:    "createTransformDefinition",
			tag:     "transforms",
			verb:    engine.SetTransforms,
			makes:   true,
			says:    "Define a transform",
			about:   "To run it again and again, by hand, by agents or in pipelines.",
			headers: idempotent(),
			input: inputOf[engine.DefinitionInput](
				`{"name":"Summary","instructions":"Sum up in three sentences.","outputs":[{"kind":"markdown"}]}`,
			),
			serve:   serveCreateDefinition,
			answers: created[parley.TransformDefinition]("The definition.", definitionExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/transforms/definitions"},
			name:   "listTransformDefinitions",
			tag:    "transforms",
			verb:   engine.ReadTransforms,
			says:   "List definitions",
			about:  "By slug.",
			query: with(paging(), choice("status", "active, the default, hides archived definitions; any shows all.",
				"active", "archived", "any")),
			serve:   serveListDefinitions,
			answers: listed[parley.TransformDefinition](definitionExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/transforms/definitions/{definition}"},
			name:   "getTransformDefinition",
			tag:    "transforms",
			verb:   engine.ReadTransforms,
			says:   "Read a definition",
			about:  "By id or slug.",
			query: []parameter{
				{name: "version", about: "The current one by default.", schema: integer(1, parley.MaxArtifactVersions)},
			},
			serve:   serveDefinition,
			answers: found[parley.TransformDefinition]("The definition.", definitionExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/transforms/definitions/{definition}/versions"},
			name:    "listTransformDefinitionVersions",
			tag:     "transforms",
			verb:    engine.ReadTransforms,
			says:    "List the versions of a definition",
			about:   "The latest first.",
			query:   paging(),
			serve:   serveListDefinitionVersions,
			answers: listed[parley.TransformDefinition](definitionExample),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/transforms/definitions/{definition}"},
			name:   "updateTransformDefinition",
			tag:    "transforms",
			verb:   engine.SetTransforms,
			says:   "Change a definition",
			about: "Makes a new version; earlier runs keep theirs. An archived one cannot be run. For its owner and " +
				"admins.",
			input:   inputOf[engine.DefinitionPatch](`{"instructions":"Sum up in one sentence."}`),
			serve:   serveUpdateDefinition,
			answers: found[parley.TransformDefinition]("The changed definition.", definitionExample),
			fails:   conflicting(),
		},
	}
}
