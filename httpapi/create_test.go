package httpapi

import (
	"strconv"
	"testing"

	"example.org/parley"
)

// One request creates a session, posts its first message and shows the turn.
func TestCreateStreams(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	body := `{"model":"sim/echo","message":{"content":{"text":"Hello there\nand more"}}}`
	for _, path := range []string{"/v1/sessions", "/v1/agents/parley/sessions"} {
		stream := s.stream("POST", path+"?flush_ms=0", body, idempotencyHeader, "create "+path)
		all := stream.rest()
		if first, last := all[0].event, all[len(all)-1].event; first != "message.created" ||
			last != "session.completed" {
			t.Errorf("%s: frames from %s to %s", path, first, last)
		}
		session := want[parley.Session](s, 200, "GET", stream.header.Get("Location"), "")
		message := want[parley.Message](s, 200, "GET", "/v1/messages/"+stream.header.Get(messageHeader), "")
		if message.SessionID != session.ID || message.Sequence != 1 || session.Title != "Hello there" ||
			session.Statistics.Turns != 1 {
			t.Errorf("message %+v of session %+v", message, session)
		}
		again := s.stream("POST", path+"?flush_ms=0", body, idempotencyHeader, "create "+path)
		if repeat := again.rest(); repeat[len(repeat)-1].id != all[len(all)-1].id ||
			again.header.Get("Location") != stream.header.Get("Location") {
			t.Errorf(
				"%s: the repeat is of %s and ends at %s",
				path,
				again.header.Get("Location"),
				repeat[len(repeat)-1].id,
			)
		}
	}
	if listed := want[page[parley.Session]](s, 200, "GET", "/v1/sessions", ""); len(listed.Data) != 2 {
		t.Errorf("%d sessions, want two", len(listed.Data))
	}
}

// A JSON answer names the message and the place to watch from; a session with
// nothing to stream is answered as JSON to who asks for events.
func TestCreateNamesThePost(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := `{"key":"k","message":{"content":{"text":"one"}}}`
	made := s.do("POST", "/v1/sessions", key)
	if made.status != 201 || made.header.Get(eventSequenceHeader) != "0" {
		t.Fatalf("status %d, %s %q", made.status, eventSequenceHeader, made.header.Get(eventSequenceHeader))
	}
	first := want[parley.Message](s, 200, "GET", "/v1/messages/"+made.header.Get(messageHeader), "")
	s.finished(first.SessionID.String())

	posted := s.do("POST", "/v1/sessions", `{"key":"k","message":{"content":{"text":"two"}}}`)
	after, err := strconv.ParseInt(posted.header.Get(eventSequenceHeader), 10, 64)
	if posted.status != 200 || err != nil || after == 0 {
		t.Fatalf(
			"a post by key: status %d, %s %q",
			posted.status,
			eventSequenceHeader,
			posted.header.Get(eventSequenceHeader),
		)
	}
	second := want[parley.Message](s, 200, "GET", "/v1/messages/"+posted.header.Get(messageHeader), "")
	frames := s.stream("GET", "/v1/sessions/"+first.SessionID.String()+"/events?after="+
		posted.header.Get(eventSequenceHeader), "").
		until("session.completed")
	if second.SessionID != first.SessionID || second.Sequence <= first.Sequence ||
		frames[0].event != "message.created" {
		t.Errorf("second %+v of the first's session %s, watched from %s", second, first.SessionID, frames[0].event)
	}
	joined := s.stream("PUT", "/v1/sessions/by-key", `{"key":"k","message":{"content":{"text":"three"}}}`).rest()
	if joined[len(joined)-1].event != "session.completed" {
		t.Errorf("by key: the stream ends with %s", joined[len(joined)-1].event)
	}

	for _, body := range []string{`{}`, `{"message":{"respond":false,"content":{"text":"x"}}}`} {
		if got := s.do(
			"POST",
			"/v1/sessions",
			body,
			"Accept",
			"text/event-stream",
		); got.status != 201 ||
			got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d, %s", body, got.status, got.header.Get("Content-Type"))
		}
	}
}

// A browser at the root is shown the docs while there is no page.
func TestRootShowsTheDocs(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	if got := s.do("GET", "/", ""); got.status != 200 || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("status %d, %s", got.status, got.header.Get("Content-Type"))
	}
	if got := s.do("POST", "/", `{}`); got.status != 404 {
		t.Errorf("post: status %d", got.status)
	}
}
