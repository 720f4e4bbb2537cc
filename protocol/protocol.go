// Package protocol is the port of other people's protocols: what a package below it offers to the server that mounts
// it, and what the server gives it of each request. A protocol translates requests into verbs of the engine, and
// streams into its own frames; it stores nothing of its own but foreign ids.
//
// The server (package httpapi) owns everything before a request is let in: connections, origins, keys, workspaces,
// limits, bounds of bodies, the audit, and the table of statuses. The protocols know no HTTP server and nothing of each
// other.
package protocol

import (
	"bufio"
	"net"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/stream"
)

// Mount is a protocol with its place in the server.
type Mount struct {
	Prefix    string // of every path, such as /openai/v1
	KeyHeader string // in which its clients may send their key, besides Authorization: Bearer; "" for none
	// Headers are those of its answers that pages of other origins may read.
	Headers []string
	// Fail returns an error in the protocol's own shape: the status and the JSON of the answer.
	Fail   func(problem Problem) (status int, body []byte)
	Routes []Route
}

// Route is one request of a protocol.
type Route struct {
	Method  string
	Path    string      // behind the prefix, as in http.ServeMux
	Name    string      // operation, in the audit
	Verb    engine.Verb // its permission; the verbs that Serve calls check it
	Body    int64       // the most bytes of its JSON body; 0: it takes none, and a short one is dropped
	Makes   bool        // creates something of the caller's own and touches nothing that exists
	Example string      // of the body; "" without one
	Serve   func(*Exchange) error
}

// Exchange is a request that was let in. It belongs to one goroutine.
type Exchange struct {
	W         http.ResponseWriter
	R         *http.Request // its context belongs to Call
	Call      *engine.Call
	Principal parley.Principal
	RequestID parley.ID
	Body      []byte        // whole, within bounds; its syntax is not checked
	Flush     time.Duration // the server's pace of merged deltas
	// Leave says whether the caller may continue to read; streams ask it again and again.
	Leave stream.Leave
	// Room counts the connection as a stream until end is called. An answer that comes when a turn ends needs it before
	// the turn begins: CodeRateLimited, if the caller has no stream left, must find nothing done.
	Room func() (end func(), err error)
	// Hold counts memory that the request takes besides its body until free is called, which may be repeated.
	// CodeRateLimited if there is no room for it.
	Hold func(bytes int64) (free func(), err error)
	// Outlast prepares for such an answer once the turn has begun. It gives back what the request holds, Body included.
	Outlast func()
	// Take takes the connection over, for protocols that go on in another way than HTTP. It still counts, and may be
	// closed at any time, until done is called, which closes it.
	Take func() (conn net.Conn, in *bufio.Reader, done func(), err error)
	// Serve answers another request on the connection that was taken, which is let in like any.
	Serve func(w http.ResponseWriter, r *http.Request)
	// Problem says what a client may learn of an error, for those that come after the answer began.
	Problem func(error) Problem
}

// Problem is what a client learns of an error.
type Problem struct {
	Status    int         // as the API answers it
	Code      parley.Code // a public one
	Detail    string      // for a person
	Field     string      // that breaks a rule; "" for none
	RequestID parley.ID
}
