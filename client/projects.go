package client

import (
	"context"
	"net/http"
	"net/url"

	"example.org/parley"
)

// ProjectInput names a directory; only Path is needed.
type ProjectInput struct {
	Path string `json:"path"` // absolute, on the server's machine
	Name string `json:"name,omitempty"`
	Icon string `json:"icon,omitempty"`
}

// Directory is one that may be chosen as a project.
type Directory struct {
	Name      string    `json:"name"`
	Path      string    `json:"path"`
	ProjectID parley.ID `json:"project_id"` // zero: it is none yet
}

// Directories is a directory with the directories in it, or, Path being empty,
// the roots that projects may lie in.
type Directories struct {
	Path      string      `json:"path"`
	Root      string      `json:"root"`
	Parent    string      `json:"parent"` // "" at the root
	ProjectID parley.ID   `json:"project_id"`
	Data      []Directory `json:"data"`
	Truncated bool        `json:"truncated"` // there are more
}

// Directories lists the directories in path that may be projects; query holds
// the route's other parameters. Without a path it lists the allowed roots.
func (c *Client) Directories(ctx context.Context, path string, query url.Values) (Directories, error) {
	asked := url.Values{}
	for name, values := range query {
		asked[name] = values
	}
	if path != "" {
		asked.Set("path", path)
	}
	return read[Directories](ctx, c, "/v1/directories", asked)
}

// ChooseProject adds a directory as a project, or refreshes the one that it is.
func (c *Client) ChooseProject(ctx context.Context, input ProjectInput) (parley.Project, error) {
	return call[ProjectInput, parley.Project](ctx, c, http.MethodPost, "/v1/projects", nil, &input, nil)
}

// Projects lists projects, last access first.
func (c *Client) Projects(ctx context.Context, query url.Values) (Page[parley.Project], error) {
	return read[Page[parley.Project]](ctx, c, "/v1/projects", query)
}
