package attack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/httpapi"
)

// queryIDs maps parameters that name things to the path variable of the same kind.
var queryIDs = map[string]string{
	"agent":     "agent",
	"team":      "agent",
	"session":   "session",
	"parent":    "session",
	"project":   "project",
	"turn":      "turn",
	"with":      "call",
	"principal": "key",
	"root":      "message",
	"owner":     "key",

	"definition": "definition",
	"run":        "session",
}

// plainQueries are the parameters that name nothing.
var plainQueries = []string{
	"after",
	"agent_type",
	"archived",
	"brief",
	"cascade",
	"changes",
	"code",
	"created_from",
	"created_to",
	"cursor",
	"daily",
	"depth",
	"direction",
	"feature",
	"flush_ms",
	"format",
	"from",
	"from_sequence",
	"group",
	"hidden",
	"internal",
	"iteration",
	"key",
	"kind",
	"label",
	"limit",
	"mode",
	"name",
	"number",
	"order",
	"path",
	"pinned",
	"pointer",
	"q",
	"query",
	"queued",
	"range",
	"raw",
	"recent",
	"role",
	"stale",
	"status",
	"tag",
	"task",
	"to",
	"tool",
	"type",
	"unread",
	"version",
	"view",
	"wait",
}

// bodyIDs are the fields of bodies that name things.
var bodyIDs = map[string]string{
	"agent_id":          "agent",
	"agent_ids":         "agent",
	"session_ids":       "session",
	"project_ids":       "project",
	"brief_to_id":       "key",
	"lead_id":           "agent",
	"session_id":        "session",
	"parent_session_id": "session",
	"parent_message_id": "message",
	"project_id":        "project",
	"turn_id":           "turn",
	"at":                "message",
	"files":             "file",
	"file_id":           "file",
	"artifact_id":       "artifact",
	"before":            "message",
	"message_id":        "message",
	"principal_id":      "key",
	"owner_id":          "key",

	"trigger_session_id": "session",
	"trigger_message_id": "message",
}

// notOurs are fields whose ids belong to the client or the model.
var notOurs = []string{"client_id", "id", "tool_call_id"}

// needed are other required parameters of a route.
func needed(r *httpapi.Route) string {
	if r.Name == "search" {
		return "&q=marked"
	}
	return ""
}

// An id of another workspace in a query is 404, or finds nothing.
func TestForeignIDsInQueries(t *testing.T) { onEach(t, foreignIDsInQueries) }

func foreignIDsInQueries(t *testing.T, s *target) {
	victim, own := s.twoWorkspaces()
	each(t, func(r *httpapi.Route, path string) {
		for _, name := range r.Query {
			variable, names := queryIDs[name]
			if !names {
				if !slices.Contains(plainQueries, name) {
					t.Errorf(
						"%s has a parameter %s: say in queryIDs or plainQueries whether it names something",
						r.Name,
						name,
					)
				}
				continue
			}
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			asked := own.fill(path) + separator + name + "=" + victim.ids[variable] + needed(r)
			got := s.ask(own.admin, r.Method, asked, bodyOf(r))
			if got.status != http.StatusNotFound && !(got.status == http.StatusOK && empty(got)) {
				t.Errorf("%s %s: status %d, want 404 or nothing: %.200s", r.Method, asked, got.status, got.body)
			}
			if told := victim.tells(got, asked); told != "" {
				t.Errorf("%s %s reveals %s", r.Method, asked, told)
			}
		}
	})
	s.whole(victim)
}

// empty reports a list without rows, or a sum over none.
func empty(got answer) bool {
	var page struct{ Data []json.RawMessage }
	return json.Unmarshal([]byte(got.body), &page) == nil && len(page.Data) == 0
}

// An id of another workspace in a body is 404, and nothing is created.
func TestForeignIDsInBodies(t *testing.T) { onEach(t, foreignIDsInBodies) }

