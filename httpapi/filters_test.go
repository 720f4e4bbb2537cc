package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
		"":                              all,
		"agent=ada":                     {"full"},
		"agent_id=" + agent.ID.String(): {"full"},
		"agent=parley":                  {"done", "parent"},
		"agent=ada&agent_id=" + agent.ID.String(): {"full"},
		"project_id=" + project.ID.String():       {"full"},
		"parent_session_id=" + parent.ID.String(): {"full"},
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
		"agent=ada&type=qa-task&kind=tool&pinned=true&tag=red":  {"full"},
		"agent=ada&type=qa-task&kind=tool&pinned=false&tag=red": nil,
	} {
		listed := want[page[parley.Session]](s, 200, "GET", "/v1/sessions?"+query, "")
		var got []string
		for _, session := range listed.Data {
			got = append(got, session.Title)
		}
		slices.Sort(got)
		if !slices.Equal(got, titles) {
			t.Errorf("%q lists %v, want %v", query, got, titles)
		}
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
		"turn_id=" + turn.String(): {1, 2, 3, 4, 5},
		"iteration=3":              {6},
		"tool_name=current_time":   {3, 4},
		"agent_type=qa":            {6},
		"view=user":                {1, 2, 3, 4, 5},
		"view=recent":              {1, 2, 3, 4, 5},
		"view=recent&limit=2":      {4, 5},
		"view=user&order=desc&limit=2&role=assistant": {5, 2},
		"from_sequence=3":                    {3, 4, 5, 6},
		"from_sequence=3&order=desc":         {3, 2, 1},
		"from_sequence=3&role=assistant":     {5},
		"from_sequence=9":                    nil,
		"from_sequence=9&order=desc&limit=2": {6, 5},
		"from_sequence=1&order=desc":         {1},
		"from_sequence=4&view=user":          {4, 5},
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
	s.told(session, `{"content":{"text":"Time?"},"agent_type":"developer","iteration":2,"metadata":{"task":"T-1"}}`)
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
	if answer := found[len(found)-1]; answer.Usage == nil || answer.Usage.OutputTokens == nil ||
		answer.Model != "sim/tool" ||
		string(found[0].Metadata) != `{"task":"T-1"}` {
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
		sessions + "created_from=yesterday", sessions + "created_to=x", sessions + "parent_session_id=x",
		sessions + "order=sideways",
		sessions + "limit=0", sessions + "limit=1001", sessions + "limit=x", sessions + "cursor=!",
		sessions + "colour=x",
		sessions + "order=asc&cursor=" + cursor, "/v1/agents?cursor=" + cursor,
		messages + "cursor=" + cursor, messages + "role=x", messages + "status=x", messages + "internal=x",
		messages + "turn_id=x", messages + "iteration=x",
		messages + "iteration=-1", messages + "limit=0", messages + "limit=1001", messages + "order=sideways",
		messages + "view=user&internal=true", messages + "view=chat&internal=true", messages + "view=recent&order=asc",
		"/v1/agents?status=x", "/v1/agents?limit=1001", "/v1/sessions/" + session + "/turns?status=x",
		"/v1/sessions/" + session + "/calls?turn_id=x",
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
	for _, got := range []reply{
		s.do("POST", "/v1/agents/other/sessions", `{"agent_id":"`+agent+`"}`),
		s.do("GET", "/v1/agents/other/sessions?agent=parley", ""),
	} {
		if got.status != 422 || got.problem(t).Errors[0].Field != "agent_id" {
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
	want[any](s, 200, "GET", "/v1/usage?from="+day(0)+"&to="+day(0), "")
	want[any](s, 200, "GET", "/v1/search?q=x&created_from="+day(0)+"&created_to="+day(0), "")
	for _, wrong := range []string{"2026-02-30", "2026-1-1", "yesterday"} {
		got := s.do("GET", "/v1/sessions?created_from="+wrong, "")
		if got.status != 422 || got.problem(t).Errors[0].Field != "created_from" {
			t.Errorf("%s: %d %s", wrong, got.status, got.body)
		}
	}
}
