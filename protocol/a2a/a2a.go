// Package a2a is the Agent2Agent protocol, version 1.0, over JSON-RPC, as a projection over the engine: other people's
// agents ask ours.
//
// A task is a turn, and a context is a session; both have their own ids. A turn that waits for somebody is a task in
// the state input-required, and a message to it is the answer: to an approval, to a question, or to a call whose tool
// the client has. What the agent says are artifacts. A turn does not end with its request; CancelTask ends it.
//
// Configurations of push notifications are webhooks of the caller, each for one turn.
package a2a

import (
	"net/http"
	"strconv"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// Prefix is where the protocol is mounted: for the server, and below it for each agent.
const Prefix = "/a2a"

// The place of cards that clients know.
const (
	wellKnown = "/.well-known"
	cardPath  = "/agent-card.json"
)

// The version of the protocol, and the header in which clients name theirs. None means 0.3.
const (
	VersionHeader = "A2A-Version"
	version       = "1.0"
)

// MaxBody is the most bytes of a request: files come inside.
const MaxBody = 16 << 20

// api answers requests. It keeps nothing between them.
type api struct {
	engine  *engine.Engine
	streams *stream.Streams
	version string // of this server
}

// example is a request of the protocol.
const example = `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`

// Mounts offers the protocol to a server of a version: its own paths, and the server's card where clients look for it.
func Mounts(verbs *engine.Engine, streams *stream.Streams, version string) []protocol.Mount {
	a := &api{verbs, streams, version}
	return []protocol.Mount{{
		Prefix: Prefix, Fail: fail,
		Routes: []protocol.Route{
			{
				Method: http.MethodPost, Name: "a2aRequest", Verb: engine.ReadSessions, Body: MaxBody, Serve: a.serve,
				Example: example,
			},
			{
				Method: http.MethodPost, Path: "/{agent}", Name: "a2aAgentRequest", Verb: engine.ReadSessions,
				Body: MaxBody, Serve: a.serve, Example: example,
			},
			{
				Method: http.MethodGet, Path: wellKnown + cardPath, Name: "getA2AServerCard",
				Verb: engine.ReadAgents, Serve: a.serveCard,
			},
			{
				Method: http.MethodGet, Path: "/{agent}" + wellKnown + cardPath, Name: "getA2AAgentCard",
				Verb: engine.ReadAgents, Serve: a.serveCard,
			},
		},
	}, {
		Prefix: wellKnown, Fail: fail,
		Routes: []protocol.Route{{
			Method: http.MethodGet, Path: cardPath, Name: "getAgentCard", Verb: engine.ReadAgents, Serve: a.serveCard,
		}},
	}}
}

// The codes of errors: those of JSON-RPC, and of the protocol.
const (
	codeParse           = -32700
	codeInvalidRequest  = -32600
	codeMethodNotFound  = -32601
	codeInvalidParams   = -32602
	codeInternal        = -32603
	codeRefused         = -32000
	codeTaskNotFound    = -32001
	codeNotCancelable   = -32002
	codeUnsupported     = -32004
	codeContentType     = -32005
	codeVersion         = -32009
	codeUnauthenticated = -31401
	codeForbidden       = -31403
)

// fault is an error of the protocol. It has no data: the packages in use disagree on its shape.
type fault struct {
	code    int
	message string
}

func (f *fault) Error() string { return f.message }

func invalid(message string) error { return &fault{codeInvalidParams, message} }

// fail implements protocol.Mount.
func fail(p protocol.Problem) (int, []byte) { return p.Status, faultOf(p).encode(nil) }

// faultOf puts a problem into the protocol's terms.
func faultOf(p protocol.Problem) *fault {
	f := &fault{codeRefused, p.Detail}
	switch {
	case p.Status == http.StatusNotFound && p.Field == "":
		f.code = codeTaskNotFound
	case p.Status == http.StatusUnauthorized:
		f.code = codeUnauthenticated
	case p.Status == http.StatusForbidden:
		f.code = codeForbidden
	case p.Status == http.StatusUnprocessableEntity, p.Status == http.StatusBadRequest,
		p.Status == http.StatusNotFound:
		f.code = codeInvalidParams
	case p.Status == http.StatusInternalServerError:
		f.code = codeInternal
	}
	return f
}

// encode writes the error's message; id is the JSON of the request's id, nil if it is unknown.
func (f *fault) encode(id []byte) []byte {
	body := strconv.AppendInt(append(response(id), `"error":{"code":`...), int64(f.code), 10)
	body = parley.AppendJSONString(append(body, `,"message":`...), f.message)
	return append(body, "}}"...)
}

// response begins the message that answers a request; its result or error follows.
func response(id []byte) []byte {
	if id == nil {
		id = []byte("null")
	}
	return append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), ',')
}
