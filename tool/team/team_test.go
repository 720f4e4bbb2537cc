package team_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
	"example.org/parley/tool/team"
)

// agents are the agents of a workspace.
type agents []parley.Agent

func (a agents) Agent(_ context.Context, _ parley.ID, idOrSlug string) (parley.Agent, error) {
	for i := range a {
		if a[i].Slug == idOrSlug || a[i].ID.String() == idOrSlug {
			return a[i], nil
		}
	}
	return parley.Agent{}, parley.Errorf(parley.CodeNotFound, "there is no such agent")
}

func (a agents) Agents(_ context.Context, _ parley.ID, query store.AgentQuery) (found []parley.Agent, err error) {
	var leadID parley.ID
	for i := range a {
		if a[i].ID == query.Around {
			leadID = a[i].LeadID
		}
	}
	for i := range a {
		if a[i].ID == query.Around || a[i].ID == leadID || a[i].LeadID == query.Around {
			found = append(found, a[i])
		}
	}
	return found, nil
}

// reads is a store of agents that knows nothing else.
type reads struct {
	agents
	team.Knowledge
}

func agent(slug string, lead parley.ID) parley.Agent {
	return parley.Agent{ID: parley.NewID(), Slug: slug, Name: slug, LeadID: lead, Status: parley.AgentActive}
}

// offered returns the tools of an agent by name.
func offered(t *testing.T, all agents, agentID parley.ID) map[string]tool.Tool {
	t.Helper()
	tools, err := team.Tools(reads{agents: all}).ToolsOf(t.Context(), parley.NewID(), agentID)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]tool.Tool{}
	for _, one := range tools {
		byName[one.Definition().Name] = one
	}
	return byName
}

// TestToolsByPlace: which tools an agent has follows from its place in its team, and archived agents have no part in
// it.
func TestToolsByPlace(t *testing.T) {
	t.Parallel()
	top := agent("top", parley.ID{})
	middle := agent("middle", top.ID)
	bottom := agent("bottom", middle.ID)
	gone := agent("gone", bottom.ID)
	gone.Status = parley.AgentArchived
	orphan := agent("orphan", gone.ID)
	all := agents{top, middle, bottom, gone, orphan, agent("alone", parley.ID{})}
	for slug, want := range map[string]string{
		"top":    "create_inbox_item delegate_to_agent request_input",
		"middle": "create_inbox_item delegate_to_agent report_to_lead request_input",
		"bottom": "report_to_lead request_input",
		"orphan": "create_inbox_item request_input", // its lead is archived
		"alone":  "create_inbox_item request_input",
	} {
		one, err := all.Agent(t.Context(), parley.ID{}, slug)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range offered(t, all, one.ID) {
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has the tools %s; want %s", slug, got, want)
		}
	}
	definition := offered(t, all, bottom.ID)[team.ReportToLead].Definition()
	if !strings.Contains(definition.Description, "middle") {
		t.Errorf("the bottom's lead is not named: %s", definition.Description)
	}
}

