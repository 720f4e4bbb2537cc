package parley

// Settings are what an agent, a session, a message or a fork sets for turns; the nearest wins. The zero value of a
// field means "not set here". Package setting describes each setting: where it may be set, its bounds, and how the
// nearest wins.
type Settings struct {
	Model           ModelID                `json:"model,omitempty"`
	SystemPrompt    *string                `json:"system_prompt,omitempty"` // with placeholders, see prompt
	Parameters                             // flat
	Tools           *[]ToolRef             `json:"tools,omitempty"`
	Middleware      *MiddlewareSettings    `json:"middleware,omitempty"`
	Compaction      *CompactionSettings    `json:"compaction,omitempty"`
	Grants          *[]Grant               `json:"grants,omitempty"`
	Limits          *Limits                `json:"limits,omitempty"`
	ResponseCache   *ResponseCacheSettings `json:"response_cache,omitempty"`
	CacheTTL        *CacheTTL              `json:"cache_ttl,omitempty"`
	ApprovalTimeout *int                   `json:"approval_timeout,omitempty"` // seconds
	Policy          *Policy                `json:"context_policy,omitempty"`
	Retry           *RetryPolicy           `json:"retry_policy,omitempty"`
	KnowledgeTokens *int                   `json:"knowledge_tokens,omitempty"`
	DrawKnowledge   *bool                  `json:"draw_knowledge,omitempty"`
}

// SettingsPatch changes settings one by one: absent leaves a setting unchanged, null clears it.
type SettingsPatch struct {
	Model           Change[ModelID]  `json:"model,omitzero"`
	SystemPrompt    Change[*string]  `json:"system_prompt,omitzero"`
	Temperature     Change[*float64] `json:"temperature,omitzero"`
	TopP            Change[*float64] `json:"top_p,omitzero"`
	MaxTokens       Change[*int]     `json:"max_tokens,omitzero"`
	Seed            Change[*int64]   `json:"seed,omitzero"`
	ReasoningEffort Change[*string]  `json:"reasoning_effort,omitzero"`

	ToolChoice        Change[*string]            `json:"tool_choice,omitzero"`
	ParallelToolCalls Change[*bool]              `json:"parallel_tool_calls,omitzero"`
	ResponseFormat    Change[*ResponseFormat]    `json:"response_format,omitzero"`
	Stop              Change[*[]string]          `json:"stop,omitzero"`
	EndUser           Change[*string]            `json:"end_user,omitzero"`
	RequestMetadata   Change[*map[string]string] `json:"request_metadata,omitzero"`
	ServiceTier       Change[*string]            `json:"service_tier,omitzero"`

	Tools           Change[*[]ToolRef]             `json:"tools,omitzero"`
	Middleware      Change[*MiddlewareSettings]    `json:"middleware,omitzero"`
	Compaction      Change[*CompactionSettings]    `json:"compaction,omitzero"`
	Grants          Change[*[]Grant]               `json:"grants,omitzero"`
	Limits          Change[*LimitsPatch]           `json:"limits,omitzero"` // limit by limit; null lifts all
	ResponseCache   Change[*ResponseCacheSettings] `json:"response_cache,omitzero"`
	CacheTTL        Change[*CacheTTL]              `json:"cache_ttl,omitzero"`
	ApprovalTimeout Change[*int]                   `json:"approval_timeout,omitzero"`
	Policy          Change[*Policy]                `json:"context_policy,omitzero"`
	Retry           Change[*RetryPolicy]           `json:"retry_policy,omitzero"`
	KnowledgeTokens Change[*int]                   `json:"knowledge_tokens,omitzero"`
	DrawKnowledge   Change[*bool]                  `json:"draw_knowledge,omitzero"`
}

// ValueOf returns the value behind a pointer; the zero value for nil.
func ValueOf[T any](pointer *T) (value T) {
	if pointer != nil {
		value = *pointer
	}
	return value
}

// shownSettings are settings as answers show them: null for unset fields. It shadows an embedded Settings, next to
// Model, whose type has no null. The conversion between the two makes the compiler check that their fields match.
type shownSettings struct {
	Model        ModelID `json:"-"`
	SystemPrompt *string `json:"system_prompt"`
	Parameters
	Tools           *[]ToolRef             `json:"tools"`
	Middleware      *MiddlewareSettings    `json:"middleware"`
	Compaction      *CompactionSettings    `json:"compaction"`
	Grants          *[]Grant               `json:"grants"`
	Limits          *Limits                `json:"limits"`
	ResponseCache   *ResponseCacheSettings `json:"response_cache"`
	CacheTTL        *CacheTTL              `json:"cache_ttl"`
	ApprovalTimeout *int                   `json:"approval_timeout"`
	Policy          *Policy                `json:"context_policy"`
	Retry           *RetryPolicy           `json:"retry_policy"`
	KnowledgeTokens *int                   `json:"knowledge_tokens"`
	DrawKnowledge   *bool                  `json:"draw_knowledge"`
}
