package parley

import "time"

// UsageGroup is by what usage is summed up.
type UsageGroup string

// The groups. The zero group sums up all in one row.
const (
	UsageByAgent   UsageGroup = "agent"
	UsageByModel   UsageGroup = "model"
	UsageBySession UsageGroup = "session"
	UsageByDay     UsageGroup = "day" // of UTC
)

// The bounds of a question for usage.
const (
	DefaultUsageSpan = 30 * 24 * time.Hour
	MaxUsageSpan     = 366 * 24 * time.Hour
)

// UsageSum is a sum over calls that have ended, under what they are of: one of the
// first four fields, as the group says, and its day if they are daily. Calls of deleted sessions are not in it.
type UsageSum struct {
	AgentID   ID      `json:"agent_id"`
	Model     ModelID `json:"model,omitempty"`
	SessionID ID      `json:"session_id"`
	Day       Time    `json:"day"`            // its beginning, UTC
	Name      string  `json:"name,omitempty"` // the agent's slug, the session's title
	Calls     int64   `json:"calls"`
	Tokens            // flat
	Cost      Money   `json:"cost"`           // US dollars, of the calls whose price is known
	Unpriced  int64   `json:"unpriced_calls"` // calls whose cost is unknown

	CacheHits        int64 `json:"cache_hits"`         // calls that a provider read a part of from its cache
	CacheWriteTokens int64 `json:"cache_write_tokens"` // that providers put into their caches
	// US dollars that caching saved, of the calls whose price is known
	Saved Money `json:"saved"`
}

// MarshalJSON writes null for what is absent.
func (u UsageSum) MarshalJSON() ([]byte, error) {
	type plain UsageSum
	return EncodeJSON(struct {
		*plain
		Model *ModelID `json:"model"`
		Name  *string  `json:"name"`
	}{(*plain)(&u), OrNull(u.Model), OrNull(u.Name)})
}
