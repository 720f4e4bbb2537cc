// Package acp is a runtime whose turns are run by programs that speak the Agent Client
// Protocol on standard input and output, as coding agents do. Parley is their client:
// it starts the program, tells it what was said, and keeps what it says and does.
//
// The program has a mind, tools and a memory of its own. What Parley has of it is the
// record: each piece between two waits is a step, its tool calls are calls whose
// results it reports by itself, and a call that it asks leave for is asked about like
// any other. A process belongs to one session of this server and one prompt at a time;
// it lives while the session is busy and a while longer, and a later one takes up the
// program's own session where the program can.
//
// The record is authoritative. A process that is gone in the middle of a turn fails the
// turn as interrupted, with what it has said; nothing is sent to it again.
package acp
