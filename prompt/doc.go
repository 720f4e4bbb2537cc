// Package prompt decides what a model sees: the effective settings of a turn,
// the system prompt, the window of the record that a context policy chooses,
// and the provider-neutral request made of it, with a manifest that names the
// messages shown.
//
// It owns no state and does no input or output: pure functions over the words
// of package parley, reading the record through a Tail that its caller gives.
// The record is authoritative; what is chosen here is a view that can be made
// again at any time (Rebuild). Bytes on the wire are the adapters' business.
//
// Two requests of one session share the longest possible prefix, because that
// is what providers cache: nothing volatile enters the system prompt, rows are
// rendered the same way for ever, and windows move in jumps.
package prompt
