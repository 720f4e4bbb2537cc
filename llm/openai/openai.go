// Package openai implements model.Model over the Chat Completions API, of OpenAI and every compatible server.
//
// It owns that wire format: it encodes requests and decodes frames into chunks. Package wire owns deadlines, redaction
// and the meaning of failures. The conversation belongs to the caller; the package keeps nothing between calls.
package openai

import (
	"context"
	"iter"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/llm/wire"
	"example.org/parley/model"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultName is the provider name of OpenAI's own models.
const DefaultName = "openai"

// Options name a provider and say how to reach it.
type Options struct {
	Name       string        // the provider's name in model ids; DefaultName when empty
	BaseURL    string        // ends in /v1 for most servers; DefaultBaseURL when empty
	APIKey     string        // sent as a bearer token unless empty
	HTTPClient *http.Client  // its own client with many connections when nil
	FirstToken time.Duration // from sending to the first content; 0: wire.DefaultFirstToken
	Idle       time.Duration // between bytes of an answer; 0: wire.DefaultIdle
}

// Model is one provider. It is safe for concurrent use.
type Model struct {
	name     string
	endpoint *wire.Endpoint
}

var _ model.Model = (*Model)(nil)

// New makes the Model of a provider; CodeInvalid if its base URL is invalid.
func New(o Options) (*Model, error) {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	header := http.Header{}
	if o.APIKey != "" {
		header.Set("Authorization", "Bearer "+o.APIKey)
	}
	endpoint, err := wire.NewEndpoint(wire.EndpointOptions{
		BaseURL: o.BaseURL, Path: "/chat/completions", Header: header, Secret: o.APIKey,
		HTTPClient: o.HTTPClient, FirstToken: o.FirstToken, Idle: o.Idle,
	})
	if err != nil {
		return nil, err
	}
	return &Model{name: o.Name, endpoint: endpoint}, nil
}

// Name is the provider's name.
func (m *Model) Name() string { return m.name }

// Close closes unused connections.
func (m *Model) Close() { m.endpoint.Close() }

// Stream sends an encoded request and yields its answer, see model.Model.
func (m *Model) Stream(ctx context.Context, encoded model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return m.endpoint.Stream(ctx, encoded.Body, func() wire.Decoder { return &decoder{current: none} })
}

// Warms implements model.Model: DashScope caches marked content for everybody with the same credential. The others find
// equal beginnings by themselves, and cache them where a session's requests are routed.
func (m *Model) Warms(model parley.ModelID) (least int, why string) {
	if model.Provider() == dashScope {
		return leastCached, ""
	}
	return 0, "This provider caches beginnings by itself, where a session's requests are routed; a request sent " +
		"before a session has begun does not help it."
}

// leastCached is the shortest beginning that DashScope caches, in tokens.
const leastCached = 1024
