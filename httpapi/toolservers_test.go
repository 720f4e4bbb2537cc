package httpapi

import (
	"context"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// oneToolServer is a server of tools named cloud, with the store's rows and without a network.
type oneToolServer struct{ rows store.ToolAuthorizations }

func (o oneToolServer) row(ctx context.Context, workspaceID parley.ID, name string) (parley.ToolAuthorization, error) {
	if name != "cloud" {
		return parley.ToolAuthorization{}, parley.Errorf(parley.CodeNotFound, "there is no such tool server")
	}
	rows, err := o.rows.ToolAuthorizations(ctx, workspaceID)
	if len(rows) > 0 {
		return rows[0], err
	}
	return parley.ToolAuthorization{ID: parley.NewID(), WorkspaceID: workspaceID, Server: name}, err
}

func (o oneToolServer) Servers(ctx context.Context, workspaceID parley.ID) ([]parley.ToolServer, error) {
	row, err := o.row(ctx, workspaceID, "cloud")
	found := parley.ToolServer{Name: "cloud", State: parley.ToolServerConnected, Authorizable: true}
	if row.AuthorizedAt != 0 {
		found.AuthorizedBy, found.AuthorizedAt = &row.Owner, row.AuthorizedAt
	} else {
		found.State, found.Reason, found.Do = parley.ToolServerUnauthorized, new("Nobody has."), new("Do it.")
	}
	return []parley.ToolServer{found}, err
}

func (o oneToolServer) Authorize(
	ctx context.Context, workspaceID parley.ID, name, _ string, by parley.Author,
) (parley.ToolServerRequest, error) {
	row, err := o.row(ctx, workspaceID, name)
	if err == nil {
		row.Owner, row.Request = by, []byte("asked")
		_, err = o.rows.SaveToolAuthorization(ctx, row)
	}
	return parley.ToolServerRequest{URL: "https://example.com/", State: "s", ExpiresAt: parley.Now()}, err
}

func (o oneToolServer) Authorized(
	ctx context.Context, workspaceID parley.ID, name string, answer parley.ToolServerAnswer, by parley.Author,
) error {
	row, err := o.row(ctx, workspaceID, name)
	if err == nil && (answer.State != "s" || row.Request == nil) {
		err = parley.Errorf(parley.CodeConflict, "nobody is asked")
	}
	if err == nil {
		row.Owner, row.Request, row.Tokens, row.AuthorizedAt = by, nil, []byte("sealed"), parley.Now()
		_, err = o.rows.SaveToolAuthorization(ctx, row)
	}
	return err
}

func (o oneToolServer) Forget(ctx context.Context, workspaceID parley.ID, name string) error {
	return o.rows.DeleteToolAuthorization(ctx, workspaceID, name)
}

func (o oneToolServer) Resources(
	ctx context.Context,
	workspaceID parley.ID,
	name string,
) ([]parley.ToolResource, error) {
	_, err := o.row(ctx, workspaceID, name)
	return []parley.ToolResource{
		{URI: "file:///b.md", Name: "b", MediaType: "text/markdown", Size: 2},
		{URI: "file:///{a}", Name: "a", Template: true, Description: "Any file"},
	}, err
}

func (o oneToolServer) Resource(
	ctx context.Context, workspaceID parley.ID, name, _ string,
) (string, []byte, error) {
	_, err := o.row(ctx, workspaceID, name)
	return "b.md", []byte("# b"), err
}

// TestToolServers: a workspace authorizes for itself, in the order of the protocol.
func TestToolServers(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const path = "/v1/tool-servers/cloud/authorization"
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", path, `{"state":"s","code":"c"}`, 409},
		{"POST", path, `{}`, 422},
		{"POST", "/v1/tool-servers/none/authorization", `{"redirect_uri":"http://127.0.0.1/"}`, 404},
		{"POST", path, `{"redirect_uri":"http://127.0.0.1/"}`, 200},
		{"PUT", path, `{"state":"other","code":"c"}`, 409},
		{"PUT", path, `{"state":"s","code":"c"}`, 200},
		{"PUT", path, `{"state":"s","code":"c"}`, 409},
		{"DELETE", path, ``, 204},
		{"DELETE", path, ``, 404},
	} {
		if got := s.do(c.method, c.path, c.body); got.status != c.status {
			t.Errorf("%s %s %s: status %d, want %d: %s", c.method, c.path, c.body, got.status, c.status, got.body)
		}
	}
}
