package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// talked is a session with finished turns about the texts, and its record.
func (s *testServer) talked(session string, texts ...string) (at string, record []parley.Message) {
	s.Helper()
	at = "/v1/sessions/" + s.session(session).ID.String()
	for _, text := range texts {
		s.stream("POST", at+"/messages", fmt.Sprintf(`{"content":{"text":%q}}`, text)).rest()
	}
	return at, s.recordOf(at)
}

func (s *testServer) recordOf(at string, headers ...string) []parley.Message {
	s.Helper()
	return want[page[parley.Message]](s, 200, "GET", at+"/messages?limit=100", "", headers...).Data
}

// What is done to a message whose own session is deleted asks for the session that is
// meant, and is done there.
func TestSharedMessagesOutliveTheirSession(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at, record := s.talked(`{"model":"sim/echo"}`, "one")
	fork := want[parley.Session](s, 201, "POST", at+"/fork", `{}`).ID.String()
	s.do("DELETE", at, "")
	message := "/v1/messages/" + record[0].ID.String()
	for _, try := range []struct {
		method, path, body, named, namedPath string
		status                               int
	}{
		{"POST", "/edit", `{"content":{"text":"two"}}`, `{"content":{"text":"two"},"session_id":"` + fork + `"}`,
			"/edit", 201},
		{"POST", "/regenerate", `{}`, `{"session_id":"` + fork + `"}`, "/regenerate", 201},
		{"PUT", "/marks", `{"pinned":true}`, `{"pinned":true}`, "/marks?session=" + fork, 200},
	} {
		if got := s.do(
			try.method,
			message+try.path,
			try.body,
		); got.status != 422 ||
			got.problem(t).Errors[0].Field != "session_id" {
			t.Errorf("%s without a session: %d %s", try.path, got.status, got.body)
		}
		if got := s.do(try.method, message+try.namedPath, try.named); got.status != try.status {
			t.Errorf("%s in the fork: %d %s", try.path, got.status, got.body)
		}
	}
}

// A session is forked, goes on by itself, and every read of the fork shows the
// shared history with its own.
func TestForkOverHTTP(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at, record := s.talked(`{"model":"sim/echo","title":"First","tags":["a"]}`, "one", "two", "three")
	fork := want[parley.Session](
		s,
		201,
		"POST",
		at+"/fork",
		fmt.Sprintf(`{"at":%q,"model":"sim/lorem-3-1"}`, record[3].ID),
	)
	if fork.ForkedThrough == nil || *fork.ForkedThrough != 4 || fork.ParentMessageID != record[3].ID ||
		fork.Title != "First" ||
		fork.Model != "sim/lorem-3-1" ||
		fork.Tags[0] != "a" {
		t.Errorf("the fork is %+v", fork)
	}
	there := "/v1/sessions/" + fork.ID.String()
	s.stream("POST", there+"/messages", `{"content":{"text":"otherwise"}}`).rest()
	rows := s.recordOf(there)
	if len(rows) != 6 || rows[3].ID != record[3].ID || rows[4].Sequence != 5 || rows[4].SessionID != fork.ID ||
		rows[3].SessionID != record[3].SessionID {
		t.Fatalf("the fork's record: %+v", rows)
	}
	if entries := want[page[engine.Entry]](
		s,
		200,
		"GET",
		there+"/messages?view=transcript&limit=100",
		"",
	).Data; len(
		entries,
	) != 6 {
		t.Errorf("the transcript has %d entries", len(entries))
	}
	if chat := want[page[engine.ChatMessage]](
		s,
		200,
		"GET",
		there+"/messages?view=chat&limit=100",
		"",
	).Data; len(
		chat,
	) != 6 {
		t.Errorf("the chat has %d messages", len(chat))
	}
	call := want[page[parley.Call]](s, 200, "GET", there+"/calls", "").Data[0]
	if detail := want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+call.ID.String(), ""); !detail.Exact {
		t.Errorf("the fork's request cannot be rebuilt: %s", detail.Reason)
	}
	if diff := want[engine.CallDiff](
		s,
		200,
		"GET",
		"/v1/calls/"+call.ID.String()+"/diff",
		"",
	); !strings.Contains(
		diff.Cache.Says,
		"forked from",
	) {
		t.Errorf("of the fork's first call it is said: %s", diff.Cache.Says)
	}
	if len(s.recordOf(at)) != 6 {
		t.Error("the parent has changed")
	}
	s.do("DELETE", at, "")
	if kept := s.recordOf(there); len(kept) != 6 {
		t.Errorf("with its parent deleted the fork has %d messages", len(kept))
	}
	for name, body := range map[string]string{
		"an unknown message": `{"at":"` + otherIDExample + `"}`,
		"both places":        fmt.Sprintf(`{"at":%q,"sequence":1}`, record[0].ID), "behind the end": `{"sequence":700}`,
	} {
		if got := s.do(
			"POST",
			there+"/fork",
			body,
		); got.status != map[string]int{"an unknown message": 404, "both places": 422, "behind the end": 409}[name] {
			t.Errorf("forked at %s: status %d %s", name, got.status, got.body)
		}
	}
}

