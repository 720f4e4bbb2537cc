package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// openMessage opens a message as an agent outside does.
func (s *testServer) openMessage(session, more string, headers ...string) parley.Message {
	s.Helper()
	return want[parley.Message](
		s,
		http.StatusCreated,
		"POST",
		"/v1/sessions/"+session+"/messages",
		`{"role":"assistant","status":"streaming"`+more+`}`,
		headers...)
}

func (s *testServer) grow(message parley.ID, body string) parley.OutsideGrown {
	s.Helper()
	return want[parley.OutsideGrown](s, http.StatusOK, "POST", "/v1/messages/"+message.String()+"/append", body)
}

// A message that an outside agent streams is watched, read, folded and counted like any other.
func TestOutsideMessageIsWatchedLikeAnyOther(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"title":"Crawler"}`).ID.String()
	watcher := s.stream("GET", "/v1/sessions/"+session+"/events?flush_ms=0", "")
	m := s.openMessage(session, `,"model":"outside/crawler-2","agent_type":"crawler","metadata":{"run":7}`)
	if m.Status != parley.MessageStreaming || m.Sequence != 1 || m.Model != "outside/crawler-2" ||
		m.AgentType != "crawler" ||
		m.TurnID.IsZero() {
		t.Errorf("opened %+v", m)
	}
	seen := watcher.until("session.waiting")
	s.grow(m.ID, `{"offset":0,"reasoning":"Where to begin?"}`)
	s.grow(m.ID, `{"offset":0,"text":"Grüße, "}`)
	seen = append(seen, watcher.until("step.generating")...)
	late := s.stream("GET", "/v1/sessions/"+session+"/events?flush_ms=0&after="+s.lastEvent(session), "")
	if got := s.grow(
		m.ID,
		`{"offset":9,"text":"one page is broken."}`,
	); got.Text != 28 || got.Reasoning != 15 || got.MessageID != m.ID ||
		got.DueAt == 0 {
		t.Errorf("grown %+v", got)
	}
	again := s.grow(m.ID, `{"offset":9,"text":"one page is broken."}`)
	if again.Text != 28 {
		t.Errorf("a repeated append: %+v", again)
	}
	transcript := want[page[engine.Entry]](s, 200, "GET", "/v1/sessions/"+session+"/messages?view=transcript", "")
	if len(transcript.Data) != 1 || transcript.Data[0].Status != parley.MessageStreaming {
		t.Errorf("the transcript while it streams: %+v", transcript.Data)
	}
	settled := want[engine.OutsideResult](
		s,
		http.StatusOK,
		"POST",
		"/v1/messages/"+m.ID.String()+"/settle",
		`{"status":"completed","usage":{"input_tokens":120,"output_tokens":9},"tool_calls":[{"id":"c1",`+
			`"name":"crawl","arguments":{"url":"/"}}]}`,
	)
	if settled.Message.Status != parley.MessageCompleted || settled.Turn.Status != parley.TurnCompleted ||
		len(settled.ToolCalls) != 1 ||
		settled.Message.ContentHash.IsZero() {
		t.Errorf("settled %+v", settled)
	}
	const text = "Grüße, one page is broken."
	seen = append(seen, watcher.until("session.completed")...)
	if got := textOf(t, seen); got != text {
		t.Errorf("the watcher saw %q", got)
	}
	if got := textOf(t, late.until("session.completed")); got != text {
		t.Errorf("who came later saw %q", got)
	}
	var kinds []string
	for _, f := range seen {
		if f.event != "step.generating" && f.event != "" {
			kinds = append(kinds, f.event)
		}
	}
	if got, want := strings.Join(
		kinds,
		" ",
	), "session.started message.created step.started session.waiting step.generated message.created "+
		"session.completed"; got != want {
		t.Errorf("events %s; want %s", got, want)
	}
	versions := want[page[parley.Version]](s, 200, "GET", "/v1/messages/"+m.ID.String()+"/versions", "").Data
	if len(versions) != 3 || versions[0].Kind != parley.KindReasoning || versions[2].Text != "one page is broken." {
		t.Errorf("versions %+v", versions)
	}
	after := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "")
	if st := after.Statistics; st.InputTokens != 120 || st.OutputTokens != 9 || st.Messages != 2 || st.Unpriced != 1 ||
		after.Status != parley.SessionCompleted {
		t.Errorf("statistics %+v, %s", st, after.Status)
	}
	result := s.do(
		"POST",
		"/v1/sessions/"+session+"/messages",
		`{"role":"tool_result","tool_call_id":"c1","content":{"result":{"broken":1}}}`,
	)
	if result.status != http.StatusCreated {
		t.Errorf("its result: status %d: %s", result.status, result.body)
	}
}

// late watchers of a message that nobody watched before read it in the store.
func TestOutsideMessageIsFoundByLateWatchers(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	m := s.openMessage(session, "")
	s.grow(m.ID, `{"offset":0,"text":"Long "}`)
	s.grow(m.ID, `{"offset":5,"text":"before."}`)
	watcher := s.stream("GET", "/v1/sessions/"+session+"/events?flush_ms=0", "")
	seen := watcher.until("step.generating")
	for textOf(t, seen) != "Long before." {
		seen = append(seen, watcher.until("step.generating")...)
	}
	s.do("POST", "/v1/messages/"+m.ID.String()+"/settle", `{"status":"cancelled"}`)
	end := watcher.until("session.cancelled")
	if end[len(end)-2].event != "step.error" {
		t.Errorf("settled with %s", end[len(end)-2].event)
	}
}

func TestOutsideAppendsInTheWrongPlace(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	m := s.openMessage(session, "")
	at := "/v1/messages/" + m.ID.String()
	s.grow(m.ID, `{"offset":0,"text":"abc"}`)
	for _, body := range []string{`{"offset":5,"text":"x"}`, `{"offset":1,"text":"zz"}`} {
		got := s.do("POST", at+"/append", body)
		if p := got.problem(t); got.status != http.StatusConflict || p.End == nil || *p.End != 3 {
			t.Errorf("%s: %s", body, got.body)
		}
	}
	for _, body := range []string{`{"offset":3}`, `{"offset":3,"text":"a","reasoning":"b"}`, `{"text":"a"}`,
		`{"offset":-1,"text":"a"}`, `{"offset":3,"text":"a\u0000"}`, `{"offset":3,"arguments":"{}"}`} {
		if got := s.do("POST", at+"/append", body); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d: %s", body, got.status, got.body)
		}
	}
	for _, body := range []string{`{}`, `{"status":"queued"}`, `{"status":"completed","error":{"sentence":"x"}}`,
		`{"status":"failed","tool_calls":[{"id":"c","name":"n","arguments":{}}]}`,
		`{"status":"completed","content":{"text":"ab"}}`, `{"status":"completed","content":{"texts":"abc"}}`,
		`{"status":"failed","error":{"class":"odd"}}`, `{"status":"completed","usage":{"input_tokens":-1}}`,
		`{"status":"completed","usage":{"input_tokens":4611686018427387904,"output_tokens":4611686018427387904}}`,
		`{"status":"completed","tool_calls":[{"id":"c"}]}`} {
		if got := s.do("POST", at+"/settle", body); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d: %s", body, got.status, got.body)
		}
	}
	messages := "/v1/sessions/" + session + "/messages"
	if got := s.do(
		"POST",
		messages,
		`{"role":"assistant","status":"streaming"}`,
	); got.status != http.StatusConflict ||
		got.problem(t).Code != parley.CodeBusy {
		t.Errorf("a second one: status %d: %s", got.status, got.body)
	}
	other := "/v1/sessions/" + s.session(`{}`).ID.String() + "/messages"
	for _, body := range []string{`{"status":"streaming","content":{"text":"x"}}`,
		`{"role":"assistant","status":"completed","content":{"text":"x"}}`,
		`{"role":"assistant","status":"streaming","content":{"text":"x"}}`,
		`{"role":"assistant","status":"streaming","timeout":7200}`,
		`{"role":"assistant","timeout":3,"content":{"text":"x"}}`,
		`{"role":"assistant","status":"streaming","temperature":1}`,
		`{"role":"assistant","status":"streaming","internal":true}`, `{"role":"tool_call","status":"streaming"}`} {
		if got := s.do("POST", other, body); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d: %s", body, got.status, got.body)
		}
	}
	failed := want[engine.OutsideResult](
		s,
		200,
		"POST",
		at+"/settle",
		`{"status":"failed","error":{"class":"network","sentence":"The line broke."}}`,
	)
	if f := failed.Message.Error; f == nil || f.Class != parley.ClassNetwork || f.Sentence != "The line broke." ||
		failed.Turn.Status != parley.TurnFailed {
		t.Errorf("failed %+v", failed)
	}
	got := s.do("POST", at+"/append", `{"offset":3,"text":"d"}`)
	if p := got.problem(t); p.State == nil || *p.State != "failed" {
		t.Errorf("behind the settle: %s", got.body)
	}
	if got := s.do("POST", "/v1/turns/"+failed.Turn.ID.String()+"/retry", ""); got.status != http.StatusConflict {
		t.Errorf("retrying it: status %d: %s", got.status, got.body)
	}
}

// A post that opens a message is safe to repeat, and can be answered with the message's stream.
func TestOutsideMessageIsOpenedOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	first := s.openMessage(session, "", idempotencyHeader, "one")
	if again := s.openMessage(session, "", idempotencyHeader, "one"); again.ID != first.ID {
		t.Errorf("the key opened another message: %s and %s", first.ID, again.ID)
	}
	stream := s.stream(
		"POST",
		"/v1/sessions/"+session+"/messages?flush_ms=0",
		`{"role":"assistant","status":"streaming"}`,
		idempotencyHeader,
		"one",
	)
	s.grow(first.ID, `{"offset":0,"text":"Hello"}`)
	seen := stream.until("step.generating")
	if got := want[engine.CancelResult](
		s,
		200,
		"POST",
		"/v1/sessions/"+session+"/cancel",
		"",
	); len(got.Settled) != 1 ||
		got.Settled[0] != first.ID {
		t.Errorf("cancelled %+v", got)
	}
	if got := textOf(t, append(seen, stream.rest()...)); got != "Hello" {
		t.Errorf("streamed %q", got)
	}
	created := want[parley.Session](
		s,
		http.StatusCreated,
		"POST",
		"/v1/sessions",
		`{"message":{"role":"assistant","status":"streaming"}}`,
	)
	if created.Status != parley.SessionWaiting || created.WaitReason != parley.WaitOutside {
		t.Errorf("a session that begins with one is %s for %q", created.Status, created.WaitReason)
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	developer, qa := s.session(`{"title":"dev"}`).ID.String(), s.session(`{"title":"qa"}`).ID.String()
	at := "/v1/sessions/" + developer + "/shares"
	made := want[parley.Share](s, http.StatusCreated, "PUT", at+"/"+qa, "")
	if kept := want[parley.Share](s, http.StatusOK, "PUT", at+"/"+qa, ""); kept != made || made.SharedBy.Name == "" {
		t.Errorf("made %+v, then %+v", made, kept)
	}
	for path, n := range map[string]int{at: 1, at + "?direction=out": 1, at + "?direction=in": 0,
		"/v1/sessions/" + qa + "/shares?direction=in": 1, "/v1/sessions/" + qa + "/shares": 0} {
		if got := want[page[parley.Share]](s, 200, "GET", path, ""); len(got.Data) != n {
			t.Errorf("%s: %+v", path, got.Data)
		}
	}
	for path, status := range map[string]int{at + "/" + developer: 422, at + "/" + parley.NewID().String(): 404} {
		if got := s.do("PUT", path, ""); got.status != status {
			t.Errorf("PUT %s: status %d: %s", path, got.status, got.body)
		}
	}
	if got := s.do("GET", at+"?direction=both", ""); got.status != 422 {
		t.Errorf("another direction: status %d", got.status)
	}
	stranger := s.key(parley.DefaultWorkspace, "stranger", parley.RoleMember)
	theirs := s.session(`{}`, "Authorization", stranger).ID.String()
	for _, path := range []string{at + "/" + theirs, "/v1/sessions/" + theirs + "/shares/" + developer} {
		if got := s.do("PUT", path, "", "Authorization", stranger); got.status != 404 {
			t.Errorf("a member shares what it may not see (%s): status %d", path, got.status)
		}
	}
	bearer := "Bearer " + testToken
	if got := s.do("DELETE", at+"/"+qa, "", "Authorization", bearer); got.status != 204 {
		t.Errorf("ending it: status %d: %s", got.status, got.body)
	}
	if got := s.do("DELETE", at+"/"+qa, "", "Authorization", bearer); got.status != 404 {
		t.Errorf("ending it again: status %d", got.status)
	}
	s.do("PUT", at+"/"+qa, "", "Authorization", bearer)
	s.do("DELETE", "/v1/sessions/"+qa, "", "Authorization", bearer)
	if got := want[page[parley.Share]](s, 200, "GET", at, "", "Authorization", bearer); len(got.Data) != 0 {
		t.Errorf("a share outlives its reader: %+v", got.Data)
	}
	actions := map[string]int{}
	for _, entry := range s.auditOf(qa) {
		actions[entry.Action]++
	}
	if actions["shareSession"] != 3 || actions["unshareSession"] != 1 {
		t.Errorf("the audit of the reader: %v", fmt.Sprint(actions))
	}
}

// TestWhatAnAgentOutsidePostsIsChecked: a complete message may name its model, two open calls cannot share an id, and
// an execution time cannot be negative.
func TestWhatAnAgentOutsidePostsIsChecked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	at := "/v1/sessions/" + session + "/messages"
	said := want[parley.Message](s, 201, "POST", at,
		`{"role":"assistant","content":{"text":"Done."},"model":"outside/crawler-2"}`)
	read := want[parley.Message](s, 200, "GET", "/v1/messages/"+said.ID.String(), "")
	if said.Model != "outside/crawler-2" || read.Model != said.Model {
		t.Errorf("the model is %q, read as %q", said.Model, read.Model)
	}
	const call = `{"role":"tool_call","content":{"id":"c1","name":"crawl","arguments":{}}}`
	result := func(ms string) string {
		return `{"role":"tool_result","tool_call_id":"c1","content":{"result":1,"execution_time_ms":` + ms + `}}`
	}
	open := s.openMessage(session, "")
	for _, c := range []struct {
		path, body string
		status     int
		field      string
	}{
		{"/v1/messages/" + open.ID.String() + "/settle", `{"status":"completed","tool_calls":[
			{"id":"d","name":"n","arguments":{}},{"id":"d","name":"n","arguments":{}}]}`, 422, "tool_calls"},
		{"/v1/messages/" + open.ID.String() + "/settle", `{"status":"completed"}`, 200, ""},
		{at, call, 201, ""},
		{at, call, 422, "content.id"},
		{at, result("-5"), 422, "content.execution_time_ms"},
		{at, result("5"), 201, ""},
		{at, call, 201, ""}, // providers number their calls anew with each answer
		{at, `{"role":"assistant","content":{"text":"x"},"temperature":1}`, 422, "model"},
		{at, `{"role":"tool_result","tool_call_id":"c1","content":{"result":1},"model":"x/y"}`, 422, "model"},
	} {
		got := s.do("POST", c.path, c.body)
		if got.status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.body, got.status, c.status, got.body)
			continue
		}
		if c.field != "" && !strings.Contains(string(got.body), `"field":"`+c.field+`"`) {
			t.Errorf("%s: %s", c.body, got.body)
		}
	}
	again := s.openMessage(session, "")
	got := s.do("POST", "/v1/messages/"+again.ID.String()+"/settle",
		`{"status":"completed","tool_calls":[{"id":"c1","name":"n","arguments":{}}]}`)
	if got.status != 422 {
		t.Errorf("a settled message repeats an open call: %d %s", got.status, got.body)
	}
}
