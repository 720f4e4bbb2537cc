package parley

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"strings"
	"time"
)

// Model is one provider's wire format behind one base URL and credential. It
// serves every model name of that provider. Implementations are safe for
// concurrent use and hold no per-call state.
type Model interface {
	// Encode is pure: the same request gives the same bytes, for ever, under the
	// encoder version that it reports. It fails with CodeInvalid when the request
	// cannot be expressed on this wire.
	Encode(request ModelRequest) (EncodedRequest, error)

	// EncodeAs is Encode as a version of it was, so that requests of old calls can be
	// made again; CodeInvalid for an unknown one.
	EncodeAs(version int, request ModelRequest) (EncodedRequest, error)

	// Stream sends an encoded request and yields the answer's chunks in the order
	// of the wire. The sequence ends after ChunkFinish, or with exactly one error,
	// which is a *ModelError unless ctx was cancelled (then context.Cause(ctx)).
	// A wire that ends without its terminal marker is an error of ClassStream.
	// Everything that the call opened is closed when the loop ends, also by break.
	Stream(ctx context.Context, encoded EncodedRequest) iter.Seq2[Chunk, error]

	// Warms tells whether the model's provider gains by being sent the common beginning
	// of an agent's requests before anybody needs it: from how many tokens on a
	// beginning is kept for all sessions; 0 when nothing is gained, and then the
	// sentence says why.
	Warms(model ModelID) (least int, why string)
}

// ModelSource finds models by their id "provider/model".
type ModelSource interface {
	// Resolve returns the provider's Model, what is known of the model named, and
	// CodeInvalid with the list of configured providers if there is none such.
	// A model name that the registry does not know is passed through.
	Resolve(id ModelID) (Model, ModelInfo, error)
	// Models lists the known models of the configured providers, by id.
	Models() []ModelInfo
	// Default is the server's default model (A4).
	Default() ModelID
}

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

// ModelInfo is what the registry knows of a model. Unknown numbers are 0,
// unknown prices nil.
type ModelInfo struct {
	ID            ModelID `json:"id"`
	Provider      string  `json:"provider"`
	Name          string  `json:"name"`
	Simulator     bool    `json:"simulator"` // answers are made up by the built-in simulator
	Known         bool    `json:"known"`     // false: passed through
	Reasoning     bool    `json:"reasoning"`
	Caching       bool    `json:"caching"`
	Tools         bool    `json:"tools"`
	Vision        bool    `json:"vision"`
	ThinkTags     bool    `json:"think_tags"`     // it writes its reasoning as text between <think> and </think>
	ContextLength int     `json:"context_length"` // tokens
	MaxOutput     int     `json:"max_output"`     // tokens of one answer
	Price         *Price  `json:"price"`
}

// Sees reports whether the model may be shown images: one that the registry does
// not know is taken to.
func (m ModelInfo) Sees() bool { return m.Vision || !m.Known }

// ProviderInfo is a provider that the server has, or could have: never its key.
type ProviderInfo struct {
	Name         string  `json:"name"`
	Configured   bool    `json:"configured"`
	KeyEnv       string  `json:"key_env"` // the environment variable that its key is read from; "" when it needs none
	DefaultModel ModelID `json:"default_model"`
	Simulator    bool    `json:"simulator"`
	Models       int     `json:"models"` // that the registry knows of it; others are passed through
}

// Price is in US dollars per million tokens.
type Price struct {
	Input       float64  `json:"input"`
	Output      float64  `json:"output"`
	CachedInput float64  `json:"cached_input"`
	CacheWrite  *float64 `json:"cache_write"` // of input that the provider puts into its cache; null: unknown, and taken for Input
}

// Cost is the price of a call, nil when usage is unknown. CachedTokens are
// part of InputTokens.
func (p *Price) Cost(u Usage) *Money {
	if p == nil || u.InputTokens == nil || u.OutputTokens == nil {
		return nil
	}
	var cached, written int64
	if u.CachedTokens != nil {
		cached = min(*u.CachedTokens, *u.InputTokens)
	}
	if u.CacheWriteTokens != nil {
		written = min(*u.CacheWriteTokens, *u.InputTokens-cached)
	}
	return dollars(p.Input*float64(*u.InputTokens-cached-written) + p.CachedInput*float64(cached) +
		p.written()*float64(written) + p.Output*float64(*u.OutputTokens))
}

