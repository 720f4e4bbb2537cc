// Package aisdk is the AI SDK's UI message stream as a projection over the engine: its useChat, with the standard
// transport, talks to agents.
//
// A chat is a session. Which one is remembered as a foreign id of the chat; everything else is in the record. Of the
// messages that a client sends only the last one counts: a message of the user is posted, asked in other words, or
// asked again; the results and decisions in an answer go to the turn that waits for them. A turn does not end with its
// request.
//
// Three versions of the stream are in use, those of the packages ai 5, 6 and 7. Older clients fail on kinds of chunks
// that they do not know, so each request names its version, and gets only that version's chunks.
package aisdk

import (
	"context"
	"net/http"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// Prefix is where the protocol is mounted.
const Prefix = "/ai-sdk"

// SessionHeader names the session of an answer.
const SessionHeader = "X-Parley-Session"

// VersionHeader names the major version of the client's package ai; the query's version does, too.
const VersionHeader = "X-AI-SDK-Version"

// The versions of the stream. The oldest is the default: its chunks are known to all clients.
const (
	oldest = 5
	newest = 7

	withApprovals = 6 // the first version whose clients are asked for approvals
	withResets    = 7 // the first version that takes a failed attempt's text back
)

// MaxBody is the most bytes of a request: files come inside, and all messages of the chat.
const MaxBody = 16 << 20

// foreignProtocol names chats among the foreign ids.
const foreignProtocol = "ai-sdk"

// api answers requests. It keeps nothing between them.
type api struct {
	engine  *engine.Engine
	streams *stream.Streams
}

// Mount offers the protocol to a server.
func Mount(verbs *engine.Engine, streams *stream.Streams) protocol.Mount {
	a := &api{verbs, streams}
	return protocol.Mount{
		Prefix: Prefix, Headers: []string{SessionHeader, streamHeader}, Fail: fail,
		Routes: []protocol.Route{
			{
				Method: http.MethodPost, Path: "/{agent}", Name: "sendChatMessages", Verb: engine.PostMessages,
				Body: MaxBody, Makes: true, Serve: a.send,
				Example: `{"id":"c1","trigger":"submit-message","messages":[{"id":"m1","role":"user","parts":[` +
					`{"type":"text","text":"Hello"}]}]}`,
			},
			{
				Method: http.MethodGet, Path: "/{agent}/{chat}/stream", Name: "resumeChat", Verb: engine.ReadSessions,
				Serve: a.resume,
			},
			{
				Method: http.MethodGet, Path: "/{agent}/{chat}/messages", Name: "listChatMessages",
				Verb: engine.ReadSessions, Serve: a.list,
			},
			{
				Method: http.MethodPost, Path: "/{agent}/{chat}/stop", Name: "stopChat", Verb: engine.CancelTurns,
				Serve: a.stop,
			},
		},
	}
}

// fail implements protocol.Mount. Clients show the body as it is.
func fail(p protocol.Problem) (int, []byte) {
	body := parley.AppendJSONString([]byte(`{"error":`), p.Detail)
	body = parley.AppendJSONString(append(body, `,"code":`...), string(p.Code))
	if p.Field != "" {
		body = parley.AppendJSONString(append(body, `,"field":`...), p.Field)
	}
	return p.Status, append(body, '}')
}

// version reads which version's chunks the client knows.
func version(r *http.Request) (int, error) {
	text := r.Header.Get(VersionHeader)
	if text == "" {
		text = r.URL.Query().Get("version")
	}
	if text == "" {
		return oldest, nil
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	if len(major) != 1 || major[0] < '0'+oldest || major[0] > '0'+newest {
		return 0, parley.InvalidField("version", "must be 5, 6 or 7, the major version of the package ai")
	}
	return int(major[0] - '0'), nil
}

// chat is a conversation as its client names it.
type chat struct {
	agent   parley.Agent
	id      string
	name    string    // among the foreign ids
	session parley.ID // zero if the chat has none yet
}

// chatOf finds a chat and its session: the newest that has its name or, for a chat that is named after a session of the
// agent, that session.
func (a *api) chatOf(ctx context.Context, principal parley.Principal, agent, id string) (*chat, error) {
	if id == "" {
		return nil, parley.InvalidField("id", "is missing or empty")
	}
	if err := parley.CheckText("id", id, parley.MaxForeignIDBytes); err != nil {
		return nil, err
	}
	c := &chat{id: id}
	var err error
	if c.agent, err = a.engine.Agent(ctx, principal, agent); err != nil {
		return nil, err
	}
	c.name = hashed("chat", c.agent.ID.String(), id)
	found, err := a.engine.ForeignIDs(ctx, principal, foreignProtocol, []string{c.name})
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		c.session = found[0].SessionID
		return c, nil
	}
	own, _ := parley.ParseID(id) // most ids are not a session's
	if own.IsZero() {
		return c, nil
	}
	session, err := a.engine.Session(ctx, principal, own)
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound, err == nil && session.AgentID != c.agent.ID:
	case err != nil:
		return nil, err
	default:
		c.session = own
	}
	return c, nil
}

// existing finds the chat of a request's path, and reads its session. CodeNotFound if it has none.
func (a *api) existing(x *protocol.Exchange) (c *chat, session parley.Session, err error) {
	ctx := x.R.Context()
	c, err = a.chatOf(ctx, x.Principal, x.R.PathValue("agent"), x.R.PathValue("chat"))
	if err == nil && c.session.IsZero() {
		err = parley.Errorf(parley.CodeNotFound, "This chat does not exist.")
	}
	if err == nil {
		session, err = a.engine.Session(ctx, x.Principal, c.session)
	}
	return c, session, err
}

// hashed joins texts of any length to a name.
func hashed(texts ...string) string {
	var joined []byte
	for _, text := range texts {
		joined = parley.AppendJSONString(joined, text)
	}
	return parley.HashOf(joined).String()
}

// stop cancels the chat's turn. Stopping what has ended changes nothing.
func (a *api) stop(x *protocol.Exchange) error {
	ctx := x.R.Context()
	c, err := a.chatOf(ctx, x.Principal, x.R.PathValue("agent"), x.R.PathValue("chat"))
	if err != nil {
		return err
	}
	// of a chat without a session, too: who may not cancel turns learns that first
	_, err = a.engine.Cancel(ctx, x.Principal, c.session, engine.CancelInput{})
	switch code := parley.ErrorCode(err); {
	case code == parley.CodeNothingToCancel, code == parley.CodeConflict,
		code == parley.CodeNotFound && c.session.IsZero():
		err = nil
	}
	if err == nil {
		x.W.WriteHeader(http.StatusNoContent)
	}
	return err
}
