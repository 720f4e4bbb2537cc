package parley

import (
	"encoding/json"
	"slices"
	"strings"
)

// AskUserTool is the built-in tool by which an agent asks a person: its calls wait as input, and a tool_result from any
// client answers them.
const AskUserTool = "ask_user"

// ReadResultTool is the built-in tool that reads what a request shows only in part. The worker offers it by itself.
const ReadResultTool = "read_result"

// The tools by which a model searches and reads its own conversation.
const (
	SearchConversationTool = "search_conversation"
	ReadConversationTool   = "read_conversation"
)

// The deadline of approvals, in seconds; no answer counts as a denial.
const (
	DefaultApprovalTimeout = 24 * 60 * 60
	MaxApprovalTimeout     = 30 * 24 * 60 * 60
)

// MaxApprovalComment bounds the comment of a decision, in bytes.
const MaxApprovalComment = 4096

// ApprovalState is the state of a question about a call.
type ApprovalState string

// The states. All but pending are final.
const (
	ApprovalPending   ApprovalState = "pending"
	ApprovalApproved  ApprovalState = "approved"
	ApprovalDenied    ApprovalState = "denied"
	ApprovalExpired   ApprovalState = "expired"   // nobody answered in time, or somebody dismissed a tool's question
	ApprovalCancelled ApprovalState = "cancelled" // the turn ended, or a message came instead
)

// ApprovalDecision is a person's answer.
type ApprovalDecision string

// The decisions.
const (
	DecideApprove ApprovalDecision = "approve"
	DecideDeny    ApprovalDecision = "deny"
	DecideDismiss ApprovalDecision = "dismiss" // a tool's question gets no answer, as if nobody had been there
)

// ApprovalScope is how long an approval holds.
type ApprovalScope string

// The scopes.
const (
	ScopeOnce    ApprovalScope = "once"    // for this call only
	ScopeSession ApprovalScope = "session" // a grant is added to the session
	// ScopeChange answers a question asked because the agent or the tool changed: the session's owner accepts the
	// change, until the next one.
	ScopeChange ApprovalScope = "change"
	// ScopeTree is ScopeSession for the tool, and holds in every session of the tree too, whichever agent calls it, for
	// as long as the tool's definition and annotations and the agent's rules about it are those of the question.
	ScopeTree ApprovalScope = "tree"
)

// ApprovalCovers is what an approval for the session covers.
type ApprovalCovers string

// What the grant made by an approval covers.
const (
	CoversCall ApprovalCovers = "call" // calls with exactly these arguments
	CoversTool ApprovalCovers = "tool" // every call of the tool
)

// ApprovalReason is why a call needs approval.
type ApprovalReason string

// The reasons.
const (
	AskedByRule      ApprovalReason = "rule"          // a grant says so, or the tool's annotations
	AskedAgentChange ApprovalReason = "agent_changed" // somebody changed the agent's rules so that it would run
	AskedToolChange  ApprovalReason = "tool_changed"  // the tool is new to the session, or has changed
	AskedByTool      ApprovalReason = "tool_asks"     // the tool itself asks a person while it runs
)

// The bounds of what a tool asks, in bytes.
const (
	MaxToolQuestion = 64 << 10  // its text, its schema, and an answer, each
	MaxToolState    = 256 << 10 // what its server wants back with the answer
)

// ToolQuestion is what a tool asks a person while it runs, through an approval: to approve is to answer, to deny is to
// decline, to dismiss is neither.
type ToolQuestion struct {
	Message string `json:"message"`
	// Schema is the JSON Schema of the answer, an object; null if the person answers at URL instead.
	Schema *json.RawMessage `json:"schema"`
	// URL is where the person does something before they approve; null for an answer here.
	URL string `json:"url,omitempty"`
}

// MarshalJSON writes null for absent fields.
func (q ToolQuestion) MarshalJSON() ([]byte, error) {
	type plain ToolQuestion
	return EncodeJSON(struct {
		*plain
		URL *string `json:"url"`
	}{(*plain)(&q), OrNull(q.URL)})
}

