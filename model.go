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
		return InvalidField(
			"model",
			"%q is not a valid model id: write provider/model, for example sim/echo or openai/gpt-5",
			Clip(string(id), 64),
		)
	}
	return nil
}

// Parameters are the sampling settings, of which the nearest scope wins one by one (D2).
// nil means "not set here".
type Parameters struct {
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	MaxTokens       *int     `json:"max_tokens"`
	Seed            *int64   `json:"seed"`
	ReasoningEffort *string  `json:"reasoning_effort"`
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
