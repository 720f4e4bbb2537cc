package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
)

// Every filter of the list of sessions finds what it names and nothing else.
func TestSessionFilters(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Ada"}`)
	project := want[parley.Project](s, 201, "POST", "/v1/projects", fmt.Sprintf(`{"path":%q}`, s.subdirectory("site")))
	parent := s.session(`{"title":"parent"}`)
	s.session(
		fmt.Sprintf(
			`{"title":"full","agent_id":"ada","project_id":%q,"parent_session_id":%q,"type":"qa-task",`+
				`"feature":"pay","task":"T-1","kind":"tool","mode":"background","pinned":true,"tags":["red"]}`,
			project.ID,
			parent.ID,
		),
	)
	done := s.session(`{"title":"done","message":{"content":{"text":"x"}}}`)
	s.finished(done.ID.String())
	away := s.session(`{"title":"away"}`)
	want[parley.Session](s, 200, "PATCH", "/v1/sessions/"+away.ID.String(), `{"archived":true}`)
	all := []string{"done", "full", "parent"}
	for query, titles := range map[string][]string{
		"":                                  all,
		"agent=ada":                         {"full"},
		"agent=" + agent.ID.String():        {"full"},
		"agent=parley":                      {"done", "parent"},
		"project=" + project.ID.String():    {"full"},
		"parent=" + parent.ID.String():      {"full"},
		"type=qa-task":                      {"full"},
		"feature=pay":                       {"full"},
		"task=T-1":                          {"full"},
		"task=T-2":                          nil,
		"kind=tool":                         {"full"},
		"kind=agent":                        {"done", "parent"},
		"mode=background":                   {"full"},
		"mode=foreground":                   {"done", "parent"},
		"status=completed":                  {"done"},
		"status=pending":                    {"full", "parent"},
		"status=waiting":                    nil,
		"archived=true":                     {"away"},
		"archived=any":                      {"away", "done", "full", "parent"},
		"archived=false":                    all,
		"pinned=true":                       {"full"},
		"pinned=false":                      {"done", "parent"},
		"tag=red":                           {"full"},
		"created_from=2020-01-01T00:00:00Z": all,
		"created_to=2020-01-01T00:00:00Z":   nil,
		"agent=ada&type=qa-task&kind=tool&pinned=true&tag=red":                      {"full"},
		"agent=ada&type=qa-task&kind=tool&pinned=false&tag=red":                     nil,
		"agent=ada&agent=parley":                                                    all,
		"agent=ada&agent=" + agent.ID.String():                                      {"full"},
		"status=completed&status=running":                                           {"done"},
		"status=completed&status=pending&limit=2":                                   {"full", "done"},
		"status=completed&status=pending&kind=agent&kind=tool":                      all,
		"type=qa-task&type=none&task=T-1&task=T-2":                                  {"full"},
		"tag=red&tag=blue&feature=pay&feature=x":                                    {"full"},
		"project=" + project.ID.String() + "&project=" + parent.ID.String():         {"full"},
		"parent=" + parent.ID.String() + "&parent=" + agent.ID.String() + "&type=x": nil,
	} {
		listed := want[page[parley.Session]](s, 200, "GET", "/v1/sessions?"+query, "")
		var got []string
		for _, session := range listed.Data {
			got = append(got, session.Title)
		}
		slices.Sort(got)
		if titles = slices.Sorted(slices.Values(titles)); !slices.Equal(got, titles) {
			t.Errorf("%q lists %v, want %v", query, got, titles)
		}
	}
}

// TestRepeatedFiltersPage: a list with several values of a filter is in order, and goes on by its cursor without gaps.
func TestRepeatedFiltersPage(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for i := range 24 {
		s.session(fmt.Sprintf(`{"title":"%d","type":%q,"tags":["t%d","t%d"]}`, i, string("abcd"[i%4]), i%2, i%3))
	}
	titles := func(query string) (all []string) {
		for cursor := ""; ; {
			listed := want[page[parley.Session]](s, 200, "GET", "/v1/sessions?"+query+cursor, "")
			for _, session := range listed.Data {
				all = append(all, session.Title)
			}
			if listed.Next == nil || len(all) > 24 {
				return all
			}
			cursor = "&cursor=" + *listed.Next
		}
	}
	for _, order := range []string{"asc", "desc"} {
		whole := titles("limit=100&order=" + order)
		for query, keeps := range map[string]func(i int) bool{
			"type=a&type=c&type=d":                   func(i int) bool { return i%4 != 1 },
			"tag=t0&tag=t2":                          func(i int) bool { return i%2 == 0 || i%3 != 1 },
			"type=a&type=b&tag=t1&tag=t2":            func(i int) bool { return i%4 < 2 && (i%2 == 1 || i%3 > 0) },
			"type=a&type=a&type=none&status=pending": func(i int) bool { return i%4 == 0 },
		} {
			kept := slices.DeleteFunc(slices.Clone(whole), func(title string) bool {
				i, err := strconv.Atoi(title)
				return err != nil || !keeps(i)
			})
			if got := titles(query + "&limit=3&order=" + order); !slices.Equal(got, kept) {
				t.Errorf("%s %s lists %v, want %v", query, order, got, kept)
			}
		}
	}
}