// Approver is a person who has approved.
type Approver struct {
	Author
	At Time `json:"at"`
}

// Question is the arguments of an ask_user call.
type Question struct {
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"` // suggestions; any other answer is allowed
}

// ReadQuestion reads the arguments of an ask_user call. It returns CodeInvalid if they contain no question.
func ReadQuestion(arguments json.RawMessage) (Question, error) {
	var q Question
	if err := json.Unmarshal(arguments, &q); err != nil || strings.TrimSpace(q.Question) == "" {
		return q, InvalidField("question", "ask_user needs a question")
	}
	return q, nil
}

// Approval is a durable question to a person about one exact tool call. It accepts one answer; the call runs under it
// once, and only while the call's own fingerprint equals the approval's.
type Approval struct {
	ID          ID              `json:"id"`
	WorkspaceID ID              `json:"workspace_id"`
	SessionID   ID              `json:"session_id"`
	RootID      ID              `json:"root_id"` // for a tool session, the root of its tree; else session_id
	AgentID     ID              `json:"agent_id"`
	TurnID      ID              `json:"turn_id"`
	MessageID   ID              `json:"message_id"` // the tool_call
	ToolCallID  string          `json:"tool_call_id"`
	ToolName    string          `json:"tool_name"`
	Arguments   json.RawMessage `json:"arguments"`   // exactly those that the tool would get
	Fingerprint Hash            `json:"fingerprint"` // of tool_name and arguments
	State       ApprovalState   `json:"state"`
	Scope       ApprovalScope   `json:"scope,omitempty"`  // once approved
	Covers      ApprovalCovers  `json:"covers,omitempty"` // once approved for the session
	DecidedBy   *Author         `json:"decided_by"`
	Comment     string          `json:"comment,omitempty"`
	CreatedAt   Time            `json:"created_at"`
	ExpiresAt   Time            `json:"expires_at"`
	DecidedAt   Time            `json:"decided_at"`
	UsedAt      Time            `json:"used_at"` // when the call began to run under it

	Reason ApprovalReason `json:"reason"`
	// Explanation is the reason for people; "" if a rule asks. It is written with the JSON.
	Explanation  string     `json:"explanation,omitempty"`
	Approvers    int        `json:"approvers"`     // how many must approve
	Missing      int        `json:"missing"`       // how many of them are missing; written with the JSON
	ApprovedBy   []Approver `json:"approved_by"`   // in order
	RequesterIDs []ID       `json:"requester_ids"` // principals that asked for the call and may not approve it

	Question *ToolQuestion   `json:"question"` // what the tool asks; null if a person is asked about the call
	Answer   json.RawMessage `json:"answer"`   // to the question

	Carried json.RawMessage `json:"-"` // what the tool gets back with the answer to its question
	Named   bool            `json:"-"` // a rule says who approves: the approval is for this call only
	Digest  string          `json:"-"` // of the tool at the time of the question
	Rules   Hash            `json:"-"` // the agent's rules about it
}

// Needed returns how many people must approve.
func (a *Approval) Needed() int { return max(1, a.Approvers) }

// StillMissing returns how many of them have not approved yet; 0 once it is answered.
func (a *Approval) StillMissing() int {
	if a.State != ApprovalPending {
		return 0
	}
	return a.Needed() - len(a.ApprovedBy)
}

// Changed reports whether the question is due to somebody else's change.
func (a *Approval) Changed() bool {
	return a.Reason == AskedAgentChange || a.Reason == AskedToolChange
}

// Why explains the question to people; "" if a rule asks.
func (a *Approval) Why() string {
	switch a.Reason {
	case AskedAgentChange:
		return "The agent was changed: " + a.ToolName + " would now run without asking."
	case AskedToolChange:
		return "The tool " + a.ToolName + " is new to this conversation, or has changed."
	case AskedByTool:
		return "The tool " + a.ToolName + " asks before it goes on: " + a.Question.Message
	}
	return ""
}

