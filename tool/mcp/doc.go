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
// arguments against a tool's schema before it sends anything, and bounds everything that comes back.
// A server of 2026-07-28 that needs a person, or the session's project, in the middle of a call gets
// them between two calls (input.go); what older ones ask for while a call goes on is refused, and
// sampling always. Resources and prompts are reached by tools that Parley adds (offers.go).
package mcp
