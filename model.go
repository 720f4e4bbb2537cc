package parley

import "strings"

// ModelID is "provider/model"; the model part may itself hold slashes.
type ModelID string

// Provider is the part before the first slash.
func (id ModelID) Provider() string { p, _, _ := strings.Cut(string(id), "/"); return p }

// Name is the part after the first slash.
func (id ModelID) Name() string { _, n, _ := strings.Cut(string(id), "/"); return n }

// Validate reports CodeInvalid unless both parts are there.
func (id ModelID) Validate() error {
	if id.Provider() == "" || id.Name() == "" || len(id) > MaxNameBytes {
		return InvalidField("model", "%q is no model id: write provider/model, for example sim/echo or openai/gpt-5", Clip(string(id), 64))
	}
	return nil
}

// Parameters are the sampling settings that agent, session and message may each
// set; the nearest wins, field by field (D2). nil means "not set here".
type Parameters struct {
	Temperature     *float64 `json:"temperature" minimum:"0" maximum:"2" doc:"Sampling temperature, 0 to 2."`
	TopP            *float64 `json:"top_p" minimum:"0" maximum:"1" doc:"Nucleus sampling, 0 to 1."`
	MaxTokens       *int     `json:"max_tokens" minimum:"1" maximum:"10000000" doc:"Most tokens of one answer."`
	Seed            *int64   `json:"seed" doc:"Seed for providers that take one."`
	ReasoningEffort *string  `json:"reasoning_effort" enum:"none,minimal,low,medium,high,xhigh" doc:"How much a reasoning model thinks."`
}

// Over returns p with the gaps filled from the wider scope.
func (p Parameters) Over(wider Parameters) Parameters {
	if p.Temperature == nil {
		p.Temperature = wider.Temperature
	}
	if p.TopP == nil {
		p.TopP = wider.TopP
	}
	if p.MaxTokens == nil {
		p.MaxTokens = wider.MaxTokens
	}
	if p.Seed == nil {
		p.Seed = wider.Seed
	}
	if p.ReasoningEffort == nil {
		p.ReasoningEffort = wider.ReasoningEffort
	}
	return p
}

// Validate reports the first field out of range.
func (p Parameters) Validate() error {
	switch {
	case p.Temperature != nil && !(*p.Temperature >= 0 && *p.Temperature <= 2):
		return InvalidField("temperature", "must lie between 0 and 2")
	case p.TopP != nil && !(*p.TopP >= 0 && *p.TopP <= 1):
		return InvalidField("top_p", "must lie between 0 and 1")
	case p.MaxTokens != nil && (*p.MaxTokens < 1 || *p.MaxTokens > 10_000_000):
		return InvalidField("max_tokens", "must lie between 1 and 10000000")
	}
	if p.ReasoningEffort != nil {
		switch *p.ReasoningEffort {
		case "none", "minimal", "low", "medium", "high", "xhigh":
		default:
			return InvalidField("reasoning_effort", "%q is not one of none, minimal, low, medium, high, xhigh", Clip(*p.ReasoningEffort, 32))
		}
	}
	return nil
}

// FinishReason is why an answer ended.
type FinishReason string

// The finish reasons. A provider's "tool_calls" without any call is reported
// as FinishStop.
const (
	FinishStop      FinishReason = "stop"
	FinishToolCalls FinishReason = "tool_calls"
	FinishLength    FinishReason = "length"  // cut at max_tokens: shown, its calls never run
	FinishRefusal   FinishReason = "refusal" // the model or a filter declined
)

// MaxCallTokens bounds each count of one call's usage. A larger one is a fault of who
// counted: sums and prices of such would not fit.
const MaxCallTokens = 10_000_000_000

// Usage is what the provider counted; nil where it sent none. InputTokens
// include CachedTokens and CacheWriteTokens; OutputTokens include ReasoningTokens.
type Usage struct {
	InputTokens      *int64 `json:"input_tokens"`
	OutputTokens     *int64 `json:"output_tokens"`
	CachedTokens     *int64 `json:"cached_tokens"`
	CacheWriteTokens *int64 `json:"cache_write_tokens"`
	ReasoningTokens  *int64 `json:"reasoning_tokens"`
}

// IsZero reports that the provider sent nothing.
func (u Usage) IsZero() bool { return u == Usage{} }
