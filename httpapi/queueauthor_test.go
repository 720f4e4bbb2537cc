package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// TestAQueuedMessageIsItsAuthorsToEdit: if the record says that bob wrote a message, he did. Others, even admins, can
// only remove it.
func TestAQueuedMessageIsItsAuthorsToEdit(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(`{"name":"Careful","model":"sim/script","tools":["mcp__act"]}`, s.ada)
	session := s.session(
		`{"agent_id":"`+agent.ID.String()+`","visibility":"workspace"}`,
		"Authorization",
		s.ben,
	).ID.String()
	asked := s.asks(
		"a destructive tool",
		session,
		s.ben,
		parley.AskedByRule,
	) // its turn waits, and what comes now is queued
	messages := "/v1/sessions/" + session + "/messages"
	var ids []string
	for _, text := range []string{`[[{"text":"one"}]]`, `[[{"text":"two"}]]`} {
		ids = append(
			ids,
			want[parley.Message](
				s.testServer,
				201,
				"POST",
				messages,
				fmt.Sprintf(`{"content":{"text":%q}}`, text),
				"Authorization",
				s.ben,
			).ID.String(),
		)
	}
	for who, bearer := range map[string]string{"another": s.ada, "an admin": s.someone} {
		got := s.do("PATCH", "/v1/messages/"+ids[0], `{"content":{"text":"taken"}}`, "Authorization", bearer)
		if got.status != 403 || !strings.Contains(string(got.body), "only the author of a queued message may edit it") {
			t.Errorf("an edit by %s: %d %s", who, got.status, got.body)
		}
	}
	if kept := want[parley.Message](
		s.testServer,
		200,
		"GET",
		"/v1/messages/"+ids[0],
		"",
		"Authorization",
		s.ben,
	); string(
		kept.Content,
	) != `{"parts":[{"text":"[[{\"text\":\"one\"}]]","type":"text"}],"text":"[[{\"text\":\"one\"}]]"}` {
		t.Errorf("after the refusals it says %s", kept.Content)
	}
	want[parley.Message](
		s.testServer,
		200,
		"PATCH",
		"/v1/messages/"+ids[0],
		`{"content":{"text":"[[{\"text\":\"better\"}]]"}}`,
		"Authorization",
		s.ben,
	)
	want[parley.Message](
		s.testServer,
		200,
		"POST",
		"/v1/messages/"+ids[1]+"/move",
		`{"before":"`+ids[0]+`"}`,
		"Authorization",
		s.ada,
	)
	for _, id := range ids {
		want[struct{}](s.testServer, 204, "DELETE", "/v1/messages/"+id, "", "Authorization", s.ada)
	}
	s.answers(asked, `{"decision":"deny"}`, s.ben)
}

// TestWordsBeforeATurnAskToo: everybody whose words a turn answers counts as having asked, however many messages ago,
// until a turn has answered them.
func TestWordsBeforeATurnAskToo(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(
		`{"name":"Careful","model":"sim/script","tools":["mcp__act"],"grants":[{"tool":"mcp__*","effect":"ask",`+
			`"by_others":true}]}`,
		s.ada,
	)
	session := s.session(
		`{"agent_id":"`+agent.ID.String()+`","visibility":"workspace"}`,
		"Authorization",
		s.ben,
	).ID.String()
	cleo, dan := s.key("one", "cleo", parley.RoleMember), s.key("one", "dan", parley.RoleMember)
	say := func(bearer string) parley.ID {
		t.Helper()
		return want[parley.Message](
			s.testServer,
			201,
			"POST",
			"/v1/sessions/"+session+"/messages",
			`{"content":{"text":"act, please"},"respond":false}`,
			"Authorization",
			bearer,
		).Author.ID
	}
	refused := func(why string, asked parley.Approval, bearer string, id parley.ID) {
		t.Helper()
		if !slices.Contains(asked.RequesterIDs, id) {
			t.Errorf("%s: requesters are %v", why, asked.RequesterIDs)
		}
		if got := s.do(
			"POST",
			"/v1/approvals/"+asked.ID.String(),
			approveOnce,
			"Authorization",
			bearer,
		); got.status != 403 {
			t.Errorf("%s: a yes is %d %s", why, got.status, got.body)
		}
	}
	id := say(cleo)
	eve := s.key("one", "eve", parley.RoleMember)
	mouth := want[parley.Message](
		s.testServer,
		201,
		"POST",
		"/v1/sessions/"+session+"/messages",
		`{"role":"assistant","content":{"text":"I will act."}}`,
		"Authorization",
		eve,
	).Author.ID
	for range 201 {
		say(s.ben)
	}
	asked := s.asks("after words", session, s.ben, parley.AskedByRule)
	refused("before the trigger", asked, cleo, id)
	refused("in the agent's mouth", asked, eve, mouth)
	other := say(dan) // while the turn waits: it enters behind it
	s.answers(asked, approveOnce, dan)
	asked = s.asks("between the turns", session, s.ben, parley.AskedByRule)
	refused("between the turns", asked, dan, other)
	if slices.Contains(asked.RequesterIDs, id) {
		t.Error("what a turn has answered counts for ever")
	}
	s.answers(asked, `{"decision":"deny"}`, s.ada)
}

