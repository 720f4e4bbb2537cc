package parley

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// The bounds of a session's acceptances. Calls beyond them must be approved.
const (
	MaxAcceptedAgents  = 64   // the session's agent and the agents among its tools
	MaxAcceptedTools   = 1024 // tools of all of them
	MaxAcceptedChanges = 256  // the newest changes; of approvals for the tree, the newest too
)

// Accepted is what a session's owner has agreed to run without a question: the versions of agents and the tools as they
// were when the session was made, and the changes that the owner accepted later. A change by somebody else permits
// nothing until it is in here.
type Accepted struct {
	// Agents maps agents to versions: the session's own agent and those among its tools.
	Agents map[ID]int `json:"agents,omitempty"`
	// Tools are the accepted tools, each by its DigestOfTool, in order.
	Tools []string `json:"tools,omitempty"`
	// Changes are the changes accepted one by one, the latest last.
	Changes []AcceptedChange `json:"changes,omitempty"`
	// Tree are the tools approved for the whole tree of the session, the latest last; no agent is named.
	Tree []AcceptedChange `json:"tree,omitempty"`
	// Grants, of an agent's version, are the rules that its maker last set; nil: never set.
	Grants *[]Grant `json:"grants,omitempty"`
	// Before marks a session that predates acceptances: any definition of a tool that its agent's version named then is
	// accepted.
	Before bool `json:"before,omitempty"`
}

// AcceptedChange is a tool that may run unasked under rules that a session's owner has seen. It holds as long as all
// four fields are the same.
type AcceptedChange struct {
	AgentID ID     `json:"agent_id"`
	Tool    string `json:"tool"`
	Digest  string `json:"digest"` // of its definition and annotations
	Rules   Hash   `json:"rules"`  // the agent's, about this tool
}

// HasTool reports whether a tool with this digest was accepted.
func (a *Accepted) HasTool(digest string) bool {
	if digest == "" {
		return false
	}
	_, ok := slices.BinarySearch(a.Tools, digest)
	return ok
}

// HasChange reports whether a change was accepted.
func (a *Accepted) HasChange(change AcceptedChange) bool { return slices.Contains(a.Changes, change) }

// AddTools accepts tools. Those beyond the bound are left out.
func (a *Accepted) AddTools(digests []string) {
	merged := slices.Concat(a.Tools, digests)
	slices.Sort(merged)
	merged = slices.Compact(merged)
	a.Tools = merged[:min(len(merged), MaxAcceptedTools)]
}

// AddChange accepts a change; the oldest makes room for it.
func (a *Accepted) AddChange(change AcceptedChange) { a.Changes = withChange(a.Changes, change) }

// InTree reports whether a tool was approved for the tree.
func (a *Accepted) InTree(change AcceptedChange) bool { return slices.Contains(a.Tree, change) }

// AddToTree approves a tool for the tree; the oldest makes room for it.
func (a *Accepted) AddToTree(change AcceptedChange) { a.Tree = withChange(a.Tree, change) }

func withChange(changes []AcceptedChange, change AcceptedChange) []AcceptedChange {
	if slices.Contains(changes, change) {
		return changes
	}
	changes = append(slices.Clone(changes), change)
	return changes[max(0, len(changes)-MaxAcceptedChanges):]
}

// Clone returns a copy that shares nothing with a.
func (a *Accepted) Clone() *Accepted {
	if a == nil {
		return nil
	}
	out := Accepted{Tools: slices.Clone(a.Tools), Changes: slices.Clone(a.Changes), Before: a.Before}
	out.Tree = slices.Clone(a.Tree)
	if a.Agents != nil {
		out.Agents = make(map[ID]int, len(a.Agents))
		for id, version := range a.Agents {
			out.Agents[id] = version
		}
	}
	if a.Grants != nil {
		grants := slices.Clone(*a.Grants)
		out.Grants = &grants
	}
	return &out
}

// digestBytes is how much of a SHA-256 a tool's digest keeps: enough that nobody can make a second tool with the same
// digest.
const digestBytes = 16

// sourceBuiltin is the Source of Parley's own tools. Their texts change with the
// program, which the operator chose.
const sourceBuiltin = "builtin"

// DigestOfTool identifies a tool of the server by its name, its source, its definition and its annotations. A tool with
// another digest is a different tool.
func DigestOfTool(source string, definition ToolDefinition, annotations ToolAnnotations) string {
	if source == sourceBuiltin {
		definition = ToolDefinition{Name: definition.Name}
	}
	return digestOf("server", struct {
		Source      string
		Definition  ToolDefinition
		Annotations ToolAnnotations
	}{source, canonicalDefinition(definition), annotations})
}

// Digest identifies a tool that an agent defines: one answered by a client, or an agent. It is "" for an entry that
// names tools of the server.
func (r ToolRef) Digest() string {
	switch {
	case r.Agent != nil:
		return digestOf("agent", r.Agent)
	case r.Definition != nil:
		return digestOf("client", canonicalDefinition(*r.Definition))
	}
	return ""
}

// canonicalDefinition returns a definition whose schema is canonical, however it was written.
func canonicalDefinition(definition ToolDefinition) ToolDefinition {
	definition.Parameters, _ = CanonicalJSON(definition.Parameters) // invalid JSON becomes null
	if definition.Parameters == nil {
		definition.Parameters = json.RawMessage("null")
	}
	return definition
}

// digestOf returns "" for a value that cannot be encoded as JSON: no acceptance has that digest.
func digestOf[T any](kind string, what T) string {
	encoded, err := json.Marshal(what)
	if err != nil {
		return ""
	}
	hash := sha256.Sum256(append([]byte(kind+" "), encoded...))
	return hex.EncodeToString(hash[:digestBytes])
}

// RulesAbout returns the hash of the grants that concern a tool, whatever their arguments.
func RulesAbout(tool string, grants []Grant) Hash {
	about := []Grant{}
	for i := range grants {
		if grants[i].Concerns(tool) {
			about = append(about, grants[i])
		}
	}
	encoded, err := json.Marshal(about)
	if err != nil { // grants always encode
		return Hash{}
	}
	return HashOf(encoded)
}
