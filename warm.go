package parley

// Warmed is what came of warming a provider's cache with the beginning that all
// requests of an agent share: its tools and its system prompt. It is in no session,
// so no list of calls has it.
type Warmed struct {
	AgentID ID      `json:"agent_id"`
	Model   ModelID `json:"model"`
	Warmed  bool    `json:"warmed" doc:"The beginning was sent."`
	Reason  string  `json:"reason,omitempty" doc:"Why it was not; null when it was."`
	Tokens  int     `json:"tokens" doc:"Of tools and system prompt, estimated."`
	Usage   Usage   `json:"usage"`
	Cost    *Money  `json:"cost"`
	// Cache says that something was written, or found there already.
	Cache CallCache `json:"cache"`
}

// MarshalJSON writes null for what is absent.
func (w Warmed) MarshalJSON() ([]byte, error) {
	type plain Warmed
	return EncodeJSON(struct {
		*plain
		Reason *string `json:"reason"`
	}{(*plain)(&w), OrNull(w.Reason)})
}
