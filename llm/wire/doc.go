// Package wire is shared by the adapters of HTTP providers: it sends a request and reads its
// streamed answer under deadlines, classifies failures, keeps credentials out of error texts, and
// has the small JSON reader and writer that the hot path needs.
//
// It knows no provider's format: the adapter's Decoder turns frames into chunks. Between requests
// it keeps no state except the connections of the http.Client.
package wire
