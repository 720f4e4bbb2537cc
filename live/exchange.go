package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// The intervals and bounds of the exchange between processes.
const (
	DefaultRepair = 600 * time.Millisecond // the interval of the store flush

	interestLife      = 10 * time.Second       // life of others' interest, unless repeated
	maxWanted         = 1 << 17                // sessions watched elsewhere; for further ones the others read the store
	maxWanting        = 64                     // processes per session
	tellPause         = 2 * time.Millisecond   // between two rounds of sending
	fastestPace       = 5 * time.Millisecond   // of one stream's text to other processes
	slowestPace       = 250 * time.Millisecond // the same
	maxToldBytes      = 16 << 10               // bytes of a text per round; the others read the rest from the store
	maxAskedSessions  = 128                    // sessions per query to the store
	fetchers          = 4                      // reads of events at once
	maxHeldBytes      = 64 << 10               // of one message's text that cannot be placed yet
	maxRememberedOver = 32                     // settled messages remembered per room
)

// exchange is the hub's part in the messages between processes that share a database: interest in sessions, and the
// text of streams that are watched elsewhere. A hub without a relay has none.
type exchange struct {
	hub    *Hub
	relay  store.Relay
	repair time.Duration // between store flushes

	talkNow  chan struct{} // capacity 1: there is something to send
	askNow   chan struct{} // capacity 1: there is something to look up
	fetchNow chan struct{} // capacity fetchers: events are to be read

	mu       sync.Mutex // guards all below; the last of the locks
	wants    map[parley.ID][]want
	talking  []*Stream // local streams with news for others
	saying   map[parley.ID]store.Interest
	asking   map[parley.ID]struct{}
	inlets   map[*room]struct{} // rooms that show streams of other processes
	behind   map[parley.ID]sessionEnd
	fetching map[parley.ID]struct{}
	calling  bool // all interest must be repeated, by the others too
	flush    func(sessionID parley.ID)
}

// want is one other process's interest in a session.
type want struct {
	process parley.ID
	pace    time.Duration
	until   time.Time
	raw     bool // it reads unprocessed text
}

// sessionEnd is the last event that others announced for a session.
type sessionEnd struct {
	workspaceID parley.ID
	last        int64
}

func newExchange(h *Hub, relay store.Relay, repair time.Duration) *exchange {
	return &exchange{
		hub: h, relay: relay, repair: repair,
		talkNow: make(chan struct{}, 1), askNow: make(chan struct{}, 1), fetchNow: make(chan struct{}, fetchers),
		wants: map[parley.ID][]want{}, saying: map[parley.ID]store.Interest{}, asking: map[parley.ID]struct{}{},
		inlets: map[*room]struct{}{}, behind: map[parley.ID]sessionEnd{}, fetching: map[parley.ID]struct{}{},
	}
}

// FlushWith sets the function that stores a session's streaming text immediately when a watcher in another process
// lacks some of it, and then calls Kept on its streams. flush must not block. Call FlushWith before the first stream is
// opened.
func (h *Hub) FlushWith(flush func(sessionID parley.ID)) {
	if x := h.exchange; x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.flush = flush
	}
}

// poke wakes a loop; a second poke merges with the first.
func poke(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// talkLoop sends the others what is due. Close ends it.
func (x *exchange) talkLoop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.talkNow:
		case <-timer.C:
		}
		next := x.talk(time.Now())
		timer.Reset(tellPause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(next)
	}
}

// talk sends what is due, and returns when to look again.
func (x *exchange) talk(now time.Time) (next time.Duration) {
	var hints store.RelayHints
	x.mu.Lock()
	streams := x.talking
	x.talking = nil
	for _, interest := range x.saying {
		hints.Interests = append(hints.Interests, interest)
	}
	clear(x.saying)
	x.mu.Unlock()

	next = time.Hour
	later := streams[:0]
	for _, stream := range streams {
		if wait := stream.tell(&hints, now); wait > 0 {
			later = append(later, stream)
			next = min(next, wait)
		}
	}
	clear(streams[len(later):])
	if len(later) > 0 {
		x.mu.Lock()
		x.talking = append(x.talking, later...)
		x.mu.Unlock()
	}
	if len(hints.Interests)+len(hints.Pieces) > 0 {
		x.relay.Tell(hints)
	}
	return next
}

// say puts an interest into the next round; the caller may hold its room's mu.
func (x *exchange) say(interest store.Interest) {
	x.mu.Lock()
	earlier := x.saying[interest.SessionID]
	interest.Flush = interest.Flush || earlier.Flush && !interest.Over
	x.saying[interest.SessionID] = interest
	x.mu.Unlock()
	poke(x.talkNow)
}

// ask requests a look at what streams in a session; the caller may hold its room's mu.
func (x *exchange) ask(sessionID parley.ID) {
	x.mu.Lock()
	x.asking[sessionID] = struct{}{}
	x.mu.Unlock()
	poke(x.askNow)
}

