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

// TestSessionsOfAWorkspaceAreShared: where the workspace's new sessions are everybody's, agents with keys of their own
// meet in the session that they name; sessions from before, and those that say otherwise, stay private.
func TestSessionsOfAWorkspaceAreShared(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin := s.key("default", "admin", parley.RoleAdmin)
	ann, ben := s.key("default", "ann", parley.RoleMember), s.key("default", "ben", parley.RoleMember)
	ask := func(who, body string) reply {
		t.Helper()
		return s.do("PUT", "/v1/sessions/by-key", body, "Authorization", who)
	}
	if made := ask(ann, `{"key":"before"}`); made.status != 201 {
		t.Fatalf("status %d %s", made.status, made.body)
	}
	if met := ask(ben, `{"key":"before"}`); met.status != 409 {
		t.Errorf("a private session's key: status %d %s", met.status, met.body)
	}
	now := want[parley.Workspace](s, 200, "GET", "/v1/workspace", "", "Authorization", ben)
	if now.Visibility != parley.VisibilityPrivate || now.Name != "default" {
		t.Errorf("the workspace is %+v", now)
	}
	shared := want[parley.Workspace](
		s, 200, "PATCH", "/v1/workspace", `{"visibility":"workspace"}`, "Authorization", admin)
	if now.Visibility = parley.VisibilityWorkspace; shared != now {
		t.Errorf("changed to %+v, want %+v", shared, now)
	}
	if odd := s.do("PATCH", "/v1/workspace", `{"visibility":"odd"}`, "Authorization", admin); odd.status != 422 {
		t.Errorf("another visibility: status %d %s", odd.status, odd.body)
	}
	for body, status := range map[string]int{
		`{"type":"dev-task","feature":"pay"}`: 200, `{"key":"k"}`: 200, `{"key":"own","visibility":"private"}`: 409,
		`{"key":"tool","kind":"tool"}`: 409, `{"key":"before"}`: 409,
	} {
		_ = ask(ann, body)
		if met := ask(ben, body); met.status != status {
			t.Errorf("%s: status %d %s, want %d", body, met.status, met.body, status)
		}
	}
}

// TestADryRunMeetsTheSessionByKey: a dry run by key answers in the session with that name, and writes nothing.
func TestADryRunMeetsTheSessionByKey(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const named = `"type":"dev-task","feature":"pay","task":"T-1","model":"sim/echo"`
	made := want[parley.Session](s, 201, "PUT", "/v1/sessions/by-key", `{`+named+`}`)
	s.told(made.ID.String(), `{"content":{"text":"The word is plum."}}`)
	for body, met := range map[string]bool{
		`{` + named: true, `{"type":"dev-task","feature":"other","model":"sim/echo"`: false,
	} {
		ran := want[engine.DryRun](
			s, 200, "PUT", "/v1/sessions/by-key", body+`,"dry_run":true,"message":{"content":{"text":"Which word?"}}}`)
		if ran.Message.SessionID == made.ID != met {
			t.Errorf("%s: answered in %s; the session is %s", body, ran.Message.SessionID, made.ID)
		}
	}
	unnamed := s.do("PUT", "/v1/sessions/by-key", `{"dry_run":true,"message":{"content":{"text":"x"}}}`)
	if unnamed.status != 422 || unnamed.problem(t).Errors[0].Field != "key" {
		t.Errorf("without a name: status %d %s", unnamed.status, unnamed.body)
	}
	if record := want[page[parley.Session]](s, 200, "GET", "/v1/sessions?feature=other", "").Data; len(record) != 0 {
		t.Errorf("a dry run left %+v", record)
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
