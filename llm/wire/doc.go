// Package wire holds what the adapters of providers over HTTP share: sending a
// request and reading its streamed answer under deadlines, saying what a
// failure means, keeping credentials out of what is said, and the small JSON
// reader and writer that the hot path wants.
//
// It knows no provider's format: a Decoder, from the adapter, turns frames into
// chunks. It keeps no state between requests but the connections of the
// http.Client.
package wire