func foreignIDsInBodies(t *testing.T, s *target) {
	victim, own := s.twoWorkspaces()
	asked := 0
	each(t, func(r *httpapi.Route, path string) {
		if r.Body == nil || r.Open {
			return
		}
		for _, field := range idsIn(t, r.Body) {
			name := field[len(field)-1]
			if slices.Contains(notOurs, name) {
				continue
			}
			variable, ok := bodyIDs[name]
			if !ok {
				t.Errorf(
					"the body of %s has a field %s: say in bodyIDs or notOurs what it names",
					r.Name,
					strings.Join(field, "."),
				)
				continue
			}
			body := own.naming(t, r, field, victim.ids[variable])
			if name == "before" { // only queued messages can be moved
				path = strings.ReplaceAll(path, "{message}", own.ids["queued"])
			}
			got := s.ask(own.admin, r.Method, own.fill(path), body)
			nobody := variable == "key" && got.status == http.StatusUnprocessableEntity // not a principal here
			if asked++; got.status != http.StatusNotFound && !nobody {
				t.Errorf("%s %s %s: status %d, want 404: %.200s", r.Method, path, body, got.status, got.body)
			}
			if told := victim.tells(got, body); told != "" {
				t.Errorf("%s %s %s reveals %s", r.Method, path, body, told)
			}
		}
	})
	if asked < 20 {
		t.Errorf("only %d bodies were asked with foreign ids", asked)
	}
	s.whole(victim)
}

// idsIn returns the paths of the fields of a body that hold ids.
func idsIn(t *testing.T, body reflect.Type) (fields [][]string) {
	t.Helper()
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type, path []string)
	walk = func(of reflect.Type, path []string) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 {
			of = of.Elem()
		}
		if strings.HasPrefix(of.Name(), "Null[") && of.NumField() > 0 { // a value or an explicit null
			of = of.Field(0).Type
		}
		if of == reflect.TypeFor[parley.ID]() {
			fields = append(fields, path)
			return
		}
		if of.Kind() == reflect.String && len(path) > 0 &&
			(strings.HasSuffix(path[len(path)-1], "_id") || bodyIDs[path[len(path)-1]] != "") {
			fields = append(fields, path)
			return
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "":
				walk(f.Type, path)
			case f.IsExported() && name != "" && name != "-":
				walk(f.Type, append(slices.Clone(path), name))
			}
		}
		delete(seen, of)
	}
	walk(body, nil)
	return fields
}