// A message of the record is edited, and an answer asked for again: each in a
// branch that names it, with the turn's frames as the answer.
func TestEditAndRegenerate(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at, record := s.talked(`{"model":"sim/echo"}`, "one", "two")
	frames := s.stream("POST", "/v1/messages/"+record[2].ID.String()+"/edit", `{"content":{"text":"zwei"}}`).rest()
	if frames[len(frames)-1].event != "session.completed" {
		t.Fatalf("the edit's turn ends with %s", frames[len(frames)-1].event)
	}
	again := want[parley.Session](
		s,
		201,
		"POST",
		"/v1/messages/"+record[3].ID.String()+"/regenerate",
		`{"model":"sim/lorem-3-1"}`,
		"Idempotency-Key",
		"r1",
	)
	if same := want[parley.Session](
		s,
		201,
		"POST",
		"/v1/messages/"+record[3].ID.String()+"/regenerate",
		`{"model":"sim/lorem-3-1"}`,
		"Idempotency-Key",
		"r1",
	); same.ID != again.ID {
		t.Errorf("the same key made another branch")
	}
	branches := want[page[parley.Session]](s, 200, "GET", "/v1/messages/"+record[2].ID.String()+"/branches", "").Data
	if len(branches) != 2 {
		t.Fatalf("the message has %d branches", len(branches))
	}
	s.finished(again.ID.String())
	for _, branch := range branches {
		rows := s.recordOf("/v1/sessions/" + branch.ID.String())
		text := `{"text":"zwei"}`
		if branch.ID == again.ID {
			text = `{"text":"two"}`
		}
		if len(rows) != 4 || short(rows[2]) != text || rows[2].ID == record[2].ID ||
			branch.ParentSessionID != record[2].SessionID {
			t.Errorf("a branch has %+v", rows)
		}
	}
	if kept := s.recordOf(at); len(kept) != 4 || short(kept[2]) != `{"text":"two"}` {
		t.Errorf("the original has %+v", kept)
	}
	if got := s.do(
		"POST",
		"/v1/messages/"+record[3].ID.String()+"/edit",
		`{"content":{"text":"x"}}`,
	); got.status != 409 {
		t.Errorf("an answer was edited: %d %s", got.status, got.body)
	}
}

// Marks that are set through a fork are the fork's.
func TestMarksOfAForkOverHTTP(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at, record := s.talked(`{"model":"sim/echo"}`, "one")
	fork := want[parley.Session](s, 201, "POST", at+"/fork", `{}`)
	path := "/v1/messages/" + record[0].ID.String() + "/marks"
	if m := want[parley.Message](
		s,
		200,
		"PUT",
		path+"?session="+fork.ID.String(),
		`{"set_aside":true}`,
	); !m.Marks.SetAside {
		t.Errorf("the mark is not set: %+v", m.Marks)
	}
	if there, here := s.recordOf("/v1/sessions/" + fork.ID.String())[0], s.recordOf(at)[0]; !there.Marks.SetAside ||
		here.Marks.SetAside {
		t.Errorf("in the fork %+v, in its parent %+v", there.Marks, here.Marks)
	}
}

// What an owner allowed in a session is not allowed in another's fork of it.
func TestAForkByAnotherHasNoGrants(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner, guest := s.key("one", "owner", parley.RoleMember), s.key("one", "guest", parley.RoleMember)
	id := s.session(
		`{"visibility":"workspace","grants":[{"tool":"write_file","effect":"allow"}],`+
			`"message":{"content":{"text":"x"},"respond":false}}`,
		"Authorization",
		owner,
	).ID.String()
	mine := want[parley.Session](s, 201, "POST", "/v1/sessions/"+id+"/fork", `{}`, "Authorization", owner)
	theirs := want[parley.Session](s, 201, "POST", "/v1/sessions/"+id+"/fork", `{}`, "Authorization", guest)
	if mine.Grants == nil || mine.Visibility != parley.VisibilityWorkspace {
		t.Errorf("the owner's fork: grants %v, %s", mine.Grants, mine.Visibility)
	}
	if theirs.Grants != nil || theirs.Visibility != parley.VisibilityPrivate || theirs.OwnerID == mine.OwnerID {
		t.Errorf("another's fork: grants %v, %s", theirs.Grants, theirs.Visibility)
	}
}
