package parley

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// The bounds of what a session keeps of acceptances. What lies beyond them is asked about.
const (
	MaxAcceptedAgents  = 64   // an agent, and those that its tools are
	MaxAcceptedTools   = 1024 // of all of them
	MaxAcceptedChanges = 256  // the newest
)

// Accepted is what a session's owner has agreed to let run unasked: the agents'
// versions and the tools as they were when the session was made, and the changes
// that the owner accepted later. A change by somebody else widens nothing until it
// is in here.
type Accepted struct {
	// Agents are versions by agent: the session's own, and those that its tools are.
	Agents map[ID]int `json:"agents,omitempty"`
	// Tools are the tools as they were, each by its DigestOfTool, in order.
	Tools []string `json:"tools,omitempty"`
	// Changes were accepted one by one, the latest last.
	Changes []AcceptedChange `json:"changes,omitempty"`
	// Grants, of a version of an agent, are the rules that its maker last set; nil: never.
	Grants *[]Grant `json:"grants,omitempty"`
	// Before marks a session from before acceptances were kept: any definition of a
	// tool that its agent's version named then is accepted.
	Before bool `json:"before,omitempty"`
}

// AcceptedChange is a tool that may run unasked under rules that a session's owner
// was shown. It holds while all four are the same.
type AcceptedChange struct {
	AgentID ID     `json:"agent_id"`
	Tool    string `json:"tool"`
	Digest  string `json:"digest"` // of its definition and annotations
	Rules   Hash   `json:"rules"`  // the agent's, about this tool
}

// HasTool reports whether a tool was accepted as it is.
func (a *Accepted) HasTool(digest string) bool {
	if digest == "" {
		return false
	}
	_, ok := slices.BinarySearch(a.Tools, digest)
	return ok
}

// HasChange reports whether a change was accepted.
func (a *Accepted) HasChange(change AcceptedChange) bool { return slices.Contains(a.Changes, change) }

// AddTools accepts tools as they are. What finds no room is left out.
func (a *Accepted) AddTools(digests []string) {
	merged := slices.Concat(a.Tools, digests)
	slices.Sort(merged)
	merged = slices.Compact(merged)
	a.Tools = merged[:min(len(merged), MaxAcceptedTools)]
}

// AddChange accepts a change; the oldest makes room for it.
func (a *Accepted) AddChange(change AcceptedChange) {
	if a.HasChange(change) {
		return
	}
	a.Changes = append(slices.Clone(a.Changes), change)
	if over := len(a.Changes) - MaxAcceptedChanges; over > 0 {
		a.Changes = a.Changes[over:]
	}
}

// Clone shares nothing with a.
func (a *Accepted) Clone() *Accepted {
	if a == nil {
		return nil
	}
	out := Accepted{Tools: slices.Clone(a.Tools), Changes: slices.Clone(a.Changes), Before: a.Before}
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

// digestBytes is how much of a SHA-256 a tool.Digest keeps: enough that nobody makes
// a second tool with the same one.
const digestBytes = 16

// sourceBuiltin is the Source of Parley's own tools. Their texts change with the
// program, which the operator chose.
const sourceBuiltin = "builtin"

// DigestOfTool names a tool of the server as it is: its name, where it comes from,
// its definition and its annotations. A tool whose digest is another is another tool.
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

// Digest names a tool that an agent defines as it is: one that a client answers or
// one that is an agent. "" for an entry that names tools of the server.
func (r ToolRef) Digest() string {
	switch {
	case r.Agent != nil:
		return digestOf("agent", r.Agent)
	case r.Definition != nil:
		return digestOf("client", canonicalDefinition(*r.Definition))
	}
	return ""
}

// canonicalDefinition is a definition whose schema is the same however it was written.
func canonicalDefinition(definition ToolDefinition) ToolDefinition {
	definition.Parameters, _ = CanonicalJSON(definition.Parameters) // invalid JSON becomes null
	if definition.Parameters == nil {
		definition.Parameters = json.RawMessage("null")
	}
	return definition
}

// digestOf is "" for what cannot be written as JSON: no acceptance has that digest.
func digestOf[T any](kind string, what T) string {
	encoded, err := json.Marshal(what)
	if err != nil {
		return ""
	}
	hash := sha256.Sum256(append([]byte(kind+" "), encoded...))
	return hex.EncodeToString(hash[:digestBytes])
}

// RulesAbout is the hash of the grants that concern a tool, whatever its arguments.
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