// naming is a valid body for a route, in which one field names another thing.
func (e estate) naming(t *testing.T, r *httpapi.Route, field []string, id string) string {
	t.Helper()
	body := map[string]any{}
	if err := json.Unmarshal([]byte(bodyOf(r)), &body); err != nil {
		t.Fatalf("the body of %s: %v", r.Name, err)
	}
	if field[0] == "change" { // one change at a time
		clear(body)
	}
	at := body
	for _, name := range field[:len(field)-1] {
		next, ok := at[name].(map[string]any)
		if list, isList := at[name].([]any); isList && len(list) > 0 {
			next, ok = list[0].(map[string]any)
		}
		if !ok {
			next = map[string]any{}
			if name == "message" || name == "edit" {
				next["content"] = map[string]any{"text": "x"}
			}
			if name == "summary" {
				next["text"] = "x"
			}
			at[name] = next
			switch name {
			case "marks":
				next["pinned"] = true
				at[name] = []any{next}
			case "documents":
				next["name"] = "brief"
				at[name] = []any{next}
			}
			if name == "inputs" || name == "outputs" {
				at[name] = []any{next}
			}
		}
		at = next
	}
	switch name := field[len(field)-1]; name {
	case "files", "session_ids", "agent_ids", "project_ids":
		at[name] = []string{id}
	case "file_id":
		delete(at, "text") // one of the two
		at[name] = id
	case "trigger_message_id":
		delete(body, "inputs") // the example's is nobody's
		at["trigger_session_id"] = e.ids["session"]
		at[name] = id
	case "parent_message_id":
		at["parent_session_id"] = e.ids["session"]
		at[name] = id
	default:
		at[name] = id
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A cursor of another workspace is a position in one's own list, or invalid.
func TestForeignCursors(t *testing.T) { onEach(t, foreignCursors) }

func foreignCursors(t *testing.T, s *target) {
	victim, own := s.twoWorkspaces()
	taken := 0
	each(t, func(r *httpapi.Route, path string) {
		if r.Method != http.MethodGet || !slices.Contains(r.Query, "cursor") {
			return
		}
		query := "?limit=1" + needed(r)
		var page struct{ Next string }
		theirs := s.ask(victim.admin, r.Method, victim.fill(path)+query, "")
		if json.Unmarshal([]byte(theirs.body), &page) != nil || page.Next == "" {
			return // one page of it
		}
		taken++
		for _, order := range []string{"", "&order=asc", "&order=desc"} {
			asked := own.fill(path) + query + order + "&cursor=" + url.QueryEscape(page.Next)
			got := s.ask(own.admin, r.Method, asked, "")
			if got.status >= http.StatusInternalServerError {
				t.Errorf("GET %s: status %d: %.200s", asked, got.status, got.body)
			}
			if told := victim.tells(got, asked); told != "" {
				t.Errorf("GET %s reveals %s", asked, told)
			}
		}
	})
	if taken < 5 {
		t.Errorf("only %d lists had a second page", taken)
	}
}

// turnsEnd is how long the simulator's short turns may take on a busy machine.
const turnsEnd = 20 * time.Second

// An idempotency key of another workspace means nothing here: the same request with it
// creates something new.
func TestForeignIdempotencyKeys(t *testing.T) { onEach(t, foreignIdempotencyKeys) }

func foreignIdempotencyKeys(t *testing.T, s *target) {
	victim, own := s.twoWorkspaces()
	repeats := 0
	each(t, func(r *httpapi.Route, path string) {
		if !r.Repeats {
			return
		}
		repeats++
		key := fmt.Sprintf("once-%d", repeats)
		// A turn or a loop that an earlier request began may still be running here and no longer there.
		written := func(admin, at string) answer {
			for until := time.Now().Add(turnsEnd); ; {
				got := s.ask(admin, r.Method, at, bodyOf(r), "Idempotency-Key", key)
				if !strings.Contains(got.body, "still being written") &&
					!strings.Contains(got.body, "already runs a loop") ||
					time.Now().After(until) {
					return got
				}
			}
		}
		first := written(victim.admin, victim.fill(path))
		second := written(own.admin, own.fill(path))
		if first.status != second.status {
			t.Errorf(
				"%s %s: status %d there and %d here: %.200s",
				r.Method,
				path,
				first.status,
				second.status,
				second.body,
			)
		}
		var made struct{ ID string }
		if json.Unmarshal([]byte(first.body), &made) == nil && made.ID != "" && strings.Contains(second.body, made.ID) {
			t.Errorf("%s %s under another's idempotency key returns what was created there", r.Method, path)
		}
		if told := victim.tells(second, own.fill(path)); told != "" {
			t.Errorf("%s %s under another's idempotency key reveals %s", r.Method, path, told)
		}
	})
	if repeats < 5 {
		t.Errorf("only %d routes take an idempotency key", repeats)
	}
}

// There are no positions in foreign streams: the feed and the events of a session are 404,
// whatever Last-Event-ID and after say.
func TestForeignStreams(t *testing.T) { onEach(t, foreignStreams) }

func foreignStreams(t *testing.T, s *target) {
	victim, own := s.twoWorkspaces()
	for _, asked := range []string{
		"/v1/sessions/" + victim.ids["session"] + "/events",
		"/v1/agents/" + own.ids["agent"] + "/sessions/" + victim.ids["session"] + "/events",
		"/v1/events?session=" + victim.ids["session"], "/v1/events?session=" + victim.ids["session"] + ":1",
		"/v1/events?session=" + own.ids["session"] + "&session=" + victim.ids["session"] + ":3",
	} {
		for _, place := range []string{"", "0", "3", "99999"} {
			got := s.ask(own.admin, http.MethodGet, asked, "", "Last-Event-ID", place, "Accept", "text/event-stream")
			if got.status != http.StatusNotFound {
				t.Errorf("GET %s after %q: status %d, want 404", asked, place, got.status)
			}
		}
	}
}

// twoWorkspaces returns an estate to attack, and one of the attacker.
func (s *target) twoWorkspaces() (victim, own estate) {
	s.Helper()
	victim = s.build("marked-victim", s.key("one", "owner", "member"), s.key("one", "admin", "admin"), true)
	own = s.build("attacker", s.key("two", "member", "member"), s.key("two", "admin", "admin"), true)
	return victim, own
}
