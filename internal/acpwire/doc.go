// Package acpwire is what both roles of the Agent Client Protocol share: its messages of JSON-RPC 2.0, a line each, the
// connection over which they go in both directions, and the protocol's names. Package runner/acp uses it to speak to
// agents, and package internal/editor to serve editors.
package acpwire
