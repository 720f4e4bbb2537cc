package httpapi

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
)

// maxArtifactBody bounds a body with a content of an artifact: its text may need escapes in JSON.
const maxArtifactBody = 2*parley.MaxDocumentBytes + 64<<10

// artifactRoutes returns the routes of documents and their versions.
func artifactRoutes() []route {
	paths := []string{"/v1/artifacts", "/v1/projects/{project}/artifacts"}
	return []route{
		{
			method: http.MethodPost,
			paths:  paths,
			name:   "createArtifact",
			tag:    "artifacts",
			verb:   engine.WriteArtifacts,
			says:   "Create an artifact",
			about: "With its first version. One in a session has the session's owner and visibility and goes with " +
				"it; one in a project is seen by the whole workspace unless it is private; one in neither is private " +
				"unless it is shared. A content has at most 4 MiB. The bytes of a file are given in base64.",
			headers: idempotent(),
			input: inputOf[engine.ArtifactInput](
				`{"kind":"markdown","name":"Outline","labels":["novel"],"content":"# One\n\nIt begins.\n"}`,
			),
			serve:   serveCreateArtifact,
			answers: created[parley.Artifact]("The artifact.", artifactExample),
			fails:   []parley.Code{parley.CodeConflict, parley.CodeTooLarge},
			most:    maxArtifactBody,
		},
		{
			method: http.MethodGet,
			paths:  paths,
			name:   "listArtifacts",
			tag:    "artifacts",
			verb:   engine.ReadArtifacts,
			says:   "List artifacts",
			about:  "Last changed first.",
			query: with(
				paging(),
				id("project", "Only artifacts of this project."),
				id("session", "Only artifacts of this session."),
				many(listOf[parley.ArtifactKind]("kind", "Only artifacts of this kind.")),
				text("label", "Only artifacts with this label."),
				text("name", "Only artifacts whose name contains this, in any case."),
				flag("stale", "true lists only those that a transform made from something that has a newer version."),
				choice(
					"archived",
					"false, the default, hides archived artifacts; any shows all.",
					"false",
					"true",
					"any",
				),
			),
			serve:   serveListArtifacts,
			answers: listed[parley.Artifact](artifactExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/artifacts/{artifact}"},
			name:    "getArtifact",
			tag:     "artifacts",
			verb:    engine.ReadArtifacts,
			says:    "Read an artifact",
			about:   "Without its content.",
			serve:   serveArtifact,
			answers: found[parley.Artifact]("The artifact.", artifactExample),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/artifacts/{artifact}"},
			name:   "updateArtifact",
			tag:    "artifacts",
			verb:   engine.WriteArtifacts,
			says:   "Change an artifact",
			about: "Its name, its labels, and whether it is archived; who sees it and whether it stays with its " +
				"session only for its owner and admins. An archived one takes no versions.",
			input:   inputOf[engine.ArtifactPatch](`{"name":"Outline of the novel"}`),
			serve:   serveUpdateArtifact,
			answers: found[parley.Artifact]("The changed artifact.", artifactExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/artifacts/{artifact}"},
			name:   "deleteArtifact",
			tag:    "artifacts",
			verb:   engine.DropArtifacts,
			says:   "Delete an artifact",
			about: "With all its versions. Their contents go too, unless other artifacts hold the same. For its " +
				"owner and admins.",
			serve:   serveDeleteArtifact,
			answers: nothing("Deleted."),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/artifacts/{artifact}/versions"},
			name:   "writeArtifactVersion",
			tag:    "artifacts",
			verb:   engine.WriteArtifacts,
			says:   "Write a version",
			about: "The whole content, edits of a text, or a JSON Patch. The change names the version that it began " +
				"with, by base_version or If-Match. If that is not the newest, it is 409 with both numbers in " +
				"versions; with merge, changes that do not touch the same places are joined: the new version's base " +
				"and parent then differ. An edit whose passage does not occur, or occurs several times, is 422.",
			headers: with(idempotent(), parameter{
				name: "If-Match",
				about: "The ETag of the content that the change began with, which is its version's number in quotes. " +
					"Instead of base_version.",
				schema: huma.Schema{Type: huma.TypeString},
			}),
			input: inputOf[engine.VersionInput](
				`{"base_version":1,"edits":[{"old":"It begins.","new":"It began in the rain."}]}`,
			),
			serve:   serveWriteArtifact,
			answers: created[parley.ArtifactVersion]("The version.", artifactVersionExample),
			fails:   []parley.Code{parley.CodeConflict, parley.CodeTooLarge},
			most:    maxArtifactBody,
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/artifacts/{artifact}/versions"},
			name:    "listArtifactVersions",
			tag:     "artifacts",
			verb:    engine.ReadArtifacts,
			says:    "List the versions of an artifact",
			about:   "Newest first, without contents.",
			query:   paging(),
			serve:   serveListArtifactVersions,
			answers: listed[parley.ArtifactVersion](artifactVersionExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/artifacts/{artifact}/versions/{version}"},
			name:    "getArtifactVersion",
			tag:     "artifacts",
			verb:    engine.ReadArtifacts,
			says:    "Read a version of an artifact",
			about:   "Who wrote it, when and from which one; without its content.",
			serve:   serveArtifactVersion,
			answers: found[parley.ArtifactVersion]("The version.", artifactVersionExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/artifacts/{artifact}/versions/{version}/restore"},
			name:   "restoreArtifactVersion",
			tag:    "artifacts",
			verb:   engine.WriteArtifacts,
			says:   "Restore a version",
			about:  "Writes its content as a new version. Nothing between is lost.",

			headers: idempotent(),
			serve:   serveRestoreArtifact,
			answers: created[parley.ArtifactVersion]("The new version.", artifactVersionExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/artifacts/{artifact}/content"},
			name:   "getArtifactContent",
			tag:    "artifacts",
			verb:   engine.ReadArtifacts,
			says:   "Read the content of an artifact",
			about: "The bytes of a version, in a sandbox: JSON as application/json, a file as an attachment of its " +
				"own type, everything else as plain text. " +
				"Supports ranges and If-None-Match; the ETag is the version's number in quotes.",
			query: []parameter{
				{name: "version", about: "The newest by default.", schema: integer(1, parley.MaxArtifactVersions)},
			},
			serve: serveArtifactContent,
			answers: []answer{
				{status: http.StatusOK, about: "The bytes.", media: unknownMedia, of: binary()},
				{
					status: http.StatusPartialContent,
					about:  "The range that was asked for.",
					media:  unknownMedia,
					of:     binary(),
				},
			},
			lingers: true,
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/artifacts/{artifact}/export"},
			name:   "exportArtifact",
			tag:    "artifacts",
			verb:   engine.WriteArtifacts,
			says:   "Write an artifact to a file of its project",
			about: "By the rules of the file tools: nothing outside the project's directory, nothing of the server, " +
				"no places of secrets, no .git. A file that holds something else than a version of the artifact " +
				"is 409 " +
				"unless overwrite is true. For callers who may choose directories as projects.",
			input:   inputOf[engine.ArtifactExportInput](`{"path":"docs/outline.md"}`),
			serve:   serveExportArtifact,
			answers: found[engine.ArtifactExport]("What was written.", artifactExportExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/projects/{project}/artifacts/import"},
			name:   "importArtifact",
			tag:    "artifacts",
			verb:   engine.WriteArtifacts,
			says:   "Make an artifact of a file of a project",
			about: "A new artifact of the project, or with artifact_id a new version of one, by the rules of the " +
				"file tools. What is not text becomes an artifact of kind file. A file has at most 4 MiB. For " +
				"callers who " +
				"may choose directories as projects.",
			headers: idempotent(),
			input:   inputOf[engine.ArtifactImportInput](`{"path":"docs/outline.md","labels":["novel"]}`),
			serve:   serveImportArtifact,
			answers: created[parley.Artifact]("The artifact.", artifactExample),
			fails:   []parley.Code{parley.CodeConflict, parley.CodeTooLarge},
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/artifacts/{artifact}/diff"},
			name:   "diffArtifact",
			tag:    "artifacts",
			verb:   engine.ReadArtifacts,
			says:   "Compare two versions",
			about: "A JSON Patch for kind json; type, size and hash of both for kind file; for the others the " +
				"changed lines, with what changed inside them. " +
				"Without parameters, it shows the change that made the newest version.",
			query: []parameter{
				{name: "from", about: "The parent of to by default.", schema: integer(1, parley.MaxArtifactVersions)},
				{name: "to", about: "The newest by default.", schema: integer(1, parley.MaxArtifactVersions)},
			},
			serve:   serveDiffArtifact,
			answers: found[engine.ArtifactDiff]("The difference.", artifactDiffExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/artifacts/{artifact}/lineage"},
			name:   "getArtifactLineage",
			tag:    "artifacts",
			verb:   engine.ReadArtifacts,
			says:   "Show how a version came about, or what came of it",
			about: "A graph of versions of artifacts, transforms, messages and model calls, walked breadth first. " +
				"With pointer or range it begins with the version that last changed that part. A node that you may " +
				"not see has a kind, but neither name nor ids.",
			query: []parameter{
				{
					name: "version", about: "The current one by default.",
					schema: integer(1, parley.MaxArtifactVersions),
				},
				choice("direction", "up, the default, leads to causes; down to effects.", "up", "down"),
				{
					name: "depth", about: "How many edges to follow from the first node; 10 by default.",
					schema: integer(1, parley.MaxLineageDepth),
				},
				text("pointer", "Of kind json: only what the value at this JSON Pointer was made from."),
				text("range", "Of the other kinds: only what these lines were made from, such as 3-7 or 3."),
			},
			serve:   serveArtifactLineage,
			answers: found[engine.Lineage]("The graph.", lineageExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/artifacts/{artifact}/refresh"},
			name:   "previewRefresh",
			tag:    "artifacts",
			verb:   engine.ReadArtifacts,
			says:   "Show what a refresh would run, and what it would cost",
			about: "The transforms that would run again, in order, so that the current version is made from the " +
				"newest versions of everything behind it. Versions that people wrote stay, and so does what you do " +
				"not see by yourself.",
			serve:   servePreviewRefresh,
			answers: found[engine.Refresh]("What would run.", refreshExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/artifacts/{artifact}/refresh"},
			name:   "refreshArtifact",
			tag:    "artifacts",
			verb:   engine.RunPipelines,
			says:   "Run again what is stale of a document's causes",
			about: "Starts a run of a pipeline with the transforms that GET shows, which writes new versions of the " +
				"same documents. Where a document has moved on since, its version is kept in conflict. 409 if " +
				"nothing is stale.",
			headers: idempotent(),
			input:   inputOf[engine.RefreshInput](`{}`),
			serve:   serveRefreshArtifact,
			answers: created[parley.PipelineRun]("The run.", pipelineRunExample),
			fails:   conflicting(),
		},
	}
}
