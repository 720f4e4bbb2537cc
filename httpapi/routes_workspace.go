package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// workspaceRoutes returns the routes of the caller's workspace.
func workspaceRoutes() []route {
	return []route{
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/workspace"},
			name:    "getWorkspace",
			tag:     "workspace",
			verb:    engine.ReadWorkspace,
			says:    "Read the workspace",
			about:   "The one that this request is in.",
			serve:   serveWorkspace,
			answers: found[parley.Workspace]("The workspace.", workspaceExample),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/workspace"},
			name:   "updateWorkspace",
			tag:    "workspace",
			verb:   engine.WriteWorkspace,
			says:   "Change the workspace",
			about: "Says who sees sessions that are created without a visibility. With workspace, agents with keys " +
				"of their own meet in the sessions that they name by key. Existing sessions stay as they are. For " +
				"admins.",
			headers: conditional(),
			input:   inputOf[engine.WorkspacePatch](`{"visibility":"workspace"}`),
			serve:   serveUpdateWorkspace,
			answers: found[parley.Workspace]("The workspace.", workspaceExample),
			fails:   []parley.Code{parley.CodeChanged},
		},
	}
}
