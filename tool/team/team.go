// Package team holds the tools by which the agents of a team work together: a lead hands tasks to its subordinates, and
// a subordinate asks its lead and reports to it; leads brief and ask the person they work for. Which of them an agent
// has depends on its place in its team; the worker offers them in the agent's background session, and nowhere else.
// The package owns no state: what a tool sends is recorded with its result, and delivered by the outbox.
//
// Its tools of knowledge are offered in every session that is told what its agent knows.
package team

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// The names of the tools.
const (
	DelegateToAgent = "delegate_to_agent"
	RequestInput    = "request_input"
	ReportToLead    = "report_to_lead"
	CreateInboxItem = "create_inbox_item"
)

// sourceName is the Source of these tools.
const sourceName = "team"

// maxDescription bounds how much of each subordinate's description a definition shows, in bytes.
const maxDescription = 300

// Agents reads the agents of a workspace. A store.Store implements it.
type Agents interface {
	Agent(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.Agent, error)
	Agents(ctx context.Context, workspaceID parley.ID, query store.AgentQuery) ([]parley.Agent, error)
}

// Store is what the tools read and write. A store.Store implements it.
type Store interface {
	Agents
	Knowledge
}

// Source makes the tools of agents. It implements tool.Background.
type Source struct {
	agents    Agents
	knowledge Knowledge
}

var _ tool.Background = Source{}

// Tools returns the source of the team's tools.
func Tools(store Store) Source { return Source{store, store} }

// ToolsOf implements tool.Background.
func (s Source) ToolsOf(ctx context.Context, workspaceID, agentID parley.ID) (tools []tool.Tool, err error) {
	around, err := s.agents.Agents(ctx, workspaceID, store.AgentQuery{Around: agentID, Limit: parley.MaxPage})
	if err != nil {
		return nil, err
	}
	lead, members := placeOf(agentID, around)
	if len(members) > 0 {
		tools = append(tools, delegate(members))
	}
	if lead == nil {
		return append(tools, requestOfPerson(), brief()), nil
	}
	tools = append(tools, report(lead), request(lead))
	if len(members) > 0 {
		tools = append(tools, brief())
	}
	return tools, nil
}

// placeOf returns the active lead of an agent, nil if it has none, and its active subordinates by slug, from the agents
// around it.
func placeOf(agentID parley.ID, around []parley.Agent) (lead *parley.Agent, members []parley.Agent) {
	var leadID parley.ID
	for i := range around {
		if around[i].ID == agentID {
			leadID = around[i].LeadID
		}
	}
	for i := range around {
		switch agent := &around[i]; {
		case agent.Status != parley.AgentActive:
		case agent.LeadID == agentID:
			members = append(members, *agent)
		case agent.ID == leadID:
			lead = agent
		}
	}
	return lead, members
}

// sends is a tool whose result sends something to another agent of the team.
type sends struct {
	definition parley.ToolDefinition
	read       func(arguments json.RawMessage) (parley.Sending, error)
}

var _ tool.Tool = sends{}

// Definition implements tool.Tool.
func (s sends) Definition() parley.ToolDefinition { return s.definition }

// Annotations implements tool.Tool: a call that is repeated sends the same thing, and nothing is sent before its result
// is recorded.
func (sends) Annotations() parley.ToolAnnotations { return parley.ToolAnnotations{Idempotent: true} }

// Source implements tool.Tool.
func (sends) Source() string { return sourceName }

// Call implements tool.Tool.
func (s sends) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	sending, err := s.read(call.Arguments)
	if err == nil {
		err = sending.Validate()
	}
	if err != nil {
		return tool.Result{}, err
	}
	answer, err := json.Marshal(struct {
		Sent         bool      `json:"sent"`
		DelegationID parley.ID `json:"delegation_id"`
	}{true, parley.DelegationID(call.MessageID)})
	return tool.Result{JSON: answer, Send: &sending}, err
}

// readArguments reads a call's arguments into a struct and refuses others.
func readArguments(arguments json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return parley.Errorf(parley.CodeInvalid, "the arguments do not fit the tool: %s", parley.Clip(err.Error(), 256))
	}
	return nil
}

// object returns the schema of an object with these properties.
func object(required []string, properties string) json.RawMessage {
	names, _ := json.Marshal(required) //nolint:errchkjson // strings
	return json.RawMessage(
		`{"additionalProperties":false,"properties":{` + properties + `},"required":` + string(names) +
			`,"type":"object"}`,
	)
}

