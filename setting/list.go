package setting

import (
	"strconv"

	"example.org/parley"
)

// The usual sets of scopes.
const (
	everywhere = Agent | Session | Message | Fork
	lasting    = Agent | Session | Fork // not for a single turn
)

// The settings. To add one: add a field to parley.Settings (and its two companions), a description here, and the code
// that reads it by Nearest.
var (
	// Model is the model that answers.
	Model = &Of[parley.ModelID]{
		Description: Description{
			Name: "model", Label: "Model",
			Kind: Text, Scopes: everywhere, Wins: Whole,
			Doc:     "The model that answers, as provider/model; by default the server's.",
			Example: `"sim/echo"`,
		},
		field:  func(s *parley.Settings) *parley.ModelID { return &s.Model },
		change: func(p *parley.SettingsPatch) *parley.Change[parley.ModelID] { return &p.Model },
		valid:  validModel,
	}

	// SystemPrompt is what the model is told to be.
	SystemPrompt = &Of[*string]{
		Description: Description{
			Name: "system_prompt", Label: "System prompt",
			Kind: Text, Scopes: everywhere, Wins: Whole,
			Doc: "What the model is told to be. May hold placeholders such as {{session.title}}; " +
				"{{{{ is a literal {{.",
			Example: `"Be brief."`,
		},
		field:  func(s *parley.Settings) **string { return &s.SystemPrompt },
		change: func(p *parley.SettingsPatch) *parley.Change[*string] { return &p.SystemPrompt },
		empty:  func() *string { return new(string) },
		valid: func(name string, text *string) error {
			return parley.CheckText(name, *text, parley.MaxTextBytes)
		},
	}

	// Temperature is a sampling parameter.
	Temperature = &Of[*float64]{
		Description: Description{
			Name: "temperature", Label: "Temperature",
			Kind: Number, Scopes: everywhere, Wins: Whole,
			Doc: "Sampling temperature, 0 to 2.",
			Min: 0, Max: 2,
			Example: `0.3`,
		},
		field:  func(s *parley.Settings) **float64 { return &s.Temperature },
		change: func(p *parley.SettingsPatch) *parley.Change[*float64] { return &p.Temperature },
	}

	// TopP is a sampling parameter.
	TopP = &Of[*float64]{
		Description: Description{
			Name: "top_p", Label: "Top p",
			Kind: Number, Scopes: everywhere, Wins: Whole,
			Doc: "Nucleus sampling, 0 to 1.",
			Min: 0, Max: 1,
			Example: `0.9`,
		},
		field:  func(s *parley.Settings) **float64 { return &s.TopP },
		change: func(p *parley.SettingsPatch) *parley.Change[*float64] { return &p.TopP },
	}

	// MaxTokens bounds one answer.
	MaxTokens = &Of[*int]{
		Description: Description{
			Name: "max_tokens", Label: "Longest answer, tokens",
			Kind: Integer, Scopes: everywhere, Wins: Whole,
			Doc: "Most tokens of one answer.",
			Min: 1, Max: 10_000_000,
			Example: `2000`,
		},
		field:  func(s *parley.Settings) **int { return &s.MaxTokens },
		change: func(p *parley.SettingsPatch) *parley.Change[*int] { return &p.MaxTokens },
	}

	// Seed makes sampling repeatable.
	Seed = &Of[*int64]{
		Description: Description{
			Name: "seed", Label: "Seed",
			Kind: Integer, Scopes: everywhere, Wins: Whole,
			Doc:     "Seed, for providers that accept one.",
			Example: `7`,
		},
		field:  func(s *parley.Settings) **int64 { return &s.Seed },
		change: func(p *parley.SettingsPatch) *parley.Change[*int64] { return &p.Seed },
	}

	// ReasoningEffort is how much a reasoning model thinks.
	ReasoningEffort = &Of[*string]{
		Description: Description{
			Name: "reasoning_effort", Label: "Reasoning effort",
			Kind: Choice, Scopes: everywhere, Wins: Whole,
			Doc:     "How much a reasoning model thinks.",
			Choices: []string{"none", "minimal", "low", "medium", "high", "xhigh"},
			Example: `"low"`,
		},
		field:  func(s *parley.Settings) **string { return &s.ReasoningEffort },
		change: func(p *parley.SettingsPatch) *parley.Change[*string] { return &p.ReasoningEffort },
	}

	// ToolChoice is what the model may do with its tools.
	ToolChoice = &Of[*string]{
		Description: Description{
			Name: "tool_choice", Label: "Tool choice",
			Kind: Text, Scopes: everywhere, Wins: Whole,
			Doc: "auto lets the model decide whether to call tools, none prevents it, required or the name of " +
				"a tool makes it call one in the first step of a turn.",
			Example: `"required"`,
		},
		field:  func(s *parley.Settings) **string { return &s.ToolChoice },
		change: func(p *parley.SettingsPatch) *parley.Change[*string] { return &p.ToolChoice },
		valid: func(name string, choice *string) error {
			if *choice == "" {
				return parley.InvalidField(name, "is empty; auto, none, required or the name of a tool")
			}
			return parley.CheckText(name, *choice, parley.MaxToolNameLength)
		},
	}

	// ParallelToolCalls says whether one answer may call several tools.
	ParallelToolCalls = &Of[*bool]{
		Description: Description{
			Name: "parallel_tool_calls", Label: "Several tools in one answer",
			Kind: Switch, Scopes: everywhere, Wins: Whole,
			Doc:     "Whether one answer may call several tools; by default the provider decides.",
			Example: `false`,
		},
		field:  func(s *parley.Settings) **bool { return &s.ParallelToolCalls },
		change: func(p *parley.SettingsPatch) *parley.Change[*bool] { return &p.ParallelToolCalls },
	}

	// ResponseFormat is the form of an answer.
	ResponseFormat = &Of[*parley.ResponseFormat]{
		Description: Description{
			Name: "response_format", Label: "Response format",
			Kind: Object, Scopes: everywhere, Wins: Whole,
			Doc: "The form of the model's answer: text, json_object, or json_schema with a schema. The provider " +
				"enforces it.",
			Example: `{"type":"json_object"}`,
		},
		field:  func(s *parley.Settings) **parley.ResponseFormat { return &s.ResponseFormat },
		change: func(p *parley.SettingsPatch) *parley.Change[*parley.ResponseFormat] { return &p.ResponseFormat },
		valid:  valid[parley.ResponseFormat],
	}

	// Stop ends answers.
	Stop = &Of[*[]string]{
		Description: Description{
			Name: "stop", Label: "Stop sequences",
			Kind: List, Scopes: everywhere, Wins: Whole,
			Doc:     "Texts that end an answer and are left out of it; at most 16, of which OpenAI accepts 4.",
			Example: `["END"]`,
		},
		field:  func(s *parley.Settings) **[]string { return &s.Stop },
		change: func(p *parley.SettingsPatch) *parley.Change[*[]string] { return &p.Stop },
		valid:  func(_ string, stops *[]string) error { return parley.CheckStops(*stops) },
	}

	// EndUser tells the provider on whose behalf a request is made.
	EndUser = &Of[*string]{
		Description: Description{
			Name: "end_user", Label: "End user",
			Kind: Text, Scopes: everywhere, Wins: Whole,
			Doc:     "The end user, for the provider's abuse detection: an opaque id, never a name or an address.",
			Example: `"u-7f3a"`,
		},
		field:  func(s *parley.Settings) **string { return &s.EndUser },
		change: func(p *parley.SettingsPatch) *parley.Change[*string] { return &p.EndUser },
		valid: func(name string, user *string) error {
			return parley.CheckText(name, *user, parley.MaxEndUserBytes)
		},
	}

	// RequestMetadata is what the provider stores beside requests.
	RequestMetadata = &Of[*map[string]string]{
		Description: Description{
			Name: "request_metadata", Label: "Request metadata",
			Kind: Object, Scopes: everywhere, Wins: Whole,
			Doc:     "Up to 16 texts by key that the provider stores beside the request. Anthropic accepts none.",
			Example: `{"team":"sales"}`,
		},
		field:  func(s *parley.Settings) **map[string]string { return &s.RequestMetadata },
		change: func(p *parley.SettingsPatch) *parley.Change[*map[string]string] { return &p.RequestMetadata },
		valid: func(_ string, pairs *map[string]string) error {
			return parley.CheckRequestMetadata(*pairs)
		},
	}

	// ServiceTier is how the provider prioritises requests.
	ServiceTier = &Of[*string]{
		Description: Description{
			Name: "service_tier", Label: "Service tier",
			Kind: Choice, Scopes: everywhere, Wins: Whole,
			Doc:     "The tier at which the provider serves the request. Anthropic accepts auto and default.",
			Choices: []string{"auto", "default", "flex", "priority"},
			Example: `"flex"`,
		},
		field:  func(s *parley.Settings) **string { return &s.ServiceTier },
		change: func(p *parley.SettingsPatch) *parley.Change[*string] { return &p.ServiceTier },
	}

	// Tools are the tools that a turn may use.
	Tools = &Of[*[]parley.ToolRef]{
		Description: Description{
			Name: "tools", Label: "Tools",
			Kind: List, Scopes: everywhere, Wins: Whole,
			Doc: "Tools that the model may use: names of the server's tools, definitions of tools that a client " +
				"answers, or agents.",
			Example: `["current_time"]`,
		},
		field:  func(s *parley.Settings) **[]parley.ToolRef { return &s.Tools },
		change: func(p *parley.SettingsPatch) *parley.Change[*[]parley.ToolRef] { return &p.Tools },
		empty:  func() *[]parley.ToolRef { return &[]parley.ToolRef{} },
	}

	// Grants are rules about tool calls.
	Grants = &Of[*[]parley.Grant]{
		Description: Description{
			Name: "grants", Label: "Grants",
			Kind: List, Scopes: lasting, Wins: Beside,
			Doc: "Rules about tool calls. Without one that matches, a person is asked about tools that may " +
				"destroy something.",
			Example: `[{"tool":"current_time","effect":"allow"}]`,
		},
		field:  func(s *parley.Settings) **[]parley.Grant { return &s.Grants },
		change: func(p *parley.SettingsPatch) *parley.Change[*[]parley.Grant] { return &p.Grants },
		empty:  func() *[]parley.Grant { return &[]parley.Grant{} },
		valid:  func(_ string, grants *[]parley.Grant) error { return parley.ValidateGrants(*grants) },
	}

	// Limits bound what turns use. The daily ones count separately for each scope.
	Limits = &limits{Of[*parley.Limits]{
		Description: Description{
			Name:   "limits",
			Label:  "Limits",
			Kind:   Object,
			Scopes: lasting,
			Wins:   ByPart,
			Doc: "What turns may use. Daily limits count separately: an agent's over all of its sessions, a " +
				"session's over its own tree.",
			Example: `{"max_steps":20}`,
		},
		field: func(s *parley.Settings) **parley.Limits { return &s.Limits },
		parts: filled(parley.Limits.Fill),
		apart: filled(parley.Limits.Over),
		empty: empty[parley.Limits],
		valid: valid[parley.Limits],
	}}

	// Output is the object that an answer must be.
	Output = &Of[*parley.Output]{
		Description: Description{
			Name: "output", Label: "Structured output",
			Kind: Object, Scopes: everywhere, Wins: Whole,
			Doc: "A JSON Schema that the answer must satisfy. Parley checks it, asks again with the errors, and " +
				"keeps the object beside the text; {} asks for plain text. Takes the place of response_format.",
			Example: `{"schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}`,
		},
		field:  func(s *parley.Settings) **parley.Output { return &s.Output },
		change: func(p *parley.SettingsPatch) *parley.Change[*parley.Output] { return &p.Output },
		valid:  valid[parley.Output],
	}

	// Middleware is the middleware around the calls.
	Middleware = &Of[*parley.MiddlewareSettings]{
		Description: Description{
			Name: "middleware", Label: "Middleware",
			Kind: Object, Scopes: lasting, Wins: ByPart,
			Doc:     "Middleware around model calls.",
			Example: `{"think_tags":true}`,
		},
		field:  func(s *parley.Settings) **parley.MiddlewareSettings { return &s.Middleware },
		change: func(p *parley.SettingsPatch) *parley.Change[*parley.MiddlewareSettings] { return &p.Middleware },
		parts:  filled(parley.MiddlewareSettings.Over),
		empty:  empty[parley.MiddlewareSettings],
		valid:  valid[parley.MiddlewareSettings],
	}

	// Compaction is how summaries are written.
	Compaction = &Of[*parley.CompactionSettings]{
		Description: Description{
			Name: "compaction", Label: "Compaction",
			Kind: Object, Scopes: lasting, Wins: ByPart,
			Doc:     "How summaries are written.",
			Example: `{"instructions":"Keep the prices."}`,
		},
		field:  func(s *parley.Settings) **parley.CompactionSettings { return &s.Compaction },
		change: func(p *parley.SettingsPatch) *parley.Change[*parley.CompactionSettings] { return &p.Compaction },
		parts:  filled(parley.CompactionSettings.Over),
		valid:  valid[parley.CompactionSettings],
	}

	// CacheTTL is how long the provider's cache keeps a session's prefix.
	CacheTTL = &Of[*parley.CacheTTL]{
		Description: Description{
			Name: "cache_ttl", Label: "Prompt cache lifetime",
			Kind: Choice, Scopes: lasting, Wins: Whole,
			Doc: "How long the provider's cache keeps the beginning of a request, where it offers a choice. By " +
				"default an hour if tools may wait for people, clients or other agents, else five minutes.",
			Choices: []string{string(parley.CacheMinutes), string(parley.CacheHour)},
			Example: `"1h"`,
		},
		field:  func(s *parley.Settings) **parley.CacheTTL { return &s.CacheTTL },
		change: func(p *parley.SettingsPatch) *parley.Change[*parley.CacheTTL] { return &p.CacheTTL },
		valid:  valid[parley.CacheTTL],
	}

	// ResponseCache caches answers for equal requests.
	ResponseCache = &Of[*parley.ResponseCacheSettings]{
		Description: Description{
			Name: "response_cache", Label: "Response cache",
			Kind: Object, Scopes: lasting, Wins: Whole,
			Doc:     "Caches answers and returns them for equal requests of the workspace.",
			Example: `{"ttl_seconds":60}`,
		},
		field: func(s *parley.Settings) **parley.ResponseCacheSettings { return &s.ResponseCache },
		change: func(p *parley.SettingsPatch) *parley.Change[*parley.ResponseCacheSettings] {
			return &p.ResponseCache
		},
		valid: func(_ string, s *parley.ResponseCacheSettings) error { return s.Validate() },
	}

	// ApprovalTimeout is how long an approval stays open.
	ApprovalTimeout = &Of[*int]{
		Description: Description{
			Name: "approval_timeout", Label: "Approval timeout, seconds",
			Kind: Integer, Scopes: lasting, Wins: Whole,
			Doc: "Seconds until an approval that nobody answers is denied; default 86400.",
			Min: 1, Max: parley.MaxApprovalTimeout,
			Example: `600`,
		},
		field:  func(s *parley.Settings) **int { return &s.ApprovalTimeout },
		change: func(p *parley.SettingsPatch) *parley.Change[*int] { return &p.ApprovalTimeout },
	}

	// Policy chooses the messages of a call.
	Policy = &Of[*parley.Policy]{
		Description: Description{
			Name: "context_policy", Label: "Context policy",
			Kind: Object, Scopes: lasting, Wins: Whole,
			Doc: "The rule by which a call's messages are chosen; by default auto for chats, summary for " +
				"background sessions, recent for those of a feature or a task.",
			Example:  `{"kind":"recent","limit":10}`,
			Variants: policies,
		},
		field:  func(s *parley.Settings) **parley.Policy { return &s.Policy },
		change: func(p *parley.SettingsPatch) *parley.Change[*parley.Policy] { return &p.Policy },
		valid:  valid[parley.Policy],
	}

	// Retry governs attempts after a failed call.
	Retry = &Of[*parley.RetryPolicy]{
		Description: Description{
			Name: "retry_policy", Label: "Retry policy",
			Kind: Object, Scopes: lasting, Wins: ByPart,
			Doc:     "Retries after a failed model call.",
			Example: `{"retries":1}`,
		},
		field:  func(s *parley.Settings) **parley.RetryPolicy { return &s.Retry },
		change: func(p *parley.SettingsPatch) *parley.Change[*parley.RetryPolicy] { return &p.Retry },
		parts:  filled(parley.RetryPolicy.Over),
		empty:  empty[parley.RetryPolicy],
		valid:  valid[parley.RetryPolicy],
	}

	// KnowledgeTokens bounds what requests are told from earlier work.
	KnowledgeTokens = &Of[*int]{
		Description: Description{
			Name: "knowledge_tokens", Label: "Knowledge, tokens",
			Kind: Integer, Scopes: lasting, Wins: Whole,
			Doc: "Most tokens of the knowledge from earlier work that a request is told; 0 tells none. By default " +
				"2000 in the background session of an agent and in people's foreground sessions with it, and 0 in " +
				"others.",
			Min: 0, Max: parley.MaxKnowledgeTokens,
			Example: `4000`,
		},
		field:  func(s *parley.Settings) **int { return &s.KnowledgeTokens },
		change: func(p *parley.SettingsPatch) *parley.Change[*int] { return &p.KnowledgeTokens },
	}

	// DrawKnowledge has knowledge drawn from background work.
	DrawKnowledge = &Of[*bool]{
		Description: Description{
			Name: "draw_knowledge", Label: "Draw knowledge from work",
			Kind: Switch, Scopes: lasting, Wins: Whole,
			Doc: "Whether the model draws knowledge from each work session in the agent's background session, by " +
				"one more call after it; false saves that call.",
			Example: `false`,
		},
		field:  func(s *parley.Settings) **bool { return &s.DrawKnowledge },
		change: func(p *parley.SettingsPatch) *parley.Change[*bool] { return &p.DrawKnowledge },
	}
)

