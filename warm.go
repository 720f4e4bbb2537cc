package parley

// Warmed is the outcome of warming a provider's cache with the beginning that all requests of an agent share: its tools
// and its system prompt. It belongs to no session, so no list of calls has it.
type Warmed struct {
	AgentID ID      `json:"agent_id"`
	Model   ModelID `json:"model"`
	Warmed  bool    `json:"warmed" doc:"Whether the beginning was sent."`
	Reason  string  `json:"reason,omitempty" doc:"Why not; null if it was sent."`
	Tokens  int     `json:"tokens" doc:"Estimated tokens of tools and system prompt."`
	Usage   Usage   `json:"usage"`
	Cost    *Money  `json:"cost"`
	// Cache says whether something was written, or already there.
	Cache CallCache `json:"cache"`
}

// MarshalJSON writes null for absent fields.
func (w Warmed) MarshalJSON() ([]byte, error) {
	type plain Warmed
	return EncodeJSON(struct {
		*plain
		Reason *string `json:"reason"`
	}{(*plain)(&w), OrNull(w.Reason)})
}
