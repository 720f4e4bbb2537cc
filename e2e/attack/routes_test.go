package attack

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/httpapi"
	"example.org/parley/protocol"
	"example.org/parley/protocol/a2a"
	"example.org/parley/protocol/agui"
	"example.org/parley/protocol/aisdk"
	"example.org/parley/protocol/anthropic"
	"example.org/parley/protocol/mcp"
	"example.org/parley/protocol/openai"
)

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// mounts are other people's protocols: ways into the server like its own routes.
func mounts() []protocol.Mount {
	return append([]protocol.Mount{
		openai.Mount(nil, nil), anthropic.Mount(nil, nil), aisdk.Mount(nil, nil), agui.Mount(nil, nil),
		mcp.Mount(nil, nil, ""),
	}, a2a.Mounts(nil, nil, "")...)
}

// each calls a function for every route and each of its paths, including twins. Routes that delete come last.
func each(t *testing.T, visit func(r *httpapi.Route, path string)) {
	t.Helper()
	routes := httpapi.Routes()
	for _, mount := range mounts() {
		routes = append(routes, httpapi.MountedRoutes(&mount)...)
	}
	if len(routes) < 50 {
		t.Fatalf("the table has only %d routes", len(routes))
	}
	slices.SortStableFunc(routes, func(a, b httpapi.Route) int { return last(&a) - last(&b) })
	for i := range routes {
		for _, path := range routes[i].Paths {
			if routes[i].Name == "uploadFile" {
				path += "?name=x.txt"
			}
			visit(&routes[i], path)
		}
	}
}

func last(r *httpapi.Route) int {
	if r.Method == http.MethodDelete {
		return 1
	}
	return 0
}

// bodyOf is a valid body for a route, without ids.
func bodyOf(r *httpapi.Route) string {
	switch r.Action {
	case "createSession", "ensureSession":
		return `{"key":"of the attack","title":"t"}`
	case "forkSession", "regenerateMessage", "replayCall":
		return `{}`
	case "moveMessage":
		return `{"before":null}`
	case "compactSession":
		return `{}` // what a summary must contain is for the session's owner to say
	case "createAgent":
		return `{"name":"x"}`
	case "createKnowledgeItem":
		return `{"agent_id":"parley","text":"Known."}`
	case "createWebhook":
		return `{"url":"http://127.0.0.1:1/"}`
	case "authorizeToolServer":
		return `{"redirect_uri":"http://127.0.0.1:1/"}`
	case "createSchedule":
		return `{"agent_id":"parley","every":"1h","message":"Look around."}`
	}
	return r.Example
}

// openRoutes respond without a key, and reveal nothing about anybody.
var openRoutes = []string{
	"getDocs",
	"getDocsScript",
	"getHealth",
	"getOpenAPI",
	"getOpenAPIYAML",
	"getReadiness",
	"signIn",
	"signInByCode",
	"signOut",
}

// Without a key, or with an unknown one, only the open routes respond, whatever ids a
// request names.
func TestNothingWithoutAKey(t *testing.T) { onEach(t, nothingWithoutAKey) }

func nothingWithoutAKey(t *testing.T, s *target) {
	admin := s.key("one", "admin", "admin")
	e := s.build("marked-victim", s.key("one", "owner", "member"), admin, true)
	tries := 0
	each(t, func(r *httpapi.Route, path string) {
		if r.Open {
			if !slices.Contains(openRoutes, r.Name) {
				t.Errorf("%s responds without a key, but is not listed as an open route", r.Name)
			}
			return
		}
		for _, key := range []string{"", "pk_wrong", e.ids["key"]} {
			asked := e.fill(path)
			tries++ // an address may send only a few wrong keys before responses are delayed
			from := fmt.Sprintf("198.51.%d.%d", tries/256, tries%256)
			got := s.ask(key, r.Method, asked, bodyOf(r), "X-Forwarded-For", from)
			if got.status != http.StatusUnauthorized && got.status != http.StatusTooManyRequests {
				t.Errorf(
					"%s %s with the key %q: status %d, want 401 or 429: %.200s",
					r.Method,
					path,
					key,
					got.status,
					got.body,
				)
			}
			if told := e.tells(got, asked); told != "" {
				t.Errorf("%s %s with the key %q reveals %s", r.Method, path, key, told)
			}
		}
	})
	s.whole(e)
}

