package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

func serveToolServers(a *api, x *exchange) error {
	args := x.arguments()
	paging := args.paging()
	if args.err != nil {
		return args.err
	}
	servers, err := a.engine.ToolServers(x.r.Context(), x.principal, paging)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, servers)
}

func serveAuthorizeToolServer(a *api, x *exchange) error {
	var input engine.ToolServerAuthorizationInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	asked, err := a.engine.AuthorizeToolServer(x.r.Context(), x.principal, x.r.PathValue("tool_server"), input)
	if err != nil {
		return err
	}
	x.w.Header().Set("Cache-Control", "no-store")
	return sendJSON(x, http.StatusOK, asked)
}

func serveCompleteToolServer(a *api, x *exchange) error {
	var input engine.ToolServerAnswerInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	server, err := a.engine.CompleteToolServerAuthorization(
		x.r.Context(), x.principal, x.r.PathValue("tool_server"), input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, server)
}

func serveToolServerResources(a *api, x *exchange) error {
	args := x.arguments()
	paging, query := args.paging(), x.query.Get("query")
	if args.err != nil {
		return args.err
	}
	found, err := a.engine.ToolServerResources(x.r.Context(), x.principal, x.r.PathValue("tool_server"), query, paging)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, found)
}

func serveAttachToolServerResource(a *api, x *exchange) error {
	var input engine.ToolResourceInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	file, fresh, err := a.engine.AttachToolServerResource(
		x.r.Context(), x.principal, x.r.PathValue("tool_server"), input)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if fresh {
		status = http.StatusCreated
	}
	x.w.Header().Set("Location", "/v1/files/"+file.ID.String())
	return sendJSON(x, status, file)
}

func serveForgetToolServer(a *api, x *exchange) error {
	if err := a.engine.ForgetToolServer(x.r.Context(), x.principal, x.r.PathValue("tool_server")); err != nil {
		return err
	}
	return x.sendNothing()
}
