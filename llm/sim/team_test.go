package sim_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
)

// teammate is one agent of a team under test, with everything that it was shown so far.
type teammate struct {
	*testing.T
	request model.Request
}

// newTeammate returns an agent with a system prompt and these tools; a lead has members.
func newTeammate(t *testing.T, prompt string, members []string, tools ...string) *teammate {
	t.Helper()
	request := model.Request{Model: "sim/team", System: prompt}
	if len(members) > 0 {
		names, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		request.Tools = append(request.Tools, parley.ToolDefinition{
			Name:       "delegate_to_agent",
			Parameters: json.RawMessage(`{"properties":{"agent":{"enum":` + string(names) + `}}}`),
		})
	}
	for _, name := range tools {
		request.Tools = append(request.Tools, parley.ToolDefinition{Name: name})
	}
	return &teammate{t, request}
}

// told shows messages to the agent and plays its turn; results of its tools are {"sent":true}. It returns the calls of
// all steps without their ids, and the text of the last.
func (a *teammate) told(texts ...string) (calls []string, text string) {
	a.Helper()
	for _, text := range texts {
		a.request.Messages = append(a.request.Messages, user(text))
	}
	for range 5 {
		p := mustPlay(a.T, a.request)
		answered := model.Message{Role: model.RoleAssistant}
		var results []model.Message
		for _, c := range p.Calls {
			id, rest, _ := strings.Cut(c, " ")
			name, arguments, _ := strings.Cut(rest, " ")
			calls = append(calls, rest)
			answered.Parts = append(answered.Parts, model.Part{
				Kind: model.PartToolCall, CallID: id, Name: name, Arguments: json.RawMessage(arguments),
			})
			results = append(results, model.Message{Role: model.RoleTool, Parts: []model.Part{{
				Kind: model.PartToolResult, CallID: id, Name: name, Text: `{"sent":true}`,
			}}})
		}
		if p.Text != "" {
			answered.Parts = append(answered.Parts, model.Part{Kind: model.PartText, Text: p.Text})
		}
		a.request.Messages = append(append(a.request.Messages, answered), results...)
		if p.Finish == parley.FinishStop {
			return calls, p.Text
		}
	}
	a.Fatalf("the turn does not end: %q", calls)
	return nil, ""
}

// TestALeadBriefsWhenAllHaveAnswered: a lead hands work to everybody, waits until the last answer is there, and then
// briefs once, each claim with the citation that its answer came with.
func TestALeadBriefsWhenAllHaveAnswered(t *testing.T) {
	synctest.Test(t, aLeadBriefsWhenAllHaveAnswered)
}

func aLeadBriefsWhenAllHaveAnswered(t *testing.T) {
	l := newTeammate(t, "You lead.", []string{"clerk", "scout"}, "request_input", "create_inbox_item")
	calls, _ := l.told("Count the apples.\n\nAll of them.")
	tasks := []string{
		`delegate_to_agent {"agent":"clerk","task":"Count the apples\n\nLook at this from your side, and answer with ` +
			`what you find in three points."}`,
		`delegate_to_agent {"agent":"scout","task":"Count the apples\n\nLook at this from your side, and answer with ` +
			`what you find in three points."}`,
	}
	if diff := cmp.Diff(tasks, calls); diff != "" {
		t.Fatalf("handed over (-want +got):\n%s", diff)
	}
	if calls, text := l.told("Answer to your task to The Scout (scout), \"Count the apples\" [a-1:7]:\n\n" +
		"Simulated: nine."); calls != nil || text != "Simulated: 1 of 2 agents answered." {
		t.Errorf("after one of two answers it calls %q and says %q", calls, text)
	}
	calls, _ = l.told("Report from Clerk (clerk):\n\nI am at it.",
		"No answer to your task to Clerk (clerk), \"Count the apples\": its deadline has passed.")
	var item struct{ Title, Summary, Text string }
	if len(calls) != 1 || !strings.HasPrefix(calls[0], "create_inbox_item ") {
		t.Fatalf("after the last answer it calls %q", calls)
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(calls[0], "create_inbox_item ")), &item); err != nil {
		t.Fatal(err)
	}
	if item.Title != "Count the apples" || item.Summary != "1 of 2 agents answered, 1 could not." ||
		!strings.Contains(item.Text, "- **scout**: nine. [a-1:7]\n") ||
		!strings.Contains(item.Text, "- **clerk**: No answer to your task") {
		t.Errorf("the briefing is %+v", item)
	}

	// The same work another time is another briefing, and what came back for the first one does not count.
	l.told("Count the apples.")
	if calls, text := l.told("Answer to your task to Clerk (clerk), \"Count the apples\":\n\nTen."); calls != nil {
		t.Errorf("it briefs before the second work is done: %q, %q", calls, text)
	}
	if calls, _ := l.told("Answer to your task to The Scout (scout), \"Count the apples\":\n\nTen."); len(calls) != 1 ||
		strings.Contains(calls[0], "nine") {
		t.Errorf("the second briefing is %q", calls)
	}
}

