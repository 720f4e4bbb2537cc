// Package live is the hub between commits and watchers: it delivers durable events as they happen,
// and the deltas of streaming messages.
//
// It owns nothing durable. The store is authoritative: the store tells the hub about commits
// (store.Hints), and the hub reads everything that it missed or has forgotten from the store, by
// sequence. Every few seconds a poller asks the store for the latest sequences of the watched
// sessions and who may see them, so a lost hint costs only time. Callers of Watch must have checked
// that the watcher may see the session.
//
// Delivery, per watcher and session:
//
//   - event n+1 only after event n; a gap is read from the store;
//   - a delta continues where the last one of its message and kind ended, or
//     starts over at offset 0 with the text so far;
//   - a message's deltas come after the last event before its stream was opened,
//     and before its settle event; pending deltas are sent before any later event;
//   - no delta of a settled message or of an older epoch follows;
//   - the settle event is authoritative.
//
// Processes that share a database talk through a store.Relay. Each announces the sessions that are
// watched there, repeatedly, since announcements expire; the process that runs such a session sends
// the text of its streams, merged at the pace that the watchers need. The receiver assembles the
// pieces from offset 0, and fills gaps with text flushed to the store; a piece that arrives too
// early waits. So a watcher always reads from one growing text. A commit of another process is
// announced without its events, which are read once for all watchers of the session. Nothing
// depends on these messages: a stream that is silent for the time of a store flush is looked up in
// the store, and so are, every few seconds, the streams of watched sessions that have moved on.
//
// Text that outside agents append to their messages is in the store before the hub hears of it
// (store.Commit.Pieces), whichever process received it. The hub treats it like another process's
// stream: it inserts the text at its offset, and reads missing parts from the store.
//
// A watcher is passive: an offset into shared text and a position in a shared ring of events. It
// has no goroutine and no queue of its own, so a reader that never reads does not make memory grow.
package live
