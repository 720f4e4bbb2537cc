package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// Every verb of the table is asked over HTTP by every role, on a session that
// another owns and shares, and on things of the workspace.
func TestRolesOverHTTP(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "parley_ready 1") })
	})
	admin := s.key("one", "admin", parley.RoleAdmin)
	bearers := map[parley.PrincipalRole]string{
		parley.RoleAdmin: s.key(
			"one",
			"other admin",
			parley.RoleAdmin,
		),
		parley.RoleMember: s.key("one", "member", parley.RoleMember),
		parley.RoleReader: s.key("one", "reader", parley.RoleReader),
	}
	shared := func() string {
		return s.session(`{"visibility":"workspace"}`, "Authorization", admin).ID.String()
	}
	queued := func(session string) { // a session that has something to cancel
		s.do(
			"POST",
			"/v1/sessions/"+session+"/messages",
			`{"content":{"text":"x"},"model":"sim/lorem-400-50"}`,
			"Authorization",
			admin,
		)
	}
	ask := map[engine.Verb]func(role parley.PrincipalRole) (method, path, body string){
		engine.ReadAgents: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/agents", "" },
		engine.WriteAgents: func(role parley.PrincipalRole) (string, string, string) {
			return "PATCH", "/v1/agents/" + s.agent(
				fmt.Sprintf(`{"name":"for %s"}`, role),
				admin,
			).ID.String(), `{"system_prompt":"x"}`
		},
		engine.GrantAgents: func(role parley.PrincipalRole) (string, string, string) {
			return "PATCH", "/v1/agents/" + s.agent(
				fmt.Sprintf(`{"name":"to grant to %s"}`, role),
				admin,
			).ID.String(), `{"tools":["current_time"]}`
		},
		engine.ReadSessions: func(parley.PrincipalRole) (string, string, string) {
			return "GET", "/v1/sessions/" + shared() + "/messages", ""
		},
		engine.OpenSessions: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/sessions", "{}"
		},
		engine.PostMessages: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/sessions/" + shared() + "/messages", `{"content":{"text":"x"}}`
		},
		engine.CancelTurns: func(parley.PrincipalRole) (string, string, string) {
			session := shared()
			queued(session)
			return "POST", "/v1/sessions/" + session + "/cancel", ""
		},
		engine.PatchSessions: func(parley.PrincipalRole) (string, string, string) {
			return "PATCH", "/v1/sessions/" + shared(), `{"title":"x"}`
		},
		engine.GrantSessions: func(parley.PrincipalRole) (string, string, string) {
			return "PATCH", "/v1/sessions/" + shared(), `{"grants":[]}`
		},
		engine.ShareSessions: func(parley.PrincipalRole) (string, string, string) {
			return "PATCH", "/v1/sessions/" + shared(), `{"visibility":"private"}`
		},
		engine.ShareForReading: func(parley.PrincipalRole) (string, string, string) {
			return "PUT", "/v1/sessions/" + shared() + "/shares/" + shared(), ""
		},
		engine.DropSessions: func(parley.PrincipalRole) (string, string, string) {
			return "DELETE", "/v1/sessions/" + shared(), ""
		},
		engine.ReadProjects: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/projects", "" },
		engine.WriteProjects: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/projects", fmt.Sprintf(`{"path":%q}`, s.root)
		},
		engine.DropProjects: func(role parley.PrincipalRole) (string, string, string) {
			project := want[parley.Project](
				s,
				http.StatusCreated,
				"POST",
				"/v1/projects",
				fmt.Sprintf(`{"path":%q}`, s.subdirectory(string(role))),
				"Authorization",
				admin,
			)
			return "DELETE", "/v1/projects/" + project.ID.String(), ""
		},
		engine.AnswerApprovals: func(parley.PrincipalRole) (string, string, string) {
			approval := s.asked(`{"visibility":"workspace"`, "Authorization", admin)
			return "POST", "/v1/approvals/" + approval.ID.String(), `{"decision":"deny"}`
		},
		engine.ReadInbox: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/inbox", "" },
		engine.AnswerInbox: func(role parley.PrincipalRole) (string, string, string) {
			if engine.ReachOf(role, engine.AnswerInbox) == engine.ReachNone { // it has no agent to be asked by
				return "POST", "/v1/inbox/" + parley.NewID().String() + "/answer", `{"text":"That one."}`
			}
			_, item := s.questioned("Asks "+string(role), "Authorization", bearers[role])
			return "POST", "/v1/inbox/" + item.ID.String() + "/answer", `{"text":"That one."}`
		},
		engine.ReadWorkspace: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/workspace", "" },
		engine.WriteWorkspace: func(parley.PrincipalRole) (string, string, string) {
			return "PATCH", "/v1/workspace", `{"visibility":"private"}`
		},
		engine.ReadCache:  func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/cache", "" },
		engine.ClearCache: func(parley.PrincipalRole) (string, string, string) { return "DELETE", "/v1/cache", "" },
		engine.ReadAudit:  func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/audit", "" },
		engine.ReadFiles:  func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/files", "" },
		engine.WriteFiles: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/files?name=a.txt", `"text"`
		},
		engine.DropFiles: func(parley.PrincipalRole) (string, string, string) {
			file := want[parley.File](
				s,
				http.StatusCreated,
				"POST",
				"/v1/files?name="+parley.NewID().String(),
				`"x"`,
				"Authorization",
				admin,
			)
			s.do(
				"POST",
				"/v1/sessions/"+shared()+"/messages",
				`{"content":{"files":["`+file.ID.String()+`"],"text":"x"},"respond":false}`,
				"Authorization",
				admin,
			)
			return "DELETE", "/v1/files/" + file.ID.String(), ""
		},
		engine.ReadArtifacts: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/artifacts", "" },
		engine.WriteArtifacts: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/artifacts", `{"kind":"text","name":"n","content":"x"}`
		},
		engine.DropArtifacts: func(parley.PrincipalRole) (string, string, string) {
			made := want[parley.Artifact](s, http.StatusCreated, "POST", "/v1/artifacts",
				`{"kind":"text","name":"n","content":"x","visibility":"workspace"}`, "Authorization", admin)
			return "DELETE", "/v1/artifacts/" + made.ID.String(), ""
		},
		engine.ReadTransforms: func(parley.PrincipalRole) (string, string, string) {
			return "GET", "/v1/transforms", ""
		},
		engine.RunTransforms: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/transforms", `{"name":"n","instructions":"x","outputs":[{"kind":"text"}]}`
		},
		engine.StopTransforms: func(parley.PrincipalRole) (string, string, string) {
			made := want[parley.Transform](s, http.StatusCreated, "POST", "/v1/transforms",
				`{"name":"n","instructions":"x","model":"sim/lorem-1000-100","outputs":[{"kind":"text"}],`+
					`"visibility":"workspace"}`, "Authorization", admin)
			return "POST", "/v1/transforms/" + made.ID.String() + "/cancel", ""
		},
		engine.SetTransforms: func(role parley.PrincipalRole) (string, string, string) {
			made := want[parley.TransformDefinition](
				s,
				http.StatusCreated,
				"POST",
				"/v1/transforms/definitions",
				fmt.Sprintf(
					`{"name":"for %s","instructions":"x","outputs":[{"kind":"text"}]}`,
					role,
				),
				"Authorization",
				admin,
			)
			return "PATCH", "/v1/transforms/definitions/" + made.ID.String(), `{"cite":true}`
		},
		engine.ReadPipelines: func(parley.PrincipalRole) (string, string, string) {
			return "GET", "/v1/pipeline-runs", ""
		},
		engine.RunPipelines: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/pipeline-runs", `{"name":"n","nodes":[{"name":"a","instructions":"x",` +
				`"model":"sim/echo","outputs":[{"kind":"text","title":"A"}]}]}`
		},
		engine.ReadTools:  func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/tools", "" },
		engine.ReadModels: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/models", "" },
		engine.SetClients: func(parley.PrincipalRole) (string, string, string) {
			return "PUT", "/v1/clients/tab/session", `{"session_id":"` + shared() + `"}`
		},
		engine.ReadKeys: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/keys", "" },
		engine.WriteKeys: func(role parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/keys", fmt.Sprintf(`{"name":"by %s"}`, role)
		},
		engine.ReadSignIns: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/sign-ins", "" },
		engine.EndSignIns: func(role parley.PrincipalRole) (string, string, string) {
			in := s.do("POST", "/v1/sign-in", fmt.Sprintf(`{"key":%q}`, strings.TrimPrefix(bearers[role], "Bearer ")))
			cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
			own := want[page[parley.SignIn]](s, http.StatusOK, "GET", "/v1/sign-ins", "", "Cookie", cookie)
			return "DELETE", "/v1/sign-ins/" + own.Data[0].ID.String(), ""
		},
		engine.ReadWebhooks: func(parley.PrincipalRole) (string, string, string) { return "GET", "/v1/webhooks", "" },
		engine.WriteWebhooks: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:1/"}`
		},
		engine.ReadToolServers: func(parley.PrincipalRole) (string, string, string) {
			return "GET", "/v1/tool-servers/cloud/resources", ""
		},
		engine.AuthorizeTools: func(parley.PrincipalRole) (string, string, string) {
			return "POST", "/v1/tool-servers/cloud/authorization", `{"redirect_uri":"http://127.0.0.1/"}`
		},
		engine.ReadMetrics: func(parley.PrincipalRole) (string, string, string) { return "GET", "/metrics", "" },
	}
	for _, permission := range engine.Permissions() {
		if permission.Verb == engine.ReadRaw { // of a stream without end: TestRawShowsWhatTheProviderSends asks
			continue
		}
		request, ok := ask[permission.Verb]
		if !ok {
			t.Errorf("no request of this test uses %s", permission.Verb)
			continue
		}
		for role, bearer := range bearers {
			method, path, body := request(role)
			got := s.do(method, path, body, "Authorization", bearer)
			// The session is another's: what reaches one's own only is refused as well.
			reach := engine.ReachOf(role, permission.Verb)
			allowed := reach == engine.ReachAll || reach == engine.ReachVisible
			if permission.Verb == engine.DropFiles && got.status == http.StatusConflict {
				continue // allowed, but a message uses it
			}
			if (got.status/100 == 2) != allowed || (!allowed && got.status != http.StatusForbidden) {
				t.Errorf(
					"%s by a %s (reach %s): %s %s: status %d: %s",
					permission.Verb,
					role,
					reach,
					method,
					path,
					got.status,
					got.body,
				)
			}
		}
	}
}

// Every route names the verb that guards it.
func TestRoutesNameTheirVerbs(t *testing.T) {
	t.Parallel()
	known := map[engine.Verb]bool{}
	for _, p := range engine.Permissions() {
		known[p.Verb] = true
	}
	for _, r := range routes() {
		if !r.open && r.name != "getPrincipal" && !known[r.verb] {
			t.Errorf("%s %s: verb %q is not in the table", r.method, r.paths[0], r.verb)
		}
	}
}
