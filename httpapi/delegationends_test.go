package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/tool"
)

// handOver is a tool that sends a task to any agent, with any deadline. The tool of teams sends to active agents only,
// for at least a minute.
type handOver struct{}

func (handOver) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{Name: "hand_over", Parameters: json.RawMessage(`{"type":"object"}`)}
}
func (handOver) Annotations() parley.ToolAnnotations { return parley.ToolAnnotations{ReadOnly: true} }
func (handOver) Source() string                      { return "test" }

func (handOver) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	var sent struct {
		To      parley.ID
		Seconds int
	}
	if err := json.Unmarshal(call.Arguments, &sent); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{JSON: json.RawMessage(`"sent"`), Send: &parley.Sending{
		Kind: parley.DelegationTask, To: sent.To, Text: "Look.", Deadline: time.Duration(sent.Seconds) * time.Second,
	}}, nil
}

// handOvers is a source of that tool alone.
type handOvers struct{}

func (handOvers) Tools() []tool.Tool                 { return []tool.Tool{handOver{}} }
func (handOvers) Tool(name string) (tool.Tool, bool) { return handOver{}, name == "hand_over" }
func (h handOvers) For(parley.ID) tool.Source        { return h }
func (handOvers) Expects(string) bool                { return false }
func (handOvers) Await(context.Context)              {}
func (handOvers) Faults() []tool.Fault               { return nil }

// overfills posts messages into a session until its queue takes no more, and returns the last one that waits.
func (s *testServer) overfills(at string) (last parley.Message) {
	s.Helper()
	body := `{"content":{"text":"` + strings.Repeat("x", parley.MaxQueuedBytes/8-1000) + `"}}`
	for {
		switch posted := s.do("POST", at+"/messages", body); posted.status {
		case 201:
			if err := json.Unmarshal(posted.body, &last); err != nil {
				s.Fatal(err)
			}
		case 409:
			return last
		default:
			s.Fatalf("posting until the queue is full: status %d: %s", posted.status, posted.body)
		}
	}
}

// TestATaskThatCannotBeDelivered: a task for an archived agent, an archived session, or a session whose queue is full
// fails with the reason, and its sender is told.
func TestATaskThatCannotBeDelivered(t *testing.T) {
	t.Parallel()
	delegate := func(task string) func(parley.Agent) string {
		return func(to parley.Agent) string {
			return call("delegate_to_agent", map[string]string{"agent": to.Slug, "task": task})
		}
	}
	for what, try := range map[string]struct {
		before func(s *testServer, at string)
		send   func(to parley.Agent) string
		says   string
	}{
		"the agent is archived": {
			func(s *testServer, _ string) { s.do("DELETE", "/v1/agents/works", "") },
			func(to parley.Agent) string { return call("hand_over", map[string]any{"To": to.ID}) },
			"it failed: the agent is archived.",
		},
		"its session is archived": {
			func(s *testServer, at string) { want[parley.Session](s, 200, "PATCH", at, `{"archived":true}`) },
			delegate("Look."),
			"it failed: the agent's background session is archived.",
		},
		"its queue is full": {
			func(s *testServer, at string) { s.overfills(at) },
			delegate("Look." + strings.Repeat(" And look again.", 10_000)),
			"it failed: the messages that wait in this session's queue have",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := startServerWithTools(t, handOvers{})
			lead := s.member(`{"name":"Lead","model":"sim/script","tools":["hand_over"]}`)
			works := s.member(fmt.Sprintf(`{"name":"Works","model":"sim/lorem-600-1000","lead_id":%q}`, lead.ID))
			try.before(s, s.background(works))
			at := s.background(lead)
			s.plays(at, []string{try.send(works), `{"text":"Sent."}`, `{"text":"Pity."}`})
			s.ended(at, 1)
			task := want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?agent=lead", "").Data[0]
			ended, told := s.ends(task, parley.DelegationFailed)
			if !strings.HasPrefix(told, `No answer to your task to Works (works), "Look.`) ||
				!strings.Contains(told, try.says) || !ended.ToSessionID.IsZero() {
				t.Errorf("the lead was told %q of %+v", told, ended)
			}
		})
	}
}

