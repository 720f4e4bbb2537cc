package live

import (
	"context"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// The clocks and bounds of what processes tell each other.
const (
	DefaultRepair = 600 * time.Millisecond // the pace of the store flush

	interestLife = 10 * time.Second       // of what others said that they watch, unless repeated
	mostWanted   = 1 << 17                // sessions that others watch; of further ones they see what the store has
	mostWanting  = 64                     // processes per session
	tellPause    = 2 * time.Millisecond   // between two rounds of telling
	fastestPace  = 5 * time.Millisecond   // of one stream's text to other processes
	slowestPace  = 250 * time.Millisecond // the same
	toldAtOnce   = 16 << 10               // bytes of one text in one round; of more the others read the store
	askedAtOnce  = 128                    // sessions of one look into the store
	fetchers     = 4                      // reads of events at once
	heldBytes    = 64 << 10               // of one message's text whose beginning is missing
	rememberOver = 32                     // settled messages that a session's room remembers
)

// exchange is the hub's part in what processes that share a database tell each
// other: interest in sessions, and the text of streams that someone elsewhere
// watches. A hub without a relay has none.
type exchange struct {
	hub    *Hub
	relay  store.Relay
	repair time.Duration // between store flushes

	talkNow  chan struct{} // of one: there is something to tell
	askNow   chan struct{} // of one: there is something to look up
	fetchNow chan struct{} // of fetchers: events are to be read

	mu       sync.Mutex // guards all below; the last of the locks
	wants    map[parley.ID][]want
	talking  []*Stream // local streams with news for others
	saying   map[parley.ID]store.Interest
	asking   map[parley.ID]struct{}
	inlets   map[*room]struct{} // rooms that show streams of other processes
	behind   map[parley.ID]place
	fetching map[parley.ID]struct{}
	calling  bool // all interest is to be said again, by the others too
	flush    func(sessionID parley.ID)
}

// want is one other process's interest in a session.
type want struct {
	process parley.ID
	pace    time.Duration
	until   time.Time
}

// place is how far a session is said to be.
type place struct {
	workspaceID parley.ID
	last        int64
}

func newExchange(h *Hub, relay store.Relay, repair time.Duration) *exchange {
	return &exchange{
		hub: h, relay: relay, repair: repair,
		talkNow: make(chan struct{}, 1), askNow: make(chan struct{}, 1), fetchNow: make(chan struct{}, fetchers),
		wants: map[parley.ID][]want{}, saying: map[parley.ID]store.Interest{}, asking: map[parley.ID]struct{}{},
		inlets: map[*room]struct{}{}, behind: map[parley.ID]place{}, fetching: map[parley.ID]struct{}{},
	}
}

// FlushWith names who writes a session's streaming text to the store at once,
// when a watcher in another process lacks some of it, and then tells its streams
// with Kept. flush must not block. Call it before the first stream is opened.
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

// talkLoop tells the others what there is to tell. Close ends it.
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

// talk tells what is due, and when to look again.
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

// say puts an interest into the next round; its room's mu may be held.
func (x *exchange) say(interest store.Interest) {
	x.mu.Lock()
	earlier := x.saying[interest.SessionID]
	interest.Flush = interest.Flush || earlier.Flush && !interest.Over
	x.saying[interest.SessionID] = interest
	x.mu.Unlock()
	poke(x.talkNow)
}

// ask looks up soon what streams in a session; its room's mu may be held.
func (x *exchange) ask(sessionID parley.ID) {
	x.mu.Lock()
	x.asking[sessionID] = struct{}{}
	x.mu.Unlock()
	poke(x.askNow)
}

// announce says and looks up what a room's watchers need; r.mu is held. fresh:
// the others do not know that anybody here watches the session. While this process
// runs its turn they need not: most watchers stay for the turn that they posted.
// Of those who stay longer the next renewal tells.
func (x *exchange) announce(r *room, pace time.Duration, fresh bool) {
	if !fresh && pace >= r.pace || !r.mine.IsZero() {
		return
	}
	r.pace = pace
	lacking := fresh && !r.local()
	x.say(store.Interest{SessionID: r.id, PaceMS: int(pace.Milliseconds()), Flush: lacking})
	if lacking {
		x.ask(r.id)
	}
}

// withdraw says that nobody here watches a room's session any more; r.mu is held.
func (x *exchange) withdraw(r *room) {
	r.pace = 0
	x.say(store.Interest{SessionID: r.id, Over: true})
}

// renew says all interest again, so that it does not expire, and forgets that of
// processes that have not done so.
func (x *exchange) renew(now time.Time) {
	h := x.hub
	var hints store.RelayHints
	x.mu.Lock()
	hints.Ask, x.calling = x.calling, false
	x.mu.Unlock()
	h.mu.RLock()
	for id, r := range h.rooms {
		r.mu.Lock()
		if pace := r.paceOfSeats(); pace > 0 && (r.pace > 0 || r.mine.IsZero()) {
			r.pace = pace
			hints.Interests = append(hints.Interests, store.Interest{SessionID: id, PaceMS: int(r.pace.Milliseconds())})
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

// expire drops wants that were not repeated, and names their sessions.
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

// paceOf is the pace at which others want a session's text; 0 when nobody does.
// The room's mu may be held.
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

// settlePace gives a session's room, if there is one, the pace that others want,
// and reports whether it has streams of this process.
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
	return r.local()
}

// noteInterest takes in one interest of another process.
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
	fresh := want{process: from, pace: pace, until: now.Add(interestLife)}
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
	case len(wants) < mostWanting && (len(wants) > 0 || len(x.wants) < mostWanted):
		x.wants[interest.SessionID] = append(wants, fresh)
	}
	flush := x.flush
	x.mu.Unlock()
	if local := x.settlePace(interest.SessionID); local && interest.Flush && flush != nil {
		flush(interest.SessionID)
	}
}

// resync lets all that is watched be said and looked up again.
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
