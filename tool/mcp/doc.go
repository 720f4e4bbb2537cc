// Package mcp gives agents the tools of Model Context Protocol servers, over
// stdio and streamable HTTP, in the versions of the protocol that the SDK speaks
// (2024-11-05 to 2026-07-28).
//
// A link owns the connection to one configured server: it starts the process or dials the address
// in the background, lists the tools, follows changes of the list, and connects again with growing
// pauses when the connection ends. If a server is down, hangs or dies, only the calls in progress
// on it fail: other servers have links of their own, and its known tools stay known, so requests to
// models do not change. A server's process ends with its link, including its process group.
//
// The servers are authoritative for the names and parameters of their tools. Parley checks
// arguments against a tool's schema before it sends anything, bounds everything that comes back,
// and refuses a server's requests to its client (roots, sampling, elicitation) as the protocol
// prescribes.
package mcp
