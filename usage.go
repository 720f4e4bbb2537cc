package parley

import "time"

// UsageGroup is the key by which usage is summed up.
type UsageGroup string

// The groups. The zero group sums up everything in one row.
const (
	UsageByAgent   UsageGroup = "agent"
	UsageByModel   UsageGroup = "model"
	UsageBySession UsageGroup = "session"
	UsageByDay     UsageGroup = "day" // of UTC
	UsageByPurpose UsageGroup = "purpose"
)

// UsagePurpose is what calls were made for: a turn's step, the purpose of another call, or a dry run.
type UsagePurpose string

// The purposes. Calls of dry runs are in no record.
const (
	UsageOfSteps       UsagePurpose = "step"
	UsageOfCompactions UsagePurpose = UsagePurpose(PurposeCompaction)
	UsageOfReplays     UsagePurpose = UsagePurpose(PurposeReplay)
	UsageOfKnowledge   UsagePurpose = UsagePurpose(PurposeKnowledge)
	UsageOfDryRuns     UsagePurpose = "dry_run"
)

// The bounds of a usage query.
const (
	DefaultUsageSpan = 30 * 24 * time.Hour
	MaxUsageSpan     = 366 * 24 * time.Hour
)

// UsageSum is a sum over finished calls of one group, those of dry runs included: the group's field, of the first five,
// is set, and the day if sums are daily. Calls of deleted sessions are left out.
type UsageSum struct {
	AgentID   ID           `json:"agent_id"`
	Model     ModelID      `json:"model,omitempty"`
	SessionID ID           `json:"session_id"`
	Day       Time         `json:"day"` // the day's beginning, UTC
	Purpose   UsagePurpose `json:"purpose,omitempty"`
	Name      string       `json:"name,omitempty"` // the agent's slug, the session's title
	Calls     int64        `json:"calls"`
	Tokens                 // flat
	Cost      Money        `json:"cost"`           // US dollars, for calls with a known price
	Unpriced  int64        `json:"unpriced_calls"` // calls with unknown cost
	// calls of which the provider did not say what they used; their estimated cost is part of cost
	Estimated     int64 `json:"estimated_calls"`
	EstimatedCost Money `json:"estimated_cost"`

	CacheHits        int64 `json:"cache_hits"`         // calls partly read from a provider's cache
	CacheWriteTokens int64 `json:"cache_write_tokens"` // tokens that providers put into their caches
	// US dollars saved by caching, for calls with a known price
	Saved Money `json:"saved"`
}

// MarshalJSON writes null for absent fields.
func (u UsageSum) MarshalJSON() ([]byte, error) {
	type plain UsageSum
	return EncodeJSON(struct {
		*plain
		Model   *ModelID      `json:"model"`
		Purpose *UsagePurpose `json:"purpose"`
		Name    *string       `json:"name"`
	}{(*plain)(&u), OrNull(u.Model), OrNull(u.Purpose), OrNull(u.Name)})
}
