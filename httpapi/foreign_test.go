package httpapi

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// estate is one of everything that has an id, in one workspace.
type estate struct {
	bearer                                                        string
	agent, session, message, turn, call, project, key, loop, file string
	slug, reader, approval, signIn, delegation, lead, schedule    string
	webhook, deadDelivery                                         string
	knowledge                                                     string
	artifact                                                      string
	transform, definition, run                                    string
	item                                                          string
}

// build makes an estate; its session has one finished turn.
func (s *testServer) build(workspace, slug string) estate {
	s.Helper()
	e := estate{bearer: s.key(workspace, "owner of "+slug, parley.RoleAdmin), slug: slug}
	auth := []string{"Authorization", e.bearer}
	e.agent = want[parley.Agent](
		s,
		http.StatusCreated,
		"POST",
		"/v1/agents",
		fmt.Sprintf(`{"name":%q}`, slug),
		auth...).ID.String()
	e.lead = want[parley.Agent](
		s,
		http.StatusCreated,
		"POST",
		"/v1/agents",
		fmt.Sprintf(`{"name":"%s leads"}`, slug),
		auth...).ID.String()
	want[parley.Agent](
		s,
		http.StatusCreated,
		"POST",
		"/v1/agents",
		fmt.Sprintf(`{"name":"%s follows","lead_id":%q}`, slug, e.lead),
		auth...)
	e.session = s.session(fmt.Sprintf(`{"agent_id":%q,"key":"key of %s"}`, slug, slug), auth...).ID.String()
	stream := s.stream("POST", "/v1/sessions/"+e.session+"/messages", `{"content":{"text":"Hi"}}`, auth...)
	stream.until("session.completed")
	e.message = want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+e.session+"/messages", "",
		auth...).Data[0].ID.String()
	e.loop = want[parley.Loop](
		s,
		201,
		"POST",
		"/v1/sessions/"+e.session+"/loops",
		`{"prompt":"Once","max":1}`,
		auth...).ID.String()
	s.stream("GET", "/v1/sessions/"+e.session+"/events?after="+s.lastEvent(e.session, auth...), "", auth...).
		until("session.completed")
	e.turn = want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+e.session+"/turns", "", auth...).Data[0].ID.String()
	e.call = want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+e.session+"/calls", "", auth...).Data[0].ID.String()
	project, err := s.store.LocalOwner(
		s.Context(),
		want[parley.Principal](s, 200, "GET", "/v1/principal", "", auth...).WorkspaceID,
	)
	if err != nil {
		s.Fatal(err)
	}
	made, _, err := s.store.ChooseProject(
		s.Context(),
		parley.Project{ID: parley.NewID(), WorkspaceID: project.WorkspaceID, Path: "/srv/" + slug, Name: slug},
	)
	if err != nil {
		s.Fatal(err)
	}
	e.project = made.ID.String()
	e.key = want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"spare"}`, auth...).ID.String()
	s.cookieOf(strings.TrimPrefix(e.bearer, "Bearer "))
	e.signIn = want[page[parley.SignIn]](s, 200, "GET", "/v1/sign-ins", "", auth...).Data[0].ID.String()
	e.file = want[parley.File](
		s,
		http.StatusCreated,
		"POST",
		"/v1/files?name="+slug+".txt",
		`"of `+slug+`"`,
		auth...).ID.String()
	e.schedule = want[parley.Schedule](s, 201, "POST", "/v1/schedules",
		fmt.Sprintf(`{"agent_id":%q,"every":"1h","message":"Look around."}`, e.agent), auth...).ID.String()
	hook := want[parley.Webhook](s, 201, "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:1/","events":["limit.*"]}`,
		auth...)
	e.webhook = hook.ID.String()
	e.knowledge = want[parley.KnowledgeItem](s, 201, "POST", "/v1/knowledge",
		fmt.Sprintf(`{"agent_id":%q,"text":"Known to %s."}`, e.agent, slug), auth...).ID.String()
	e.artifact = want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
		fmt.Sprintf(`{"kind":"text","name":%q,"content":"It begins."}`, "of "+slug), auth...).ID.String()
	e.transform = want[parley.Transform](s, 201, "POST", "/v1/transforms",
		`{"name":"n","instructions":"Write.","model":"sim/echo","outputs":[{"kind":"text"}]}`, auth...).ID.String()
	e.definition = want[parley.TransformDefinition](s, 201, "POST", "/v1/transforms/definitions",
		`{"name":"n","instructions":"Write.","outputs":[{"kind":"text"}]}`, auth...).ID.String()
	e.run = want[parley.PipelineRun](s, 201, "POST", "/v1/pipeline-runs", `{"name":"n","nodes":[{"name":"a",`+
		`"instructions":"Write.","model":"sim/echo","outputs":[{"kind":"text","title":"A"}]}]}`, auth...).ID.String()
	e.reader = s.session(`{}`, auth...).ID.String()
	e.deadDelivery = path.Base(s.deadDeliveryIn(hook.WorkspaceID, hook.ID, s.idOf(e.reader), 1))
	e.approval = s.asked(fmt.Sprintf(`{"agent_id":%q`, slug), auth...).ID.String()
	e.delegation = s.handedOver(auth...).ID.String()
	_, item := s.questioned(slug+" asks", auth...)
	e.item = item.ID.String()
	return e
}

