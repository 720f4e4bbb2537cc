package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// keyInput is a new key. Only the machine's own user may name another workspace.
type keyInput struct {
	engine.KeyInput
	Workspace string `json:"workspace,omitempty" doc:"The caller's own by default. A new one is created."`
}

func serveCreateKey(a *api, x *exchange) error {
	var input keyInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	var key engine.NewKey
	var err error
	switch {
	case input.Workspace == "" || input.Workspace == x.principal.Workspace:
		key, err = a.engine.CreateKey(x.r.Context(), x.principal, input.KeyInput)
	case x.local:
		key, err = a.engine.CreateKeyIn(x.r.Context(), input.Workspace, input.KeyInput)
	default:
		err = parley.Errorf(
			parley.CodeForbidden,
			"Only the machine's own user may make keys of other workspaces: parley keys create --workspace",
		)
	}
	if err != nil {
		return err
	}
	a.gate.forget()
	x.w.Header().Set("Location", "/v1/keys/"+key.ID.String())
	x.w.Header().Set("Cache-Control", "no-store")
	return sendJSON(x, http.StatusCreated, key)
}

func serveKeys(a *api, x *exchange) error {
	keys, err := a.engine.Keys(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, page[parley.Key]{Data: keys.Data})
}

func serveRevokeKey(a *api, x *exchange) error {
	id, err := x.pathID("key")
	if err != nil {
		return err
	}
	if _, err := a.engine.RevokeKey(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	a.gate.forget()
	return x.sendNothing()
}

// whoAmI is the principal of a request, with what depends on the server and on how the request got in.
type whoAmI struct {
	parley.Principal
	MayChooseDirectories bool      `json:"may_choose_directories" doc:"Whether it may list directories and choose them as projects."`
	SignInID             parley.ID `json:"sign_in_id" doc:"The browser's sign-in; null if something else let the request in."`
}

func servePrincipal(a *api, x *exchange) error {
	return sendJSON(x, http.StatusOK, whoAmI{x.principal, a.engine.MayChooseDirectories(x.principal), x.signIn})
}
