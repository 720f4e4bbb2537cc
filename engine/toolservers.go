package engine

import (
	"context"

	"example.org/parley"
)

// ToolServers are the servers of the Model Context Protocol that this process is configured with. Some are authorized
// by people, for their workspace. An error about a server's own answers is CodeConflict.
type ToolServers interface {
	Servers(ctx context.Context, workspaceID parley.ID) ([]parley.ToolServer, error)
	// Authorize returns where a person authorizes a server; the answer comes to the redirect address.
	Authorize(
		ctx context.Context,
		workspaceID parley.ID,
		server, redirect string,
		by parley.Author,
	) (parley.ToolServerRequest, error)
	// Authorized takes the answer; only who asked may bring it.
	Authorized(
		ctx context.Context,
		workspaceID parley.ID,
		server string,
		answer parley.ToolServerAnswer,
		by parley.Author,
	) error
	Forget(ctx context.Context, workspaceID parley.ID, server string) error
}

// ToolServerAuthorizationInput asks where a tool server is authorized.
type ToolServerAuthorizationInput struct {
	RedirectURI string `json:"redirect_uri" required:"true" doc:"Where the authorization server sends the person with its answer: http on the person's own machine, or https at a host that allowed_hosts or allowed_origins name in the server's settings. Whoever serves it passes the answer on with completeToolServerAuthorization."`
}

// ToolServerAnswerInput is the answer, as it came to the redirect address.
type ToolServerAnswerInput struct {
	State string `json:"state" required:"true" doc:"The parameter state."`
	Code  string `json:"code,omitempty" doc:"The parameter code; absent if there is an error."`
	Iss   string `json:"iss,omitempty" doc:"The parameter iss, if there is one."`
	Error string `json:"error,omitempty" doc:"The parameter error, if there is one."`
}

// maxAnswerBytes bounds each parameter of an answer.
const maxAnswerBytes = 8 << 10

// ToolServers lists the configured servers of tools, by name, as the principal's workspace sees them from this process.
func (e *Engine) ToolServers(
	ctx context.Context,
	principal parley.Principal,
	paging Paging,
) (_ Page[parley.ToolServer], err error) {
	ctx, call, err := e.enter(ctx, principal, "listToolServers", ReadTools)
	if err != nil {
		return Page[parley.ToolServer]{}, err
	}
	defer call.end(ctx, &err)
	servers := []parley.ToolServer{}
	if e.servers != nil {
		if servers, err = e.servers.Servers(ctx, call.Scope.WorkspaceID); err != nil {
			return Page[parley.ToolServer]{}, err
		}
	}
	const list = "tool servers"
	return wholePage(list, servers, paging,
		func(s parley.ToolServer, from cursor) bool { return s.Name > from.Slug },
		func(s parley.ToolServer) cursor { return cursor{List: list, Slug: s.Name} })
}

// AuthorizeToolServer returns where the principal authorizes a server for the workspace. CodeNotFound,
// CodeConflict if people do not authorize this server, or its authorization server cannot be used.
func (e *Engine) AuthorizeToolServer(
	ctx context.Context,
	principal parley.Principal,
	server string,
	input ToolServerAuthorizationInput,
) (_ parley.ToolServerRequest, err error) {
	ctx, call, err := e.enter(ctx, principal, "authorizeToolServer", AuthorizeTools)
	if err != nil {
		return parley.ToolServerRequest{}, err
	}
	defer call.end(ctx, &err)
	if err := e.hasServers(server); err != nil {
		return parley.ToolServerRequest{}, err
	}
	return e.servers.Authorize(ctx, call.Scope.WorkspaceID, server, input.RedirectURI, principal.Author())
}

// CompleteToolServerAuthorization takes the answer to what AuthorizeToolServer has begun for the same principal.
// CodeConflict if nobody asked, the answer is another one's or too late, or the authorization server refuses.
func (e *Engine) CompleteToolServerAuthorization(
	ctx context.Context,
	principal parley.Principal,
	server string,
	input ToolServerAnswerInput,
) (_ parley.ToolServer, err error) {
	ctx, call, err := e.enter(ctx, principal, "completeToolServerAuthorization", AuthorizeTools)
	if err != nil {
		return parley.ToolServer{}, err
	}
	defer call.end(ctx, &err)
	if err := e.hasServers(server); err != nil {
		return parley.ToolServer{}, err
	}
	if err := checkTexts(
		textBound{"state", input.State, maxAnswerBytes}, textBound{"code", input.Code, maxAnswerBytes},
		textBound{"iss", input.Iss, maxAnswerBytes}, textBound{"error", input.Error, maxAnswerBytes},
	); err != nil {
		return parley.ToolServer{}, err
	}
	answer := parley.ToolServerAnswer{State: input.State, Code: input.Code, Issuer: input.Iss, Error: input.Error}
	workspace := call.Scope.WorkspaceID
	if err := e.servers.Authorized(ctx, workspace, server, answer, principal.Author()); err != nil {
		return parley.ToolServer{}, err
	}
	all, err := e.servers.Servers(ctx, workspace)
	for i := range all {
		if all[i].Name == server {
			return all[i], err
		}
	}
	return parley.ToolServer{}, err
}

// ForgetToolServer deletes the workspace's authorization at a server. CodeNotFound if there is none.
func (e *Engine) ForgetToolServer(ctx context.Context, principal parley.Principal, server string) (err error) {
	ctx, call, err := e.enter(ctx, principal, "forgetToolServerAuthorization", AuthorizeTools)
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	if err := e.hasServers(server); err != nil {
		return err
	}
	return e.servers.Forget(ctx, call.Scope.WorkspaceID, server)
}

func (e *Engine) hasServers(name string) error {
	if e.servers == nil || len(name) > parley.MaxToolServerBytes {
		return parley.Errorf(parley.CodeNotFound, "there is no tool server %q", parley.Clip(name, 64))
	}
	return nil
}
