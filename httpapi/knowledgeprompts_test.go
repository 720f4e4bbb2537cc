package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
)

// played plays a script in a session, waits for its end and explains the turn's last call.
func (s *testServer) played(at string, steps []string, headers ...string) explainedCall {
	s.Helper()
	body := fmt.Sprintf(`{"content":{"text":%q}}`, "[["+strings.Join(steps, "],[")+"]]")
	s.stream("POST", at+"/messages", body, headers...).until("session.completed")
	call := s.latestCall(at, headers...)
	if !call.Exact {
		s.Errorf("the request cannot be made again: %s", call.Request)
	}
	return call
}

// says is a step of a script that says something.
func says(text string) string { return fmt.Sprintf(`{"text":%q}`, text) }

// foreground returns the path of a person's session with an agent.
func (s *testServer) foreground(agent string, headers ...string) string {
	s.Helper()
	return "/v1/sessions/" + want[parley.Session](
		s, http.StatusCreated, "PUT", "/v1/agents/"+agent+"/foreground", "", headers...).ID.String()
}

// remembered has an agent note something in its background session, and returns the item.
func (s *testServer) remembered(at string, arguments map[string]string, headers ...string) parley.KnowledgeItem {
	s.Helper()
	s.played(at, []string{call("remember", arguments), says("Noted.")}, headers...)
	for _, item := range want[page[parley.KnowledgeItem]](s, 200, "GET", "/v1/knowledge", "", headers...).Data {
		if item.Text == arguments["text"] {
			return item
		}
	}
	s.Fatalf("nobody noted %q", arguments["text"])
	return parley.KnowledgeItem{}
}

// TestTheBlockOfKnowledgeIsChosenAnewWhenTheWindowMoves: until then the system prompt stays the same, byte for byte,
// and one context note tells what is newer. Afterwards the block has it, and no note is shown that repeats it.
func TestTheBlockOfKnowledgeIsChosenAnewWhenTheWindowMoves(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.member(`{"name":"Digger","model":"sim/script","system_prompt":"You dig.",` +
		`"context_policy":{"kind":"recent","limit":4}}`)
	at := s.foreground("digger")
	know := func(text string) {
		t.Helper()
		want[parley.KnowledgeItem](s, 201, "POST", "/v1/knowledge", `{"agent_id":"digger","text":"`+text+`"}`)
	}
	turn := func(n int) explainedCall {
		t.Helper()
		return s.played(at, []string{says(fmt.Sprintf("Answer %d.", n))})
	}
	know("The north has gold.")
	first := turn(1)
	if !strings.Contains(first.System, "gold") {
		t.Fatalf("the first block is %q", first.System)
	}
	know("The south has silver.")
	const most = 12
	for n := 2; ; n++ {
		next := turn(n)
		shown, told := string(next.Request), strings.Count(string(next.Request), "silver")
		if n == most {
			t.Fatalf("after %d turns the window has not moved: %s", n, shown)
		}
		if moved := !strings.Contains(shown, "Answer 2."); moved == (next.System == first.System) {
			t.Fatalf("in turn %d the window has moved: %t; the system prompt is %q", n, moved, next.System)
		}
		if told != 1 {
			t.Errorf("the request of turn %d tells the news %d times: %s", n, told, shown)
		}
		if next.System == first.System {
			continue
		}
		if !strings.Contains(next.System, "silver") || !strings.Contains(next.System, "gold") ||
			len(next.Knowledge) != 2 {
			t.Errorf("the block of turn %d names %+v: %q", n, next.Knowledge, next.System)
		}
		if after := turn(n + 1); after.System != next.System {
			t.Errorf("the next block is %q, though the window has not moved again", after.System)
		}
		break
	}
	noted := 0
	for _, m := range s.recordOf(at) {
		noted += strings.Count(m.ContextNote, "silver")
	}
	if noted != 1 {
		t.Errorf("%d context notes tell the news", noted)
	}
}

