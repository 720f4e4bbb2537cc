// Package model is the port of language models: a provider-neutral request, the chunks of its
// answer, a model's properties and prices, and middleware. The adapters below llm implement Model;
// the registry in llm finds them.
//
// Encoding is pure and versioned, so a recorded request can be rebuilt byte for byte.
package model
