package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/setting"
)

// shown is a field of an answer.
func (s *testServer) shown(status int, method, path, body, field string) any {
	s.Helper()
	return want[map[string]any](s, status, method, path, body)[field]
}

// shows reports whether an answer has everything that was set; it may have more, for a
// setting shows its parts that are not set as null.
func shows(shown, set any) bool {
	switch set := set.(type) {
	case map[string]any:
		has, ok := shown.(map[string]any)
		for name, part := range set {
			ok = ok && shows(has[name], part)
		}
		return ok
	case []any:
		has, ok := shown.([]any)
		return ok && len(has) == len(set) && slices.EqualFunc(has, set, shows)
	}
	return cmp.Equal(shown, set)
}

// Every setting can be set, read, cleared and taken over by a fork wherever it belongs,
// is refused by name where it does not, and stands in the document of each input.
func TestEverySettingInEveryScope(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	document := want[struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Description string `json:"description"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}](s, 200, "GET", "/v1/openapi.json", "")
	for _, one := range setting.All(^setting.Scope(0)) {
		d := one.Describe()
		var set any
		if err := json.Unmarshal([]byte(d.Example), &set); err != nil {
			t.Fatal(err)
		}
		field := fmt.Sprintf(`{%q:%s}`, d.Name, d.Example)
		check := func(what string, shown any, isSet bool) {
			t.Helper()
			if shows(shown, set) != isSet {
				t.Errorf("%s of %s: %v", d.Name, what, shown)
			}
		}
		if d.In(setting.Agent) {
			slug := "of-" + strings.ReplaceAll(d.Name, "_", "-")
			at := "/v1/agents/" + slug
			check(
				"a new agent",
				s.shown(201, "POST", "/v1/agents", fmt.Sprintf(`{"name":%q,%q:%s}`, slug, d.Name, d.Example), d.Name),
				true,
			)
			check("an agent", s.shown(200, "GET", at, "", d.Name), true)
			check("an agent that was patched elsewhere", s.shown(200, "PATCH", at, `{"description":"x"}`, d.Name), true)
			check("an agent that was cleared", s.shown(200, "PATCH", at, `{"`+d.Name+`":null}`, d.Name), false)
			check("an agent that was patched", s.shown(200, "PATCH", at, field, d.Name), true)
		}
		plain := s.session(`{"message":{"content":{"text":"x"},"respond":false}}`).ID.String()
		if d.In(setting.Session) {
			id := s.session(field[:len(field)-1] + `,"message":{"content":{"text":"x"},"respond":false}}`).ID.String()
			at := "/v1/sessions/" + id
			check("a session", s.shown(200, "GET", at, "", d.Name), true)
			check("a session that was patched elsewhere", s.shown(200, "PATCH", at, `{"title":"y"}`, d.Name), true)
			check("a fork", s.shown(201, "POST", at+"/fork", `{}`, d.Name), true)
			check(
				"a fork that sets another thing",
				s.shown(201, "POST", at+"/fork", `{"title":"z","instructions":"i"}`, d.Name),
				true,
			)
			check("a session that was cleared", s.shown(200, "PATCH", at, `{"`+d.Name+`":null}`, d.Name), false)
			check("a session that was patched", s.shown(200, "PATCH", at, field, d.Name), true)
			check("a fork that sets it", s.shown(201, "POST", "/v1/sessions/"+plain+"/fork", field, d.Name), true)
		}
		got := s.do(
			"POST",
			"/v1/sessions/"+plain+"/messages",
			field[:len(field)-1]+`,"content":{"text":"x"},"respond":false}`,
		)
		if d.In(setting.Message) != (got.status == 201) ||
			got.status != 201 && got.problem(t).Errors[0].Field != d.Name {
			t.Errorf("%s on a message: %d %s", d.Name, got.status, got.body)
		}
		for schema, scope := range map[string]setting.Scope{
			"AgentInput": setting.Agent, "AgentPatch": setting.Agent, "Agent": setting.Agent,
			"SessionInput": setting.Session, "SessionPatch": setting.Session,
			"Session": setting.Session, "MessageInput": setting.Message, "ForkInput": setting.Fork,
			"EditInput": setting.Fork, "RegenerateInput": setting.Fork,
		} {
			property, ok := document.Components.Schemas[schema].Properties[d.Name]
			if ok != d.In(scope) || ok && property.Description != d.DocOf(scope) {
				t.Errorf("%s describes %s: %t, %q", schema, d.Name, ok, property.Description)
			}
		}
	}
}

// A message's settings are those of its turn alone, and a fork's message brings its own.
func TestAMessageAsksAgainWithItsSettings(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/echo"}`).ID.String()
	s.told(session, `{"content":{"text":"one"},"model":"sim/reason","temperature":0.3}`)
	asked := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages?role=user", "").Data[0]
	again := want[parley.Session](s, 201, "POST", "/v1/messages/"+asked.ID.String()+"/regenerate", `{}`).ID.String()
	s.finished(again)
	if call := s.lastCall(again); call.Model != "sim/reason" || call.Temperature == nil || *call.Temperature != 0.3 {
		t.Errorf("asked again by %s with %+v", call.Model, call.Parameters)
	}
}
