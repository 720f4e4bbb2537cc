package live

import (
	"sync"

	"example.org/parley"
	"example.org/parley/store"
)

// feedQueue holds the feed events that wait for one reader, at most feedEvents; beyond that they are dropped and the
// reader is told to fetch its lists again.
type feedQueue struct {
	mu     sync.Mutex // guards all below
	events []store.FeedEvent
	reason parley.ResyncReason // reason of a resync before the events; "" for none
}

// push adds an event; false if the reader is too slow and gets a resync instead.
func (q *feedQueue) push(event store.FeedEvent) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) >= feedEvents {
		q.events, q.reason = nil, parley.ResyncOverflow
		return false // the resync covers this one too
	}
	q.events = append(q.events, event)
	return true
}

// doubt drops the waiting events: the lists must be fetched again.
func (q *feedQueue) doubt(reason parley.ResyncReason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = nil
	if q.reason == "" {
		q.reason = reason
	}
}

// pop takes the next resync reason or event.
func (q *feedQueue) pop() (event store.FeedEvent, reason parley.ResyncReason, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reason != "" {
		reason, q.reason = q.reason, ""
		return store.FeedEvent{}, reason, true
	}
	if len(q.events) == 0 {
		return store.FeedEvent{}, "", false
	}
	event = q.events[0]
	if q.events = q.events[1:]; len(q.events) == 0 {
		q.events = nil
	}
	return event, "", true
}
