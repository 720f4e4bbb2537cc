// Package mcp is the Model Context Protocol as a projection over the engine: agents are tools, sessions and documents
// are resources, and approvals and questions are elicitations.
//
// It keeps no sessions of the protocol. Every request stands alone, so any process answers it, before and after a
// restart: the id that initialize gives a client says what that client can, and nothing else. A question to the client
// carries what it is about in its own id, and the state of a call that waits for input is a random name that is kept
// as a foreign id of the caller.
//
// The versions up to 2025-11-25 begin with initialize; from 2026-07-28 on each request brings its version and its
// client's capabilities. A turn does not end with its request, nor when the request is cancelled: clients cancel on
// their own time limits, too. The tool cancel_turn ends a turn.
package mcp

import (
	"net/http"
	"strconv"
	"sync"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// Prefix is where the protocol is mounted. It has one path.
const Prefix = "/mcp"

// The headers of the protocol.
const (
	SessionHeader = "Mcp-Session-Id"
	VersionHeader = "Mcp-Protocol-Version"
	MethodHeader  = "Mcp-Method"
	NameHeader    = "Mcp-Name"
)

// MaxBody is the most bytes of a request: a message, and what calls it.
const MaxBody = 1 << 20

// foreignProtocol names the states of calls among the foreign ids.
const foreignProtocol = "mcp"

// api answers requests.
type api struct {
	engine  *engine.Engine
	streams *stream.Streams
	version string // of this server

	mu     sync.Mutex                      // guards asking
	asking map[parley.ID]map[string]func() // the calls of each principal that wait for their client, by question
}

// Mount offers the protocol to a server of a version.
func Mount(verbs *engine.Engine, streams *stream.Streams, version string) protocol.Mount {
	a := &api{engine: verbs, streams: streams, version: version, asking: map[parley.ID]map[string]func(){}}
	return protocol.Mount{
		Prefix: Prefix, Headers: []string{SessionHeader, VersionHeader}, Fail: fail,
		Routes: []protocol.Route{{
			Method: http.MethodPost, Name: "mcpRequest", Verb: engine.ReadSessions, Body: MaxBody, Serve: a.serve,
			Example: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sessions","arguments":{}}}`,
		}},
	}
}

// The codes of errors: those of JSON-RPC, and of the protocol.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeRefused        = -32000
	codeNotFound       = -32002
	codeHeaderMismatch = -32020
	codeVersion        = -32022
)

// fault is an error of the protocol.
type fault struct {
	status  int // of HTTP
	code    int
	message string
	data    []byte // JSON; nil for none
}

func (f *fault) Error() string { return f.message }

// fail implements protocol.Mount.
func fail(p protocol.Problem) (int, []byte) {
	f := faultOf(p)
	return f.status, f.encode(nil)
}

// faultOf puts a problem into the protocol's terms.
func faultOf(p protocol.Problem) *fault {
	f := &fault{status: p.Status, code: codeRefused, message: p.Detail}
	switch p.Status {
	case http.StatusNotFound:
		f.code = codeNotFound
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		f.status, f.code = http.StatusBadRequest, codeInvalidParams
	case http.StatusInternalServerError:
		f.code = codeInternal
	}
	f.data = parley.AppendJSONString([]byte(`{"code":`), string(p.Code))
	if p.Field != "" {
		f.data = parley.AppendJSONString(append(f.data, `,"field":`...), p.Field)
	}
	f.data = append(f.data, '}')
	return f
}

// encode writes the error's message; id is the JSON of the request's id, nil if it is unknown.
func (f *fault) encode(id []byte) []byte {
	if id == nil {
		id = []byte("null")
	}
	body := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":{"code":`...)
	body = strconv.AppendInt(body, int64(f.code), 10)
	body = parley.AppendJSONString(append(body, `,"message":`...), f.message)
	if f.data != nil {
		body = append(append(body, `,"data":`...), f.data...)
	}
	return append(body, "}}"...)
}
