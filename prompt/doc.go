// Package prompt decides what a model sees: a turn's effective settings, the system prompt, the
// window of the record that a context policy chooses, and the provider-neutral request built from
// them, with a manifest that names the messages shown.
//
// It owns no state and does no input or output: its functions are pure, work on the types of
// package parley, and read the record through the caller's Tail. The record is authoritative; a
// request is a view of it that can be rebuilt at any time (Rebuild). The adapters own the bytes on
// the wire.
//
// Two requests of one session share the longest possible prefix, because that is what providers
// cache: nothing volatile enters the system prompt, rows are always rendered the same way, and
// windows move in jumps.
package prompt
