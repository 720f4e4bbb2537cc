package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/protocol"
)

// canElicit ends the id that initialize gives a client which shows forms.
const canElicit = "-form"

// instructions tell a client's model how to use the tools.
const instructions = "Each ask_ tool asks one agent. Its answer names the session: give session_id to continue that " +
	"conversation. The agent goes on when a call is given up: call again with session_id alone to get its answer."

// about names this server.
type about struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// can is what this server can.
type can struct {
	Tools     struct{} `json:"tools"`
	Resources struct{} `json:"resources"`
}

// outcome is what the results of this protocol's newer versions say of themselves.
type outcome struct {
	Type  string       `json:"resultType,omitempty"`
	Meta  *outcomeMeta `json:"_meta,omitempty"`
	TTL   *int         `json:"ttlMs,omitempty"`
	Scope string       `json:"cacheScope,omitempty"`
}

type outcomeMeta struct {
	Server about `json:"io.modelcontextprotocol/serverInfo"`
}

// completed is the outcome of a request that was answered. Nothing is kept by clients: what one may see can change at
// any time, and is theirs alone.
func (a *api) completed(r *request, kept bool) outcome {
	if !r.standsAlone() {
		return outcome{}
	}
	o := outcome{Type: "complete", Meta: &outcomeMeta{a.about()}}
	if kept {
		o.TTL, o.Scope = new(int), "private"
	}
	return o
}

func (a *api) about() about { return about{"parley", "Parley", a.version} }

// serve answers a message.
func (a *api) serve(x *protocol.Exchange) error {
	r, err := read(x)
	var wrong *fault
	switch {
	case errors.As(err, &wrong):
		x.Call.Unaudited()
		answerFault(x, wrong, idOf(r))
		return nil
	case err != nil:
		return err
	case r.isNotification(): // a cancelled request does not cancel its turn
		x.Call.Unaudited()
		x.W.WriteHeader(http.StatusAccepted)
		return nil
	case r.isAnswer():
		if err := a.answered(r); err != nil {
			return err
		}
		x.W.WriteHeader(http.StatusAccepted)
		return nil
	}
	defer r.free()
	result, err := a.result(x.R.Context(), r)
	switch {
	case errors.As(err, &wrong):
		x.Call.Unaudited()
		if !r.standsAlone() {
			wrong.status = http.StatusOK
		}
		answerFault(x, wrong, r.ID)
		return nil
	case err != nil || result == nil: // nil: it is written already
		return err
	}
	body, err := response(r.ID, result)
	if err == nil {
		answerJSON(x, http.StatusOK, body)
	}
	return err
}

func idOf(r *request) []byte {
	if r == nil {
		return nil
	}
	return r.ID
}

// result does what a request asks for. A nil result is one that was written already.
func (a *api) result(ctx context.Context, r *request) (any, error) {
	switch r.Method {
	case "tools/list":
		return a.tools(ctx, r)
	case "tools/call":
		return a.call(ctx, r)
	case "resources/list":
		return a.resources(ctx, r)
	case "resources/templates/list":
		r.x.Call.Unaudited()
		return a.templates(r), nil
	case "resources/read":
		return a.resource(ctx, r)
	case "initialize":
		if !r.standsAlone() {
			return a.initialize(r)
		}
	case "ping":
		if !r.standsAlone() {
			r.x.Call.Unaudited()
			return struct{}{}, nil
		}
	case "server/discover":
		if r.standsAlone() {
			return a.discover(r), nil
		}
	}
	return nil, &fault{status: http.StatusNotFound, code: codeMethodNotFound,
		message: "The method " + parley.Clip(r.Method, 64) + " is not served in version " + r.version + "."}
}

// initialize agrees on a version, and gives the client an id that says what it can.
func (a *api) initialize(r *request) (any, error) {
	r.x.Call.Unaudited()
	version := r.params.Version
	if version == "" {
		return nil, invalid("protocolVersion is missing")
	}
	if version >= stateless || !slices.Contains(sdk.SupportedProtocolVersions(), version) {
		version = lastOld
	}
	id := r.x.RequestID.String()
	if r.Can.elicits() {
		id += canElicit
	}
	r.x.W.Header().Set(SessionHeader, id)
	return struct {
		Version      string `json:"protocolVersion"`
		Can          can    `json:"capabilities"`
		About        about  `json:"serverInfo"`
		Instructions string `json:"instructions"`
	}{version, can{}, a.about(), instructions}, nil
}

// discover tells a client of a newer version what the server can.
func (a *api) discover(r *request) any {
	r.x.Call.Unaudited()
	return struct {
		outcome
		Versions     []string `json:"supportedVersions"`
		Can          can      `json:"capabilities"`
		Instructions string   `json:"instructions"`
	}{a.completed(r, true), sdk.SupportedProtocolVersions(), can{}, instructions}
}

// response is the message of a result.
func response(id json.RawMessage, result any) ([]byte, error) {
	encoded, err := parley.EncodeJSON(result)
	if err != nil {
		return nil, err
	}
	body := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"result":`...)
	return append(append(body, encoded...), '}'), nil
}

func answerFault(x *protocol.Exchange, f *fault, id []byte) { answerJSON(x, f.status, f.encode(id)) }

func answerJSON(x *protocol.Exchange, status int, body []byte) {
	x.W.Header().Set("Content-Type", "application/json")
	x.W.WriteHeader(status)
	_, _ = x.W.Write(body) // the client may be gone
}
