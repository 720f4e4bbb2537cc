// Package httpapi serves the engine over HTTP: routes, schemas and their
// OpenAPI document, keys, problem documents and event streams.
//
// It decides nothing: what a principal may do and what is valid is the
// engine's, what is stored the store's, what is live the hub's. It owns the
// names of paths, parameters and headers (routes.go), the table from codes to
// statuses (errors.go), the frames of a stream (sse.go) and the bounds of a
// request (limits.go). It never calls a model, and a request's end never ends
// a turn.
package httpapi