// fill puts an estate's ids into a path.
func (e estate) fill(path string) string {
	return strings.NewReplacer(
		"{agent}",
		e.agent,
		"{lead}",
		e.lead,
		"{session}",
		e.session,
		"{message}",
		e.message,
		"{turn}",
		e.turn,
		"{call}",
		e.call,
		"{project}",
		e.project,
		"{key}",
		e.key,
		"{loop}",
		e.loop,
		"{schedule}",
		e.schedule,
		"{knowledge}",
		e.knowledge,
		"{artifact}",
		e.artifact,
		"{transform}",
		e.transform,
		"{definition}",
		e.definition,
		"{run}",
		e.run,
		"{tool_server}",
		"none",
		"{webhook}",
		e.webhook,
		"{delivery}",
		e.deadDelivery,
		"{file}",
		e.file,
		"{reader}",
		e.reader,
		"{approval}",
		e.approval,
		"{delegation}",
		e.delegation,
		"{item}",
		e.item,
		"{sign_in}",
		e.signIn,
		"{client}",
		"tab-of-"+e.slug,
		"{version}",
		"1",
	).Replace(path)
}

// bodies are valid bodies for routes that take one, none of which names an id.
func (r *route) validBody() string {
	switch r.action() {
	case "createSession":
		return `{"title":"t"}`
	case "setClientSession", "ensureSession", "archiveFeature", "chooseProject":
		return r.input.example
	case "createAgent", "createKey":
		return `{"name":"x"}`
	case "forkSession", "regenerateMessage":
		return `{}`
	case "updateAgent", "updateSession", "cancelTurn":
		return `{}`
	}
	if r.input == nil {
		return ""
	}
	return r.input.example
}

