package engine

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

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
	// Resources lists what a server has to read; Resource reads one of them, with a name for it.
	Resources(ctx context.Context, workspaceID parley.ID, server string) ([]parley.ToolResource, error)
	Resource(ctx context.Context, workspaceID parley.ID, server, uri string) (name string, data []byte, err error)
}

// ToolResourceInput names a resource of a tool server.
type ToolResourceInput struct {
	URI  string `json:"uri" required:"true" doc:"As listToolServerResources has it; of a template, with its {placeholders} filled in."`
	Name string `json:"name,omitempty" doc:"The file's name; by default the last part of the URI."`
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

// ToolServerResources lists what a server of tools has to read, by URI; query selects those that have all of its words.
// CodeNotFound, CodeConflict if the server has no resources or refuses, CodeUnavailable if it is away.
func (e *Engine) ToolServerResources(
	ctx context.Context,
	principal parley.Principal,
	server, query string,
	paging Paging,
) (_ Page[parley.ToolResource], err error) {
	ctx, call, err := e.enter(ctx, principal, "listToolServerResources", ReadToolServers)
	if err != nil {
		return Page[parley.ToolResource]{}, err
	}
	defer call.end(ctx, &err)
	if err := e.hasServers(server); err != nil {
		return Page[parley.ToolResource]{}, err
	}
	all, err := e.servers.Resources(ctx, call.Scope.WorkspaceID, server)
	if err != nil {
		return Page[parley.ToolResource]{}, err
	}
	words := strings.Fields(strings.ToLower(query))
	all = slices.DeleteFunc(all, func(r parley.ToolResource) bool {
		text := strings.ToLower(r.URI + "\n" + r.Name + "\n" + r.Description)
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	})
	slices.SortFunc(all, func(a, b parley.ToolResource) int { return strings.Compare(a.URI, b.URI) })
	all = slices.CompactFunc(all, func(a, b parley.ToolResource) bool { return a.URI == b.URI })
	const list = "resources"
	return wholePage(list, all, paging,
		func(r parley.ToolResource, from cursor) bool { return r.URI > from.Slug },
		func(r parley.ToolResource) cursor { return cursor{List: list, Slug: r.URI} })
}

// AttachToolServerResource reads a resource of a tool server and stores it as a file, as UploadFile does. CodeNotFound,
// CodeConflict if the server refuses or has several contents for it, CodeUnavailable if it is away.
func (e *Engine) AttachToolServerResource(
	ctx context.Context,
	principal parley.Principal,
	server string,
	input ToolResourceInput,
) (_ parley.File, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "attachToolServerResource", ReadToolServers)
	if err != nil {
		return parley.File{}, false, err
	}
	defer call.end(ctx, &err)
	if err := e.hasServers(server); err != nil {
		return parley.File{}, false, err
	}
	if input.URI == "" {
		return parley.File{}, false, parley.InvalidField("uri", "is missing; name the resource")
	}
	if err := checkTexts(textBound{"uri", input.URI, parley.MaxLinkBytes}); err != nil {
		return parley.File{}, false, err
	}
	name, data, err := e.servers.Resource(ctx, call.Scope.WorkspaceID, server, input.URI)
	if err != nil {
		return parley.File{}, false, err
	}
	return e.keepFile(ctx, call, principal, cmp.Or(input.Name, name), bytes.NewReader(data))
}

func (e *Engine) hasServers(name string) error {
	if e.servers == nil || len(name) > parley.MaxToolServerBytes {
		return parley.Errorf(parley.CodeNotFound, "there is no tool server %q", parley.Clip(name, 64))
	}
	return nil
}