// policies are the forms of a context policy.
var policies = []Variant{
	{
		Kind: string(parley.PolicyAuto), Label: "Automatic",
		Doc: "All messages, until they no longer fit. Then each old tool result shrinks to a note of its size, and " +
			"a summary replaces the oldest messages.",
		Members: []Member{
			{
				Name: "tokens", Label: "Longest window, tokens", Kind: Integer,
				Min: parley.MinPolicyTokens, Max: parley.MaxPolicyTokens,
				Default: strconv.Itoa(parley.DefaultCeiling),
			},
			{Name: "recall", Label: "The model may read what it is no longer shown", Kind: Switch, Default: "yes"},
		},
	},
	{
		Kind: string(parley.PolicySummary), Label: "Summary",
		Doc: "The latest summary and every message after those that it covers. A summary is written at a number of " +
			"messages or of tokens, whichever is set.",
		Members: []Member{
			{
				Name: "limit", Label: "Summary at, messages", Kind: Integer,
				Min: parley.MinSummaryLimit, Max: parley.MaxPolicyLimit,
				Default: strconv.Itoa(parley.DefaultSummaryLimit),
			},
			{
				Name: "tokens", Label: "Summary at, tokens", Kind: Integer,
				Min: parley.MinPolicyTokens, Max: parley.MaxPolicyTokens,
			},
		},
	},
	{
		Kind: string(parley.PolicyRecent), Label: "Recent messages",
		Doc: "At least the newest questions and answers; older ones are not shown.",
		Members: []Member{
			{
				Name:    "limit",
				Label:   "Messages",
				Kind:    Integer,
				Min:     1,
				Max:     parley.MaxPolicyLimit,
				Default: "10",
				Needed:  true,
			},
		},
	},
	{
		Kind: string(parley.PolicySingle), Label: "This turn alone",
		Doc: "The message that is answered, and nothing before it.",
	},
	{
		Kind: string(parley.PolicyAll), Label: "Everything",
		Doc: "Everything that fits into what the model can read. Beyond that the oldest turns are dropped.",
	},
}