// For every route and every id in its path: the id of another workspace is 404,
// with everything else its own. The other workspace keeps what it has.
func TestForeignIDsAreNotFound(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	own, foreign := s.build("one", "ada"), s.build("two", "bob")
	list := routes()
	for i := range list {
		r := &list[i]
		for _, path := range r.paths {
			for _, match := range pathVariable.FindAllStringSubmatch(path, -1) {
				variable := match[0]
				if variable == "{version}" || variable == "{client}" {
					continue // a number, and a name that every principal has to itself
				}
				for _, stolen := range foreignForms(foreign, variable) {
					if stolen == variable {
						t.Fatalf("an estate has no %s", variable)
					}
					target := own.fill(strings.ReplaceAll(path, variable, stolen))
					got := s.do(r.method, target, r.validBody(), "Authorization", own.bearer)
					if got.status != http.StatusNotFound {
						t.Errorf(
							"%s %s with a foreign %s: status %d, want 404: %s",
							r.method,
							path,
							variable,
							got.status,
							got.body,
						)
						continue
					}
					got.problem(t)
				}
			}
		}
	}
	if got := s.do(
		"GET",
		"/v1/sessions/"+foreign.session,
		"",
		"Authorization",
		foreign.bearer,
	); got.status != http.StatusOK {
		t.Errorf("the other workspace lost its session: status %d", got.status)
	}
	if got := s.do(
		"GET",
		"/v1/agents/"+foreign.agent,
		"",
		"Authorization",
		foreign.bearer,
	); got.status != http.StatusOK ||
		!strings.Contains(string(got.body), `"active"`) {
		t.Errorf("the other workspace's agent: status %d %s", got.status, got.body)
	}
}

// foreignForms are the ways to name a foreign thing.
func foreignForms(foreign estate, variable string) []string {
	if variable == "{agent}" {
		return []string{foreign.agent, foreign.slug}
	}
	return []string{foreign.fill(variable)}
}

