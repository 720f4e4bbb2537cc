package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// settleDeadline bounds a turn of the simulator, which takes milliseconds.
const settleDeadline = 30 * time.Second

// estate is one of everything that has an id, with a mark in all of its texts.
type estate struct {
	mark  string            // occurs in nothing else
	key   string            // of its owner
	admin string            // key of an admin of its workspace
	ids   map[string]string // by the variable of a path
}

// build creates an estate whose sessions are private, or shared with the workspace.
func (s *target) build(mark, owner, admin string, shared bool) estate {
	s.Helper()
	e := estate{
		mark:  mark,
		key:   owner,
		admin: admin,
		ids:   map[string]string{"version": "1", "client": "tab-of-" + mark},
	}
	visibility := "private"
	if shared {
		visibility = "workspace"
	}
	e.ids["agent"] = s.made(owner, "POST", "/v1/agents", fmt.Sprintf(`{"name":%q,"model":"sim/echo"}`, mark))
	e.ids["lead"] = s.made(owner, "POST", "/v1/agents", fmt.Sprintf(`{"name":"%s leads","model":"sim/echo"}`, mark))
	s.made(
		owner,
		"POST",
		"/v1/agents",
		fmt.Sprintf(`{"name":"%s follows","model":"sim/echo","lead_id":%q}`, mark, e.ids["lead"]),
	)
	settings := fmt.Sprintf(`"agent_id":%q,"visibility":%q`, e.ids["agent"], visibility)
	e.ids["session"] = s.made(
		owner,
		"POST",
		"/v1/sessions",
		fmt.Sprintf(`{%s,"key":%q,"title":%q}`, settings, mark, mark),
	)
	path := "/v1/sessions/" + e.ids["session"]
	e.ids["file"] = s.made(owner, "POST", "/v1/files?name="+mark+".txt", fmt.Sprintf("%q", mark))
	e.ids["message"] = s.made(
		owner,
		"POST",
		path+"/messages",
		fmt.Sprintf(`{"content":{"text":%q,"files":[%q]}}`, mark, e.ids["file"]),
	)
	e.ids["conversation"], e.ids["response"] = "conv_"+e.ids["session"], "resp_"+e.ids["message"]
	e.ids["conversation_item"] = "msg_" + e.ids["message"]
	e.ids["environment"], e.ids["work"] = "env_own", "work_"+e.ids["session"]
	e.ids["agent_session"], e.ids["subagent"] = "asess_"+e.ids["session"], "subagent_"+e.ids["session"]
	s.await(owner, path, "completed")
	e.ids["loop"] = s.made(owner, "POST", path+"/loops", fmt.Sprintf(`{"prompt":%q,"max":1}`, mark))
	s.await(owner, path, "completed")
	e.ids["turn"] = s.first(owner, path+"/turns")
	e.ids["agent_turn"] = "turn_" + e.ids["turn"]
	e.ids["call"] = s.first(owner, path+"/calls")
	e.ids["schedule"] = s.made(owner, "POST", "/v1/schedules",
		fmt.Sprintf(`{"agent_id":%q,"name":%q,"every":"24h","message":"Look around."}`, e.ids["agent"], mark))
	e.ids["tool_server"] = "cloud"
	e.ids["webhook"] = s.made(owner, "POST", "/v1/webhooks",
		fmt.Sprintf(`{"url":"http://127.0.0.1:1/","name":%q}`, mark))
	e.ids["delivery"] = e.ids["message"] // nothing that one asks for over HTTP makes a dead one
	e.ids["knowledge"] = s.made(owner, "POST", "/v1/knowledge",
		fmt.Sprintf(`{"agent_id":%q,"text":%q}`, e.ids["agent"], mark))
	e.ids["artifact"] = s.made(owner, "POST", "/v1/artifacts",
		fmt.Sprintf(`{"kind":"text","name":%q,"content":%q,"visibility":%q}`, mark, mark, visibility))
	e.ids["transform"] = s.made(owner, "POST", "/v1/transforms", fmt.Sprintf(
		`{"name":%q,"instructions":%q,"outputs":[{"kind":"text"}],"visibility":%q}`, mark, mark, visibility))
	e.ids["definition"] = s.made(owner, "POST", "/v1/transforms/definitions",
		fmt.Sprintf(`{"name":%q,"instructions":%q,"outputs":[{"kind":"text"}]}`, mark, mark))
	e.ids["run"] = s.made(owner, "POST", "/v1/pipeline-runs", fmt.Sprintf(`{"name":%q,"visibility":%q,"nodes":[{`+
		`"name":"a","instructions":%[1]q,"model":"sim/echo","outputs":[{"kind":"text","title":%[1]q}]}]}`,
		mark, visibility))
	e.ids["reader"] = s.made(owner, "POST", "/v1/sessions", fmt.Sprintf(`{%s}`, settings))
	e.ids["key"] = s.made(admin, "POST", "/v1/keys", fmt.Sprintf(`{"name":%q}`, mark))
	e.ids["sign_in"] = s.signIn(owner)
	directory := filepath.Join(s.projects, mark)
	if err := os.Mkdir(directory, 0o700); err != nil {
		s.Fatal(err)
	}
	e.ids["project"] = s.made(admin, "POST", "/v1/projects", fmt.Sprintf(`{"path":%q}`, directory))
	asks := s.made(
		owner,
		"POST",
		"/v1/sessions",
		fmt.Sprintf(
			`{%s,"model":"sim/script","tools":["current_time"],"grants":[{"tool":"current_*","effect":"ask"}]}`,
			settings,
		),
	)
	s.made(
		owner,
		"POST",
		"/v1/sessions/"+asks+"/messages",
		fmt.Sprintf(
			`{"content":{"text":%q}}`,
			`[[{"tool_call":{"name":"current_time","arguments":{"timezone":"UTC"}}}],[{"text":"`+mark+`"}]]`,
		),
	)
	s.await(owner, "/v1/sessions/"+asks, "waiting")
	e.ids["approval"] = s.first(owner, "/v1/sessions/"+asks+"/approvals")
	e.ids["queued"] = s.made(
		owner,
		"POST",
		"/v1/sessions/"+asks+"/messages",
		fmt.Sprintf(`{"content":{"text":%q}}`, mark),
	)
	e.ids["delegation"] = s.handedOver(e)
	e.ids["item"] = s.asked(e)
	if got := s.ask(
		owner,
		"PUT",
		e.fill("/v1/clients/{client}/session"),
		fmt.Sprintf(`{"session_id":%q}`, e.ids["session"]),
	); got.status != 200 {
		s.Fatalf("status %d: %s", got.status, got.body)
	}
	return e
}

