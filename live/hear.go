package live

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

var _ store.RelayListener = (*Hub)(nil)

// Heard implements store.RelayListener.
func (h *Hub) Heard(from parley.ID, hints store.RelayHints) {
	x := h.exchange
	if x == nil {
		return
	}
	now := time.Now()
	for _, interest := range hints.Interests {
		x.noteInterest(from, interest, now)
	}
	for i := range hints.Pieces {
		x.hear(&hints.Pieces[i], now)
	}
	for i := range hints.Raws {
		h.showRaw(&hints.Raws[i], false)
	}
	if hints.Ask {
		poke(h.repairNow) // the poller repeats all interest
	}
}

// Resync implements store.RelayListener: feed readers fetch their lists again, and the positions and streams of watched
// sessions are read from the store.
func (h *Hub) Resync() {
	h.mu.RLock()
	for _, watchers := range h.feeds {
		for w := range watchers {
			w.feed.doubt(parley.ResyncMissed)
			w.signal()
		}
	}
	h.mu.RUnlock()
	if h.exchange != nil {
		h.exchange.resync()
	}
	poke(h.repairNow)
}

// hearCommit learns of another process's commit. Its events are read from the store, once for all watchers of the
// session.
func (h *Hub) hearCommit(c store.Commit) {
	h.mu.RLock()
	h.announce(c)
	if c.FeedLost {
		for w := range h.feeds[c.WorkspaceID] {
			w.feed.doubt(parley.ResyncMissed)
			w.signal()
		}
	}
	r := h.rooms[c.SessionID]
	h.relist(c)
	h.mu.RUnlock()
	if r == nil {
		return
	}
	r.mu.Lock()
	r.raise(c.Epoch)
	if r.empty() && r.head < c.LastEvent { // kept warm, but now out of date
		r.clear()
		r.mu.Unlock()
		return
	}
	if pace := r.paceOfSeats(); h.exchange != nil && pace > 0 {
		h.exchange.announce(r, pace, r.pace == 0) // unless already announced
	}
	r.lag(h.exchange, c.WorkspaceID, c.LastEvent)
	r.mu.Unlock()
}

// lag requests events up to last, if they are missing, and wakes the watchers that are behind; the caller holds r.mu.
func (r *room) lag(x *exchange, workspaceID parley.ID, last int64) {
	r.said = max(r.said, last)
	if x == nil || !r.known {
		return // the first watcher to look finds the room's position
	}
	if last > r.reach() {
		x.mu.Lock()
		if known := x.behind[r.id]; known.last < last {
			x.behind[r.id] = sessionEnd{workspaceID, last}
		}
		x.mu.Unlock()
		poke(x.fetchNow)
		return
	}
	for _, s := range r.seats {
		if s.after < last {
			s.mark()
		}
	}
}

// reach returns the last event in memory, or the last one known of if none is; the caller holds r.mu.
func (r *room) reach() int64 {
	if n := len(r.ring); n > 0 {
		return r.ring[n-1].Sequence
	}
	return r.head
}

// fetchLoop reads the events committed by others, once for all watchers of a session. Close ends it.
func (x *exchange) fetchLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.fetchNow:
		}
		for {
			id, to, ok := x.nextBehind()
			if !ok {
				break
			}
			if err := x.fetch(
				ctx,
				id,
				to,
			); err != nil && ctx.Err() == nil &&
				parley.ErrorCode(err) != parley.CodeNotFound {
				x.hub.log.Warn(
					"live: events of another process could not be read; the next look repairs it",
					"session_id",
					id,
					"error",
					err,
				)
			}
			x.mu.Lock()
			delete(x.fetching, id)
			x.mu.Unlock()
		}
	}
}

// nextBehind takes a session that no other fetcher reads at the moment.
func (x *exchange) nextBehind() (parley.ID, sessionEnd, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, to := range x.behind {
		if _, busy := x.fetching[id]; busy {
			continue
		}
		delete(x.behind, id)
		x.fetching[id] = struct{}{}
		if len(x.behind) > 0 {
			poke(x.fetchNow) // for another fetcher
		}
		return id, to, true
	}
	return parley.ID{}, sessionEnd{}, false
}

