package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"example.org/parley"
)

// events of a finished turn, by a watcher from the first on.
func (s *testServer) finished(session string) []frame {
	s.Helper()
	watch := s.stream("GET", "/v1/sessions/"+session+"/events", "")
	all := watch.until("session.completed")
	_ = watch.body.Close()
	return slices.DeleteFunc(all, func(f frame) bool { return f.id == "" })
}

func TestWatchResumesWhereToldTo(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"message":{"content":{"text":"Hello"}}}`).ID.String()
	all := s.finished(session)
	path := "/v1/sessions/" + session + "/events"
	for n := 1; n < len(all); n++ {
		for _, c := range []struct{ query, header string }{{"?after=" + all[n-1].id, ""}, {"", all[n-1].id},
			{"?after=1", all[n-1].id}} {
			var headers []string
			if c.header != "" {
				headers = []string{"Last-Event-ID", c.header}
			}
			watch := s.stream("GET", path+c.query, "", headers...)
			first, err := watch.next()
			if err != nil || first.id != all[n].id || first.event != all[n].event {
				t.Errorf("after %+v: %+v %v, want event %s", c, first, err, all[n].id)
			}
			if string(first.data.Data) != string(all[n].data.Data) {
				t.Errorf("event %s differs in replay: %s, before %s", first.id, first.data.Data, all[n].data.Data)
			}
			_ = watch.body.Close()
		}
	}
	beyond := strconv.Itoa(len(all) + 100)
	for _, place := range [][]string{{"Last-Event-ID", "elsewhere"}, {"Last-Event-ID", "-4"},
		{"Last-Event-ID", beyond}} {
		watch := s.stream("GET", path, "", place...)
		first, err := watch.next()
		if err != nil || first.event != "resync" || first.id != "" || first.data.SessionID.String() != session {
			t.Errorf("%v: %+v %v, want resync without id", place, first, err)
		}
		posted := s.do("POST", "/v1/sessions/"+session+"/messages", `{"content":{"text":"More"}}`)
		if posted.status != http.StatusCreated {
			t.Fatalf("status %d: %s", posted.status, posted.body)
		}
		if live, err := watch.next(); err != nil || live.id == "" ||
			live.id <= posted.header.Get(eventSequenceHeader) &&
				len(live.id) <= len(posted.header.Get(eventSequenceHeader)) {
			t.Errorf("%v: after resync %+v %v, want what is new", place, live, err)
		}
		watch.until("session.completed")
		_ = watch.body.Close()
	}
}

// A watcher that leaves every few frames ends with the text of the record, and
// the turn takes no notice.
func TestWatcherThatKeepsLeaving(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/lorem-120-2","message":{"content":{"text":"Go"}}}`).ID.String()
	last, ids := "0", []string{}
	var all []frame
	for done := false; !done; {
		watch := s.stream("GET", "/v1/sessions/"+session+"/events?flush_ms=0", "", "Last-Event-ID", last)
		for range 4 {
			f, err := watch.next()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, f)
			if f.id != "" {
				last = f.id
				ids = append(ids, f.id)
			}
			if done = f.event == "session.completed"; done {
				break
			}
		}
		_ = watch.body.Close()
	}
	for i, id := range ids {
		if id != strconv.Itoa(i+1) {
			t.Fatalf("events %v: a gap or a repeat", ids)
		}
	}
	messages := want[page[parley.Message]](s, http.StatusOK, "GET", "/v1/sessions/"+session+"/messages", "")
	var content parley.AssistantContent
	if err := json.Unmarshal(messages.Data[1].Content, &content); err != nil {
		t.Fatal(err)
	}
	before := slices.IndexFunc(all, func(f frame) bool { return f.event == "step.generated" })
	text := textOf(t, all[:before])
	if len(text) > len(content.Text) || text != content.Text[:len(text)] {
		t.Errorf("deltas give %q, the record %q", text, content.Text)
	}
	var settled struct {
		Messages []struct{ Content parley.AssistantContent }
	}
	if err := json.Unmarshal(
		all[before].data.Data,
		&settled,
	); err != nil ||
		settled.Messages[0].Content.Text != content.Text {
		t.Errorf("settle event %s: %v, want the record's text", all[before].data.Data, err)
	}
}

func TestClosingTheStreamCancelsNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/lorem-60-5"}`).ID.String()
	stream := s.stream("POST", "/v1/sessions/"+session+"/messages?flush_ms=0", `{"content":{"text":"Go"}}`)
	stream.until("step.generating")
	_ = stream.body.Close()
	all := s.finished(session)
	if last := all[len(all)-1]; last.event != "session.completed" {
		t.Errorf("the turn ended with %s", last.event)
	}
}

// Fifty posts at once with one key: one message, one turn, one answer.
func TestFiftySubmitsOfOneKey(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	const submits = 50
	answers := make([]reply, submits)
	var all sync.WaitGroup
	for i := range submits {
		all.Go(func() { // ended by its answer
			answers[i] = s.do(
				"POST",
				"/v1/sessions/"+session+"/messages",
				`{"content":{"text":"once"}}`,
				idempotencyHeader,
				"the key",
			)
		})
	}
	all.Wait()
	ids := map[string]bool{}
	for _, answer := range answers {
		var m parley.Message
		if err := json.Unmarshal(answer.body, &m); err != nil || answer.status != http.StatusCreated {
			t.Fatalf("status %d: %s", answer.status, answer.body)
		}
		ids[m.ID.String()+" "+m.TurnID.String()+" "+answer.header.Get(eventSequenceHeader)] = true
	}
	if len(ids) != 1 {
		t.Errorf("%d different answers: %v", len(ids), ids)
	}
	if turns := want[page[parley.Turn]](
		s,
		http.StatusOK,
		"GET",
		"/v1/sessions/"+session+"/turns",
		"",
	); len(
		turns.Data,
	) != 1 {
		t.Errorf("%d turns", len(turns.Data))
	}
	other := s.do(
		"POST",
		"/v1/sessions/"+session+"/messages",
		`{"content":{"text":"twice"}}`,
		idempotencyHeader,
		"the key",
	)
	if other.status != http.StatusConflict || other.problem(t).Code != parley.CodeKeyReused {
		t.Errorf("another body under the key: status %d %s", other.status, other.body)
	}
	for range 2 {
		made := s.do("POST", "/v1/sessions", `{"title":"once"}`, idempotencyHeader, "session key")
		if made.status != http.StatusCreated {
			t.Fatalf("status %d: %s", made.status, made.body)
		}
		ids[made.header.Get("Location")] = true
	}
	if len(ids) != 2 {
		t.Errorf("the session's key made more than one: %v", ids)
	}
}

// The workspace feed: resync first, list changes, and the sessions that the request names,
// on one connection; nothing of what the principal may not see.
func TestWorkspaceFeed(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin, member := s.key("one", "admin", parley.RoleAdmin), s.key("one", "member", parley.RoleMember)
	first := s.session(`{"visibility":"workspace","message":{"content":{"text":"Hello"}}}`, "Authorization", admin)
	feed := s.stream("GET", fmt.Sprintf("/v1/events?session=%s:0&flush_ms=0", first.ID), "", "Authorization", member)
	begin, err := feed.next()
	if err != nil || begin.event != "resync" || begin.id != "" {
		t.Fatalf("first frame %+v %v, want resync", begin, err)
	}
	seen := map[string]bool{}
	for !seen["session.completed"] {
		f, err := feed.next()
		if err != nil {
			t.Fatal(err)
		}
		if f.event != "resync" && f.data.SessionID != first.ID {
			t.Errorf("frame of another session: %+v", f)
		}
		seen[f.event] = true
	}
	if !seen["message.created"] || !seen["step.generated"] {
		t.Errorf("the session's own events are missing: %v", seen)
	}
	hidden := s.session(`{"title":"hidden"}`, "Authorization", admin)
	if got := s.do(
		"PATCH",
		"/v1/sessions/"+hidden.ID.String(),
		`{"title":"still hidden"}`,
		"Authorization",
		admin,
	); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if got := s.do(
		"PUT",
		"/v1/clients/tab/session",
		`{"session_id":"`+first.ID.String()+`"}`,
		"Authorization",
		member,
	); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	for {
		f, err := feed.next()
		if err != nil {
			t.Fatal(err)
		}
		if f.data.SessionID == hidden.ID {
			t.Errorf("the feed shows a private session: %+v", f)
		}
		if f.event == "session.activated" {
			break
		}
	}
	if got := s.do(
		"DELETE",
		"/v1/sessions/"+first.ID.String(),
		"",
		"Authorization",
		admin,
	); got.status != http.StatusNoContent {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	feed.until("session.deleted")
}