// handedOver has the estate's lead hand a task to its subordinate.
func (s *target) handedOver(e estate) (id string) {
	s.Helper()
	var background struct{ ID string }
	got := s.ask(e.key, "GET", e.fill("/v1/agents/{lead}/background"), "")
	if err := json.Unmarshal([]byte(got.body), &background); err != nil || background.ID == "" {
		s.Fatalf("status %d: %s", got.status, got.body)
	}
	path := "/v1/sessions/" + background.ID
	s.made(e.key, "POST", path+"/messages", fmt.Sprintf(
		`{"model":"sim/script","content":{"text":%q}}`,
		fmt.Sprintf(
			`[[{"tool_call":{"name":"delegate_to_agent","arguments":{"agent":"%s-follows","task":%q}}}],[{"text":%q}]]`,
			e.mark, e.mark, e.mark,
		),
	))
	s.await(e.key, path, "completed")
	return s.first(e.key, "/v1/delegations")
}

// asked has the lead ask its owner, and returns the item in the owner's inbox.
func (s *target) asked(e estate) (id string) {
	s.Helper()
	var background struct{ ID string }
	got := s.ask(e.key, "GET", e.fill("/v1/agents/{lead}/background"), "")
	if err := json.Unmarshal([]byte(got.body), &background); err != nil || background.ID == "" {
		s.Fatalf("status %d: %s", got.status, got.body)
	}
	path := "/v1/sessions/" + background.ID
	s.made(e.key, "POST", path+"/messages", fmt.Sprintf(
		`{"model":"sim/script","content":{"text":%q}}`,
		fmt.Sprintf(
			`[[{"tool_call":{"name":"request_input","arguments":{"question":%q}}}],[{"text":%q}]]`, e.mark, e.mark,
		),
	))
	s.until("a question to be in the inbox", func() bool {
		var page struct{ Data []struct{ ID string } }
		got := s.ask(e.key, "GET", "/v1/inbox", "")
		if json.Unmarshal([]byte(got.body), &page) != nil || len(page.Data) == 0 {
			return false
		}
		id = page.Data[0].ID
		return true
	})
	return id
}

// signIn signs a browser in with a key.
func (s *target) signIn(key string) (id string) {
	s.Helper()
	if got := s.ask("", "POST", "/v1/sign-in", fmt.Sprintf(`{"key":%q}`, key)); got.status != 200 {
		s.Fatalf("signing in: status %d: %s", got.status, got.body)
	}
	return s.first(key, "/v1/sign-ins")
}

// first is the id of a list's first row.
func (s *target) first(key, path string) string {
	s.Helper()
	got := s.ask(key, "GET", path, "")
	var page struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(got.body), &page); err != nil || len(page.Data) == 0 {
		s.Fatalf("GET %s: status %d: %s", path, got.status, got.body)
	}
	return page.Data[0].ID
}

// await polls until a session has a status.
func (s *target) await(key, path, status string) {
	s.Helper()
	s.until(path+" to be "+status, func() bool {
		var session struct{ Status string }
		return json.Unmarshal([]byte(s.ask(key, "GET", path, "").body), &session) == nil && session.Status == status
	})
}

// until polls until a condition holds.
func (s *target) until(what string, so func() bool) {
	s.Helper()
	deadline := time.Now().Add(settleDeadline)
	for !so() {
		if time.Now().After(deadline) {
			s.Fatalf("waited %s for %s", settleDeadline, what)
		}
		select {
		case <-time.After(pollEvery):
		case <-s.Context().Done():
		}
	}
}

// pollEvery is the interval between polls of a session.
const pollEvery = 10 * time.Millisecond

// fill puts an estate's ids into a path.
func (e estate) fill(path string) string {
	for variable, id := range e.ids {
		path = strings.ReplaceAll(path, "{"+variable+"}", id)
	}
	return path
}

// tells returns the parts of an estate that a response contains, except those that the
// request named.
func (e estate) tells(got answer, asked string) string {
	text := got.body
	for _, values := range got.header {
		text += "\n" + strings.Join(values, "\n")
	}
	if strings.Contains(text, e.mark) && !strings.Contains(asked, e.mark) {
		return e.mark
	}
	for variable, id := range e.ids {
		if variable != "version" && variable != "client" && strings.Contains(text, id) && !strings.Contains(asked, id) {
			return variable + " " + id
		}
	}
	return ""
}
