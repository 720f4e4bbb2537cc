package parley

import "context"

// PrefixWarmer is a Model that can tell whether it gains by being sent the common
// beginning of an agent's requests before anybody needs it.
type PrefixWarmer interface {
	// Warms is from how many tokens on a beginning is kept for all sessions of a
	// model; 0 when nothing is gained, and then the sentence says why.
	Warms(model ModelID) (least int, why string)
}

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

// Warmer sends the beginning of an agent's requests to its provider.
type Warmer interface {
	// Warm does so once, if the provider gains by it. CodeUnavailable when it fails.
	Warm(ctx context.Context, agent Agent) (Warmed, error)
}
