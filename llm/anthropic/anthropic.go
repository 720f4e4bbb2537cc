// Package anthropic implements model.Model over Anthropic's Messages API.
//
// It owns that wire format: it encodes requests, decodes events into chunks, and keeps thinking blocks with their
// signatures byte for byte. Package wire owns deadlines, redaction and the meaning of failures. The conversation
// belongs to the caller; the package keeps nothing between calls.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/llm/wire"
	"example.org/parley/model"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultName is the provider name of Anthropic's own models.
const DefaultName = "anthropic"

// apiVersion is the API version that this package speaks.
const apiVersion = "2023-06-01"

// Options name a provider and say how to reach it.
type Options struct {
	Name       string        // the provider's name in model ids; DefaultName when empty
	BaseURL    string        // without /v1; DefaultBaseURL when empty
	APIKey     string        // sent as x-api-key unless empty
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
	header.Set("Anthropic-Version", apiVersion)
	if o.APIKey != "" {
		header.Set("X-Api-Key", o.APIKey)
	}
	endpoint, err := wire.NewEndpoint(wire.EndpointOptions{
		BaseURL: o.BaseURL, Path: "/v1/messages", Header: header, Secret: o.APIKey,
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

// Stream sends an encoded request and yields its answer, see model.Model. A redacted thinking block arrives as a
// ChunkReasoning with empty text, which opens its block, and its ChunkProviderData.
func (m *Model) Stream(ctx context.Context, encoded model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return m.endpoint.Stream(ctx, encoded.Body, func() wire.Decoder { return &decoder{run: none} })
}

// Warms implements model.Model: marked content is cached for everybody with the same credential, from 1,024 tokens on
// (for some models from 2,048 or 4,096).
func (m *Model) Warms(parley.ModelID) (least int, why string) { return leastCached, "" }

// leastCached is the shortest beginning that is cached, in tokens.
const leastCached = 1024