// TestTooManyValues: the number of a filter's values, and of the combinations of several filters, is bounded.
func TestTooManyValues(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	if got := s.do("GET", "/v1/sessions?"+strings.Repeat("type=a&", maxFilterValues+1), ""); got.status != 422 ||
		got.problem(t).Errors[0].Field != "type" {
		t.Errorf("too many values: status %d %s", got.status, got.body)
	}
	query := "/v1/sessions?"
	for i := range 9 {
		query += fmt.Sprintf("type=%d&feature=%d&", i, i)
	}
	if got := s.do("GET", query, ""); got.status != 422 || !strings.Contains(got.problem(t).Detail, "combinations") {
		t.Errorf("too many combinations: status %d %s", got.status, got.body)
	}
}

// Every filter of the list of messages.
func TestMessageFilters(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"model":"sim/tool","tools":["current_time"],"message":{"content":{"text":"What time is it?"}}}`,
	).ID.String()
	s.finished(session)
	messages := "/v1/sessions/" + session + "/messages"
	want[parley.Message](
		s,
		201,
		"POST",
		messages,
		`{"content":{"text":"note"},"respond":false,"internal":true,"agent_type":"qa","iteration":3}`,
	)
	turn := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data[0].ID
	for query, sequences := range map[string][]int64{
		"":                         {1, 2, 3, 4, 5, 6},
		"role=user":                {1, 6},
		"role=user&role=assistant": {1, 2, 5, 6},
		"role=tool_result":         {4},
		"status=completed":         {1, 2, 3, 4, 5, 6},
		"status=failed":            nil,
		"internal=true":            {6},
		"internal=false":           {1, 2, 3, 4, 5},
		"turn=" + turn.String():    {1, 2, 3, 4, 5},
		"iteration=3":              {6},
		"iteration=3&iteration=0":  {1, 2, 3, 4, 5, 6},
		"agent_type=qa&agent_type=dev&status=completed&status=failed": {6},
		"tool=current_time&tool=none":                                 {3, 4},
		"turn=" + turn.String() + "&turn=" + session:                  {1, 2, 3, 4, 5},
		"iteration=3&iteration=0&order=desc&limit=2":                  {6, 5},
		"tool=current_time":                                           {3, 4},
		"agent_type=qa":                                               {6},
		"view=user":                                                   {1, 2, 3, 4, 5},
		"view=recent":                                                 {1, 2, 3, 4, 5},
		"view=recent&limit=2":                                         {4, 5},
		"view=user&order=desc&limit=2&role=assistant":                 {5, 2},
		"from_sequence=3":                                             {3, 4, 5, 6},
		"from_sequence=3&order=desc":                                  {3, 2, 1},
		"from_sequence=3&role=assistant":                              {5},
		"from_sequence=9":                                             nil,
		"from_sequence=9&order=desc&limit=2":                          {6, 5},
		"from_sequence=1&order=desc":                                  {1},
		"from_sequence=4&view=user":                                   {4, 5},
	} {
		var got []int64
		for _, message := range want[page[parley.Message]](s, 200, "GET", messages+"?"+query, "").Data {
			got = append(got, message.Sequence)
		}
		if !slices.Equal(got, sequences) {
			t.Errorf("%q lists %v, want %v", query, got, sequences)
		}
	}
	for _, view := range []string{"transcript", "chat"} {
		if got := s.do(
			"GET",
			messages+"?view="+view,
			"",
		); got.status != 200 ||
			strings.Contains(string(got.body), `"note"`) {
			t.Errorf("view %s: status %d, or it shows an internal message: %s", view, got.status, got.body)
		}
	}
}

// A list that begins in the middle goes on by its cursor, in both directions.
func TestMessagesFromTheMiddle(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	messages := "/v1/sessions/" + s.session(`{}`).ID.String() + "/messages"
	for i := range 9 {
		want[parley.Message](s, 201, "POST", messages, fmt.Sprintf(`{"content":{"text":"%d"},"respond":false}`, i))
	}
	for order, sequences := range map[string][]int64{"asc": {5, 6, 7, 8, 9}, "desc": {5, 4, 3, 2, 1}} {
		var got []int64
		query := "?from_sequence=5&limit=2&order=" + order
		for cursor := ""; ; {
			listed := want[page[parley.Message]](s, 200, "GET", messages+query+cursor, "")
			for _, message := range listed.Data {
				got = append(got, message.Sequence)
			}
			if listed.Next == nil || len(got) > len(sequences) {
				break
			}
			cursor = "&cursor=" + *listed.Next
		}
		if !slices.Equal(got, sequences) {
			t.Errorf("%s lists %v, want %v", order, got, sequences)
		}
	}
}

// What a turn writes is found by the agent type and iteration of its trigger.
func TestAnswersOfAgentTypeAndIteration(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"type":"dev-task","feature":"pay","task":"T-1","model":"sim/tool","tools":["current_time"]}`,
	).ID.String()
	s.told(session, `{"content":{"text":"Time?"},"agent_type":"developer","iteration":2,`+
		`"metadata":{"task":"T-1 \"a\"","feature":"pay","ticket":7}}`)
	s.told(session, `{"content":{"text":"And now?"}}`)
	found := want[page[parley.Message]](
		s,
		200,
		"GET",
		"/v1/sessions/"+session+"/messages?agent_type=developer&iteration=2",
		"",
	).Data
	var roles []parley.Role
	for _, message := range found {
		roles = append(roles, message.Role)
	}
	if !slices.Equal(
		roles,
		[]parley.Role{
			parley.RoleUser,
			parley.RoleAssistant,
			parley.RoleToolCall,
			parley.RoleToolResult,
			parley.RoleAssistant,
		},
	) {
		t.Errorf("found %v", roles)
	}
	for _, message := range found {
		var metadata struct{ Task, Feature string }
		if err := json.Unmarshal(message.Metadata, &metadata); err != nil {
			t.Fatal(err)
		}
		about := message.Role == parley.RoleUser || message.Role == parley.RoleAssistant
		if about && (metadata.Task != `T-1 "a"` || metadata.Feature != "pay") {
			t.Errorf("a %s message knows %s", message.Role, message.Metadata)
		}
	}
	if answer := found[len(found)-1]; answer.Usage == nil || answer.Usage.OutputTokens == nil ||
		answer.Model != "sim/tool" ||
		string(found[0].Metadata) != `{"feature":"pay","task":"T-1 \"a\"","ticket":7}` {
		t.Errorf("answer %+v", answer)
	}
}