// TestHabitsOfTeammates: what the system prompt says decides what an agent does before it answers.
func TestHabitsOfTeammates(t *testing.T) {
	t.Parallel()
	const work = "Task from Lead (lead). Your answer goes back to them.\n\nCount the pears"
	below := []string{"report_to_lead", "request_input", "current_time"}
	for _, c := range []struct {
		name, prompt string
		members      []string
		tools        []string
		told         string
		calls        string // names
		says         string
	}{
		{"plain", "You count.", nil, below[:2], work, "", "Simulated: three made-up points. 1. "},
		{"reads the clock", "You count.", nil, below, work, "current_time", "Looked up at "},
		{"reports", "Report to your lead when you begin.", nil, below[:2], work, "report_to_lead", "three made-up"},
		{"asks", "First ask your lead.", nil, below, work, "request_input", "Simulated: I have asked."},
		{
			"goes on with the answer", "First ask your lead.", nil, below[:2],
			"Answer to your question to Lead (lead), \"Which?\":\n\nThose.", "", "three made-up",
		},
		{"answers a question", "You lead.", []string{"a"}, below, "Question from A (a).\n\nWhich?", "", "begin with"},
		{"hands on", "You lead.", []string{"a"}, below, work, "delegate_to_agent", "handed the work to 1 agent"},
		{
			"works alone", "You count.", nil, []string{"request_input", "create_inbox_item"}, "Count.",
			"create_inbox_item", "the briefing is in your inbox.",
		},
		{"in the foreground", "You count.", nil, nil, "Hello", "", "work in the background"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var calls []string
			var text string
			synctest.Test(t, func(t *testing.T) {
				calls, text = newTeammate(t, c.prompt, c.members, c.tools...).told(c.told)
			})
			names := make([]string, len(calls))
			for i, call := range calls {
				names[i], _, _ = strings.Cut(call, " ")
			}
			if got := strings.Join(names, " "); got != c.calls || !strings.Contains(text, c.says) ||
				!strings.HasPrefix(text, "Simulated: ") {
				t.Errorf("it calls %q and says %q, want %q and %q", got, text, c.calls, c.says)
			}
		})
	}
}

// TestALeadInTheMiddleAnswersItsLead: it passes work on, and the answers come back up with their sources; and a lead
// that does not see any more what an answer belongs to briefs all the same.
func TestALeadInTheMiddleAnswersItsLead(t *testing.T) {
	synctest.Test(t, aLeadInTheMiddleAnswersItsLead)
}

func aLeadInTheMiddleAnswersItsLead(t *testing.T) {
	l := newTeammate(t, "You lead.", []string{"a"}, "report_to_lead", "request_input", "create_inbox_item")
	l.told("Task from Top (top). Your answer goes back to them.\n\nCount")
	calls, text := l.told("Answer to your task to A (a), \"Count\" [s:3]:\n\nTwo.")
	if calls != nil || !strings.Contains(text, "- **a**: Two. [s:3]") {
		t.Errorf("it calls %q and answers %q", calls, text)
	}
	l = newTeammate(t, "Ask the person you work for.", []string{"a"}, "request_input", "create_inbox_item")
	calls, _ = l.told("Answer to your task to A (a), \"Forgotten\":\n\nTwo.")
	if len(calls) != 2 || !strings.Contains(calls[0], `"title":"Forgotten"`) ||
		!strings.HasPrefix(calls[1], "request_input ") {
		t.Errorf("for an answer to what it cannot see it calls %q", calls)
	}
}

// TestALeadCountsAnswersToWhatItCannotSee: when a summary covers what a lead has handed over, the answers of everybody
// in its team are one briefing all the same, and those of an agent that has left are another.
func TestALeadCountsAnswersToWhatItCannotSee(t *testing.T) { synctest.Test(t, leadCountsCovered) }

func leadCountsCovered(t *testing.T) {
	l := newTeammate(t, "You lead.", []string{"a", "b"}, "request_input", "create_inbox_item")
	for i, c := range []struct {
		from, calls string
	}{{"a", ""}, {"b", "create_inbox_item"}, {"a", ""}, {"gone", ""}, {"b", "create_inbox_item"}} {
		calls, text := l.told("Answer to your task to X (" + c.from + "), \"Count\":\n\nTwo.")
		if got, _, _ := strings.Cut(strings.Join(calls, " "), " "); got != c.calls {
			t.Errorf("after answer %d it calls %q and says %q", i+1, calls, text)
		}
	}
}