// Saved is what the provider's cache saved of the price of a call: what the tokens
// read from it would have cost more, less what those written to it did cost more.
// Below zero when more was written than read; nil when prices or counts are unknown.
func (p *Price) Saved(u Usage) *Money {
	if p == nil || u.InputTokens == nil || u.CachedTokens == nil {
		return nil
	}
	cached := min(*u.CachedTokens, *u.InputTokens)
	saved := (p.Input - p.CachedInput) * float64(cached)
	if u.CacheWriteTokens != nil {
		saved -= (p.written() - p.Input) * float64(min(*u.CacheWriteTokens, *u.InputTokens-cached))
	}
	return dollars(saved)
}

// Most is the highest price of a call with so many tokens, nil when prices are
// unknown.
func (p *Price) Most(input, output int64) *Money {
	if p == nil {
		return nil
	}
	return dollars(max(p.Input, p.written())*float64(input) + p.Output*float64(output))
}

func (p *Price) written() float64 {
	if p.CacheWrite == nil {
		return p.Input
	}
	return *p.CacheWrite
}

// dollars makes money of dollars per million tokens, which are thousands of
// nanodollars per token.
func dollars(perMillion float64) *Money {
	cost := Money(math.Floor(1000*perMillion + 0.5))
	return &cost
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

// ModelRequest is a request in no provider's terms: what prompt builds and
// adapters encode.
type ModelRequest struct {
	Model      ModelID
	System     string
	Tools      []ToolDefinition // sorted by name
	Messages   []RequestMessage // user and assistant turns alternate as the record has them; adapters merge where their wire wants it
	Parameters Parameters
	Think      bool // ask for reasoning where the model can
	Search     bool // allow the provider's own web search
	// CacheKey asks for the provider's prompt cache, if the provider wants to be
	// asked: requests with one key begin alike. "" asks for nothing.
	CacheKey string
	// Purpose is for the simulator, which has no other way to tell: no provider is told.
	Purpose CallPurpose
}

// RequestRole is who speaks in a RequestMessage.
type RequestRole string

// The request roles. Tool results travel in RequestTool messages.
const (
	RequestUser      RequestRole = "user"
	RequestAssistant RequestRole = "assistant"
	RequestTool      RequestRole = "tool"
)

// RequestMessage is one message of a request: its parts in order.
type RequestMessage struct {
	Role  RequestRole
	Parts []RequestPart
}

// PartKind says which fields of a RequestPart count.
type PartKind string

// The kinds of part.
const (
	PartText       PartKind = "text"        // Text
	PartReasoning  PartKind = "reasoning"   // Text, ProviderData (adapters drop it where their wire cannot take it back)
	PartToolCall   PartKind = "tool_call"   // CallID, Name, Arguments, ProviderData
	PartToolResult PartKind = "tool_result" // CallID, Name, Text, IsError
	PartImage      PartKind = "image"       // Name, MediaType, Data, Width, Height; of user messages
)

// RequestPart is a piece of a RequestMessage. ProviderData is what the same
// provider's adapter gave with the block (nil after a change of model): byte-exact.
type RequestPart struct {
	Kind         PartKind
	Text         string
	CallID       string // Parley's own id; adapters map it back to the provider's, see ChunkToolCall
	Name         string
	Arguments    []byte // JSON object; the provider's exact text, when there is one, is in ProviderData
	IsError      bool
	ProviderData []byte
	MediaType    string // of an image: image/png, image/jpeg, image/gif or image/webp
	Data         []byte // its bytes
	Width        int    // in pixels
	Height       int
	Sequence     int64 // of the record's message that it shows, for explanations: no part of what is sent; 0 for none
}

// ToolDefinition is what a model is told of a tool.
type ToolDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of the arguments object
}

// EncodedRequest is a request as it goes over the wire.
type EncodedRequest struct {
	Model   ModelID
	Body    []byte // request_hash is its SHA-256
	Version int    // encoder version; old ones stay decodable under golden tests
}

// ChunkKind says what a Chunk carries.
type ChunkKind uint8

