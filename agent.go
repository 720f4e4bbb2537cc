package parley

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// BuiltinAgentSlug names the agent that every workspace has, and that sessions use by default.
const BuiltinAgentSlug = "parley"

// StandardRuntime is the default runtime of agents: model ⇄ tools.
const StandardRuntime = "standard"

// AgentStatus is active or archived.
type AgentStatus string

// The agent states.
const (
	AgentActive   AgentStatus = "active"
	AgentArchived AgentStatus = "archived"
)

// Agent is the configuration of an agentic loop. Every change makes a new version; a turn's version is fixed at its
// first claim.
type Agent struct {
	ID          ID       `json:"id"`
	WorkspaceID ID       `json:"workspace_id"`
	Slug        string   `json:"slug"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Runtime     string   `json:"runtime"`
	Settings             // flat; completed by setting.Complete
	Tags        []string `json:"tags"`
	LeadID      ID       `json:"lead_id"`
	// principal who gets what the agent and those below it have for a person, if the owner is not known to be one;
	// null: as the lead says
	BriefToID ID          `json:"brief_to_id"`
	Status    AgentStatus `json:"status"`
	// principal that may change it, besides admins; null: only admins
	OwnerID     ID     `json:"owner_id"`
	OwnerName   string `json:"owner_name,omitempty"` // its name when it became the owner
	ChangedByID ID     `json:"changed_by_id"`        // principal that made this version
	Version     int    `json:"version"`              // from 1
	CreatedAt   Time   `json:"created_at"`
	UpdatedAt   Time   `json:"updated_at"`

	// Accepted is what the maker of a version accepts with it.
	Accepted *Accepted `json:"-"`
}

// MarshalJSON writes null for absent fields.
func (a Agent) MarshalJSON() ([]byte, error) {
	type plain Agent
	return EncodeJSON(struct {
		*plain
		shownSettings
		Model *ModelID `json:"model"`
		Owner *string  `json:"owner_name"`
	}{(*plain)(&a), shownSettings(a.Settings), OrNull(a.Model), OrNull(a.OwnerName)})
}

// ToolForms says what a ToolRef may be.
const ToolForms = "a tool is a name, or an object {name, description, parameters}, or {name, description, agent, " +
	"instructions, parameters}"

// ToolRef is an entry of an agent's tools: the name of a server's tool, or a prefix followed by "*" that matches
// several; the definition of a tool answered by a client; or an agent as a tool. In JSON it is a string or an object.
type ToolRef struct {
	Name       string
	Definition *ToolDefinition // of a tool answered by a client
	Agent      *AgentTool      // of an agent as a tool
}

// Pattern reports whether the entry matches all tools with a prefix.
func (r ToolRef) Pattern() (prefix string, ok bool) {
	if r.Definition != nil || r.Agent != nil {
		return "", false
	}
	return strings.CutSuffix(r.Name, "*")
}

// Offers reports whether the entry offers the named tool.
func (r ToolRef) Offers(name string) bool {
	if prefix, ok := r.Pattern(); ok {
		return strings.HasPrefix(name, prefix)
	}
	return r.Name == name
}

// MarshalJSON writes a string or an object.
func (r ToolRef) MarshalJSON() ([]byte, error) {
	switch {
	case r.Agent != nil:
		return json.Marshal(r.Agent)
	case r.Definition != nil:
		return json.Marshal(r.Definition)
	}
	return AppendJSONString(nil, r.Name), nil
}

// UnmarshalJSON reads a string or an object.
func (r *ToolRef) UnmarshalJSON(data []byte) error {
	*r = ToolRef{}
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &r.Name)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var tool struct {
		ToolDefinition
		Agent        *string `json:"agent"`
		Instructions *string `json:"instructions"`
	}
	if string(data) == "null" || decoder.Decode(&tool) != nil || tool.Agent == nil && tool.Instructions != nil {
		return InvalidField("tools", "%s", ToolForms)
	}
	definition := tool.ToolDefinition
	r.Name = definition.Name
	if tool.Agent == nil {
		r.Definition = &definition
		return nil
	}
	r.Agent = &AgentTool{
		Name:        definition.Name,
		Description: definition.Description,
		Agent:       *tool.Agent,
		Parameters:  definition.Parameters,
	}
	if tool.Instructions != nil {
		r.Agent.Instructions = *tool.Instructions
	}
	if string(r.Agent.Parameters) == "null" {
		r.Agent.Parameters = nil
	}
	return nil
}

// PolicyKind names a context policy.
type PolicyKind string

// The context policies.
const (
	// PolicyAuto shows everything until the model's window, or Tokens of it, is nearly full; then summaries stand for
	// what is older.
	PolicyAuto   PolicyKind = "auto"
	PolicyAll    PolicyKind = "all"    // the whole record
	PolicyRecent PolicyKind = "recent" // the last Limit user-facing messages, extended to whole turns
	PolicySingle PolicyKind = "single" // only the running turn
	// PolicySummary shows the latest summary and every message after those that it covers. A summary is written when
	// the context reaches Limit messages, or Tokens if those are set instead.
	PolicySummary PolicyKind = "summary"
	// PolicyIterations applies to a loop's turns: the last Limit iterations before this one. It cannot be set.
	PolicyIterations PolicyKind = "iterations"
)

// Policy is the rule by which a call's messages are chosen.
type Policy struct {
	Kind   PolicyKind `json:"kind" enum:"auto,all,recent,single,summary"`
	Limit  int        `json:"limit,omitempty" minimum:"1" maximum:"10000" doc:"Messages: for recent, how many are shown; for summary, at how many one is written (default 50)."`
	Tokens int        `json:"tokens,omitempty" minimum:"1000" maximum:"10000000" doc:"The estimated tokens at which a summary is written even if the model can read more: for auto (default 200,000), and for summary, instead of limit."`
	// Recall says whether auto offers the model the tools that read its own conversation, once it is not shown all of
	// it; nil means that it does.
	Recall *bool `json:"recall,omitempty" doc:"For auto: whether the model is offered search_conversation, read_conversation and read_result once it is not shown everything (default true)."`
}

// The bounds of policies.
const (
	// DefaultCeiling is how many tokens auto lets a window grow to: windows of a million are not filled unasked.
	DefaultCeiling      = 200_000
	DefaultSummaryLimit = 50 // messages
	MinSummaryLimit     = 4  // fewer would be summarised before they were answered
	MaxPolicyLimit      = 10_000
	MinPolicyTokens     = 1_000
	MaxPolicyTokens     = 10_000_000
	MaxPinnedShown      = 32 // pinned messages that are carried before a window, the newest

	// MaxPinnedBytes bounds them, calls with their results; older ones are not carried.
	MaxPinnedBytes = 1 << 20
)

// MarshalJSON writes null for absent fields.
func (p Policy) MarshalJSON() ([]byte, error) {
	type plain Policy
	return EncodeJSON(struct {
		*plain
		Limit  *int  `json:"limit"`
		Tokens *int  `json:"tokens"`
		Recall *bool `json:"recall"`
	}{(*plain)(&p), OrNull(p.Limit), OrNull(p.Tokens), p.Recall})
}

// Validate reports the field that breaks a rule.
func (p Policy) Validate() error {
	switch {
	case p.Recall != nil && p.Kind != PolicyAuto:
		return InvalidField("context_policy.recall", "only the policy auto accepts it; name the tools in tools instead")
	case p.Tokens != 0 && !p.Summarises():
		return InvalidField("context_policy.tokens", "only the policies auto and summary accept tokens")
	case p.Tokens != 0 && (p.Tokens < MinPolicyTokens || p.Tokens > MaxPolicyTokens):
		return InvalidField("context_policy.tokens", "must lie between %d and %d", MinPolicyTokens, MaxPolicyTokens)
	}
	switch p.Kind {
	case PolicyAuto, PolicyAll, PolicySingle:
		if p.Limit != 0 {
			return InvalidField("context_policy.limit", "only the policies recent and summary accept a limit")
		}
		return nil
	case PolicyRecent:
		if p.Limit < 1 || p.Limit > MaxPolicyLimit {
			return InvalidField("context_policy.limit", "recent accepts a limit from 1 to %d", MaxPolicyLimit)
		}
		return nil
	case PolicySummary:
		switch {
		case p.Limit != 0 && p.Tokens != 0:
			return InvalidField("context_policy.tokens", "summary accepts a limit in messages or in tokens, not both")
		case p.Limit != 0 && (p.Limit < MinSummaryLimit || p.Limit > MaxPolicyLimit):
			return InvalidField(
				"context_policy.limit",
				"summary accepts a limit from %d to %d",
				MinSummaryLimit,
				MaxPolicyLimit,
			)
		}
		return nil
	}
	return InvalidField(
		"context_policy.kind",
		"%q is not one of auto, all, recent, single, summary",
		Clip(string(p.Kind), 32),
	)
}

// SummaryLimit returns how many messages in the context make a summary due; 0 if tokens alone decide.
func (p Policy) SummaryLimit() int {
	if p.Kind == PolicySummary && p.Limit == 0 && p.Tokens == 0 {
		return DefaultSummaryLimit
	}
	return p.Limit
}

// TokenLimit returns the tokens in the context that make a summary due whatever the model can read; 0: none.
func (p Policy) TokenLimit() int {
	switch {
	case p.Kind == PolicyAuto && p.Tokens == 0:
		return DefaultCeiling
	case p.Summarises():
		return p.Tokens
	}
	return 0
}

// Summarises reports whether the policy shows summaries.
func (p Policy) Summarises() bool { return p.Kind == PolicySummary || p.Kind == PolicyAuto }

// Recalls reports whether the model is offered the tools that read its own conversation, once it is not shown all of
// it.
func (p Policy) Recalls() bool { return p.Kind == PolicyAuto && (p.Recall == nil || *p.Recall) }

// String returns the form used in manifests: "auto", "auto(80000 tokens)", "all", "recent(10)", "single",
// "summary(50)", "summary(8000 tokens)".
func (p Policy) String() string {
	switch p.Kind {
	case PolicyRecent, PolicyIterations:
		return string(p.Kind) + "(" + strconv.Itoa(p.Limit) + ")"
	case PolicySummary, PolicyAuto:
		if p.Tokens != 0 {
			return string(p.Kind) + "(" + strconv.Itoa(p.Tokens) + " tokens)"
		}
		if limit := p.SummaryLimit(); limit != 0 {
			return string(p.Kind) + "(" + strconv.Itoa(limit) + ")"
		}
	}
	return string(p.Kind)
}

// Backoff is how the pause grows between attempts.
type Backoff string

// The strategies: exponential doubles with full jitter, linear adds.
const (
	BackoffExponential Backoff = "exponential"
	BackoffLinear      Backoff = "linear"
)

// RetryPolicy governs attempts after a failed model call (D9). Zero fields mean the defaults.
type RetryPolicy struct {
	Retries   *int                  `json:"retries,omitempty" minimum:"0" maximum:"20" doc:"Attempts after the first; default 3."`
	Backoff   Backoff               `json:"backoff,omitempty" enum:"exponential,linear" doc:"Default exponential."`
	MaxWaitMS int64                 `json:"max_wait_ms,omitempty" minimum:"1" maximum:"10000" doc:"Parley's longest pause between attempts; default 10000. A provider's Retry-After may exceed it."`
	Sentences map[ErrorClass]string `json:"sentences,omitempty" doc:"Custom explanations, by error class."`
}

// MarshalJSON writes null for absent fields.
func (p RetryPolicy) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		Retries   *int                  `json:"retries"`
		Backoff   *Backoff              `json:"backoff"`
		MaxWaitMS *int64                `json:"max_wait_ms"`
		Sentences map[ErrorClass]string `json:"sentences"`
	}{p.Retries, OrNull(p.Backoff), OrNull(p.MaxWaitMS), p.Sentences})
}

// The retry defaults and bounds.
const (
	DefaultRetries    = 3
	DefaultMaxWait    = 10 * time.Second // also the largest setting
	BaseWait          = 500 * time.Millisecond
	LongestRetryAfter = 60 * time.Second // a provider's Retry-After beyond it fails the turn
)

// Over returns p with the gaps filled from the wider scope.
func (p RetryPolicy) Over(wider RetryPolicy) RetryPolicy {
	if p.Retries == nil {
		p.Retries = wider.Retries
	}
	if p.Backoff == "" {
		p.Backoff = wider.Backoff
	}
	if p.MaxWaitMS == 0 {
		p.MaxWaitMS = wider.MaxWaitMS
	}
	if p.Sentences == nil {
		p.Sentences = wider.Sentences
	}
	return p
}

// Sentence returns the explanation of a class under this policy.
func (p RetryPolicy) Sentence(class ErrorClass) string {
	if own := p.Sentences[class]; own != "" {
		return own
	}
	return class.Sentence()
}

// Validate reports the field that breaks a rule.
func (p RetryPolicy) Validate() error {
	switch {
	case p.Retries != nil && (*p.Retries < 0 || *p.Retries > 20):
		return InvalidField("retry_policy.retries", "must lie between 0 and 20")
	case p.Backoff != "" && p.Backoff != BackoffExponential && p.Backoff != BackoffLinear:
		return InvalidField("retry_policy.backoff", "%q is not one of exponential, linear", Clip(string(p.Backoff), 32))
	case p.MaxWaitMS < 0 || p.MaxWaitMS > DefaultMaxWait.Milliseconds():
		return InvalidField("retry_policy.max_wait_ms", "must lie between 1 and %d", DefaultMaxWait.Milliseconds())
	}
	for class, sentence := range p.Sentences {
		if class.Sentence() == ErrorClass("").Sentence() && class != ClassInternal {
			return InvalidField("retry_policy.sentences", "%q is not an error class", Clip(string(class), 32))
		}
		if err := CheckText("retry_policy.sentences", sentence, 1024); err != nil {
			return err
		}
	}
	return nil
}

// MaxSlugBytes bounds a slug.
const MaxSlugBytes = 64

// Slugify derives a slug from a name: lower-case ASCII letters and digits, everything else folded to single hyphens;
// "agent" if nothing is left.
func Slugify(name string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			out.WriteRune(r)
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
		if out.Len() >= MaxSlugBytes {
			break
		}
	}
	slug := strings.Trim(out.String(), "-")
	if slug == "" {
		return "agent"
	}
	return slug
}

// ValidateSlug reports why a slug is invalid.
func ValidateSlug(slug string) error {
	if slug == "" || len(slug) > MaxSlugBytes || slug != Slugify(slug) {
		return InvalidField(
			"slug",
			"%q is not a valid slug: use 1 to 64 lower-case letters, digits and single hyphens",
			Clip(slug, 64),
		)
	}
	if _, err := ParseID(slug); err == nil {
		return InvalidField("slug", "a slug must not look like an id")
	}
	return nil
}