// TestArguments: what a call may not send is refused with a sentence that names the argument, and nothing is sent.
func TestArguments(t *testing.T) {
	t.Parallel()
	lead := agent("lead", parley.ID{})
	scout := agent("scout", lead.ID)
	all := agents{lead, scout}
	long := strings.Repeat("x", parley.MaxDelegationBytes+1)
	for _, c := range []struct {
		of              parley.ID
		name, arguments string
		field, sentence string
	}{
		{lead.ID, team.DelegateToAgent, `{"agent":"nobody","task":"Look."}`, "agent", "not one of your team: scout"},
		{lead.ID, team.DelegateToAgent, `{"agent":"lead","task":"Look."}`, "agent", "not one of your team"},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":" \n"}`, "task", "missing or empty"},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout"}`, "task", "missing or empty"},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"` + long + `"}`, "task", ""},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"a\u0000b"}`, "task", ""},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"Look.","deadline":"soon"}`, "deadline", "30m"},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"Look.","deadline":"0s"}`, "deadline", "30m"},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"Look.","deadline":"59s"}`, "deadline", "between"},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"Look.","deadline":"-5m"}`, "deadline", "between"},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"Look.","deadline":"721h"}`, "deadline", "between"},
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"Look.","urgent":true}`, "", "do not fit the tool"},
		{lead.ID, team.DelegateToAgent, `["scout"]`, "", "do not fit the tool"},
		{lead.ID, team.RequestInput, `{}`, "question", "missing or empty"},
		{scout.ID, team.RequestInput, `{"question":"` + long + `"}`, "question", ""},
		{scout.ID, team.ReportToLead, `{"final":true}`, "result", "missing or empty"},
		{scout.ID, team.ReportToLead, `{"result":"Done.","final":"yes"}`, "", "do not fit the tool"},
		{lead.ID, team.CreateInboxItem, `{"title":"","summary":"s","text":"t"}`, "title", "missing or empty"},
		{lead.ID, team.CreateInboxItem, `{"title":"t","summary":"s","text":"t","type":"approval"}`, "type", "alert"},
		{lead.ID, team.CreateInboxItem, `{"title":"t","summary":"s"}`, "text", "missing or empty"},
	} {
		result, err := offered(t, all, c.of)[c.name].Call(t.Context(), tool.Call{
			MessageID: parley.NewID(), Arguments: json.RawMessage(c.arguments),
		})
		about := parley.Clip(c.name+" "+c.arguments, 100)
		switch {
		case parley.ErrorCode(err) != parley.CodeInvalid || result.Send != nil:
			t.Errorf("%s: %v, and it sends %+v", about, err, result.Send)
		case !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), c.sentence):
			t.Errorf("%s: %q; want %q and %q in it", about, err, c.field, c.sentence)
		}
	}
}

// TestSends: a call returns at once, and its result says what is sent.
func TestSends(t *testing.T) {
	t.Parallel()
	lead := agent("lead", parley.ID{})
	scout := agent("scout", lead.ID)
	all := agents{lead, scout}
	for _, c := range []struct {
		of              parley.ID
		name, arguments string
		want            parley.Sending
	}{
		{lead.ID, team.DelegateToAgent, `{"agent":"scout","task":"Look.","deadline":"90m"}`,
			parley.Sending{Kind: parley.DelegationTask, To: scout.ID, Text: "Look.", Deadline: 90 * time.Minute}},
		{lead.ID, team.RequestInput, `{"question":"Where?"}`,
			parley.Sending{Kind: parley.DelegationQuestion, Text: "Where?"}},
		{scout.ID, team.RequestInput, `{"question":"Where?"}`,
			parley.Sending{Kind: parley.DelegationQuestion, To: lead.ID, Text: "Where?"}},
		{scout.ID, team.ReportToLead, `{"result":"Done.","final":true}`,
			parley.Sending{Kind: parley.DelegationReport, To: lead.ID, Text: "Done.", Final: true}},
		{lead.ID, team.CreateInboxItem, `{"title":"t","summary":"s","text":"All.","type":"alert"}`, parley.Sending{
			Kind: parley.DelegationBriefing, Text: "All.", Title: "t", Summary: "s", Type: parley.InboxAlert}},
	} {
		one := offered(t, all, c.of)[c.name]
		call := tool.Call{MessageID: parley.NewID(), Arguments: json.RawMessage(c.arguments)}
		result, err := one.Call(t.Context(), call)
		want := `{"sent":true,"delegation_id":"` + parley.DelegationID(call.MessageID).String() + `"}`
		if err != nil || result.Send == nil || *result.Send != c.want || string(result.JSON) != want {
			t.Errorf("%s sends %+v with the result %s, %v; want %+v", c.name, result.Send, result.JSON, err, c.want)
		}
		if !one.Annotations().Idempotent {
			t.Errorf("%s is not repeated after a crash", c.name)
		}
	}
}
