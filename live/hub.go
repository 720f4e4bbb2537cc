package live

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// Source is what the hub reads when no hint told it.
type Source interface {
	Events(ctx context.Context, scope store.Scope, sessionID parley.ID, after int64, limit int) ([]parley.Event, error)
	Heads(ctx context.Context, sessionIDs []parley.ID) ([]store.HeadState, error)
}

// The bounds.
const (
	DefaultPoll = 2 * time.Second
	MaxSessions = 128 // sessions of one watcher; callers check

	ringEvents  = 128       // events kept per session, at most
	ringBytes   = 64 << 10  // bytes of their data; the last event is kept whatever its size
	pageEvents  = 64        // events per read from the source
	idleRooms   = 256       // unwatched sessions kept warm
	feedEvents  = 256       // feed events waiting for one watcher; beyond, a resync
	deltaBytes  = 256 << 10 // per delta frame; longer text takes several
	heldStreams = 8         // settled streams whose last delta one reader still lacks
)

// Options change the hub's defaults.
type Options struct {
	Poll  time.Duration // between looks at the heads of watched sessions; 0 means DefaultPoll
	Log   *slog.Logger  // nil: slog.Default()
	Relay store.Relay   // to the database's other processes; nil: there are none
	// the interval of other processes' store flushes: their silent streams are looked up twice as often; 0 means
	// DefaultRepair
	Repair time.Duration
}

// Hub connects producers of deltas and commits with watchers. It is safe for
// concurrent use. Locks are taken in the order hub, room, watcher, exchange.
type Hub struct {
	source   Source
	log      *slog.Logger
	counts   counts
	exchange *exchange // nil without a relay

	mu     sync.RWMutex // guards all below, and membership of rooms in the map
	rooms  map[parley.ID]*room
	idle   []*room // empty rooms, oldest first; some may be in use again
	feeds  map[parley.ID]map[*Watcher]struct{}
	closed bool

	repairNow chan struct{}      // capacity 1: the poller must look immediately
	stop      context.CancelFunc // ends the loops
	loops     sync.WaitGroup     // the poller, and with a relay the loops of the exchange
}

// New makes a hub. Its loops run until Close.
func New(source Source, options Options) *Hub {
	h := build(source, options)
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	if x := h.exchange; x != nil {
		h.loops.Go(func() { x.talkLoop(ctx) })
		h.loops.Go(func() { x.askLoop(ctx) })
		for range fetchers {
			h.loops.Go(func() { x.fetchLoop(ctx) })
		}
		x.relay.Hear(h)
	}
	if options.Poll <= 0 {
		options.Poll = DefaultPoll
	}
	h.loops.Go(func() { h.poll(ctx, options.Poll) })
	return h
}

// build makes a hub without running its loops.
func build(source Source, options Options) *Hub {
	h := &Hub{
		source: source, log: options.Log,
		rooms: make(map[parley.ID]*room), feeds: make(map[parley.ID]map[*Watcher]struct{}),
		stop: func() {}, repairNow: make(chan struct{}, 1),
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	if options.Repair <= 0 {
		options.Repair = DefaultRepair
	}
	if options.Relay != nil {
		h.exchange = newExchange(h, options.Relay, options.Repair)
	}
	return h
}

// Close ends the loops; every watcher gets io.EOF.
func (h *Hub) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		h.loops.Wait()
		return
	}
	h.closed = true
	for _, r := range h.rooms {
		r.mu.Lock()
		for _, s := range r.seats {
			s.watcher.end()
		}
		r.mu.Unlock()
	}
	for _, watchers := range h.feeds {
		for w := range watchers {
			w.end()
		}
	}
	h.mu.Unlock()
	h.stop()
	h.loops.Wait()
}

// Committed takes a commit's events, settled messages and feed events, and wakes their watchers. It never blocks on a
// reader.
func (h *Hub) Committed(c store.Commit) {
	if c.Remote {
		h.hearCommit(c)
		return
	}
	defer h.pass(c.Pieces) // after the events that precede them
	h.mu.RLock()
	h.announce(c)
	r := h.rooms[c.SessionID]
	if r != nil {
		empty := r.learn(c)
		h.relist(c)
		h.mu.RUnlock()
		if empty {
			h.vacate(r)
		}
		return
	}
	h.relist(c)
	h.mu.RUnlock()
	if len(c.Events) == 0 {
		return
	}
	// Nobody watches yet, but the poster may be about to.
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	r = h.room(c.SessionID)
	if r.learn(c) {
		h.park(r)
	}
}

