package parley

import (
	"cmp"
	"encoding/json"
	"sort"
	"strings"
)

// An agent may serve as a tool: a call of it opens a session of kind tool, whose first turn does the call's work and
// whose answer is the call's result. The call without a result is the intent, durable before anything is opened.

// AgentTool is an agent of the workspace used as a tool.
type AgentTool struct {
	Name         string          `json:"name" required:"true"`
	Description  string          `json:"description"`
	Agent        string          `json:"agent" required:"true" doc:"Slug or id of an agent of the workspace."`
	Instructions string          `json:"instructions,omitempty" doc:"Instructions for its sessions, added after the agent's system prompt."`
	Parameters   json.RawMessage `json:"parameters,omitempty" doc:"JSON Schema of the arguments; by default an object with the string task, which becomes the first message."`
}

// MarshalJSON writes null for absent fields.
func (a AgentTool) MarshalJSON() ([]byte, error) {
	type plain AgentTool
	parameters := a.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage("null")
	}
	return EncodeJSON(struct {
		*plain
		Instructions *string         `json:"instructions"`
		Parameters   json.RawMessage `json:"parameters"`
	}{(*plain)(&a), OrNull(a.Instructions), parameters})
}

// agentToolParameters are the default parameters of an agent tool.
const agentToolParameters = `{"type":"object","properties":{"task":{"type":"string","description":"What to do, with ` +
	`all that is needed to know for it."}},"required":["task"],"additionalProperties":false}`

// Definition returns what the model is told of the tool.
func (a AgentTool) Definition() ToolDefinition {
	definition := ToolDefinition{Name: a.Name, Description: a.Description, Parameters: a.Parameters}
	if len(definition.Parameters) == 0 {
		definition.Parameters = json.RawMessage(agentToolParameters)
	}
	return definition
}

// FirstText returns the text of the first message for a call's arguments: their task or, if the tool has its own
// parameters, the arguments as JSON. It returns CodeInvalid if there is no task.
func (a AgentTool) FirstText(arguments json.RawMessage) (string, error) {
	if len(a.Parameters) > 0 {
		return string(arguments), CheckText("arguments", string(arguments), MaxTextBytes)
	}
	var given struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal(arguments, &given); err != nil || strings.TrimSpace(given.Task) == "" {
		return "", InvalidField("task", "is missing; say what to do")
	}
	return given.Task, CheckText("task", given.Task, MaxTextBytes)
}

// ChildID returns the id of the session that a call of an agent tool opens. It derives from the id of the tool_call
// message, so the session cannot be opened twice and the link between the two needs no look-up. It keeps the time of
// the call.
func ChildID(callMessageID ID) ID { return derived("parley tool session ", callMessageID) }

// ChildLink is metadata of an agent tool's tool_call and of its result.
type ChildLink struct {
	SessionID ID `json:"session_id"` // the tool session; it may not be open yet, or be deleted
}

// LinkChild returns the ChildLink of a tool_call as canonical JSON.
func LinkChild(callMessageID ID) json.RawMessage {
	return append(ChildID(callMessageID).AppendText([]byte(`{"session_id":"`)), `"}`...)
}

// AnswersCall reports whether a call of an agent tool, not a person, opened the session: the end of its first turn is
// the call's result.
func (s *Session) AnswersCall() bool {
	return s.Kind == KindTool && !s.ParentMessageID.IsZero() && s.ID == ChildID(s.ParentMessageID)
}

// The bounds of tool sessions.
const (
	// MaxToolDepth bounds tool sessions inside tool sessions: agents may call each other in a circle up to this depth
	MaxToolDepth        = 5
	MaxChildResultBytes = 256 << 10 // of a tool session's answer as a result; a longer one is cut, and says so
	MaxTreeSessions     = 1000      // sessions shown in a tree
)

