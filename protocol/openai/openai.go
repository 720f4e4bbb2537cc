// Package openai is OpenAI's API as a projection over the engine: clients of Chat Completions, Responses, Conversations
// and the Agents API talk to agents.
//
// A client of Chat Completions sends its whole history with every request; the record is authoritative. A history is
// recognised by its hash (history.go) and continues the session that it comes from. A turn is begun or resumed by the
// request, and does not end with it. The package stores nothing but those hashes, as foreign ids.
//
// A response (response.go) is a part of a turn, a conversation and a session of the Agents API (agentsessions.go) are
// sessions. Their ids are ids of the record with a prefix, so nothing is stored for them.
package openai

import (
	"net/http"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// Prefix is where the protocol is mounted.
const Prefix = "/openai/v1"

// SessionHeader names the session of an answer, and may name that of a request.
const SessionHeader = "X-Parley-Session"

// MaxBody is the most bytes of a request: images come inside.
const MaxBody = 16 << 20

// api answers requests. It keeps nothing between them.
type api struct {
	engine  *engine.Engine
	streams *stream.Streams
}

// Mount offers the protocol to a server.
func Mount(verbs *engine.Engine, streams *stream.Streams) protocol.Mount {
	a := &api{verbs, streams}
	return protocol.Mount{
		Prefix: Prefix, Headers: []string{SessionHeader}, Fail: fail,
		Routes: slices.Concat([]protocol.Route{
			{
				Method: http.MethodPost, Path: "/chat/completions", Name: "createChatCompletion",
				Verb: engine.PostMessages, Body: MaxBody, Makes: true, Serve: a.complete,
				Example: `{"model":"parley","messages":[{"role":"user","content":"Hello"}]}`,
			},
			{Method: http.MethodGet, Path: "/models", Name: "listChatModels", Verb: engine.ReadModels, Serve: a.models},
			{
				Method: http.MethodGet, Path: "/models/{model...}", Name: "getChatModel", Verb: engine.ReadModels,
				Serve: a.model,
			},
		}, a.responseRoutes(), a.conversationRoutes(), a.agentSessionRoutes(), a.agentRoutes()),
	}
}

// failure is an error in the protocol's shape.
type failure struct {
	status  int
	message string
	kind    string // type
	param   string // "" for null
	code    string // "" for null
	final   bool   // sending the request again changes nothing
}

// The types of errors.
const (
	invalidRequest = "invalid_request_error"
	rateLimited    = "rate_limit_error"
	serverError    = "server_error"
)

// fail implements protocol.Mount.
func fail(p protocol.Problem) (int, []byte) {
	f := failureOf(p)
	return f.status, f.encode()
}

// ownMember is where a new session's message stands in the input of the engine.
const ownMember = "message."

// failureOf puts a problem into the protocol's terms: it knows 400 for what the API answers with 422.
func failureOf(p protocol.Problem) failure {
	f := failure{status: p.Status, message: p.Detail, kind: invalidRequest, param: p.Field, code: string(p.Code)}
	if field, inside := strings.CutPrefix(p.Field, ownMember); inside { // the client has set it beside its messages
		f.param, f.message = field, strings.TrimPrefix(p.Detail, ownMember)
	}
	switch {
	case p.Field == "" && strings.HasPrefix(p.Detail, unknownCall):
		f.status, f.code = http.StatusBadRequest, invalidRequest // the vendor's helpers compare both
	case p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusPreconditionFailed:
		f.status = http.StatusBadRequest
	case p.Status == http.StatusUnauthorized:
		f.code = "invalid_api_key"
	case p.Status == http.StatusNotFound && p.Field == "model":
		f.code = "model_not_found"
	case p.Status == http.StatusNotFound && p.Field == previousMember:
		f.code = "previous_response_not_found"
	case p.Status == http.StatusTooManyRequests:
		f.kind, f.code = rateLimited, "rate_limit_exceeded"
	case p.Status >= http.StatusInternalServerError:
		f.kind = serverError
	}
	return f
}

// encode writes {"error": {…}}.
func (f *failure) encode() []byte {
	body := parley.AppendJSONString([]byte(`{"error":{"message":`), f.message)
	body = parley.AppendJSONString(append(body, `,"type":`...), f.kind)
	body = appendOrNull(append(body, `,"param":`...), f.param)
	body = appendOrNull(append(body, `,"code":`...), f.code)
	return append(body, "}}"...)
}

// answer sends the failure as the whole answer.
func (f *failure) answer(x *protocol.Exchange) {
	header := x.W.Header()
	header.Set("Content-Type", "application/json")
	if f.final {
		header.Set("X-Should-Retry", "false") // the vendor's clients obey it
	}
	x.W.WriteHeader(f.status)
	_, _ = x.W.Write(f.encode()) // the client may be gone
}

func appendOrNull(to []byte, text string) []byte {
	if text == "" {
		return append(to, "null"...)
	}
	return parley.AppendJSONString(to, text)
}
