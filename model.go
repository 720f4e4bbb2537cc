package parley

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ModelID is "provider/model"; the model's part may itself contain slashes.
type ModelID string

// Provider returns the part before the first slash.
func (id ModelID) Provider() string { p, _, _ := strings.Cut(string(id), "/"); return p }

// Name returns the part after the first slash.
func (id ModelID) Name() string { _, n, _ := strings.Cut(string(id), "/"); return n }

// Validate returns CodeInvalid unless both parts are present.
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

// Parameters are the sampling settings; for each, the nearest scope wins (D2). nil means "not set here".
type Parameters struct {
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	MaxTokens       *int     `json:"max_tokens"`
	Seed            *int64   `json:"seed"`
	ReasoningEffort *string  `json:"reasoning_effort"`

	ToolChoice        *string            `json:"tool_choice"` // a ToolChoice…, or the name of a tool
	ParallelToolCalls *bool              `json:"parallel_tool_calls"`
	ResponseFormat    *ResponseFormat    `json:"response_format"`
	Stop              *[]string          `json:"stop"`
	EndUser           *string            `json:"end_user"`
	RequestMetadata   *map[string]string `json:"request_metadata"`
	ServiceTier       *string            `json:"service_tier"`
}

// What a model may do with its tools, besides calling a named one.
const (
	ToolChoiceAuto     = "auto"     // decide itself
	ToolChoiceNone     = "none"     // call none
	ToolChoiceRequired = "required" // call one
)

// Forces reports whether a choice forces the model to call a tool.
func Forces(choice string) bool { return choice != ToolChoiceAuto && choice != ToolChoiceNone }

// OfStep returns the parameters of one step of a turn: a forced call applies only to the first step, or the turn would
// never reach an answer.
func (p Parameters) OfStep(step int) Parameters {
	if step > 1 && p.ToolChoice != nil && Forces(*p.ToolChoice) {
		p.ToolChoice = nil
	}
	return p
}

// ResponseFormatType is the form of an answer's text.
type ResponseFormatType string

// The forms.
const (
	FormatText       ResponseFormatType = "text"
	FormatJSONObject ResponseFormatType = "json_object"
	FormatJSONSchema ResponseFormatType = "json_schema"
)

// ResponseFormat asks for an answer in a given form. Only the provider enforces it: Parley does not check answers
// against it.
type ResponseFormat struct {
	Type   ResponseFormatType `json:"type" enum:"text,json_object,json_schema"`
	Name   string             `json:"name,omitempty" doc:"The schema's name, for the provider; answer by default."`
	Schema *json.RawMessage   `json:"schema,omitempty" doc:"JSON Schema of the answer; only for json_schema."`
	Strict bool               `json:"strict,omitempty" doc:"Ask the provider to follow the schema exactly."`
}

// MarshalJSON writes null for absent fields.
func (f ResponseFormat) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		Type   ResponseFormatType `json:"type"`
		Name   *string            `json:"name"`
		Schema *json.RawMessage   `json:"schema"`
		Strict *bool              `json:"strict"`
	}{f.Type, OrNull(f.Name), f.Schema, OrNull(f.Strict)})
}

// MaxFormatBytes bounds the schema of a ResponseFormat.
const MaxFormatBytes = 64 << 10

// Validate reports the field that breaks a rule.
func (f ResponseFormat) Validate() error {
	switch f.Type {
	case FormatText, FormatJSONObject:
		if f.Schema != nil || f.Name != "" || f.Strict {
			return InvalidField("response_format", "name, schema and strict belong to json_schema")
		}
		return nil
	case FormatJSONSchema:
	default:
		return InvalidField(
			"response_format", "%q is not one of text, json_object, json_schema", Clip(string(f.Type), 32),
		)
	}
	if schema := bytes.TrimSpace(
		ValueOf(f.Schema),
	); len(schema) == 0 || schema[0] != '{' ||
		len(schema) > MaxFormatBytes {
		return InvalidField("response_format", "schema must be a JSON object of at most %d bytes", MaxFormatBytes)
	}
	if len(f.Name) > 64 || strings.ContainsFunc(f.Name, func(r rune) bool { return !isNameRune(r) }) {
		return InvalidField("response_format", "name is up to 64 letters, digits, _ and -")
	}
	return CheckJSON(*f.Schema)
}

// isNameRune reports whether providers accept a character in names.
func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// The bounds of what providers are sent beside a request.
const (
	MaxStops          = 16  // sequences that end an answer
	MaxStopBytes      = 256 // of each
	MaxEndUserBytes   = 256
	MaxRequestPairs   = 16  // of request_metadata
	MaxRequestKey     = 64  // bytes
	MaxRequestValue   = 512 // bytes
	MaxToolNameLength = 64
)

// CheckStops reports what is wrong with stop sequences.
func CheckStops(stops []string) error {
	if len(stops) > MaxStops {
		return InvalidField("stop", "at most %d", MaxStops)
	}
	for _, stop := range stops {
		if stop == "" {
			return InvalidField("stop", "holds an empty text")
		}
		if err := CheckText("stop", stop, MaxStopBytes); err != nil {
			return err
		}
	}
	return nil
}

// CheckRequestMetadata reports what is wrong with metadata that a provider stores beside a request.
func CheckRequestMetadata(pairs map[string]string) error {
	if len(pairs) > MaxRequestPairs {
		return InvalidField("request_metadata", "at most %d pairs", MaxRequestPairs)
	}
	for key, value := range pairs {
		if key == "" {
			return InvalidField("request_metadata", "holds an empty key")
		}
		if err := CheckText("request_metadata", key, MaxRequestKey); err != nil {
			return err
		}
		if err := CheckText("request_metadata", value, MaxRequestValue); err != nil {
			return err
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

// MaxCallTokens bounds each count of one call's usage. A larger count is a fault of the counter: sums and prices would
// overflow.
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

// IsZero reports whether the provider sent nothing.
func (u Usage) IsZero() bool { return u == Usage{} }
