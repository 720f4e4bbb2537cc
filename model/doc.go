// Package model is the port of language models: a request in no provider's terms,
// the chunks of its answer, what is known of a model and what it costs, and the
// middleware that stands between. Adapters below llm implement Model; the registry
// in llm finds them.
//
// Encoding is pure and versioned, so that a recorded request can be made again.
package model
