// Package live is the hub between what commits and what people watch: durable
// events as they happen, and the deltas of messages that are streaming.
//
// It owns nothing durable. The store is authoritative: the hub is told of
// commits (store.Hints), and whatever it was not told, or has forgotten, it
// reads from the store by sequence. A poller asks the store every few seconds
// where the watched sessions stand and who may see them, so that a lost hint costs time and nothing
// else. Who may watch which session is decided before Watch is called.
//
// Delivery, per watcher and session:
//
//   - event n+1 only after event n; a hole is read from the store;
//   - a delta continues where the last one of its message and kind ended, or
//     starts over at offset 0 with the text so far;
//   - a message's deltas come after the event that was last when its stream was
//     opened and before its settle event; what is pending is sent before any
//     later event, and nothing of a settled message or an older epoch after it;
//   - the settle event is authoritative.
//
// Processes that share a database tell each other through a store.Relay. Each
// says which sessions are watched there, again and again, since it expires; who
// runs such a session tells the text of its streams, merged by the pace that the
// watchers need. Elsewhere the pieces are put together from offset 0, with what
// was flushed to the store in place of what was not heard; a piece that comes too
// early waits. So a watcher is served from one growing text in either case. That
// another process committed is told without its events: they are read once for
// all watchers of the session. Nothing depends on what is told: a stream that is
// silent for a store flush is looked up in the store, and so is, every few
// seconds, what streams in watched sessions that have moved on.
//
// Text that agents outside append to their messages is in the store before the hub
// hears of it (store.Commit.Pieces), whichever process it came to. It is taken
// like that of another process's stream: into its place, and what is missing of it
// from the store.
//
// A watcher is passive: an offset into shared text and a place in a shared ring
// of events. It has no goroutine and no queue of its own, so a reader that never
// reads holds no memory that grows.
package live
