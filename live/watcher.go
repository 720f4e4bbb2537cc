package live

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// WatchRequest says what to watch.
type WatchRequest struct {
	Scope     store.Scope
	Principal parley.ID     // who watches; with Feed
	Sessions  []Place       // at most MaxSessions, each once and visible in Scope
	Feed      bool          // the workspace feed too
	Flush     time.Duration // how long deltas of a message are merged; the first is sent immediately; 0: no merging
	Raw       bool          // the providers' unprocessed text too, as it comes; callers check who may read it
	UntilTurn parley.ID     // if set, only this turn's frames, and approvals of tool sessions; io.EOF after its end
	// the caller is about to post, and keeps its commits in memory: other processes are not told
	Posting bool
}

// Watcher is one reader. Next, Buffered and Close are called by one goroutine.
type Watcher struct {
	hub       *Hub
	scope     store.Scope
	principal parley.ID
	flush     time.Duration
	until     parley.ID
	feed      *feedQueue // nil without the feed
	raw       bool       // it reads unprocessed text
	own       bool       // it waits for nothing from other processes

	wake  chan struct{} // holds a token when there may be something
	seen  bool          // counted as a watcher; owned by Watch, then by the reader's goroutine
	ended atomic.Bool   // the hub or the reader has closed it
	batch atomic.Uint32 // deltas of one message and kind go out once per batch; from 1

	// Owned by the reader's goroutine:
	seats      []*seat
	turn       int         // the seat to look at first
	timer      *time.Timer // ends the batch; made with the first delta
	armed      bool
	over       bool        // the requested turn has ended
	unreadable bool        // some seat's position could not be read, which the reader must be told
	noticed    []parley.ID // deleted sessions already reported to the reader, with a feed only
	ahead      Frame
	ready      bool // ahead is set
}

// Watch subscribes from this moment; replay happens in Next.
func (h *Hub) Watch(request WatchRequest) *Watcher {
	w := &Watcher{
		hub:       h,
		scope:     request.Scope,
		principal: request.Principal,
		flush:     request.Flush,
		until:     request.UntilTurn,
		own:       request.Posting,
		raw:       request.Raw,
		wake:      make(chan struct{}, 1),
	}
	w.batch.Store(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		w.ended.Store(true)
		return w
	}
	w.seen = true
	h.counts.watchers.Add(1)
	if request.Feed {
		w.feed = new(feedQueue)
		w.feed.reason = parley.ResyncConnected
		watchers := h.feeds[request.Scope.WorkspaceID]
		if watchers == nil {
			watchers = make(map[*Watcher]struct{})
			h.feeds[request.Scope.WorkspaceID] = watchers
		}
		watchers[w] = struct{}{}
	}
	for _, place := range request.Sessions {
		at := slices.IndexFunc(w.seats, func(s *seat) bool { return s.room.id == place.SessionID })
		if at < 0 {
			at = len(w.seats)
			w.seats = append(w.seats, h.room(place.SessionID).sit(w, place.After))
		}
		if place.After == Unreadable {
			w.seats[at].unreadable, w.unreadable = true, true
		}
	}
	return w
}

// Next waits for the next frame. It returns io.EOF if the hub or the watcher was closed, the session was deleted (after
// a last FeedFrame), or the requested turn is over. Any other error is ctx's or the source's.
func (w *Watcher) Next(ctx context.Context) (frame Frame, err error) {
	err = w.Take(ctx, &frame)
	return frame, err
}

