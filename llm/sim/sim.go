// Package sim is the built-in simulator: a model.Model that needs no key and
// no network, so that everything can be tried and tested.
//
// It owns the models under "sim/". Its answers are made up and labelled so (model.Info.Simulator).
// They depend only on the encoded request and the attempt, so two runs give the same bytes; it
// knows nothing about sessions. It remembers only the beginnings of requests, as providers' prompt
// caches do, to count how many tokens of a request are cached.
//
// The models:
//
//	echo                          answers with the last user text
//	lorem-<tokens>-<ms per token> answers with that many words at that pace
//	tool                          calls current_time once, then tells its result
//	reason                        reasons, then answers
//	fail-<class>-<n>[-<ms>]       fails in the turn's first n attempts, then echoes; asks to wait so long between them
//	document                      writes a document with the tools for it, and extends it when it is asked again
//	object[-<n>]                  answers with an object of the schema asked for; wrong in the turn's first n attempts
//	script                        does what the JSON in the user's text says (ScriptSchema)
//	team                          works as an agent of a team: delegates, asks, reports and briefs
//
// Asked for a summary of a conversation, each but lorem gives a short digest of it. Asked for knowledge from a piece of
// work, each gives the last thing that was said there.
package sim

import (
	"context"
	"iter"

	"example.org/parley"
	"example.org/parley/model"
)

// ProviderName is the simulator's name in model ids; DefaultModel is its default model.
const (
	ProviderName = "sim"
	DefaultModel = "echo"
)

// encodeVersion is the version of the bytes that Encode makes. Version 2 puts tools and system prompt before the
// messages.
const encodeVersion = 2

// Model is the simulator. The zero value works; it is safe for concurrent use.
type Model struct {
	cache promptCache
}

var _ model.Model = (*Model)(nil)

// New returns the simulator.
func New() *Model { return &Model{} }

// Models lists the simulator's models, with one example of each family.
func Models() []model.Info {
	names := []string{
		DefaultModel,
		"lorem-200-5",
		"tool",
		"reason",
		"fail-rate_limit-1",
		"object",
		"object-1",
		"document",
		"script",
		"team",
	}
	models := make([]model.Info, len(names))
	for i, name := range names {
		models[i] = Info(name)
	}
	return models
}

// Info describes a simulated model; Known is false if there is none.
func Info(name string) model.Info {
	_, err := parseName(name)
	return model.Info{
		ID: parley.ModelID(
			ProviderName + "/" + name,
		),
		Provider:      ProviderName,
		Name:          name,
		Simulator:     true,
		Known:         err == nil,
		Reasoning:     name == "reason" || name == "script",
		Caching:       true,
		Tools:         name == "tool" || name == "script" || name == "team" || name == "document",
		Search:        true, // it says what it was asked for
		Output:        model.OutputSchema,
		Vision:        name == "echo" || name == "tool" || name == "script",
		ContextLength: contextTokens,
		Price:         &model.Price{},
	}
}

// contextTokens is the context length that the simulator claims.
const contextTokens = 1_000_000

// Encode returns the canonical JSON of a request. It returns CodeInvalid for a model that the simulator does not have.
func (m *Model) Encode(request model.Request) (model.EncodedRequest, error) {
	return m.EncodeAs(encodeVersion, request)
}

// EncodeAs is Encode as it was in an earlier version.
func (*Model) EncodeAs(version int, request model.Request) (model.EncodedRequest, error) {
	if version < 1 || version > encodeVersion {
		return model.EncodedRequest{}, parley.InvalidField(
			"encoder_version",
			"the simulator has no encoder %d",
			version,
		)
	}
	if _, err := parseName(request.Model.Name()); err != nil {
		return model.EncodedRequest{}, err
	}
	return model.EncodedRequest{Model: request.Model, Body: appendRequest(nil, request, version), Version: version}, nil
}

// Stream yields the simulated answer, see model.Model. Paced answers end immediately when ctx does.
func (m *Model) Stream(ctx context.Context, encoded model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		request, err := decodeRequest(encoded.Body)
		if err != nil {
			yield(
				model.Chunk{},
				model.NewError(parley.ClassModel, false, "the simulator cannot read this request", err),
			)
			return
		}
		simulated, err := parseName(request.Model)
		if err != nil {
			yield(model.Chunk{}, model.NewError(parley.ClassModel, false, err.Error(), nil))
			return
		}
		request.input, request.cached = m.cache.read(&request)
		a := newAnswer(ctx, request, yield)
		defer a.close()
		if _, paced := simulated.(lorem); request.Purpose == parley.PurposeCompaction && !paced {
			simulated = digest{}
		}
		if request.Purpose == parley.PurposeKnowledge {
			simulated = drawing{}
		}
		simulated.play(a)
	}
}