// fetch reads a session's events up to a position into its room. Watchers further behind than the ring reaches read for
// themselves.
func (x *exchange) fetch(ctx context.Context, id parley.ID, to sessionEnd) error {
	x.hub.mu.RLock()
	r := x.hub.rooms[id]
	x.hub.mu.RUnlock()
	if r == nil {
		return nil
	}
	for {
		r.mu.Lock()
		after := r.reach()
		if to.last-after > ringEvents {
			after = to.last - ringEvents/2
		}
		done := r.empty() || !r.known || after >= to.last
		r.mu.Unlock()
		if done {
			return nil
		}
		events, err := x.hub.source.Events(ctx, store.Scope{WorkspaceID: to.workspaceID}, id, after, pageEvents)
		if err != nil || len(events) == 0 {
			return err
		}
		r.mu.Lock()
		r.refill(events)
		r.mu.Unlock()
	}
}

// hear takes one piece of another process's stream.
func (x *exchange) hear(piece *store.StreamPiece, now time.Time) {
	x.hub.mu.RLock()
	r := x.hub.rooms[piece.SessionID]
	x.hub.mu.RUnlock()
	if r == nil || piece.Offset < 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seats) == 0 || r.deleted || piece.Epoch < r.epoch ||
		r.seats[0].watcher.scope.WorkspaceID != piece.WorkspaceID {
		return
	}
	stream := r.inlet(x.hub, piece)
	if stream == nil || stream.over {
		return
	}
	r.lag(x, piece.WorkspaceID, piece.After)
	in := stream.in
	in.heard = now
	kind := kindIndex(piece.Kind)
	if stream.take(kind, piece.Offset, piece.Text) {
		for _, s := range r.seats {
			s.tell(stream, kind)
		}
	}
	switch {
	case !in.lacks(stream):
	case piece.Text == "": // the store has the missing text
		x.ask(r.id)
	case now.Sub(in.begged) >= x.repair:
		in.begged = now
		x.say(r.interest(true))
	}
}

// askLoop looks up in the store what streams in sessions that others run: when somebody begins to watch, when text is
// missing, and when a stream is silent for half a store flush. Close ends it.
func (x *exchange) askLoop(ctx context.Context) {
	ticker := time.NewTicker(x.repair / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.askNow:
		case <-ticker.C:
			x.noteSilence(time.Now())
		}
		for x.lookUp(ctx) {
		}
	}
}

// noteSilence requests a look-up of streams that lack text or are silent, and forgets rooms without streams.
func (x *exchange) noteSilence(now time.Time) {
	x.mu.Lock()
	rooms := make([]*room, 0, len(x.inlets))
	for r := range x.inlets {
		rooms = append(rooms, r)
	}
	x.mu.Unlock()
	for _, r := range rooms {
		r.mu.Lock()
		showing := false
		for _, stream := range r.streams {
			if stream.in == nil {
				continue
			}
			showing = true
			if lacks := stream.in.lacks(stream); lacks || now.Sub(stream.in.heard) >= x.repair/2 {
				x.ask(r.id)
				if lacks {
					x.say(r.interest(true))
				}
			}
		}
		if !showing {
			x.mu.Lock()
			delete(x.inlets, r)
			x.mu.Unlock()
		}
		r.mu.Unlock()
	}
}

// lookUp asks the store about some of the waiting sessions, and reports whether more wait.
func (x *exchange) lookUp(ctx context.Context) (more bool) {
	sessions := make([]parley.ID, 0, maxAskedSessions)
	x.mu.Lock()
	for id := range x.asking {
		if len(sessions) == maxAskedSessions {
			more = true
			break
		}
		sessions = append(sessions, id)
		delete(x.asking, id)
	}
	x.mu.Unlock()
	if len(sessions) == 0 {
		return false
	}
	pieces, err := x.relay.Streamed(ctx, sessions, x.have(sessions))
	if err != nil {
		if ctx.Err() == nil {
			x.hub.log.Warn("live: the streams of other processes could not be read; trying again", "error", err)
		}
		x.mu.Lock()
		for _, id := range sessions {
			x.asking[id] = struct{}{} // the next tick retries them
		}
		x.mu.Unlock()
		return false
	}
	now := time.Now()
	for i := range pieces {
		x.hear(&pieces[i], now)
	}
	return more
}

// have returns the known ends of other processes' streams.
func (x *exchange) have(sessions []parley.ID) (ends []store.StreamEnd) {
	x.hub.mu.RLock()
	defer x.hub.mu.RUnlock()
	for _, id := range sessions {
		r := x.hub.rooms[id]
		if r == nil {
			continue
		}
		r.mu.Lock()
		for _, stream := range r.streams {
			if stream.in == nil {
				continue
			}
			for kind := range kindCount {
				if n := stream.texts[kind].Len(); n > 0 {
					ends = append(ends, store.StreamEnd{MessageID: stream.ref.MessageID, Kind: kindName(kind), End: n})
				}
			}
		}
		r.mu.Unlock()
	}
	return ends
}