// Take is Next without a frame on the stack, for readers that mostly wait. *to must be zero.
func (w *Watcher) Take(ctx context.Context, to *Frame) error {
	for {
		if w.ready {
			*to, w.ready = w.ahead, false
			w.ahead = Frame{}
			w.hub.counts.frame(to.Kind)
			return nil
		}
		var err error
		switch w.look(to) {
		case lookFrame:
			w.hub.counts.frame(to.Kind)
			return nil
		case lookEnd:
			return io.EOF
		case lookHole:
			err = w.fill(ctx)
		case lookNothing:
			err = w.wait(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// Buffered reports whether a frame is ready: Next would return immediately, so a writer need not flush yet.
func (w *Watcher) Buffered() bool {
	if w.ready {
		return true
	}
	w.ready = w.look(&w.ahead) == lookFrame
	return w.ready
}

// Close ends the subscription.
func (w *Watcher) Close() {
	w.ended.Store(true)
	if w.seen {
		w.seen = false
		w.hub.counts.watchers.Add(-1)
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	for _, s := range w.seats {
		w.leave(s)
	}
	w.seats = nil
	if w.feed == nil {
		return
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	watchers := w.hub.feeds[w.scope.WorkspaceID]
	delete(watchers, w)
	if len(watchers) == 0 {
		delete(w.hub.feeds, w.scope.WorkspaceID)
	}
}

// pace returns how often the watcher needs new text of a remote stream: twice as often as it shows it, so that little
// delay is added.
func (w *Watcher) pace() time.Duration { return min(max(w.flush/2, fastestPace), slowestPace) }

// end makes Next return io.EOF from now on.
func (w *Watcher) end() {
	w.ended.Store(true)
	w.signal()
}

// signal wakes the reader, or lets its next wait end at once.
func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wait sleeps until something may be there, or the batch is over.
func (w *Watcher) wait(ctx context.Context) error {
	var batchOver <-chan time.Time
	if w.armed {
		batchOver = w.timer.C
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.wake:
	case <-batchOver:
		w.nextBatch()
	}
	return nil
}

// nextBatch allows another delta of every message and kind.
func (w *Watcher) nextBatch() {
	w.armed = false
	for _, s := range w.seats {
		s.dirty.Store(true)
	}
	if w.batch.Add(1) == 0 { // 0 means never
		w.batch.Store(1)
	}
}

// startBatch arms the timer with the first delta of a batch.
func (w *Watcher) startBatch() {
	if w.armed || w.flush <= 0 {
		return
	}
	if w.timer == nil {
		w.timer = time.NewTimer(w.flush)
	} else {
		w.timer.Reset(w.flush)
	}
	w.armed = true
}

// found is the outcome of a look at the seats.
type found uint8

const (
	lookNothing found = iota
	lookFrame
	lookHole // the current seat needs the source
	lookEnd
)

// look finds the next frame in memory, without waiting, and writes it to an empty one: returning frames by value, or
// allocating them, would double the stack of each watcher.
func (w *Watcher) look(to *Frame) found {
	if w.ended.Load() || w.over {
		return lookEnd
	}
	if w.armed {
		select {
		case <-w.timer.C:
			w.nextBatch()
		default:
		}
	}
	if w.unreadable && w.nextUnreadable(to) || w.feed != nil && w.nextFeed(to) {
		return lookFrame
	}
	for range w.seats {
		if w.turn >= len(w.seats) {
			w.turn = 0
		}
		s := w.seats[w.turn]
		if s.dirty.Load() {
			switch s.next(to) {
			case lookEnd:
				w.leave(s)
				w.seats = slices.Delete(w.seats, w.turn, w.turn+1)
				if w.feed != nil {
					w.noticed = append(w.noticed, s.room.id)
				}
				return lookFrame
			case lookHole:
				return lookHole
			case lookFrame:
				w.turn++ // the other seats are looked at first next time
				return lookFrame
			case lookNothing:
			}
		}
		w.turn++
	}
	if w.feed == nil && len(w.seats) == 0 {
		return lookEnd
	}
	return lookNothing
}

// nextUnreadable tells the reader of a session whose position could not be read; false if there is none.
func (w *Watcher) nextUnreadable(to *Frame) bool {
	for _, s := range w.seats {
		if s.unreadable {
			s.unreadable = false
			to.Kind, to.SessionID, to.Reason = ResyncFrame, s.room.id, parley.ResyncUnreadable
			return true
		}
	}
	w.unreadable = false
	return false
}

// nextFeed takes the next feed frame; false if there is none. The deletion of a watched session is reported by its
// seat, after its last events.
func (w *Watcher) nextFeed(to *Frame) bool {
	for {
		event, reason, ok := w.feed.pop()
		switch {
		case !ok:
			return false
		case reason != "":
			to.Kind = ResyncFrame
			to.Reason = reason
			return true
		case event.Type != parley.FeedSessionDeleted:
			to.feed(&event)
			return true
		}
		if slices.ContainsFunc(w.seats, func(s *seat) bool { return s.room.id == event.SessionID }) {
			continue
		}
		if i := slices.Index(w.noticed, event.SessionID); i >= 0 {
			w.noticed = slices.Delete(w.noticed, i, i+1)
			continue
		}
		to.feed(&event)
		return true
	}
}

// leave removes a seat from its room.
func (w *Watcher) leave(s *seat) {
	r := s.room
	r.mu.Lock()
	if i := slices.Index(r.seats, s); i >= 0 {
		r.seats[i] = r.seats[len(r.seats)-1]
		r.seats[len(r.seats)-1] = nil
		r.seats = r.seats[:len(r.seats)-1]
		if w.raw {
			s.leaveRaw()
		}
	}
	if x := w.hub.exchange; x != nil && len(r.seats) == 0 {
		r.drop(func(stream *Stream) bool { return stream.in != nil })
		if r.pace > 0 {
			x.withdraw(r)
		}
	}
	empty := r.empty()
	r.mu.Unlock()
	if empty {
		w.hub.vacate(r)
	}
}
