package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveChooseProject(a *api, x *exchange) error {
	var input engine.ProjectInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	project, fresh, err := a.engine.ChooseProject(x.r.Context(), x.principal, input)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if fresh {
		status = http.StatusCreated
	}
	x.w.Header().Set("Location", "/v1/projects/"+project.ID.String())
	return sendJSON(x, status, project)
}

func serveListProjects(a *api, x *exchange) error {
	args := x.arguments()
	list := args.paging()
	recent := args.number("recent", 1, parley.MaxPage)
	if args.err != nil {
		return args.err
	}
	if recent != nil {
		if x.r.URL.Query().Has("limit") || list.Order == engine.Ascending {
			return parley.InvalidField("recent", "stands alone: it is a limit, last access first")
		}
		list.Limit = *recent
	}
	projects, err := a.engine.Projects(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	if recent != nil {
		projects.Next = nil // recent is a limit, not a page
	}
	return sendJSON(x, http.StatusOK, projects)
}

func serveDirectories(a *api, x *exchange) error {
	args := x.arguments()
	hidden := args.flag("hidden")
	if args.err != nil {
		return args.err
	}
	listing, err := a.engine.Directories(x.r.Context(), x.principal, engine.DirectoryQuery{
		Path: args.text("path"), Name: args.text("name"), Hidden: hidden != nil && *hidden,
	})
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, listing)
}

func serveProject(a *api, x *exchange) error {
	id, err := x.pathID("project")
	if err != nil {
		return err
	}
	project, err := a.engine.Project(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, project)
}

func serveUpdateProject(a *api, x *exchange) error {
	id, err := x.pathID("project")
	if err != nil {
		return err
	}
	var patch engine.ProjectPatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	patch.If = ifMatch(x, func(current parley.Project) ([]byte, error) { return parley.EncodeJSON(current) })
	project, err := a.engine.UpdateProject(x.r.Context(), x.principal, id, patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, project)
}

func serveDeleteProject(a *api, x *exchange) error {
	args := x.arguments()
	cascade := args.flag("cascade")
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("project")
	if err != nil {
		return err
	}
	sessions := engine.Detach
	if cascade != nil && *cascade {
		sessions = engine.Cascade
	}
	if err := a.engine.DeleteProject(x.r.Context(), x.principal, id, sessions); err != nil {
		return err
	}
	return x.sendNothing()
}
