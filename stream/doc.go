// Package stream opens streams for people and programs: of a session, of a turn until its end, of
// the workspace's feed. Every protocol and the library use it, and write its frames in their own
// format.
//
// It owns no state. The engine decides who may watch what, so a stream is admitted, counted and
// audited however it is opened. The hub (package live) is authoritative for the frames: the replay
// from the store, the live events after it, and the merging of deltas. This package adds what
// belongs to one reader: heartbeats, the end of a reader's permission, and the position to begin
// at.
//
// A stream ends when its turn ends, its session is deleted, the hub closes, its reader stops
// reading, or the reader's permission is withdrawn. None of these ends a turn. A reader that was
// cut off opens another stream after the last event that it has.
package stream