// TreeNode is one session of a tree of tool sessions.
type TreeNode struct {
	ID              ID            `json:"id"`
	ParentSessionID ID            `json:"parent_session_id"`
	ParentMessageID ID            `json:"parent_message_id"` // the tool_call that opened it
	Depth           int           `json:"depth"`             // below the tree's root
	AgentID         ID            `json:"agent_id"`
	AgentSlug       string        `json:"agent_slug"`
	Kind            SessionKind   `json:"kind"`
	Title           string        `json:"title"`
	Status          SessionStatus `json:"status"`
	WaitReason      WaitReason    `json:"wait_reason,omitempty"`
	Statistics      Statistics    `json:"statistics"` // its own
	Total           TreeTotal     `json:"total"`      // including the sessions below it
	CreatedAt       Time          `json:"created_at"`
	UpdatedAt       Time          `json:"updated_at"`
	FinishedAt      Time          `json:"finished_at"`

	CallSequence int64 `json:"-"` // of the tool_call in the parent's record: orders siblings
}

// MarshalJSON writes null for absent fields.
func (n TreeNode) MarshalJSON() ([]byte, error) {
	type plain TreeNode
	return EncodeJSON(struct {
		*plain
		WaitReason *WaitReason `json:"wait_reason"`
	}{(*plain)(&n), OrNull(n.WaitReason)})
}

// TreeTotal is a sum over sessions.
type TreeTotal struct {
	Sessions int64 `json:"sessions"`
	Turns    int64 `json:"turns"`
	Tokens         // flat
	Cost     Money `json:"cost"`           // US dollars, for calls with a known price
	Unpriced int64 `json:"unpriced_calls"` // calls with unknown cost
}

// add adds another sum.
func (t *TreeTotal) add(o TreeTotal) {
	t.Sessions += o.Sessions
	t.Turns += o.Turns
	t.InputTokens += o.InputTokens
	t.OutputTokens += o.OutputTokens
	t.CachedTokens += o.CachedTokens
	t.Unknown += o.Unknown
	t.Cost += o.Cost
	t.Unpriced += o.Unpriced
}

// Tree is a session and the tool sessions below it: each after its parent, and siblings in the order of their calls.
type Tree struct {
	Data      []TreeNode `json:"data"`
	Total     TreeTotal  `json:"total"`
	Truncated bool       `json:"truncated"` // there are more than MaxTreeSessions; the sums cover those shown
}

// NewTree orders the sessions of a tree and adds them up. It leaves out sessions whose parent is missing, except the
// root, and those beyond the first MaxTreeSessions.
func NewTree(rootID ID, nodes []TreeNode) Tree {
	truncated := len(nodes) > MaxTreeSessions
	nodes = nodes[:min(len(nodes), MaxTreeSessions)]
	below := map[ID][]int{}
	root := -1
	for i := range nodes {
		if nodes[i].ID == rootID {
			root = i
			continue
		}
		below[nodes[i].ParentSessionID] = append(below[nodes[i].ParentSessionID], i)
	}
	tree := Tree{Data: make([]TreeNode, 0, len(nodes)), Truncated: truncated}
	if root >= 0 {
		tree.Total = tree.grow(nodes, below, root, 0)
	}
	return tree
}

// grow adds a node and everything below it, and returns their sum. The depth of sessions bounds its recursion, since
// parents are older than their children.
func (t *Tree) grow(nodes []TreeNode, below map[ID][]int, at, depth int) TreeTotal {
	place := len(t.Data)
	n := nodes[at]
	n.Depth = depth
	s := n.Statistics
	n.Total = TreeTotal{Sessions: 1, Turns: s.Turns, Tokens: s.Tokens, Cost: s.Cost, Unpriced: s.Unpriced}
	t.Data = append(t.Data, n)
	children := below[n.ID]
	sort.Slice(children, func(i, j int) bool {
		a, b := &nodes[children[i]], &nodes[children[j]]
		return cmp.Or(
			cmp.Compare(a.CallSequence, b.CallSequence),
			cmp.Compare(a.CreatedAt, b.CreatedAt),
			a.ID.Compare(b.ID),
		) < 0
	})
	for _, child := range children {
		t.Data[place].Total.add(t.grow(nodes, below, child, depth+1))
	}
	return t.Data[place].Total
}
