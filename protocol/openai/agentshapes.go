package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"example.org/parley"
)

// The prefixes of ids of the Agents API. What stands behind one is an id of the record.
const (
	agentPrefix        = "agent_"
	agentSessionPrefix = "asess_"
	subagentPrefix     = "subagent_" // a tool session
	turnPrefix         = "turn_"
	toolPrefix         = "mcp_"  // a call of one of the agent's own tools
	approvalPrefix     = "mcpr_" // a question to a person
)

// ownServer labels the agent's own tools: the protocol knows tools of the client, and those of servers.
const ownServer = "parley"

// The states of a session.
const (
	sessionIdle     = "idle"
	sessionRequires = "requires_action"
)

// The states of a turn beside those of responses.
const turnWaiting = "waiting"

// The phases of what an agent says.
const (
	phaseCommentary = "commentary" // calls follow
	phaseFinal      = "final_answer"
)

// agentObject is an agent, also inside a session: there it has no times and no metadata.
type agentObject struct {
	ID           string             `json:"id"`
	Object       string             `json:"object,omitempty"`
	CreatedAt    int64              `json:"created_at,omitempty"`
	UpdatedAt    int64              `json:"updated_at,omitempty"`
	Name         *string            `json:"name"`
	Model        string             `json:"model"`
	Instructions *string            `json:"instructions"`
	Metadata     *map[string]string `json:"metadata,omitempty"`
	MultiAgent   multiAgent         `json:"multi_agent"`
	Reasoning    reasoningShape     `json:"reasoning"`
	ServiceTier  string             `json:"service_tier"`
	Text         textShape          `json:"text"`
	Tools        []agentTool        `json:"tools"`
}

type multiAgent struct {
	Enabled bool `json:"enabled"`
	Most    *int `json:"max_concurrent_subagents"`
}

// agentTool is a function that the client answers.
type agentTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Defer       bool            `json:"defer_loading"`
}

// newAgent describes an agent as its settings are, with those of a session over them.
func newAgent(agent *parley.Agent, over *parley.Settings) agentObject {
	s := agent.Settings
	if over != nil {
		s = *over
		lend(&s, agent)
		if s.ServiceTier == nil {
			s.ServiceTier = agent.ServiceTier
		}
	}
	o := agentObject{
		ID: agentPrefix + agent.ID.String(), Name: &agent.Name, Model: string(s.Model), ServiceTier: "default",
		Reasoning: reasoningShape{Effort: s.ReasoningEffort}, Tools: []agentTool{},
		Text: (&response{settings: s}).text(),
	}
	if o.Model == "" {
		o.Model = agent.Slug
	}
	if s.ServiceTier != nil {
		o.ServiceTier = *s.ServiceTier
	}
	if prompt := parley.ValueOf(s.SystemPrompt); prompt != "" {
		o.Instructions = new(strings.ReplaceAll(prompt, "{{{{", "{{"))
	}
	for _, ref := range parley.ValueOf(s.Tools) {
		if d := ref.Definition; d != nil {
			o.Tools = append(o.Tools, agentTool{
				Type: "function", Name: d.Name, Description: d.Description, Parameters: bytes.TrimSpace(d.Parameters),
			})
		}
	}
	return o
}

// agentSession is a session in the Agents API's shape.
type agentSession struct {
	ID              string           `json:"id"`
	Object          string           `json:"object"`
	Agent           agentObject      `json:"agent"`
	CreatedAt       int64            `json:"created_at"`
	LastActiveAt    int64            `json:"last_active_at"`
	Environment     environmentShape `json:"environment"`
	Error           *string          `json:"error"`
	Metadata        json.RawMessage  `json:"metadata"`
	RequiredActions []requiredAction `json:"required_actions"`
	Status          string           `json:"status"`
	Usage           *responseUsage   `json:"usage"`
	VaultIDs        []string         `json:"vault_ids"`
}

type environmentShape struct {
	Type string `json:"type"`
}

// requiredAction is what a session waits for: the output of a function, or a decision about a call.
type requiredAction struct {
	Type      string           `json:"type"`
	TurnID    string           `json:"turn_id"`
	CallID    string           `json:"call_id,omitempty"`
	Name      string           `json:"name,omitempty"`
	Arguments json.RawMessage  `json:"arguments,omitempty"`
	RequestID string           `json:"request_id,omitempty"`
	Request   *approvalRequest `json:"request,omitempty"`

	message parley.ID // of the call
}

