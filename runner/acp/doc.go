// Package acp is a runtime whose turns are run by programs that speak the Agent Client
// Protocol on standard input and output, as coding agents do. Parley is their client:
// it starts the program, sends it the conversation, and records what it says and does.
//
// The program has its own model, tools and memory. Parley sees what it reports: each stretch between two waits becomes
// a step, its tool calls become calls whose results the program supplies, and its permission requests become
// approvals. A process serves one session of this server and one prompt at a time. It lives while the session is busy,
// and for some time after that; a later process resumes the program's own session if the program can do that.
//
// The record is authoritative. If a process dies in the middle of a turn, the turn fails as interrupted and keeps what
// the program has said. Nothing is sent twice.
package acp
