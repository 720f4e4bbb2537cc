package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

const (
	toolServerExample = `{"name":"tickets","state":"connected","authorizable":true,"authorized_by":{"kind":"person",` +
		`"id":"` + otherIDExample + `","name":"ada"},"authorized_at":"` + timeExample + `","tools":12,"reason":null,` +
		`"do":null}`
	toolResourceExample = `{"uri":"file:///handbook.md","template":false,"name":"Handbook",` +
		`"description":"How we work.","media_type":"text/markdown","size":5120}`
	toolRequestExample = `{"url":"https://login.example.com/authorize?client_id=parley","state":"EXAMPLE",` +
		`"expires_at":"` + timeExample + `"}`
)

// toolRoutes returns the routes that list tools.
func toolRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/tools"},
			name:   "listTools",
			tag:    "tools",
			verb:   engine.ReadTools,
			says:   "List tools",
			about: "The server's tools by name; agents may name them. In an agent's list a name may end in * to " +
				"stand for all tools that begin so.",
			query:   wholePaging(),
			serve:   serveTools,
			answers: listed[engine.ToolInfo](toolExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/tool-servers"},
			name:   "listToolServers",
			tag:    "tools",
			verb:   engine.ReadTools,
			says:   "List tool servers",
			about: "The servers of the Model Context Protocol in parley.yaml, by name, as the answering process sees " +
				"them for this workspace: an unauthorized one says what to do, and is not tried until somebody " +
				"does it.",
			query:   wholePaging(),
			serve:   serveToolServers,
			answers: listed[parley.ToolServer](toolServerExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/tool-servers/{tool_server}/authorization"},
			name:   "authorizeToolServer",
			tag:    "tools",
			verb:   engine.AuthorizeTools,
			says:   "Begin to authorize a tool server",
			about: "Returns the address where you authorize the server for the whole workspace (OAuth, with PKCE). " +
				"Its answer comes to redirect_uri; pass it on with the PUT, as the same principal, within 15 " +
				"minutes. What was authorized before stays so until then. 409 if people do not authorize this " +
				"server, or its authorization server cannot be used.",
			input:   inputOf[engine.ToolServerAuthorizationInput](`{"redirect_uri":"http://127.0.0.1:52801/callback"}`),
			serve:   serveAuthorizeToolServer,
			answers: found[parley.ToolServerRequest]("Where to authorize.", toolRequestExample),
			fails:   conflicting(),
		},
		{
			method: http.MethodPut,
			paths:  []string{"/v1/tool-servers/{tool_server}/authorization"},
			name:   "completeToolServerAuthorization",
			tag:    "tools",
			verb:   engine.AuthorizeTools,
			says:   "Complete the authorization of a tool server",
			about: "Takes the parameters with which the authorization server sent you to redirect_uri, once. The " +
				"tokens are stored encrypted. 409 if you have not asked, or the authorization server refuses.",
			input:   inputOf[engine.ToolServerAnswerInput](`{"state":"EXAMPLE","code":"example-code"}`),
			serve:   serveCompleteToolServer,
			answers: found[parley.ToolServer]("The server.", toolServerExample),
			fails:   conflicting(),
		},
		{
			method:  http.MethodDelete,
			paths:   []string{"/v1/tool-servers/{tool_server}/authorization"},
			name:    "forgetToolServerAuthorization",
			tag:     "tools",
			verb:    engine.AuthorizeTools,
			says:    "Forget a tool server's authorization",
			about:   "Deletes the workspace's tokens; processes notice within ten seconds.",
			serve:   serveForgetToolServer,
			answers: nothing("Forgotten."),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/tool-servers/{tool_server}/resources"},
			name:   "listToolServerResources",
			tag:    "tools",
			verb:   engine.ReadToolServers,
			says:   "List the resources of a tool server",
			about: "What the server has to read, and templates of addresses, by URI; asked of it now, at most 4096. " +
				"409 if it has none or refuses, 503 if it is away.",
			query: append(wholePaging(),
				text("query", "Words that must all occur in a resource's URI, name or description.")),
			serve:   serveToolServerResources,
			answers: listed[parley.ToolResource](toolResourceExample),
			fails:   []parley.Code{parley.CodeConflict, parley.CodeUnavailable},
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/tool-servers/{tool_server}/files"},
			name:   "attachToolServerResource",
			tag:    "tools",
			verb:   engine.ReadToolServers,
			makes:  true,
			says:   "Make a file of a tool server's resource",
			about: "Reads the resource and stores it like an upload, so that messages can show it. The same name and " +
				"bytes again are the existing file (200). 409 if the server refuses, or has several contents for it.",
			input: inputOf[engine.ToolResourceInput](`{"uri":"file:///handbook.md"}`),
			serve: serveAttachToolServerResource,
			answers: append(
				created[parley.File]("The new file.", fileExample),
				found[parley.File]("The existing file with this name and these bytes.", fileExample)...),
			fails: []parley.Code{parley.CodeConflict, parley.CodeUnavailable},
		},
	}
}