// The same for ids in bodies, queries and stream places.
func TestForeignIDsInBodiesAndQueries(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	own, foreign := s.build("one", "ada"), s.build("two", "bob")
	if got := s.do(
		"PUT",
		"/v1/clients/tab-of-bob/session",
		`{"session_id":"`+foreign.session+`"}`,
		"Authorization",
		foreign.bearer,
	); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	for _, c := range []struct {
		method, path, body string
		empty              bool // a filter may answer an empty list instead
	}{
		{method: "POST", path: "/v1/agents", body: `{"name":"x","lead_id":"` + foreign.agent + `"}`},
		{method: "POST", path: "/v1/sessions", body: `{"agent_id":"` + foreign.agent + `"}`},
		{method: "POST", path: "/v1/sessions", body: `{"agent_id":"` + foreign.slug + `"}`},
		{method: "POST", path: "/v1/sessions", body: `{"project_id":"` + foreign.project + `"}`},
		{method: "POST", path: "/v1/sessions", body: `{"parent_session_id":"` + foreign.session + `"}`},
		{method: "POST", path: "/v1/sessions",
			body: `{"parent_session_id":"` + own.session + `","parent_message_id":"` + foreign.message + `"}`},
		{method: "PATCH", path: "/v1/sessions/" + own.session, body: `{"project_id":"` + foreign.project + `"}`},
		{method: "PUT", path: "/v1/clients/tab/session", body: `{"session_id":"` + foreign.session + `"}`},
		{method: "POST", path: "/v1/sessions/" + own.session + "/messages",
			body: `{"content":{"text":"x","files":["` + foreign.file + `"]}}`},
		{method: "POST", path: "/v1/sessions",
			body: `{"message":{"content":{"text":"x","files":["` + foreign.file + `"]}}}`},
		{method: "POST", path: "/v1/sessions/" + own.session + "/cancel", body: `{"turn_id":"` + foreign.turn + `"}`},
		{method: "GET", path: "/v1/sessions/by-key?key=key+of+bob"},
		{method: "GET", path: "/v1/clients/tab-of-bob/session"},
		{method: "GET", path: "/v1/events?session=" + foreign.session},
		{method: "GET", path: "/v1/sessions?agent=" + foreign.slug},
		{method: "GET", path: "/v1/sessions?project=" + foreign.project, empty: true},
		{method: "GET", path: "/v1/sessions?parent=" + foreign.session, empty: true},
		{method: "GET", path: "/v1/search?q=hi&session=" + foreign.session},
		{method: "GET", path: "/v1/search?q=hi&agent=" + foreign.agent},
		{method: "GET", path: "/v1/search?q=hi&agent=" + foreign.slug},
		{method: "GET", path: "/v1/search?q=hi&project=" + foreign.project, empty: true},
		{method: "GET", path: "/v1/sessions/" + own.session + "/messages?turn=" + foreign.turn, empty: true},
		{method: "GET", path: "/v1/sessions/" + own.session + "/calls?turn=" + foreign.turn, empty: true},
	} {
		got := s.do(c.method, c.path, c.body, "Authorization", own.bearer)
		switch {
		case c.empty && got.status == http.StatusOK && strings.HasPrefix(string(got.body), `{"data":[],`):
		case got.status == http.StatusNotFound:
			got.problem(t)
		default:
			t.Errorf("%s %s %s: status %d, want 404: %s", c.method, c.path, c.body, got.status, got.body)
		}
	}
	// A cursor of another workspace is a place in the own list, no more.
	theirs := want[page[parley.Agent]](
		s,
		http.StatusOK,
		"GET",
		"/v1/agents?limit=1",
		"",
		"Authorization",
		foreign.bearer,
	)
	if theirs.Next == nil {
		t.Fatal("the other workspace has one page of agents")
	}
	for _, order := range []string{"", "&order=desc"} {
		if got := s.do(
			"GET",
			"/v1/agents?cursor="+*theirs.Next+order,
			"",
			"Authorization",
			own.bearer,
		); strings.Contains(
			string(got.body),
			foreign.agent,
		) {
			t.Errorf("a foreign cursor shows %s", got.body)
		}
	}
	// So is the place of a stream: it names events of the session in the path.
	if got := s.do(
		"GET",
		"/v1/events?session="+foreign.session+":3",
		"",
		"Authorization",
		own.bearer,
	); got.status != http.StatusNotFound {
		t.Errorf("a place in a foreign session: status %d", got.status)
	}
	// The same idempotency key with the same body is another request here.
	first := want[parley.Session](
		s,
		http.StatusCreated,
		"POST",
		"/v1/sessions",
		`{"title":"Twice"}`,
		"Authorization",
		foreign.bearer,
		idempotencyHeader,
		"same",
	)
	second := want[parley.Session](
		s,
		http.StatusCreated,
		"POST",
		"/v1/sessions",
		`{"title":"Twice"}`,
		"Authorization",
		own.bearer,
		idempotencyHeader,
		"same",
	)
	if first.ID == second.ID {
		t.Error("the idempotency key of another workspace answered its session")
	}
	// A key of another workspace makes a new session here.
	made := want[parley.Session](
		s,
		http.StatusCreated,
		"PUT",
		"/v1/sessions/by-key",
		`{"key":"key of bob"}`,
		"Authorization",
		own.bearer,
	)
	if made.ID.String() == foreign.session {
		t.Error("the key of another workspace found its session")
	}
}

// A private session of another principal of the same workspace is not found,
// lists do not show it, and the feed keeps silent about it.
func TestPrivateSessionsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner := s.build("one", "ada")
	member := s.key("one", "member", parley.RoleMember)
	list := routes()
	for i := range list {
		r := &list[i]
		for _, path := range r.paths {
			if !strings.Contains(path, "{session}") && !strings.Contains(path, "{message}") &&
				!strings.Contains(path, "{turn}") &&
				!strings.Contains(path, "{call}") &&
				!strings.Contains(path, "{loop}") &&
				!strings.Contains(path, "{file}") {
				continue
			}
			if got := s.do(
				r.method,
				owner.fill(path),
				r.validBody(),
				"Authorization",
				member,
			); got.status != http.StatusNotFound {
				t.Errorf("%s %s: status %d, want 404: %s", r.method, path, got.status, got.body)
			}
		}
	}
	if got := want[page[parley.Session]](
		s,
		200,
		"GET",
		"/v1/sessions",
		"",
		"Authorization",
		member,
	); len(
		got.Data,
	) != 0 {
		t.Errorf("the list shows %d sessions of others", len(got.Data))
	}
}