// TestATaskWhoseSessionIsDeleted: the sender is told, and the next task comes to a new session.
func TestATaskWhoseSessionIsDeleted(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	task := s.handedOver()
	s.runs(task)
	task = s.becomes(task.ID, func(*parley.Delegation) bool { return true })
	if got := s.do("DELETE", "/v1/sessions/"+task.ToSessionID.String(), ""); got.status != 204 {
		t.Fatalf("deleting the session: status %d: %s", got.status, got.body)
	}
	if _, told := s.ends(task, parley.DelegationCancelled); told !=
		`No answer to your task to Works (works), "Look.": it was cancelled: a background session was deleted.` {
		t.Errorf("the lead was told %q", told)
	}
	at := "/v1/sessions/" + task.FromSessionID.String()
	s.plays(at, []string{call("delegate_to_agent", map[string]string{"agent": "works", "task": "Look."}),
		`{"text":"Sent again."}`})
	s.ended(at, 3) // the task, the news of its end, the task again
	again := want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?agent=lead", "").Data[0]
	again = s.becomes(again.ID, func(now *parley.Delegation) bool { return !now.ToSessionID.IsZero() })
	if again.ID == task.ID || again.ToSessionID == task.ToSessionID {
		t.Errorf("the next task came to the deleted session: %+v", again)
	}
}

// TestATaskExpires: a deadline that passes ends a task that runs, and its turn; the sender is told.
func TestATaskExpires(t *testing.T) {
	t.Parallel()
	s := startServerWithTools(t, handOvers{})
	lead := s.member(`{"name":"Lead","model":"sim/script","tools":["hand_over"]}`)
	works := s.member(fmt.Sprintf(`{"name":"Works","model":"sim/lorem-600-1000","lead_id":%q}`, lead.ID))
	at := s.background(lead)
	s.plays(at, []string{call("hand_over", map[string]any{"To": works.ID, "Seconds": 3}), `{"text":"Sent."}`,
		`{"text":"Pity."}`})
	s.ended(at, 1)
	task := want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations", "").Data[0]
	ended, told := s.ends(task, parley.DelegationExpired)
	if told != `No answer to your task to Works (works), "Look.": its deadline has passed.` {
		t.Errorf("the lead was told %q", told)
	}
	if ended.DeadlineAt != ended.CreatedAt+3000 || ended.FinishedAt < ended.DeadlineAt {
		t.Errorf("the task is %+v", ended)
	}
	s.stops(ended.ToSessionID, ended.TurnID)
}

// TestDeadlinesOfTasks: a task has a day unless its sender says otherwise, and a deadline that is too near or too far
// is an error that the model reads.
func TestDeadlinesOfTasks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	s.member(fmt.Sprintf(`{"name":"Works","model":"sim/lorem-600-1000","lead_id":%q}`, lead.ID))
	at := s.background(lead)
	var steps []string
	for _, deadline := range []string{"", "90m", "59s", "721h", "soon"} {
		steps = append(steps, call("delegate_to_agent",
			map[string]string{"agent": "works", "task": "Look.", "deadline": deadline}))
	}
	s.plays(at, append(steps, `{"text":"Sent."}`))
	s.ended(at, 1)
	var hours []float64
	for _, d := range want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?order=asc", "").Data {
		hours = append(hours, (d.DeadlineAt.Std().Sub(d.CreatedAt.Std())).Hours())
	}
	if got := fmt.Sprint(hours); got != "[24 1.5]" {
		t.Errorf("the tasks have %s hours", got)
	}
	const bounds, form = "deadline: must lie between 1m and 720h", "deadline: is not a duration such as 30m or 48h"
	if got := s.failuresIn(at); len(got) != 3 || got[0] != bounds || got[1] != bounds || got[2] != form {
		t.Errorf("the model read %q", got)
	}
}