// all lists the settings in the order in which sessions show them.
var all = []Setting{
	Model,
	SystemPrompt,
	Temperature,
	TopP,
	MaxTokens,
	Seed,
	ReasoningEffort,
	ToolChoice,
	ParallelToolCalls,
	ResponseFormat,
	Stop,
	EndUser,
	RequestMetadata,
	ServiceTier,
	Tools,
	Grants,
	Limits,
	Output,
	Middleware,
	Compaction,
	CacheTTL,
	ResponseCache,
	ApprovalTimeout,
	Policy,
	Retry,
	KnowledgeTokens,
	DrawKnowledge,
}

// names are the names of all settings in AppendJSON's form.
var names = func() (written []string) {
	for _, s := range all {
		written = append(written, `,"`+s.Describe().Name+`":`)
	}
	return written
}()

// limits is the setting whose patch changes its parts one by one.
type limits struct{ Of[*parley.Limits] }

// IsNamed implements Setting.
func (l *limits) IsNamed(p *parley.SettingsPatch) bool { return p.Limits.Set }

func (l *limits) apply(p *parley.SettingsPatch, s *parley.Settings) {
	if !p.Limits.Set {
		return
	}
	set := p.Limits.Value.Over(parley.ValueOf(s.Limits))
	s.Limits = nil
	if !set.IsZero() {
		s.Limits = &set
	}
}

func validModel(name string, id parley.ModelID) error {
	if err := parley.CheckText(name, string(id), parley.MaxNameBytes); err != nil {
		return err
	}
	return id.Validate()
}

// valid adapts settings that check themselves.
func valid[T interface{ Validate() error }](_ string, value *T) error { return (*value).Validate() }

func empty[T any]() *T { return new(T) }

// filled turns a merge of values into a merge of pointers.
func filled[T any](over func(near, wider T) T) func(near, wider *T) *T {
	return func(near, wider *T) *T {
		both := over(*near, *wider)
		return &both
	}
}