// TestAProcedureIsUsedOnceApproved: neither prompts nor searches know a procedure that an agent noted, until a person
// approves it. Then they do, and the explanation of a call names it with the message that it comes from.
func TestAProcedureIsUsedOnceApproved(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":false}`)
	const procedure = "Knock twice, then wait."
	noted := s.remembered(s.background(agent), map[string]string{"text": procedure, "kind": "procedure"})
	if noted.ApprovedAt != 0 || len(noted.Sources) != 1 {
		t.Fatalf("noted: %+v", noted)
	}
	at := s.foreground("digger")
	search := []string{call("search_knowledge", map[string]string{"query": "knock"}), says("Done.")}
	if before := s.played(at, search); strings.Contains(string(before.Request), procedure) {
		t.Errorf("before anybody approved it, the request is %s", before.Request)
	}
	want[parley.KnowledgeItem](s, 200, "PATCH", "/v1/knowledge/"+noted.ID.String(), `{"approved":true}`)
	search[1] = says("Done again.")
	s.played(at, search)
	told, found := 0, 0
	for _, m := range s.recordOf(at) {
		told += strings.Count(m.ContextNote, procedure)
		if m.Role == parley.RoleToolResult && strings.Contains(string(m.Content), procedure) {
			found++
		}
	}
	if told != 1 || found != 1 {
		t.Errorf("%d of two messages were told of the procedure, %d of two searches found it", told, found)
	}
	other := s.session(`{"agent_id":"digger","knowledge_tokens":1000}`)
	explained := s.played("/v1/sessions/"+other.ID.String(), []string{says("Hello.")})
	if len(explained.Knowledge) != 1 || explained.Knowledge[0].ItemID != noted.ID ||
		explained.Knowledge[0].Kind != parley.KnowledgeProcedure ||
		len(explained.Knowledge[0].Sources) != 1 || explained.Knowledge[0].Sources[0] != noted.Sources[0] {
		t.Errorf("the explanation names %+v, which comes from %+v", explained.Knowledge, noted.Sources)
	}
	if !strings.Contains(explained.System, procedure) {
		t.Errorf("the system prompt is %q", explained.System)
	}
}

// TestPromptsKnowWhatTheirOwnerMayRead: others who talk with an agent are told what it noted in a session that they may
// read, and no more from the turn after that session became private again.
func TestPromptsKnowWhatTheirOwnerMayRead(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner, other := s.key("one", "ada", parley.RoleMember), s.key("one", "bob", parley.RoleMember)
	agent := s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":false}`, "Authorization", owner)
	work := s.background(agent)
	const secret = "The key lies under the stone."
	s.remembered(work, map[string]string{"text": secret}, "Authorization", owner)
	share := func(visibility parley.Visibility) {
		t.Helper()
		want[parley.Session](s, 200, "PATCH", work, `{"visibility":"`+string(visibility)+`"}`, "Authorization", owner)
	}
	mine, theirs := s.foreground("digger", "Authorization", owner), s.foreground("digger", "Authorization", other)
	for i, shared := range []bool{false, true, false} {
		if shared {
			share(parley.VisibilityWorkspace)
		} else {
			share(parley.VisibilityPrivate)
		}
		greeting := []string{says(fmt.Sprintf("Hello %d.", i))}
		if told := s.played(mine, greeting, "Authorization", owner); !strings.Contains(told.System, secret) {
			t.Errorf("the owner's system prompt is %q", told.System)
		}
		told := string(s.played(theirs, greeting, "Authorization", other).Request)
		if strings.Contains(told, secret) != shared {
			t.Errorf("with a shared source %t, the other's request is %s", shared, told)
		}
	}
}

// TestWhatCameFromADeletedSessionIsGone: neither prompts nor people find it any more.
func TestWhatCameFromADeletedSessionIsGone(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":false}`)
	source := s.foreground("digger")
	const text = "The gate opens at nine."
	item := s.remembered(source, map[string]string{"text": text})
	other := s.session(`{"agent_id":"digger","knowledge_tokens":1000}`)
	at := "/v1/sessions/" + other.ID.String()
	if told := s.played(at, []string{says("Hello.")}); !strings.Contains(told.System, text) {
		t.Fatalf("before, the system prompt is %q", told.System)
	}
	if got := s.do("DELETE", source, ""); got.status != http.StatusNoContent {
		t.Fatalf("DELETE: status %d", got.status)
	}
	told := s.played(at, []string{says("Hello again.")})
	if strings.Contains(string(told.Request), text) || len(told.Knowledge) != 0 {
		t.Errorf("afterwards the request is %s", told.Request)
	}
	want[Problem](s, 404, "GET", "/v1/knowledge/"+item.ID.String(), "")
	if left := want[page[parley.KnowledgeItem]](s, 200, "GET", "/v1/knowledge", "").Data; len(left) != 0 {
		t.Errorf("people still find %+v", left)
	}
}
