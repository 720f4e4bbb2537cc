package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// projectRoutes returns the routes that choose directories of work.
func projectRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			paths:  []string{"/v1/projects"},
			name:   "chooseProject",
			tag:    "projects",
			verb:   engine.WriteProjects,
			says:   "Choose a directory as a project",
			about: "Adds it, or refreshes the project that has this path (200). It must lie within the roots that " +
				"the server allows; without any, only the machine's own user may choose. Private " +
				"directories are refused.",
			input: inputOf[engine.ProjectInput](`{"path":"/home/ada/site"}`),
			serve: serveChooseProject,
			answers: append(
				created[parley.Project]("The new project.", projectExample),
				found[parley.Project]("The project, its last access refreshed.", projectExample)...),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/projects"},
			name:   "listProjects",
			tag:    "projects",
			verb:   engine.ReadProjects,
			says:   "List projects",
			about:  "Last access first.",
			query: with(
				paging(),
				parameter{
					name:   "recent",
					about:  "Only this many, last access first; instead of limit.",
					schema: integer(1, parley.MaxPage),
				},
			),
			serve:   serveListProjects,
			answers: listed[parley.Project](projectExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/projects/{project}"},
			name:    "getProject",
			tag:     "projects",
			verb:    engine.ReadProjects,
			says:    "Read a project",
			about:   "A directory of work.",
			serve:   serveProject,
			answers: found[parley.Project]("The project.", projectExample),
		},
		{
			method: http.MethodPatch,
			paths:  []string{"/v1/projects/{project}"},
			name:   "updateProject",
			tag:    "projects",
			verb:   engine.WriteProjects,
			says:   "Change a project",
			about: "Its name and its icon. Fields that are left out keep their values; null clears one: the name is " +
				"then that of the folder. Neither the directory nor the last access changes.",
			headers: conditional(),
			input:   inputOf[engine.ProjectPatch](`{"name":"Site"}`),
			serve:   serveUpdateProject,
			answers: found[parley.Project]("The project.", projectExample),
			fails:   []parley.Code{parley.CodeChanged},
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/projects/{project}"},
			name:   "deleteProject",
			tag:    "projects",
			verb:   engine.DropProjects,
			says:   "Delete a project",
			about: "Detaches its sessions, or deletes them with cascade (admins only). The directory itself is not " +
				"touched.",
			query:   []parameter{flag("cascade", "Delete its sessions too.")},
			serve:   serveDeleteProject,
			answers: nothing("Deleted."),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/directories"},
			name:   "listDirectories",
			tag:    "projects",
			verb:   engine.WriteProjects,
			says:   "List directories that may be projects",
			about: "Lists those in one directory, by name, at most 1,000; without path, the allowed roots. Follows " +
				"links to directories inside the roots. Anything outside them or private is 404, whether it exists " +
				"or not.",
			query: []parameter{
				text("path", "The directory to look into, absolute. Without it the roots are listed."),
				text("name", "Only directories whose names contain this, whatever its case."),
				flag("hidden", "Also directories whose names begin with a dot."),
			},
			serve:   serveDirectories,
			answers: found[engine.Directories]("The directories.", directoriesExample),
			fails:   []parley.Code{parley.CodeNotFound},
		},
	}
}
