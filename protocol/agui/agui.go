// Package agui is AG-UI 1.0 as a projection over the engine: its HttpAgent talks to agents.
//
// A thread is a session. Which one is remembered as a foreign id of the thread; everything else is in the record, which
// is authoritative. Of the messages that a client sends, those behind the last answer count: a message of the user
// begins a turn, results of the client's tools go to the turn that waits for them, and so do the answers to interrupts.
//
// A run is what one request sees of a turn. It ends with its turn, or while the turn waits for somebody; the next run
// continues the turn. A turn does not end with its request: a client that was cut off connects again, and gets the
// messages and the rest of the answer.
package agui

import (
	"context"
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// Prefix is where the protocol is mounted.
const Prefix = "/agui"

// SessionHeader names the session of a thread.
const SessionHeader = "X-Parley-Session"

// protocolVersion is the one that runs declare.
const protocolVersion = "1.0"

// MaxBody is the most bytes of a request: files come inside, and all messages of the thread.
const MaxBody = 16 << 20

// foreignProtocol names threads among the foreign ids.
const foreignProtocol = "ag-ui"

// api answers requests. It keeps nothing between them.
type api struct {
	engine  *engine.Engine
	streams *stream.Streams
}

// Mount offers the protocol to a server.
func Mount(verbs *engine.Engine, streams *stream.Streams) protocol.Mount {
	a := &api{verbs, streams}
	example := `{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"Hello"}]}`
	return protocol.Mount{
		Prefix: Prefix, Headers: []string{SessionHeader}, Fail: fail,
		Routes: []protocol.Route{
			{
				Method: http.MethodPost, Path: "/{agent}", Name: "runAgent", Verb: engine.PostMessages, Body: MaxBody,
				Makes: true, Serve: a.run, Example: example,
			},
			{
				Method: http.MethodPost, Path: "/{agent}/connect", Name: "connectAgent", Verb: engine.ReadSessions,
				Body: MaxBody, Serve: a.connect, Example: example,
			},
			{
				Method: http.MethodPost, Path: "/{agent}/{thread}/stop", Name: "stopThread", Verb: engine.CancelTurns,
				Serve: a.stop,
			},
		},
	}
}

// fail implements protocol.Mount: an error before the run is written as the event that ends a run that failed.
func fail(p protocol.Problem) (int, []byte) {
	body := parley.AppendJSONString([]byte(`{"type":"RUN_ERROR","message":`), p.Detail)
	body = parley.AppendJSONString(append(body, `,"code":`...), string(p.Code))
	if p.Field != "" {
		body = append(parley.AppendJSONString(append(body, `,"metadata":{"field":`...), p.Field), '}')
	}
	return p.Status, append(body, '}')
}

// thread is a conversation as its client names it.
type thread struct {
	agent   parley.Agent
	id      string
	name    string    // among the foreign ids
	session parley.ID // zero if the thread has none yet
}

// threadOf finds a thread and its session: the newest that has its name or, for a thread that is named after a session
// of the agent, that session.
func (a *api) threadOf(ctx context.Context, principal parley.Principal, agent, id string) (*thread, error) {
	if id == "" {
		return nil, parley.InvalidField("threadId", "is missing or empty")
	}
	if err := parley.CheckText("threadId", id, parley.MaxForeignIDBytes); err != nil {
		return nil, err
	}
	t := &thread{id: id}
	var err error
	if t.agent, err = a.engine.Agent(ctx, principal, agent); err != nil {
		return nil, err
	}
	t.name = hashed("thread", t.agent.ID.String(), id)
	found, err := a.engine.ForeignIDs(ctx, principal, foreignProtocol, []string{t.name})
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		t.session = found[0].SessionID
		return t, nil
	}
	own, _ := parley.ParseID(id) // few ids are a session's
	if own.IsZero() {
		return t, nil
	}
	session, err := a.engine.Session(ctx, principal, own)
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound, err == nil && session.AgentID != t.agent.ID:
	case err != nil:
		return nil, err
	default:
		t.session = own
	}
	return t, nil
}

// keep notes the session that the thread goes on in.
func (a *api) keep(ctx context.Context, principal parley.Principal, t *thread, session parley.ID) error {
	t.session = session
	return a.engine.KeepForeignIDs(ctx, principal, session,
		[]parley.ForeignID{{Protocol: foreignProtocol, Name: t.name}})
}

// hashed joins texts of any length to a name.
func hashed(texts ...string) string {
	var joined []byte
	for _, text := range texts {
		joined = parley.AppendJSONString(joined, text)
	}
	return parley.HashOf(joined).String()
}

// stop cancels the thread's turn. Stopping what has ended changes nothing.
func (a *api) stop(x *protocol.Exchange) error {
	ctx := x.R.Context()
	t, err := a.threadOf(ctx, x.Principal, x.R.PathValue("agent"), x.R.PathValue("thread"))
	if err != nil {
		return err
	}
	// of a thread without a session, too: who may not cancel turns learns that first
	_, err = a.engine.Cancel(ctx, x.Principal, t.session, engine.CancelInput{})
	switch code := parley.ErrorCode(err); {
	case code == parley.CodeNothingToCancel, code == parley.CodeConflict,
		code == parley.CodeNotFound && t.session.IsZero():
		err = nil
	}
	if err == nil {
		x.W.WriteHeader(http.StatusNoContent)
	}
	return err
}