type approvalRequest struct {
	Type      string          `json:"type"`
	Name      string          `json:"name"`
	Server    string          `json:"server_label"`
	Message   string          `json:"message"`
	Arguments json.RawMessage `json:"arguments"`
}

// sessionState is a session's status. A turn that failed leaves it idle, since the next message begins another.
func sessionState(s *parley.Session) string {
	switch {
	case s.Status == parley.SessionWaiting && (forClient(s.WaitReason) || s.WaitReason == parley.WaitApproval):
		return sessionRequires
	case s.TurnID.IsZero():
		return sessionIdle
	}
	return statusInProgress
}

// agentTurn is a turn in the Agents API's shape.
type agentTurn struct {
	ID          string         `json:"id"`
	Object      string         `json:"object"`
	AgentID     string         `json:"agent_id"`
	SessionID   string         `json:"session_id"`
	SubagentID  *string        `json:"subagent_id"`
	Status      string         `json:"status"`
	CreatedAt   int64          `json:"created_at"`
	StartedAt   *int64         `json:"started_at"`
	CompletedAt *int64         `json:"completed_at"`
	Error       *responseError `json:"error"`
	Usage       *responseUsage `json:"usage"`
}

func newTurn(t *parley.Turn, place *agentPlace) agentTurn {
	o := agentTurn{
		ID: turnPrefix + t.ID.String(), Object: "agent.session.turn", AgentID: agentPrefix + t.AgentID.String(),
		SessionID: place.id, SubagentID: parley.OrNull(place.subagent), Status: turnState(t.Status),
		CreatedAt: t.CreatedAt.Std().Unix(), StartedAt: secondsOf(t.StartedAt), CompletedAt: secondsOf(t.FinishedAt),
	}
	if t.AgentID.IsZero() {
		o.AgentID = agentPrefix + place.session.AgentID.String()
	}
	if t.Status == parley.TurnFailed {
		o.Error = errorOf(t.Error)
		if o.Error.Code == "invalid_prompt" {
			o.Error.Code = "invalid_request"
		}
		if t.Error != nil && t.Error.Class == parley.ClassContextLength {
			o.Error.Code = "context_length_exceeded"
		}
	}
	if t.Status.Finished() {
		o.Usage = usageOf(t.Usage)
	}
	return o
}

func turnState(of parley.TurnStatus) string {
	switch of {
	case parley.TurnRunning:
		return statusInProgress
	case parley.TurnWaiting:
		return turnWaiting
	}
	return string(of) // queued, completed, failed, cancelled
}

func secondsOf(t parley.Time) *int64 {
	if t == 0 {
		return nil
	}
	return new(t.Std().Unix())
}

func usageOf(t parley.Tokens) *responseUsage {
	u := &responseUsage{Input: t.InputTokens, Output: t.OutputTokens, Total: t.InputTokens + t.OutputTokens}
	u.InputDetails.Cached = t.CachedTokens
	return u
}

