package cli

// documentVerbs are about documents and what makes them.
func documentVerbs() []verb {
	return []verb{
		{
			noun: "pipelines", name: "list", kind: list, operation: "listPipelineRuns", columns: pipelineColumns(),
			says: "List runs of pipelines, the latest first",
		},
		{
			noun: "pipelines", name: "show", kind: show, operation: "getPipelineRun", place: "RUN",
			says: "Show a run: its nodes, and the documents that they created", prints: "printPipelineRun",
		},
		{
			noun: "artifacts", name: "list", kind: list, operation: "listArtifacts", columns: artifactColumns(),
			says: "List artifacts, last changed first",
		},
		{
			noun: "artifacts", name: "show", kind: show, operation: "getArtifact", place: "ARTIFACT",
			says: "Show an artifact without its content", prints: "asRow(artifactsTable())",
		},
		{
			noun: "artifacts", name: "update", kind: update, operation: "updateArtifact", place: "ARTIFACT",
			says:   "Rename, label or share an artifact: what no flag names stays as it is",
			flags:  map[string]string{"labels": "label", "archived": "-", "session_id": "-"},
			prints: "asRow(artifactsTable())",
		},
		{
			noun: "artifacts", name: "archive", kind: change, operation: "updateArtifact", place: "ARTIFACT",
			says: "Archive an artifact: it takes no versions", always: "Archived: changeTo(true)",
		},
		{
			noun: "artifacts", name: "reopen", kind: change, operation: "updateArtifact", place: "ARTIFACT",
			says: "Bring an archived artifact back", always: "Archived: changeTo(false)",
		},
		{
			noun: "artifacts", name: "delete", kind: remove, operation: "deleteArtifact", place: "ARTIFACT",
			says: "Delete an artifact with all its versions",
		},
		{
			noun: "artifacts", name: "versions", kind: list, operation: "listArtifactVersions", place: "ARTIFACT",
			says: "List an artifact's versions, newest first", columns: []column{
				{"VERSION", "number", ""}, {"FROM", "parent", ""}, {"AUTHOR", "author.name", ""}, {"BYTES", "size", ""},
				{"WRITTEN", "created_at", ""},
			},
		},
		{
			noun: "artifacts", name: "export", kind: create, operation: "exportArtifact", place: "ARTIFACT",
			says: "Write an artifact to a file of its project's directory", positional: "path", prints: "printExport",
		},
		{
			noun: "artifacts", name: "import", kind: create, operation: "importArtifact", place: "PROJECT",
			says: "Make an artifact of a file in a project's directory", positional: "path",
			flags:  map[string]string{"labels": "label", "base_version": "base", "artifact_id": "artifact"},
			prints: "asRow(artifactsTable())",
		},
		{
			noun: "transforms", name: "list", kind: list, operation: "listTransforms", columns: transformColumns(),
			says: "List transforms, the latest first",
		},
		{
			noun: "transforms", name: "show", kind: show, operation: "getTransform", place: "TRANSFORM",
			says: "Show a transform", prints: "printTransform",
		},
		{
			noun: "transforms", name: "definitions", kind: list, operation: "listTransformDefinitions",
			columns: definitionColumns(), says: "List definitions of transforms, by slug",
		},
	}
}
