package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
)

// asked makes a turn wait for the approval of a call of current_time. session is
// the beginning of a session's JSON, without its end.
func (s *testServer) asked(session string, headers ...string) parley.Approval {
	s.Helper()
	separator := ","
	if strings.TrimSpace(session) == "{" {
		separator = ""
	}
	made := s.session(
		session+separator+`"model":"sim/script","tools":["current_time"],"grants":[{"tool":"current_*",`+
			`"effect":"ask"}]}`,
		headers...)
	messages := "/v1/sessions/" + made.ID.String() + "/messages"
	posted := s.do(
		"POST",
		messages,
		fmt.Sprintf(
			`{"content":{"text":%q}}`,
			`[[{"tool_call":{"name":"current_time","arguments":{"timezone":"UTC"}}}],[{"text":"Thanks."}]]`,
		),
		headers...)
	s.stream("GET", "/v1/sessions/"+made.ID.String()+"/events?after="+posted.header.Get(eventSequenceHeader), "",
		headers...).
		until("session.waiting")
	found := want[page[parley.Approval]](
		s,
		http.StatusOK,
		"GET",
		"/v1/sessions/"+made.ID.String()+"/approvals?status=pending",
		"",
		headers...).Data
	if len(found) != 1 {
		s.Fatalf("%d approvals wait", len(found))
	}
	return found[0]
}

func TestApprovalOverHTTP(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	feed := s.stream("GET", "/v1/events", "")
	feed.until("resync")
	asked := s.asked("{")
	if asked.ToolName != "current_time" || string(asked.Arguments) != `{"timezone":"UTC"}` ||
		asked.Fingerprint.IsZero() ||
		asked.RootID != asked.SessionID {
		t.Errorf("asked %+v", asked)
	}
	told := feed.until("approval.created")
	if data := string(told[len(told)-1].data.Data); !strings.Contains(data, asked.ID.String()) {
		t.Errorf("the feed told %s", data)
	}
	path, events := "/v1/approvals/"+asked.ID.String(), "/v1/sessions/"+asked.SessionID.String()+"/events"
	session := want[parley.Session](s, 200, "GET", "/v1/sessions/"+asked.SessionID.String(), "")
	if session.Status != parley.SessionWaiting || session.WaitReason != parley.WaitApproval {
		t.Errorf("the session is %s for %s", session.Status, session.WaitReason)
	}
	if got := s.do("POST", path, `{"decision":"maybe"}`); got.status != 422 {
		t.Errorf("no decision: %d %s", got.status, got.body)
	}
	if got := s.do("POST", path, `{"decision":"approve","forever":true}`); got.status != 422 {
		t.Errorf("an unknown field: %d %s", got.status, got.body)
	}
	watch := s.stream("GET", fmt.Sprintf("%s?after=%d", events, session.LastEvent), "")
	answered := want[parley.Approval](s, 200, "POST", path, `{"decision":"approve","comment":"go on"}`)
	if answered.State != parley.ApprovalApproved || answered.Scope != parley.ScopeOnce || answered.DecidedBy == nil ||
		answered.Comment != "go on" {
		t.Errorf("answered %+v", answered)
	}
	var types []string
	for _, frame := range watch.until("session.completed") {
		if !strings.HasPrefix(frame.event, "step.") && !strings.HasPrefix(frame.event, "message.") {
			types = append(types, frame.event)
		}
	}
	if got := strings.Join(
		types,
		" ",
	); got != "approval.resolved session.started tool.started tool.completed session.completed" {
		t.Errorf("behind the answer: %s", got)
	}
	for _, again := range []string{`{"decision":"approve","comment":"go on"}`, `{"decision":"deny"}`} {
		got := s.do("POST", path, again)
		if got.status != 409 || !strings.Contains(string(got.body), `"state":"approved"`) {
			t.Errorf("a second answer: %d %s", got.status, got.body)
		}
	}
	if used := want[parley.Approval](s, 200, "GET", path, ""); used.UsedAt == 0 {
		t.Errorf("used %+v", used)
	}
}

func TestApprovalsAreListed(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	first, second := s.asked("{"), s.asked("{")
	want[parley.Approval](s, 200, "POST", "/v1/approvals/"+first.ID.String(), `{"decision":"deny","comment":"no"}`)
	list := func(query string) (ids []parley.ID) {
		for _, a := range want[page[parley.Approval]](s, 200, "GET", "/v1/approvals?"+query, "").Data {
			ids = append(ids, a.ID)
		}
		return ids
	}
	for query, wanted := range map[string][]parley.ID{
		"":                                    {second.ID, first.ID},
		"order=asc":                           {first.ID, second.ID},
		"status=pending":                      {second.ID},
		"status=denied":                       {first.ID},
		"agent=parley&status=pending":         {second.ID},
		"session=" + first.SessionID.String(): {first.ID},
	} {
		if got := list(query); fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("%q lists %v, want %v", query, got, wanted)
		}
	}
	one := want[page[parley.Approval]](s, 200, "GET", "/v1/approvals?limit=1", "")
	if one.Next == nil {
		t.Fatal("there is no next page")
	}
	if rest := want[page[parley.Approval]](
		s,
		200,
		"GET",
		"/v1/approvals?limit=1&cursor="+*one.Next,
		"",
	); len(rest.Data) != 1 || rest.Data[0].ID != first.ID ||
		rest.Next != nil {
		t.Errorf("the next page is %+v", rest)
	}
	if got := s.do("GET", "/v1/approvals?status=perhaps", ""); got.status != 422 {
		t.Errorf("a state that is none: %d", got.status)
	}
}

// TestCancelSettlesAnApproval (failure 48): no answer is 200 behind it.
func TestCancelSettlesAnApproval(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	asked := s.asked("{")
	session := "/v1/sessions/" + asked.SessionID.String()
	if got := s.do("POST", session+"/cancel", ""); got.status != 200 {
		t.Fatalf("the cancel: %d %s", got.status, got.body)
	}
	got := s.do("POST", "/v1/approvals/"+asked.ID.String(), `{"decision":"approve"}`)
	if got.status != 409 || !strings.Contains(string(got.body), `"state":"cancelled"`) {
		t.Errorf("an answer behind the cancel: %d %s", got.status, got.body)
	}
	s.told(asked.SessionID.String(), `{"content":{"text":"[[{\"text\":\"Fine.\"}]]"}}`)
}

// TestAskUserOverHTTP: the question waits as input and its answer is a tool_result.
func TestAskUserOverHTTP(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/script","tools":["ask_user"]}`).ID.String()
	messages := "/v1/sessions/" + session + "/messages"
	posted := s.do(
		"POST",
		messages,
		fmt.Sprintf(
			`{"content":{"text":%q}}`,
			`[[{"tool_call":{"name":"ask_user","arguments":{"question":"Which?","options":["a","b"]}}}],`+
				`[{"text":"Thanks."}]]`,
		),
	)
	s.stream("GET", "/v1/sessions/"+session+"/events?after="+posted.header.Get(eventSequenceHeader), "").
		until("session.waiting")
	if waits := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, ""); waits.WaitReason != parley.WaitInput {
		t.Errorf("the session waits for %s", waits.WaitReason)
	}
	call := want[page[parley.Message]](s, 200, "GET", messages+"?role=tool_call", "").Data[0]
	all := s.stream("POST", messages,
		fmt.Sprintf(`{"role":"tool_result","tool_call_id":%q,"content":{"result":"b","success":true}}`,
			call.ToolCallID)).
		rest()
	if last := all[len(all)-1].event; last != "session.completed" {
		t.Errorf("the answer's stream ends with %s", last)
	}
}
