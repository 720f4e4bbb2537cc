package model

import (
	"context"
	"iter"

	"example.org/parley"
)

// Model is one provider's wire format behind one base URL and credential. It
// serves every model name of that provider. Implementations are safe for
// concurrent use and hold no per-call state.
type Model interface {
	// Encode is pure: the same request always gives the same bytes under the encoder version that it reports. It
	// returns CodeInvalid if the request cannot be expressed on this wire.
	Encode(request Request) (EncodedRequest, error)

	// EncodeAs is Encode as it was in an earlier version, so that requests of old calls can be rebuilt; CodeInvalid for
	// an unknown version.
	EncodeAs(version int, request Request) (EncodedRequest, error)

	// Stream sends an encoded request and yields the answer's chunks in the order of the wire. The sequence ends after
	// ChunkFinish, or with exactly one error: a *Error, unless ctx was cancelled (then context.Cause(ctx)). A wire that
	// ends without its terminal marker is an error of ClassStream. The end of the loop, also by break, closes
	// everything that the call opened.
	Stream(ctx context.Context, encoded EncodedRequest) iter.Seq2[Chunk, error]

	// Warms reports whether it helps to send the model's provider the common beginning of an agent's requests in
	// advance: from how many tokens on a beginning is cached for all sessions; 0 if nothing is gained, and then the
	// sentence says why.
	Warms(model parley.ModelID) (least int, why string)
}

// Source finds models by their id "provider/model".
type Source interface {
	// Resolve returns the provider's Model and what is known of the named model, or CodeInvalid with the list of
	// configured providers. A model name unknown to the registry is passed through.
	Resolve(id parley.ModelID) (Model, Info, error)
	// Models lists the known models of the configured providers, by id.
	Models() []Info
	// Default is the server's default model (A4).
	Default() parley.ModelID
}

// Info is what the registry knows of a model. Unknown numbers are 0, unknown prices nil.
type Info struct {
	ID            parley.ModelID `json:"id"`
	Provider      string         `json:"provider"`
	Name          string         `json:"name"`
	Simulator     bool           `json:"simulator"` // answers are made up by the built-in simulator
	Known         bool           `json:"known"`     // false: passed through
	Reasoning     bool           `json:"reasoning"`
	Caching       bool           `json:"caching"`
	CacheHour     bool           `json:"cache_hour"` // its provider keeps a cached prefix for an hour if asked
	Tools         bool           `json:"tools"`
	Vision        bool           `json:"vision"`
	Search        bool           `json:"search"`         // its provider can search the web for an answer
	ThinkTags     bool           `json:"think_tags"`     // it writes its reasoning as text between <think> and </think>
	Output        OutputForm     `json:"output"`         // how it is asked for an object of a schema
	ContextLength int            `json:"context_length"` // tokens
	MaxOutput     int            `json:"max_output"`     // tokens of one answer
	Price         *Price         `json:"price"`
}

// OutputForm is how a model is asked for an answer that is an object of a schema.
type OutputForm string

// The forms.
const (
	OutputSchema OutputForm = "schema" // the response format json_schema, with any schema
	OutputSubset OutputForm = "subset" // the same, with the keywords that the provider can enforce
	OutputTool   OutputForm = "tool"   // a tool that it has to call, whose parameters are the schema
)

// OutputForms lists the forms.
func OutputForms() []OutputForm { return []OutputForm{OutputSchema, OutputSubset, OutputTool} }

// Sees reports whether the model may be shown images. A model unknown to the registry is assumed to see.
func (m Info) Sees() bool { return m.Vision || !m.Known }

// ProviderInfo is a provider that the server has or could have, without its key.
type ProviderInfo struct {
	Name       string `json:"name"`
	Configured bool   `json:"configured"`
	// the environment variable with its key; "" if it needs none
	KeyEnv       string         `json:"key_env"`
	DefaultModel parley.ModelID `json:"default_model"`
	Simulator    bool           `json:"simulator"`
	Models       int            `json:"models"` // known to the registry; others are passed through
}