// The kinds of chunk. Adapters number blocks from 0 in order of appearance; a
// block is a contiguous run of reasoning, of text, or one tool call. Text after
// a call, or reasoning after text, is a new block. Deltas of calls may
// interleave and name their block.
const (
	ChunkReasoning    ChunkKind = iota + 1 // Block, Text
	ChunkText                              // Block, Text
	ChunkRefusal                           // Block, Text
	ChunkToolCall                          // Block, CallID (the provider's), Name: a call begins
	ChunkArguments                         // Block, Text
	ChunkProviderData                      // Block, Data: replaces what the block had
	ChunkUsage                             // Usage: replaces what came before
	ChunkFinish                            // Finish: the last chunk
)

// Chunk is one piece of a streamed answer. Text is valid UTF-8: adapters hold
// back the bytes of a split rune.
type Chunk struct {
	Kind   ChunkKind
	Block  int
	Text   string
	CallID string
	Name   string
	Data   []byte
	Usage  Usage
	Finish FinishReason
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

// ErrorClass groups failures of turns and calls (D9).
type ErrorClass string

// The classes. The first seven are the model's; the others are Parley's own.
const (
	ClassContentFilter ErrorClass = "content_filter"
	ClassRateLimit     ErrorClass = "rate_limit"
	ClassNetwork       ErrorClass = "network"
	ClassAuth          ErrorClass = "auth"
	ClassModel         ErrorClass = "model"
	ClassStream        ErrorClass = "stream"
	ClassContextLength ErrorClass = "context_length"
	ClassInterrupted   ErrorClass = "interrupted" // the process died or lost its claim in the middle
	ClassCrashLoop     ErrorClass = "crash_loop"  // its processes died, and nothing else that they ran explains it
	ClassLimit         ErrorClass = "limit"       // a limit of the agent or session
	ClassInternal      ErrorClass = "internal"
)

// ErrorClasses lists every class.
func ErrorClasses() []ErrorClass {
	return []ErrorClass{ClassContentFilter, ClassRateLimit, ClassNetwork, ClassAuth, ClassModel, ClassStream,
		ClassContextLength, ClassInterrupted, ClassCrashLoop, ClassLimit, ClassInternal}
}

// Sentence is the default explanation of a class for people; agents may
// replace it (RetryPolicy.Sentences).
func (c ErrorClass) Sentence() string {
	switch c {
	case ClassContentFilter:
		return "The model's provider declined this content. Rephrase the message and try again."
	case ClassRateLimit:
		return "The model's provider is limiting requests. Try again later."
	case ClassNetwork:
		return "The model's provider could not be reached. Check the network and the base URL, then retry."
	case ClassAuth:
		return "The model's provider refused the credentials. Check the provider's API key."
	case ClassModel:
		return "The model's provider could not answer this request. Check the model's name and parameters."
	case ClassStream:
		return "The model's answer broke off before it was complete. Retry to get a whole one."
	case ClassContextLength:
		return "The conversation is longer than the model can read. Use a narrower context policy or a model with a longer context."
	case ClassInterrupted:
		return "Parley was interrupted in the middle of this answer."
	case ClassCrashLoop:
		return "Parley gave up on this turn because its process died several times while running it."
	case ClassLimit:
		return "A limit set for this agent or session was reached."
	default:
		return "Something went wrong inside Parley. The server's log has the details under this turn's id."
	}
}

// ModelError is a failed model request, told by the adapter. Its text is
// redacted: no credential of the call is in Message or Detail.
type ModelError struct {
	Class      ErrorClass
	Retryable  bool          // false: another attempt cannot help (bad key, exhausted quota, refusal …)
	Status     int           // HTTP status, 0 when there was no answer
	RetryAfter time.Duration // the provider's floor for the next attempt, 0 when it named none
	Message    string        // what the provider said, clipped to 1 KiB
	cause      error
}

// NewModelError makes a ModelError with a cause for the log.
func NewModelError(class ErrorClass, retryable bool, message string, cause error) *ModelError {
	return &ModelError{Class: class, Retryable: retryable, Message: Clip(message, 1024), cause: cause}
}

// Error names the class and what the provider said.
func (e *ModelError) Error() string {
	text := string(e.Class) + ": " + e.Message
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap is the cause.
func (e *ModelError) Unwrap() error { return e.cause }
