package httpapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// Any number of callers at once get one session, each of their messages in it.
func TestByKeyAtOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const callers = 32
	ids := make([]parley.ID, callers)
	made := make([]int, callers)
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			got := s.do(
				"PUT",
				"/v1/sessions/by-key",
				fmt.Sprintf(`{"type":"merge","feature":"pay","message":{"respond":false,"content":{"text":"%d"}}}`, i),
			)
			made[i] = got.status
			message := want[parley.Message](s, 200, "GET", "/v1/messages/"+got.header.Get(messageHeader), "")
			ids[i] = message.SessionID
		})
	}
	wait.Wait()
	created := 0
	for i := range callers {
		if made[i] == 201 {
			created++
		}
		if ids[i] != ids[0] {
			t.Errorf("callers got %s and %s", ids[i], ids[0])
		}
	}
	record := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+ids[0].String()+"/messages", "").Data
	if created != 1 || len(record) != callers || record[callers-1].Sequence != callers {
		t.Errorf("created %d times, %d messages", created, len(record))
	}
}

// Type, feature and task never meet in one key by their spelling.
func TestKeysOfTypeFeatureTask(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	seen := map[parley.ID]string{}
	for _, body := range []string{
		`{"type":"a","feature":"b"}`, `{"type":"a","feature":"b","task":"c"}`, `{"type":"a","feature":"b:c"}`,
		`{"type":"a:b","feature":"c"}`,
		`{"type":"a","feature":"b\",\"c"}`, `{"type":"a","feature":"b","task":"c/d"}`,
		`{"type":"a","feature":"b/c","task":"d"}`, `{"key":"a:b"}`,
	} {
		session := want[parley.Session](s, 201, "PUT", "/v1/sessions/by-key", body)
		if other, taken := seen[session.ID]; taken {
			t.Errorf("%s and %s are one session", body, other)
		}
		seen[session.ID] = body
		if again := want[parley.Session](s, 200, "PUT", "/v1/sessions/by-key", body); again.ID != session.ID {
			t.Errorf("%s is two sessions", body)
		}
	}
}

// A session that names no agent gets the built-in one. If an older program archived or renamed that agent, the error
// names it and says what to do.
func TestSessionsThatNameNoAgent(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	builtin := want[parley.Agent](s, 200, "GET", "/v1/agents/parley", "")
	if session := s.session(`{}`); session.AgentID != builtin.ID {
		t.Errorf("agent %s, want %s", session.AgentID, builtin.ID)
	}
	for _, change := range []func(*parley.Agent){
		func(agent *parley.Agent) { agent.Status = parley.AgentArchived },
		func(agent *parley.Agent) { agent.Status, agent.Slug = parley.AgentActive, "mine" },
	} {
		change(&builtin)
		var err error
		if builtin, err = s.store.UpdateAgent(t.Context(), builtin); err != nil {
			t.Fatal(err)
		}
		got := s.do("POST", "/v1/sessions", `{}`)
		if !strings.Contains(got.problem(t).Detail, `"parley"`) || !strings.Contains(string(got.body), "agent_id") {
			t.Errorf("status %d %s", got.status, got.body)
		}
	}
}

// Archived: hidden, refused to messages with the way back, still found by key.
func TestArchivedAndReopened(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const named = `{"type":"dev-task","feature":"login"`
	session := want[parley.Session](s, 201, "PUT", "/v1/sessions/by-key", named+`}`)
	path := "/v1/sessions/" + session.ID.String()
	busy := s.session(`{"feature":"login","model":"sim/lorem-2000-20","message":{"content":{"text":"x"}}}`)
	if got := s.do("PATCH", "/v1/sessions/"+busy.ID.String(), `{"archived":true}`); got.status != 409 {
		t.Errorf("archiving beside a turn: status %d %s", got.status, got.body)
	}
	archived := want[engine.FeatureArchived](s, 200, "POST", "/v1/sessions/archive", `{"feature":"login"}`)
	if len(archived.Archived) != 1 || archived.Archived[0] != session.ID || len(archived.Busy) != 1 ||
		archived.Busy[0] != busy.ID {
		t.Errorf("archived %+v", archived)
	}
	want[engine.CancelResult](s, 200, "POST", "/v1/sessions/"+busy.ID.String()+"/cancel", "")
	for _, post := range []reply{
		s.do("POST", path+"/messages", `{"content":{"text":"x"}}`),
		s.do("PUT", "/v1/sessions/by-key", named+`,"message":{"content":{"text":"x"}}}`),
	} {
		if post.status != 409 || post.problem(t).Code != parley.CodeArchived {
			t.Errorf("a post: status %d %s", post.status, post.body)
		}
	}
	if found := want[parley.Session](
		s,
		200,
		"PUT",
		"/v1/sessions/by-key",
		named+`}`,
	); found.ID != session.ID ||
		found.ArchivedAt == 0 {
		t.Errorf("by key: %+v", found)
	}
	want[parley.Session](s, 200, "PATCH", path, `{"archived":false}`)
	want[parley.Message](s, 201, "POST", path+"/messages", `{"content":{"text":"x"}}`)

	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"old"}`)
	kept := want[parley.Session](s, 201, "POST", "/v1/agents/old/sessions", `{}`)
	want[struct{}](s, 204, "DELETE", "/v1/agents/old", "")
	if got := s.do(
		"POST",
		"/v1/sessions",
		`{"agent_id":"old"}`,
	); got.status != 409 ||
		got.problem(t).Code != parley.CodeArchived {
		t.Errorf("a session of an archived agent: status %d %s", got.status, got.body)
	}
	want[parley.Message](
		s,
		201,
		"POST",
		"/v1/sessions/"+kept.ID.String()+"/messages",
		`{"content":{"text":"still here"}}`,
	)
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/old", `{"status":"active"}`)
	want[parley.Session](s, 201, "POST", "/v1/agents/old/sessions", `{}`)
}
