// Package gencheck holds the OpenAPI document against generators that others use: oapi-codegen and openapi-typescript
// write clients from it, a small program of each is compiled, and does the same work on a real server. It is a module
// of its own so that Parley does not depend on generators.
package gencheck