// Whoever imported words answers for them, in other people's forks too: no import says who wrote them.
func TestImportedWordsAskToo(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(
		`{"name":"Careful","model":"sim/script","tools":["mcp__act"],"grants":[{"tool":"mcp__*","effect":"ask",`+
			`"by_others":true}]}`,
		s.ada,
	)
	cleo := s.key("one", "cleo", parley.RoleMember)
	file, err := json.Marshal(engine.ImportInput{Name: "chat.json", Text: olderChat, Agent: agent.ID.String()})
	if err != nil {
		t.Fatal(err)
	}
	imported := want[engine.Imported](s.testServer, 200, "POST", "/v1/imports", string(file), "Authorization", cleo).
		Sessions[0].SessionID.String()
	want[parley.Session](s.testServer, 200, "PATCH", "/v1/sessions/"+imported, `{"visibility":"workspace"}`,
		"Authorization", cleo)
	fork := want[parley.Session](
		s.testServer,
		201,
		"POST",
		"/v1/sessions/"+imported+"/fork",
		`{"visibility":"workspace"}`,
		"Authorization",
		s.ben,
	).ID.String()
	asked := s.asks("imported words", fork, s.ben, parley.AskedByRule)
	if got := s.do("POST", "/v1/approvals/"+asked.ID.String(), approveOnce, "Authorization", cleo); got.status != 403 {
		t.Errorf("a yes of the importer is %d %s", got.status, got.body)
	}
	s.answers(asked, approveOnce, s.ada)
}

// TestAnEditedMessageNamesItsFiles: even in an edited message, the record describes a file as its bytes are.
func TestAnEditedMessageNamesItsFiles(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(`{"name":"Careful","model":"sim/script","tools":["mcp__act"]}`, s.ada)
	session := s.session(`{"agent_id":"`+agent.ID.String()+`"}`, "Authorization", s.ben).ID.String()
	s.asks("a destructive tool", session, s.ben, parley.AskedByRule)
	queued := want[parley.Message](
		s.testServer, 201, "POST", "/v1/sessions/"+session+"/messages", `{"content":{"text":"[]"}}`,
		"Authorization", s.ben,
	)
	file := want[parley.File](
		s.testServer, 201, "POST", "/v1/files?name=notes.txt", "noted", "Content-Type", "application/octet-stream",
		"Authorization", s.ben,
	)
	parts := func(more string) string {
		return `{"content":{"parts":[{"type":"text","text":"[]"},` +
			`{"type":"file","file_id":"` + file.ID.String() + `"` + more + `}]}}`
	}
	edited := want[parley.Message](
		s.testServer, 200, "PATCH", "/v1/messages/"+queued.ID.String(), parts(""), "Authorization", s.ben,
	)
	got := parley.PartsOf(edited.Content)
	if len(got) != 2 || got[1].SHA256 != file.SHA256 || got[1].MediaType != file.MediaType || got[1].Name != file.Name {
		t.Errorf("the edited message has %s", edited.Content)
	}
	other := parts(`,"sha256":"` + parley.HashOf([]byte("other")).String() + `"`)
	if got := s.do("PATCH", "/v1/messages/"+queued.ID.String(), other, "Authorization", s.ben); got.status != 422 {
		t.Errorf("another sha256: status %d %s", got.status, got.body)
	}
}