// An id of another workspace is 404 in every position of every path, for members and admins
// of the own workspace alike, and its target stays unchanged.
func TestForeignIDsInPaths(t *testing.T) { onEach(t, foreignIDsInPaths) }

func foreignIDsInPaths(t *testing.T, s *target) {
	victim := s.build("marked-victim", s.key("one", "owner", "member"), s.key("one", "admin", "admin"), true)
	admin := s.key("two", "admin", "admin")
	own := s.build("attacker", s.key("two", "member", "member"), admin, true)
	for role, key := range map[parley.PrincipalRole]string{parley.RoleMember: own.key, parley.RoleAdmin: admin,
		parley.RoleReader: s.key("two", "reader", "reader")} {
		each(t, func(r *httpapi.Route, path string) {
			for _, match := range pathVariable.FindAllStringSubmatch(path, -1) {
				variable := match[1]
				switch variable {
				case "version", "client", "chat", "thread", "environment":
					continue // a number, and names that are private to everybody
				}
				foreign, ok := victim.ids[variable]
				if !ok {
					t.Fatalf("%s: an estate has no %s: give it one", path, variable)
				}
				forms := []string{foreign}
				if variable == "agent" {
					forms = append(forms, victim.mark) // its slug
				}
				for _, form := range forms {
					asked := own.fill(strings.ReplaceAll(path, match[0], form))
					s.refused(r, key, role, asked, victim)
				}
			}
		})
	}
	s.whole(victim)
}

// refused sends a request about something that does not exist for a principal: 404, or 403
// if its role may never do that.
func (s *target) refused(r *httpapi.Route, key string, role parley.PrincipalRole, asked string, victim estate) {
	s.Helper()
	got := s.ask(key, r.Method, asked, bodyOf(r))
	never := r.Local || r.Verb != "" && engine.ReachOf(role, r.Verb) == engine.ReachNone
	if got.status != http.StatusNotFound && !(never && got.status == http.StatusForbidden) {
		s.Errorf("%s %s as a %s: status %d, want 404: %.200s", r.Method, asked, role, got.status, got.body)
	}
	if told := victim.tells(got, asked); told != "" {
		s.Errorf("%s %s as a %s reveals %s", r.Method, asked, role, told)
	}
}

// A session of another workspace, or of a colleague, does not exist for clients of other protocols either.
func TestForeignSessionsThroughOtherProtocols(t *testing.T) { onEach(t, foreignSessions) }

