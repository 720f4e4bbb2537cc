// Package stream opens what people and programs watch: a session, a turn until its
// end, the workspace's feed. Every protocol and the library use it, and write its
// frames in their own form.
//
// It owns no state of its own. The engine says who may watch what, so that a stream
// is admitted, counted and audited however it is opened. The hub (package live) is
// authoritative for what a reader is sent: the replay from the store, what comes live
// behind it, and the merging of deltas. This package adds what belongs to one reader:
// heartbeats, the end of a reader's leave, and the place to begin at.
//
// A stream ends when its turn ends, its session is deleted, the hub closes, its
// reader takes no more, or the reader's leave is withdrawn. None of these ends a
// turn. A reader that was cut off opens another stream behind the last event that
// it has.
package stream