// announce announces what a room's watchers need and looks it up; the caller holds r.mu. fresh: the others do not know
// that anybody here watches the session. While this process runs its turn they need not know: most watchers stay only
// for the turn that they posted. The next renewal announces those who stay longer.
func (x *exchange) announce(r *room, pace time.Duration, fresh bool) {
	if !fresh && pace >= r.pace && r.rawSaid == (r.rawHere > 0) || !r.mine.IsZero() {
		return
	}
	r.pace, r.rawSaid = pace, r.rawHere > 0
	lacking := fresh && !r.local()
	x.say(r.interest(lacking))
	if lacking {
		x.ask(r.id)
	}
}

// interest is what a room's watchers need of other processes; the caller holds r.mu.
func (r *room) interest(flush bool) store.Interest {
	return store.Interest{SessionID: r.id, PaceMS: int(r.pace.Milliseconds()), Flush: flush, Raw: r.rawHere > 0}
}

// withdraw announces that nobody here watches a room's session any more; the caller holds r.mu.
func (x *exchange) withdraw(r *room) {
	r.pace = 0
	x.say(store.Interest{SessionID: r.id, Over: true})
}

// renew repeats all interest, so that it does not expire, and drops that of processes that did not repeat theirs.
func (x *exchange) renew(now time.Time) {
	h := x.hub
	var hints store.RelayHints
	x.mu.Lock()
	hints.Ask, x.calling = x.calling, false
	x.mu.Unlock()
	h.mu.RLock()
	for _, r := range h.rooms {
		r.mu.Lock()
		if pace := r.paceOfSeats(); pace > 0 && (r.pace > 0 || r.mine.IsZero()) {
			r.pace, r.rawSaid = pace, r.rawHere > 0
			hints.Interests = append(hints.Interests, r.interest(false))
		}
		r.mu.Unlock()
	}
	h.mu.RUnlock()
	if len(hints.Interests) > 0 || hints.Ask {
		x.relay.Tell(hints)
	}
	for _, id := range x.expire(now) {
		x.settlePace(id)
	}
}

// expire drops wants that were not repeated, and returns their sessions.
func (x *exchange) expire(now time.Time) (changed []parley.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, wants := range x.wants {
		kept := wants[:0]
		for _, w := range wants {
			if now.Before(w.until) {
				kept = append(kept, w)
			}
		}
		switch {
		case len(kept) == len(wants):
			continue
		case len(kept) == 0:
			delete(x.wants, id)
		default:
			x.wants[id] = kept
		}
		changed = append(changed, id)
	}
	return changed
}

// paceOf returns the interval at which others want a session's text; 0 if nobody does. The caller may hold the room's
// mu.
func (x *exchange) paceOf(sessionID parley.ID) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	var pace time.Duration
	for _, w := range x.wants[sessionID] {
		if pace == 0 || w.pace < pace {
			pace = w.pace
		}
	}
	return pace
}

// rawOf reports whether other processes read a session's unprocessed text. The caller may hold the room's mu.
func (x *exchange) rawOf(sessionID parley.ID) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.wants[sessionID], func(w want) bool { return w.raw })
}

// settlePace gives a session's room, if any, the interval that others want, and reports whether it has streams of this
// process.
func (x *exchange) settlePace(sessionID parley.ID) (local bool) {
	x.hub.mu.RLock()
	r := x.hub.rooms[sessionID]
	x.hub.mu.RUnlock()
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setWanted(x.paceOf(sessionID))
	r.rawElsewhere = x.rawOf(sessionID)
	r.countRaw()
	return r.local()
}

// noteInterest records one interest of another process.
func (x *exchange) noteInterest(from parley.ID, interest store.Interest, now time.Time) {
	x.mu.Lock()
	wants := x.wants[interest.SessionID]
	at := -1
	for i := range wants {
		if wants[i].process == from {
			at = i
		}
	}
	pace := min(max(time.Duration(interest.PaceMS)*time.Millisecond, fastestPace), slowestPace)
	fresh := want{process: from, pace: pace, until: now.Add(interestLife), raw: interest.Raw}
	switch {
	case interest.Over && at < 0:
	case interest.Over:
		wants[at] = wants[len(wants)-1]
		if wants = wants[:len(wants)-1]; len(wants) == 0 {
			delete(x.wants, interest.SessionID)
		} else {
			x.wants[interest.SessionID] = wants
		}
	case at >= 0:
		wants[at] = fresh
	case len(wants) < maxWanting && (len(wants) > 0 || len(x.wants) < maxWanted):
		x.wants[interest.SessionID] = append(wants, fresh)
	}
	flush := x.flush
	x.mu.Unlock()
	if local := x.settlePace(interest.SessionID); local && interest.Flush && flush != nil {
		flush(interest.SessionID)
	}
}

// resync has everything watched announced and looked up again.
func (x *exchange) resync() {
	watched := x.hub.watched()
	x.mu.Lock()
	x.calling = true
	for _, id := range watched {
		x.asking[id] = struct{}{}
	}
	x.mu.Unlock()
	poke(x.askNow)
}