func foreignSessions(t *testing.T, s *target) {
	admin := s.key("two", "admin", "admin")
	victim := s.build("marked-victim", s.key("one", "owner", "member"), s.key("one", "admin", "admin"), false)
	own := s.build("attacker", s.key("two", "member", "member"), admin, true)
	for _, key := range []string{own.key, admin, s.key("one", "member", "member")} {
		for _, stream := range []string{"true", "false"} {
			got := s.ask(key, http.MethodPost, openai.Prefix+"/chat/completions",
				`{"model":"parley","stream":`+stream+`,"messages":[{"role":"user","content":"Hello"}]}`,
				openai.SessionHeader, victim.ids["session"])
			if got.status != http.StatusNotFound {
				t.Errorf("a foreign session: status %d, want 404: %.200s", got.status, got.body)
			}
			if told := victim.tells(got, victim.ids["session"]); told != "" {
				t.Errorf("the refusal reveals %s", told)
			}
			for header, member := range map[string]string{
				victim.ids["session"]: "", "": `,"thread":{"type":"continue","previous_message_id":"msg_` +
					victim.ids["message"] + `"}`,
			} {
				body := `{"model":"parley","max_tokens":9,"stream":` + stream + `,"messages":[{"role":"user",` +
					`"content":"Hello"}]` + member + `}`
				var headers []string
				if header != "" {
					headers = []string{anthropic.SessionHeader, header}
				}
				got := s.ask(key, http.MethodPost, anthropic.Prefix+"/v1/messages", body, headers...)
				if got.status != http.StatusNotFound {
					t.Errorf("a foreign session or message: status %d, want 404: %.200s", got.status, got.body)
				}
				if told := victim.tells(got, body+header); told != "" {
					t.Errorf("the refusal reveals %s", told)
				}
			}
			for member, variable := range map[string]string{
				"previous_response_id": "response", "conversation": "conversation",
			} {
				body := fmt.Sprintf(`{"model":"parley","stream":%s,"input":"Hello",%q:%q}`, stream, member,
					victim.ids[variable])
				got := s.ask(key, http.MethodPost, openai.Prefix+"/responses", body)
				if got.status != http.StatusNotFound {
					t.Errorf("a foreign %s: status %d, want 404: %.200s", member, got.status, got.body)
				}
				if told := victim.tells(got, body); told != "" {
					t.Errorf("the refusal of a foreign %s reveals %s", member, told)
				}
			}
		}
		session := `"arguments":{"session_id":"` + victim.ids["session"] + `"`
		for params, method := range map[string]string{
			`"name":"ask_parley",` + session + `}`:                      "tools/call",
			`"name":"ask_parley",` + session + `,"message":"Hello"}`:    "tools/call",
			`"name":"read_session",` + session + `}`:                    "tools/call",
			`"name":"search",` + session + `,"query":"marked"}`:         "tools/call",
			`"name":"cancel_turn",` + session + `}`:                     "tools/call",
			`"uri":"parley://sessions/` + victim.ids["session"] + `"`:   "resources/read",
			`"uri":"parley://documents/` + victim.ids["artifact"] + `"`: "resources/read",
		} {
			got := s.ask(key, http.MethodPost, mcp.Prefix,
				`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`)
			refused := strings.Contains(got.body, `"isError":true`) ||
				strings.Contains(got.body, `"code":-32002`)
			if got.status != http.StatusOK || !refused {
				t.Errorf("%s of what is foreign: status %d: %.200s", params, got.status, got.body)
			}
			if told := victim.tells(got, victim.ids["session"]+victim.ids["artifact"]); told != "" {
				t.Errorf("the refusal of %s reveals %s", params, told)
			}
		}
		s.foreignTasks(key, victim)
		for _, path := range []string{"/parley", "/parley/connect"} {
			got := s.ask(key, http.MethodPost, agui.Prefix+path, `{"threadId":"`+victim.ids["session"]+`","runId":"r",`+
				`"messages":[],"resume":[{"interruptId":"approval:`+victim.ids["approval"]+
				`","status":"resolved","payload":true}]}`)
			if told := victim.tells(got, victim.ids["session"]+victim.ids["approval"]); got.status != http.StatusOK ||
				told != "" || strings.Contains(got.body, "MESSAGES_SNAPSHOT") {
				t.Errorf("%s of a foreign session: status %d reveals %q: %.200s", path, got.status, told, got.body)
			}
		}
		for _, question := range []string{"approval:" + victim.ids["approval"], "input:" + victim.ids["message"]} {
			got := s.ask(key, http.MethodPost, mcp.Prefix, `{"jsonrpc":"2.0","id":"`+question+
				`","result":{"action":"accept","content":{"decision":"approve","answer":"yes"}}}`)
			if got.status != http.StatusNotFound {
				t.Errorf("an answer to %s: status %d, want 404: %.200s", question, got.status, got.body)
			}
		}
	}
	s.whole(victim)
}

// foreignTasks requires that tasks and contexts of others do not exist for a client of A2A. Its
// streams find them in the same way.
func (s *target) foreignTasks(key string, victim estate) {
	s.Helper()
	const push = "TaskPushNotificationConfig"
	message := `"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Hello"}],`
	turn := `"taskId":"` + victim.ids["turn"] + `"`
	for params, methods := range map[string][]string{
		`"id":"` + victim.ids["turn"] + `"`:                      {"GetTask", "CancelTask"},
		`"contextId":"` + victim.ids["session"] + `"`:            {"ListTasks"},
		message + turn + "}":                                     {"SendMessage"},
		message + `"contextId":"` + victim.ids["session"] + `"}`: {"SendMessage"},
		turn + `,"url":"https://example.com/"`:                   {"Create" + push},
		turn + `,"id":"x"`:                                       {"Get" + push, "Delete" + push},
		turn:                                                     {"List" + push + "s"},
	} {
		for _, method := range methods {
			got := s.ask(key, http.MethodPost, a2a.Prefix, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+
				params+`}}`, a2a.VersionHeader, "1.0")
			if got.status != http.StatusOK || !strings.Contains(got.body, `"error":{"code":-3`) {
				s.Errorf("%s of %s: status %d: %.200s", method, params, got.status, got.body)
			}
			if told := victim.tells(got, params); told != "" {
				s.Errorf("the refusal of %s reveals %s", method, told)
			}
		}
	}
}

