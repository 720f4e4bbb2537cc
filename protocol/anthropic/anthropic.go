// Package anthropic is Anthropic's Messages API as a projection over the engine: its clients talk to agents.
//
// A client sends its whole history with every request; the record is authoritative. Package history recognises it, and
// begins or resumes the turn, which does not end with the request. What the agent thought is shown with a signature
// that names the message of the record (blocks.go), where the provider's own signature is kept unchanged.
package anthropic

import (
	"net/http"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// Prefix is where the protocol is mounted; its clients add /v1 themselves.
const Prefix = "/anthropic"

// SessionHeader names the session of an answer, and may name that of a request.
const SessionHeader = "X-Parley-Session"

// MaxBody is the most bytes of a request: images come inside.
const MaxBody = 16 << 20

// foreignProtocol names the hashes of histories among the foreign ids.
const foreignProtocol = "anthropic-messages"

// historyKind keeps them apart from those of other protocols.
const historyKind = "messages 1"

// api answers requests. It keeps nothing between them.
type api struct {
	engine  *engine.Engine
	streams *stream.Streams
	book    *history.Book
}

// Mount offers the protocol to a server.
func Mount(verbs *engine.Engine, streams *stream.Streams) protocol.Mount {
	a := &api{verbs, streams, &history.Book{
		Engine: verbs, Streams: streams, Protocol: foreignProtocol, Prefix: Prefix + "/v1", Header: SessionHeader,
	}}
	const example = `{"model":"parley","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}`
	return protocol.Mount{
		Prefix: Prefix, KeyHeader: "X-Api-Key", Headers: []string{SessionHeader, requestHeader}, Fail: fail,
		Routes: append([]protocol.Route{
			{
				Method: http.MethodPost, Path: "/v1/messages", Name: "createAnthropicMessage",
				Verb: engine.PostMessages, Body: MaxBody, Makes: true, Serve: a.create, Example: example,
			},
			{
				Method: http.MethodPost, Path: "/v1/messages/count_tokens", Name: "countAnthropicTokens",
				Verb: engine.ReadAgents, Body: MaxBody, Makes: true, Serve: a.count, Example: example,
			},
			{
				Method: http.MethodGet, Path: "/v1/models", Name: "listAnthropicModels", Verb: engine.ReadModels,
				Serve: a.models,
			},
			{
				Method: http.MethodGet, Path: "/v1/models/{model...}", Name: "getAnthropicModel",
				Verb: engine.ReadModels, Serve: a.model,
			},
		}, a.managedRoutes()...),
	}
}

// requestHeader is where clients of the protocol look for a request's id.
const requestHeader = "Request-Id"

// failure is an error in the protocol's shape.
type failure struct {
	status  int
	kind    string // type
	message string
	code    string // Parley's, as details.error_code; "" for none
	final   bool   // sending the request again changes nothing
	request parley.ID
}

// The types of errors.
const (
	invalidRequest = "invalid_request_error"
	conflict       = "conflict_error"
	rateLimited    = "rate_limit_error"
	serverError    = "api_error"
	timeout        = "timeout_error"
	overloaded     = "overloaded_error"
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
	f := failure{status: p.Status, kind: invalidRequest, message: p.Detail, code: string(p.Code), request: p.RequestID}
	if strings.HasPrefix(p.Field, ownMember) { // the client has set it beside its messages
		f.message = strings.TrimPrefix(p.Detail, ownMember)
	}
	if p.Field == threadMember {
		if f.code = threadUnknown; p.Status == http.StatusConflict {
			f.status, f.code = http.StatusBadRequest, threadMoved
			return f
		}
	}
	switch p.Status {
	case http.StatusUnprocessableEntity, http.StatusPreconditionFailed:
		f.status = http.StatusBadRequest
	case http.StatusUnauthorized:
		f.kind = "authentication_error"
	case http.StatusPaymentRequired:
		f.kind = "billing_error"
	case http.StatusForbidden:
		f.kind = "permission_error"
	case http.StatusNotFound:
		f.kind = "not_found_error"
	case http.StatusConflict:
		f.kind = conflict
	case http.StatusRequestEntityTooLarge:
		f.kind = "request_too_large"
	case http.StatusTooManyRequests:
		f.kind = rateLimited
	case http.StatusServiceUnavailable:
		f.kind = overloaded
	default:
		if p.Status >= http.StatusInternalServerError {
			f.kind = serverError
		}
	}
	return f
}

// encode writes {"type": "error", "error": {…}}.
func (f *failure) encode() []byte {
	body := parley.AppendJSONString([]byte(`{"type":"error","error":{"type":`), f.kind)
	body = parley.AppendJSONString(append(body, `,"message":`...), f.message)
	if f.code != "" {
		body = append(parley.AppendJSONString(append(body, `,"details":{"error_code":`...), f.code), '}')
	}
	if f.request.IsZero() {
		return append(body, `},"request_id":null}`...)
	}
	return append(f.request.AppendText(append(body, `},"request_id":"`...)), `"}`...)
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
