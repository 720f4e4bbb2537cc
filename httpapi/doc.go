// Package httpapi serves the engine over HTTP: routes, schemas and their
// OpenAPI document, keys, problem documents and event streams.
//
// It decides nothing: the engine says what a principal may do and what is valid, the store what is
// stored, the hub what is live. It owns the names of paths, parameters and headers (routes.go
// and a file for each tag), the mapping of error codes to statuses (errors.go), the frames of a stream (sse.go) and
// the bounds of a request (limits.go). It never calls a model, and the end of a request never ends a turn.
package httpapi