// ownersOnly are the path variables of things that belong to somebody, in a private session.
var ownersOnly = []string{"session", "message", "turn", "call", "loop", "approval", "delegation", "file", "reader",
	"sign_in", "webhook", "response", "conversation", "conversation_item", "agent_session", "work"}

// Private things of one principal do not exist for another one in the same workspace.
func TestPrivateThingsOfAColleague(t *testing.T) { onEach(t, privateThings) }

func privateThings(t *testing.T, s *target) {
	owner := s.build("marked-victim", s.key("one", "owner", "member"), s.key("one", "admin", "admin"), false)
	for role, key := range map[parley.PrincipalRole]string{parley.RoleMember: s.key("one", "member", "member"),
		parley.RoleReader: s.key("one", "reader", "reader")} {
		each(t, func(r *httpapi.Route, path string) {
			if slices.ContainsFunc(
				ownersOnly,
				func(variable string) bool { return strings.Contains(path, "{"+variable+"}") },
			) {
				s.refused(r, key, role, owner.fill(path), owner)
			}
		})
	}
	s.whole(owner)
}

// Roles apply to a colleague's shared things as docs/roles.md says: forbidden actions are
// 403, and allowed ones are not refused.
func TestRolesOnSharedThings(t *testing.T) { onEach(t, rolesOnShared) }

func rolesOnShared(t *testing.T, s *target) {
	owner, admin := s.key("one", "owner", "member"), s.key("one", "admin", "admin")
	for role, key := range map[parley.PrincipalRole]string{
		parley.RoleReader: s.key("one", "reader", "reader"), parley.RoleMember: s.key("one", "member", "member"),
		parley.RoleAdmin: s.key("one", "other", "admin"),
	} {
		e := s.build("shared-with-"+string(role), owner, admin, true)
		each(t, func(r *httpapi.Route, path string) {
			if r.Open || r.Verb == "" {
				return
			}
			got := s.ask(key, r.Method, e.fill(path), bodyOf(r))
			reach := engine.ReachOf(role, r.Verb)
			denied := r.Local || reach == engine.ReachNone || reach == engine.ReachOwn && !r.Makes
			if denied && got.status != http.StatusForbidden {
				t.Errorf(
					"%s %s as a %s (%s): status %d, want 403: %.200s",
					r.Method,
					path,
					role,
					reach,
					got.status,
					got.body,
				)
			} else if !denied && (got.status == http.StatusForbidden || got.status == http.StatusUnauthorized ||
				got.status >= http.StatusInternalServerError) {
				t.Errorf("%s %s as a %s (%s): status %d: %.200s", r.Method, path, role, reach, got.status, got.body)
			}
		})
	}
}

// whole requires that an estate is complete and unchanged for its owner.
func (s *target) whole(e estate) {
	s.Helper()
	for _, path := range []string{"/v1/agents/{agent}", "/v1/sessions/{session}", "/v1/messages/{message}",
		"/v1/turns/{turn}", "/v1/calls/{call}", "/v1/loops/{loop}", "/v1/delegations/{delegation}",
		"/v1/inbox/{item}", "/v1/schedules/{schedule}", "/v1/knowledge/{knowledge}", "/v1/webhooks/{webhook}",
		"/v1/artifacts/{artifact}/content", "/v1/files/{file}/content", "/v1/projects/{project}",
		"/v1/sessions/{reader}", "/v1/clients/{client}/session"} {
		if got := s.ask(e.key, "GET", e.fill(path), ""); got.status != http.StatusOK {
			s.Errorf("the owner's %s no longer exists: status %d: %s", path, got.status, got.body)
		}
	}
	for path, holds := range map[string]string{"/v1/agents/{agent}": `"version":1`,
		"/v1/approvals/{approval}": `"pending"`, "/v1/sessions/{session}/messages?view=ids": `"sequence":4`} {
		if got := s.ask(
			e.key,
			"GET",
			e.fill(path),
			"",
		); !strings.Contains(got.body, holds) ||
			strings.Contains(got.body, `"sequence":5`) {
			s.Errorf("%s changed under an attack: %.400s", path, got.body)
		}
	}
	if got := s.ask(e.key, "GET", "/v1/sign-ins", ""); !strings.Contains(got.body, e.ids["sign_in"]) {
		s.Errorf("a sign-in was ended: %s", got.body)
	}
	if got := s.ask(e.admin, "GET", "/v1/keys", ""); !strings.Contains(got.body, e.ids["key"]) {
		s.Errorf("a key of the workspace no longer exists: %s", got.body)
	}
}