// Change returns what accepting the change will remember.
func (a *Approval) Change() AcceptedChange {
	return AcceptedChange{AgentID: a.AgentID, Tool: a.ToolName, Digest: a.Digest, Rules: a.Rules}
}

// InTree returns what an approval for the tree will remember: the change, whichever agent calls.
func (a *Approval) InTree() AcceptedChange {
	change := a.Change()
	change.AgentID = ID{}
	return change
}

// Runs reports whether the call may run now: it is approved, or its tool is to hear what came of its question.
func (a *Approval) Runs() bool {
	return a.State == ApprovalApproved ||
		a.Question != nil && (a.State == ApprovalDenied || a.State == ApprovalExpired)
}

// MayBeApprovedBy refuses those who asked for the call and those who have already approved it.
func (a *Approval) MayBeApprovedBy(principalID ID) error {
	if slices.Contains(a.RequesterIDs, principalID) {
		return Errorf(CodeForbidden, "You asked for this call yourself; somebody else must approve it.")
	}
	if slices.ContainsFunc(a.ApprovedBy, func(by Approver) bool { return by.ID == principalID }) {
		return Conflict(a.State, "you have already approved this; %d more must", a.StillMissing())
	}
	return nil
}

// MarshalJSON writes null for absent fields.
func (a Approval) MarshalJSON() ([]byte, error) {
	type plain Approval
	a.Explanation, a.Approvers, a.Missing = a.Why(), a.Needed(), a.StillMissing()
	if a.Reason == "" { // from before there were other reasons
		a.Reason = AskedByRule
	}
	if a.ApprovedBy == nil {
		a.ApprovedBy = []Approver{}
	}
	if a.RequesterIDs == nil {
		a.RequesterIDs = []ID{}
	}
	return EncodeJSON(struct {
		*plain
		Scope   *ApprovalScope  `json:"scope"`
		Covers  *ApprovalCovers `json:"covers"`
		Comment *string         `json:"comment"`

		Explanation *string `json:"explanation"`
	}{(*plain)(&a), OrNull(a.Scope), OrNull(a.Covers), OrNull(a.Comment), OrNull(a.Explanation)})
}

// Decision answers an approval.
type Decision struct {
	Decision ApprovalDecision
	Scope    ApprovalScope   // of an approval; "" is once
	Covers   ApprovalCovers  // of an approval for the session; "" is call
	Comment  string          // the model reads the comment of a denial
	Answer   json.RawMessage // of an approval, to a tool's question
	By       Author
}

// Lasts reports whether the answer applies to later calls too.
func (d Decision) Lasts() bool {
	return d.Scope == ScopeSession || d.Scope == ScopeChange || d.Scope == ScopeTree
}

// Validate reports the field that breaks a rule.
func (d Decision) Validate() error {
	switch d.Decision {
	case DecideApprove, DecideDeny, DecideDismiss:
	default:
		return InvalidField("decision", "%q is not one of approve, deny, dismiss", Clip(string(d.Decision), 32))
	}
	switch d.Scope {
	case "", ScopeOnce, ScopeSession, ScopeChange, ScopeTree:
	default:
		return InvalidField("scope", "%q is not one of once, session, change, tree", Clip(string(d.Scope), 32))
	}
	switch d.Covers {
	case "", CoversCall, CoversTool:
	default:
		return InvalidField("covers", "%q is not one of call, tool", Clip(string(d.Covers), 32))
	}
	if d.Decision != DecideApprove && d.Scope != "" && d.Scope != ScopeOnce {
		return InvalidField("scope", "a denial is for this call; to deny a tool for the session, add a grant to it")
	}
	switch {
	case d.Covers == CoversCall && d.Scope == ScopeTree:
		return InvalidField("covers", `scope "tree" covers the tool, not one call of it`)
	case d.Covers != "" && d.Scope != ScopeSession && d.Scope != ScopeTree:
		return InvalidField("covers", `belongs to scope "session"`)
	}
	return CheckText("comment", d.Comment, MaxApprovalComment)
}