// The items, which name their turns.
type (
	agentMessage struct {
		messageItem
		Phase  *string `json:"phase"`
		TurnID string  `json:"turn_id"`
	}
	agentReasoning struct {
		ID      string      `json:"id"`
		Type    string      `json:"type"`
		Status  string      `json:"status"`
		Summary []plainText `json:"summary"`
		TurnID  string      `json:"turn_id"`
	}
	agentCall struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Status    string          `json:"status"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		TurnID    string          `json:"turn_id"`
	}
	agentOutput struct {
		ID     string  `json:"id"`
		Type   string  `json:"type"`
		Status string  `json:"status"`
		CallID string  `json:"call_id"`
		Output *string `json:"output"`
		Error  *string `json:"error"`
		TurnID string  `json:"turn_id"`
	}
	agentToolCall struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Status    string          `json:"status"`
		Name      string          `json:"name"`
		Server    string          `json:"server_label"`
		Arguments json.RawMessage `json:"arguments"`
		Output    *string         `json:"output"`
		Error     *string         `json:"error"`
		TurnID    string          `json:"turn_id"`
	}
)

func turnName(id parley.ID) string {
	if id.IsZero() {
		return ""
	}
	return turnPrefix + id.String()
}

func newAgentMessage(id parley.ID, turn, role, status, phase string, content ...any) *agentMessage {
	return &agentMessage{*newMessageItem(id, role, status, content...), parley.OrNull(phase), turn}
}

func newAgentReasoning(id parley.ID, turn, status string, text ...plainText) *agentReasoning {
	if text == nil {
		text = []plainText{}
	}
	return &agentReasoning{reasoningPrefix + id.String(), "reasoning", status, text, turn}
}

// argumentsOf returns a call's arguments: an object or, where the model wrote none, its text.
func argumentsOf(content *parley.ToolCallContent) json.RawMessage {
	if given(content.Arguments) {
		return content.Arguments
	}
	return parley.AppendJSONString(nil, content.ArgumentsText)
}

// newOutput is the result of a client's function.
func newOutput(m *parley.Message, content *parley.ToolResultContent) *agentOutput {
	o := &agentOutput{
		ID: outputPrefix + m.ID.String(), Type: "function_call_output", Status: statusCompleted,
		CallID: m.ToolCallID, TurnID: turnName(m.TurnID),
	}
	if content.Error != nil {
		o.Status, o.Error = statusFailed, content.Error
	} else {
		o.Output = new(resultText(content))
	}
	return o
}

// newToolCall is a call of one of the agent's own tools; result is nil while it has none.
func newToolCall(
	id, turn parley.ID, call *parley.ToolCallContent, result *parley.ToolResultContent,
) *agentToolCall {
	o := &agentToolCall{
		ID: toolPrefix + id.String(), Type: "mcp_call", Status: statusInProgress, Name: call.Name, Server: ownServer,
		Arguments: argumentsOf(call), TurnID: turnName(turn),
	}
	switch {
	case result == nil:
	case result.Error != nil:
		o.Status, o.Error = statusFailed, result.Error
	default:
		o.Status, o.Output = statusCompleted, new(resultText(result))
	}
	return o
}

// agentItems returns a message of the record as items. results has the results of calls that were read with it.
func agentItems(
	m *parley.Message, clients map[string]bool, results map[string]*parley.ToolResultContent, called bool,
) (items []any, err error) {
	turn, status := turnName(m.TurnID), itemStatus(m.Status)
	switch m.Role {
	case parley.RoleUser:
		parts, err := userParts(m.Content)
		if err != nil {
			return nil, err
		}
		return []any{newAgentMessage(m.ID, turn, "user", status, "", parts...)}, nil
	case parley.RoleAssistant:
		var content parley.AssistantContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, err
		}
		if content.Reasoning != "" {
			items = append(items, newAgentReasoning(m.ID, turn, status, plainText{"summary_text", content.Reasoning}))
		}
		if text := spoken(&content); text != "" {
			items = append(items, newAgentMessage(m.ID, turn, "assistant", status, phaseOf(called),
				plainText{"output_text", text}))
		}
	case parley.RoleToolCall:
		var content parley.ToolCallContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, err
		}
		result := results[content.ID]
		if !clients[content.Name] {
			return []any{newToolCall(m.ID, m.TurnID, &content, result)}, nil
		}
		item := newAgentCall(m.ID, turn, &content)
		if result != nil {
			item.Status = statusCompleted
		}
		return []any{item}, nil
	case parley.RoleToolResult:
		if !clients[m.ToolName] {
			return nil, nil // it is in its call
		}
		var content parley.ToolResultContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, err
		}
		return []any{newOutput(m, &content)}, nil
	}
	return items, nil
}

func newAgentCall(id parley.ID, turn string, content *parley.ToolCallContent) *agentCall {
	return &agentCall{
		callPrefix + id.String(),
		"function_call",
		statusInProgress,
		content.ID,
		content.Name,
		argumentsOf(content),
		turn,
	}
}

// spoken is what an answer says; the protocol has no refusals.
func spoken(content *parley.AssistantContent) string {
	if content.Text == "" {
		return content.Refusal
	}
	return content.Text
}

func phaseOf(called bool) string {
	if called {
		return phaseCommentary
	}
	return phaseFinal
}