// delegate is the tool that hands a task to a subordinate.
func delegate(members []parley.Agent) tool.Tool {
	var list strings.Builder
	slugs := make([]string, len(members))
	bySlug := make(map[string]parley.ID, len(members))
	for i := range members {
		m := &members[i]
		slugs[i], bySlug[m.Slug] = m.Slug, m.ID
		about := strings.Join(strings.Fields(m.Description), " ")
		if about == "" {
			about = m.Name
		}
		fmt.Fprintf(&list, "\n- %s: %s", m.Slug, parley.Clip(about, maxDescription))
	}
	names, _ := json.Marshal(slugs) //nolint:errchkjson // strings
	return sends{
		parley.ToolDefinition{
			Name: DelegateToAgent,
			Description: "Hands a task to an agent of your team, who works on it by itself. The call returns at " +
				"once; the answer comes later as a message of its own. End your turn when there is nothing to do " +
				"before that. Your team:" + list.String(),
			Parameters: object([]string{"agent", "task"},
				`"agent":{"description":"Who does it.","enum":`+string(names)+`,"type":"string"},`+
					`"deadline":{"description":"How long the answer may take, such as 30m or 48h. Default 24h.",`+
					`"type":"string"},`+
					`"task":{"description":"What to do, with all that is needed to know for it: the agent does not `+
					`see this conversation.","type":"string"}`),
		},
		func(arguments json.RawMessage) (sending parley.Sending, err error) {
			var given struct {
				Agent    string `json:"agent"`
				Task     string `json:"task"`
				Deadline string `json:"deadline"`
			}
			if err := readArguments(arguments, &given); err != nil {
				return sending, err
			}
			to, known := bySlug[given.Agent]
			if !known {
				return sending, parley.InvalidField("agent", "is not one of your team: %s", strings.Join(slugs, ", "))
			}
			sending = parley.Sending{Kind: parley.DelegationTask, To: to, Text: given.Task}
			if given.Deadline != "" {
				sending.Deadline, err = time.ParseDuration(given.Deadline)
				if err != nil || sending.Deadline == 0 {
					return sending, parley.InvalidField("deadline", "is not a duration such as 30m or 48h")
				}
			}
			return sending, nil
		},
	}
}

// request is the tool that asks the lead.
func request(lead *parley.Agent) tool.Tool {
	return sends{
		parley.ToolDefinition{
			Name: RequestInput,
			Description: "Asks your lead, " + lead.Name + ", for something that you need to go on. The call returns " +
				"at once; the answer comes later as a message of its own. End your turn when there is nothing to do " +
				"before that.",
			Parameters: object([]string{"question"},
				`"question":{"description":"The question, with all that is needed to answer it.","type":"string"}`),
		},
		func(arguments json.RawMessage) (parley.Sending, error) {
			var given struct {
				Question string `json:"question"`
			}
			err := readArguments(arguments, &given)
			return parley.Sending{Kind: parley.DelegationQuestion, To: lead.ID, Text: given.Question}, err
		},
	}
}

// requestOfPerson is the tool that asks the person for whom an agent without a lead works.
func requestOfPerson() tool.Tool {
	return sends{
		parley.ToolDefinition{
			Name: RequestInput,
			Description: "Asks the person you work for about something that you need to go on. They find the " +
				"question in their inbox; the call returns at once, and the answer comes later as a message of its " +
				"own, perhaps after days. End your turn when there is nothing to do before that.",
			Parameters: object([]string{"question"},
				`"question":{"description":"The question, with all that is needed to answer it.","type":"string"}`),
		},
		func(arguments json.RawMessage) (parley.Sending, error) {
			var given struct {
				Question string `json:"question"`
			}
			err := readArguments(arguments, &given)
			return parley.Sending{Kind: parley.DelegationQuestion, Text: given.Question}, err
		},
	}
}

// brief is the tool that puts something into the inbox of the person for whom an agent works.
func brief() tool.Tool {
	return sends{
		parley.ToolDefinition{
			Name: CreateInboxItem,
			Description: "Puts a briefing into the inbox of the person you work for: what was found, what was " +
				"decided, what they should know. They are not there while you work, so one briefing with everything " +
				"at the end of the work helps them more than several. After each claim, cite the message that it " +
				"comes from, as [session:sequence]: copy the citations of the answers and reports that you read. " +
				"It wants no answer; to ask, use request_input if you have it.",
			Parameters: object([]string{"title", "summary", "text"},
				`"summary":{"description":"Two or three sentences with what matters most.","type":"string"},`+
					`"text":{"description":"The whole briefing, in Markdown.","type":"string"},`+
					`"title":{"description":"One line that says what it is about.","type":"string"},`+
					`"type":{"description":"alert for what cannot wait. Default briefing.",`+
					`"enum":["briefing","alert"],"type":"string"}`),
		},
		func(arguments json.RawMessage) (parley.Sending, error) {
			var given struct {
				Title   string           `json:"title"`
				Summary string           `json:"summary"`
				Text    string           `json:"text"`
				Type    parley.InboxType `json:"type"`
			}
			err := readArguments(arguments, &given)
			return parley.Sending{
				Kind: parley.DelegationBriefing, Text: given.Text, Title: given.Title, Summary: given.Summary,
				Type: given.Type,
			}, err
		},
	}
}

// report is the tool that tells the lead something.
func report(lead *parley.Agent) tool.Tool {
	return sends{
		parley.ToolDefinition{
			Name: ReportToLead,
			Description: "Tells your lead, " + lead.Name + ", how your work goes. A final report is the answer to " +
				"the task that you work on; without one, the text with which you end your last turn is.",
			Parameters: object([]string{"result"},
				`"final":{"description":"Whether this answers your task. Default false.","type":"boolean"},`+
					`"result":{"description":"What you have found or done.","type":"string"}`),
		},
		func(arguments json.RawMessage) (parley.Sending, error) {
			var given struct {
				Result string `json:"result"`
				Final  bool   `json:"final"`
			}
			err := readArguments(arguments, &given)
			return parley.Sending{
				Kind: parley.DelegationReport, To: lead.ID, Text: given.Result, Final: given.Final,
			}, err
		},
	}
}
