// Package mcp gives agents the tools of Model Context Protocol servers, over
// stdio and streamable HTTP, in the versions of the protocol that the SDK speaks
// (2024-11-05 to 2026-07-28).
//
// A link owns the connection to one configured server: it starts the process or
// dials the address in the background, lists the tools, follows changes of the
// list, and connects again with growing pauses when the connection ends. A server
// that is down, hangs or dies costs the calls that are on their way to it and
// nothing else: other servers have links of their own, and the tools that were
// known stay known, so that a request to a model does not change with the
// weather. The process of a server ends with its link, whole process group.
//
// The servers are authoritative for what their tools are called and take. Parley
// checks arguments against a tool's schema before anything is sent, bounds
// everything that comes back, and answers what a server asks of its client
// (roots, sampling, elicitation) with the refusal that the protocol has for it.
package mcp