// The last ten that people see, unless a limit says how many.
func TestRecentViewIsTenMessages(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	messages := "/v1/sessions/" + session + "/messages"
	for i := range 14 {
		want[parley.Message](
			s,
			201,
			"POST",
			messages,
			fmt.Sprintf(`{"content":{"text":"%d"},"respond":false,"internal":%t}`, i, i == 13),
		)
	}
	recent := want[page[parley.Message]](s, 200, "GET", messages+"?view=recent", "")
	if len(recent.Data) != engine.DefaultRecent || recent.Data[0].Sequence != 4 || recent.Data[9].Sequence != 13 ||
		recent.Next != nil {
		t.Errorf("%d messages, next %v", len(recent.Data), recent.Next)
	}
}

// A filter's value that means nothing is refused and named, not ignored.
func TestFilterValuesThatMeanNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	sessions, messages := "/v1/sessions?", "/v1/sessions/"+session+"/messages?"
	cursor := func(path string) string {
		s.session(`{}`)
		return *want[page[parley.Session]](s, 200, "GET", path, "").Next
	}("/v1/sessions?limit=1")
	for _, query := range []string{
		sessions + "kind=x", sessions + "mode=x", sessions + "status=x", sessions + "archived=x", sessions + "pinned=x",
		sessions + "created_from=yesterday", sessions + "created_to=x", sessions + "parent=x",
		sessions + "order=sideways",
		sessions + "limit=0", sessions + "limit=1001", sessions + "limit=x", sessions + "cursor=!",
		sessions + "colour=x",
		sessions + "order=asc&cursor=" + cursor, "/v1/agents?cursor=" + cursor,
		messages + "cursor=" + cursor, messages + "role=x", messages + "status=x", messages + "internal=x",
		messages + "turn=x", messages + "iteration=x",
		messages + "iteration=-1", messages + "limit=0", messages + "limit=1001", messages + "order=sideways",
		messages + "view=user&internal=true", messages + "view=chat&internal=true", messages + "view=recent&order=asc",
		"/v1/agents?status=x", "/v1/agents?limit=1001", "/v1/sessions/" + session + "/turns?status=x",
		"/v1/sessions/" + session + "/calls?turn=x",
		"/v1/projects?recent=0", "/v1/projects?recent=1&limit=1", "/v1/events?session=x", "/v1/models?colour=x",
		"/v1/sessions/" + session + "?colour=x",
	} {
		got := s.do("GET", query, "")
		if got.status != 422 {
			t.Errorf("%s: status %d %s", query, got.status, got.body)
			continue
		}
		problem := got.problem(t)
		if len(problem.Errors) == 0 || !strings.Contains(query, problem.Errors[0].Field+"=") {
			t.Errorf("%s: errors %+v name no parameter of it", query, problem.Errors)
		}
	}
	agent := want[parley.Agent](s, 200, "GET", "/v1/agents/parley", "").ID.String()
	want[parley.Session](s, 201, "POST", "/v1/agents/parley/sessions", `{"agent_id":"`+agent+`"}`)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"other"}`)
	for field, got := range map[string]reply{
		"agent_id": s.do("POST", "/v1/agents/other/sessions", `{"agent_id":"`+agent+`"}`),
		"agent":    s.do("GET", "/v1/agents/other/sessions?agent=parley", ""),
	} {
		if got.status != 422 || got.problem(t).Errors[0].Field != field {
			t.Errorf("two agents: status %d %s", got.status, got.body)
		}
	}
	if got := s.do("GET", sessions+"agent=nobody", ""); got.status != 404 {
		t.Errorf("an agent that there is not: status %d", got.status)
	}
}

// TestDatesAlone: a date without a time covers the whole day, at both ends of a range.
func TestDatesAlone(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	created := s.session(`{}`).CreatedAt.Std().UTC()
	day := func(days int) string { return created.AddDate(0, 0, days).Format(time.DateOnly) }
	for query, found := range map[string]int{
		"created_from=" + day(0): 1, "created_from=" + day(1): 0, "created_to=" + day(0): 1, "created_to=" + day(-1): 0,
		"created_from=" + day(0) + "&created_to=" + day(0): 1,
	} {
		if list := want[engine.Page[parley.Session]](
			s,
			200,
			"GET",
			"/v1/sessions?"+query,
			"",
		); len(
			list.Data,
		) != found {
			t.Errorf("%s finds %d sessions, want %d", query, len(list.Data), found)
		}
	}
	want[any](s, 200, "GET", "/v1/usage?created_from="+day(0)+"&created_to="+day(0), "")
	want[any](s, 200, "GET", "/v1/search?q=x&created_from="+day(0)+"&created_to="+day(0), "")
	for _, wrong := range []string{"2026-02-30", "2026-1-1", "yesterday"} {
		got := s.do("GET", "/v1/sessions?created_from="+wrong, "")
		if got.status != 422 || got.problem(t).Errors[0].Field != "created_from" {
			t.Errorf("%s: %d %s", wrong, got.status, got.body)
		}
	}
}

// TestSessionsShowTheirLiveState: each session of the list says what it does now, what it waits for, and what became of
// its last turn (row A3).
func TestSessionsShowTheirLiveState(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.session(`{"title":"fresh"}`)
	ended := func(title, model, end string) {
		id := s.session(fmt.Sprintf(`{"title":%q,"model":%q,"retry_policy":{"retries":0}}`, title, model)).ID.String()
		s.stream("POST", "/v1/sessions/"+id+"/messages", `{"content":{"text":"Go"}}`).until(end)
	}
	ended("done", "sim/echo", "session.completed")
	ended("broken", "sim/fail-auth-9", "session.failed")
	running := s.streaming(`{"title":"at it"}`)
	s.waiting(`{"title":"asking"}`)
	states := func() map[string]string {
		got := map[string]string{}
		for _, one := range want[page[parley.Session]](s, 200, "GET", "/v1/sessions", "").Data {
			got[one.Title] = string(one.Status) + " " + string(one.WaitReason)
		}
		return got
	}
	expected := map[string]string{
		"fresh": "pending ", "done": "completed ", "broken": "failed ", "at it": "running ",
		"asking": "waiting tool_result",
	}
	if diff := cmp.Diff(expected, states()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.do("POST", "/v1/sessions/"+running.session+"/cancel", "")
	s.awaitEnd(running.session)
	expected["at it"] = "cancelled "
	if diff := cmp.Diff(expected, states()); diff != "" {
		t.Errorf("after a cancel (-want +got):\n%s", diff)
	}
}