// pass shows text appended by outside agents to the watchers here, and sends it to other processes with watchers. The
// store already has the text, so it is handled like another process's stream.
func (h *Hub) pass(pieces []store.StreamPiece) {
	x := h.exchange
	if x == nil || len(pieces) == 0 {
		return
	}
	now := time.Now()
	for i := range pieces {
		x.hear(&pieces[i], now)
	}
	if x.paceOf(pieces[0].SessionID) == 0 {
		return
	}
	told := slices.Clone(pieces)
	for i := range told {
		if piece := &told[i]; len(piece.Text) > maxToldBytes { // the others read it from the store
			piece.Offset, piece.Text = piece.Offset+len(piece.Text), ""
		}
	}
	x.relay.Tell(store.RelayHints{Pieces: told})
}

// announce gives feed events to the watchers that may see them; the caller holds h.mu.
func (h *Hub) announce(c store.Commit) {
	if len(c.Feed) == 0 {
		return
	}
	for w := range h.feeds[c.WorkspaceID] {
		for _, event := range c.Feed {
			if w.sees(&event) {
				if !w.feed.push(event) {
					h.counts.overflows.Add(1)
				}
				w.signal()
			}
		}
	}
}

// relist reports list changes to the rooms of the sessions that they concern; a commit may delete other sessions than
// its own. The caller holds h.mu.
func (h *Hub) relist(c store.Commit) {
	for _, event := range c.Feed {
		if r := h.rooms[event.SessionID]; r != nil {
			r.listed(event)
		}
	}
}

// sees reports whether the watcher may see a feed event.
func (w *Watcher) sees(event *store.FeedEvent) bool {
	if !event.PrincipalID.IsZero() && event.PrincipalID != w.principal {
		return false
	}
	return visible(w.scope, event.OwnerID, event.Visibility)
}

// visible applies a scope to a session.
func visible(scope store.Scope, ownerID parley.ID, visibility parley.Visibility) bool {
	return scope.ViewerID.IsZero() || ownerID == scope.ViewerID || visibility == parley.VisibilityWorkspace
}

// room finds or makes a session's room; the caller holds h.mu for writing.
func (h *Hub) room(id parley.ID) *room {
	r := h.rooms[id]
	if r == nil {
		r = &room{id: id}
		if h.exchange != nil {
			r.wanted, r.rawElsewhere = h.exchange.paceOf(id), h.exchange.rawOf(id)
			r.countRaw()
		}
		h.rooms[id] = r
	}
	return r
}

// vacate keeps an empty room warm for a while, see park.
func (h *Hub) vacate(r *room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.park(r)
}

// park puts an empty room at the end of the idle line and drops the oldest beyond the bound. The caller holds h.mu for
// writing. A late leaver may bring a room that was already dropped: the id may then belong to another room, which must
// not be touched.
func (h *Hub) park(r *room) {
	if h.rooms[r.id] != r {
		return
	}
	r.mu.Lock()
	waits := r.parked || !r.empty()
	r.parked = r.parked || r.empty()
	r.mu.Unlock()
	if waits {
		return
	}
	h.idle = append(h.idle, r)
	for len(h.idle) > idleRooms {
		oldest := h.idle[0]
		h.idle[0] = nil
		h.idle = h.idle[1:]
		oldest.mu.Lock()
		oldest.parked = false
		if oldest.empty() {
			delete(h.rooms, oldest.id)
		}
		oldest.mu.Unlock()
	}
}

// poll asks where the watched sessions stand, in one call, and wakes the watchers of those that have advanced or are
// gone.
func (h *Hub) poll(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-h.repairNow:
		}
		if h.exchange != nil {
			h.exchange.renew(time.Now())
		}
		if err := h.repair(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("live: the heads of watched sessions could not be read; trying again", "error", err)
		}
	}
}

// repair makes up for lost hints.
func (h *Hub) repair(ctx context.Context) error {
	watched := h.watched()
	if len(watched) == 0 {
		return nil
	}
	heads, err := h.source.Heads(ctx, watched)
	if err != nil {
		return err
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, head := range heads {
		if r := h.rooms[head.SessionID]; r != nil {
			r.moved(h.exchange, head)
		}
	}
	return nil
}

// watched returns the sessions with watchers.
func (h *Hub) watched() []parley.ID {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var ids []parley.ID
	for id, r := range h.rooms {
		r.mu.Lock()
		if len(r.seats) > 0 {
			ids = append(ids, id)
		}
		r.mu.Unlock()
	}
	return ids
}
