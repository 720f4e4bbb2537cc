package live

import (
	"context"
	"slices"
	"sync/atomic"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// seatState says how far a seat is from being live.
type seatState uint8

const (
	seatNew     seatState = iota // the session's position is not known yet
	seatFromNow                  // the same, and the next event is the first one shown
	seatPlaced                   // after is its position
	seatGone                     // the session is no longer visible
)

// seat is one watcher's position in one session.
type seat struct {
	watcher    *Watcher
	room       *room
	dirty      atomic.Bool // there may be something to send; set under room.mu
	unreadable bool        // its position could not be read; owned by the reader's goroutine

	// guarded by room.mu
	state   seatState
	after   int64          // the last event sent
	stalled bool           // the source lacks the next event; wait to be woken
	streams []progress     // of streams shown or waiting to be, in their order
	page    []parley.Event // the next events to send, read from the source
	nextRaw int64          // the number of the next piece of unprocessed text; only of watchers that read it
}

// sit makes a seat; the caller holds the hub's mu for writing.
func (r *room) sit(w *Watcher, after int64) *seat {
	s := &seat{watcher: w, room: r, after: after}
	s.dirty.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case after < 0 && r.known:
		s.after, s.state = r.head, seatPlaced
	case after < 0:
		s.state = seatFromNow
	case r.known && after == r.head:
		s.state = seatPlaced
	default:
		if _, ok := r.at(after + 1); ok {
			s.state = seatPlaced
		}
	}
	r.seats = append(r.seats, s)
	if w.raw {
		s.readRaw()
	}
	if x := w.hub.exchange; x != nil && !w.own {
		x.announce(r, w.pace(), r.pace == 0)
	}
	return s
}

// mark notes that there may be something, and wakes the reader; the caller holds room.mu.
func (s *seat) mark() {
	s.stalled = false
	s.dirty.Store(true)
	s.watcher.signal()
}

// tell notes new text of a stream. It wakes the reader unless the running batch already contains text of this kind:
// then the reader's own timer wakes it.
func (s *seat) tell(stream *Stream, kind int) {
	s.dirty.Store(true)
	if i := findProgress(
		s.streams,
		stream,
	); i >= 0 && s.streams[i].batch[kind] == s.watcher.batch.Load() &&
		s.watcher.flush > 0 {
		return
	}
	s.watcher.signal()
}

// hold keeps a settled stream until the settle event is sent, for a reader that was following it; the caller holds
// room.mu.
func (s *seat) hold(stream *Stream) {
	i := findProgress(s.streams, stream)
	following := s.after == s.room.head
	if !following {
		_, following = s.room.at(s.after + 1)
	}
	switch {
	case stream.settledAt <= s.after: // nothing to wait for, or already passed
		s.forget(stream)
		return
	case i < 0 && (s.state != seatPlaced || !following):
		return // it will read the settle event from the store
	case i < 0:
		s.streams = append(s.streams, progress{stream: stream})
	}
	held := 0
	for i := len(s.streams) - 1; i >= 0; i-- {
		if s.streams[i].stream.over {
			if held++; held > heldStreams {
				s.streams = slices.Delete(s.streams, i, i+1)
			}
		}
	}
}

// forget drops a stream without a settle event; the caller holds room.mu.
func (s *seat) forget(stream *Stream) {
	if i := findProgress(s.streams, stream); i >= 0 {
		s.streams = slices.Delete(s.streams, i, i+1)
	}
}

// next finds the seat's next frame in memory. lookEnd comes with the notice that the session is gone.
func (s *seat) next(to *Frame) found {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.state == seatGone {
		s.notice(to)
		return lookEnd
	}
	if s.state != seatPlaced {
		if r.deleted {
			s.notice(to)
			return lookEnd
		}
		return lookHole
	}
	for {
		if s.watcher.raw {
			if piece := s.unprocessed(); piece != nil {
				to.Kind, to.SessionID, to.Raw = RawFrame, r.id, piece
				return lookFrame
			}
		}
		event, at := s.following()
		if delta, ok := s.pending(at, event.Sequence); ok {
			to.Kind = DeltaFrame
			to.SessionID = r.id
			to.Delta = delta
			return lookFrame
		}
		switch at {
		case eventHere:
			if s.pass(event) {
				to.Kind = EventFrame
				to.SessionID = r.id
				to.Event = event
				return lookFrame
			}
		case eventHole:
			return lookHole
		case eventNone:
			if r.doubtful() && !s.stalled && !r.deleted {
				return lookHole
			}
			if r.deleted {
				s.notice(to)
				return lookEnd
			}
			s.dirty.Store(false)
			return lookNothing
		}
	}
}

// eventAt says where a seat's next event is.
type eventAt uint8

const (
	eventNone eventAt = iota
	eventHere
	eventHole // only in the source
)

func (s *seat) following() (parley.Event, eventAt) {
	if len(s.page) > 0 {
		return s.page[0], eventHere
	}
	if s.after >= s.room.head {
		return parley.Event{}, eventNone
	}
	if event, ok := s.room.at(s.after + 1); ok {
		return event, eventHere
	}
	if s.stalled {
		return parley.Event{}, eventNone
	}
	return parley.Event{}, eventHole
}

// pass moves past an event and reports whether to show it to the reader.
func (s *seat) pass(event parley.Event) bool {
	s.after = event.Sequence
	if len(s.page) > 0 {
		if s.page = s.page[1:]; len(s.page) == 0 {
			s.page = nil
		}
	}
	s.streams = slices.DeleteFunc(s.streams, func(p progress) bool {
		return p.stream.settledAt > 0 && p.stream.settledAt <= s.after
	})
	until := s.watcher.until
	if until.IsZero() {
		return true
	}
	if event.TurnID != until { // the turn may wait for an approval of a tool session below, which has no turn here
		return event.TurnID.IsZero() && event.Type == parley.EventApprovalCreated
	}
	s.watcher.over = event.Type.EndsTurn()
	return true
}

// pending takes the next delta that is due. Before an event, everything is due, once, so that earlier text is sent
// first; otherwise, text not yet sent in this batch.
func (s *seat) pending(at eventAt, before int64) (Delta, bool) {
	if at == eventHole {
		return Delta{}, false // too far behind: events first
	}
	w := s.watcher
	doubtful := s.room.doubtful()
	for _, stream := range s.room.streams {
		if findProgress(s.streams, stream) < 0 {
			s.streams = append(s.streams, progress{stream: stream})
		}
	}
	batch := w.batch.Load()
	for i := range s.streams {
		p := &s.streams[i]
		switch {
		case s.after < p.stream.openedAt,
			!w.until.IsZero() && p.stream.ref.TurnID != w.until,
			doubtful && !p.stream.over:
			continue
		}
	kinds:
		for kind := range kindCount {
			switch {
			case at == eventHere && p.before[kind] == before,
				at == eventNone && w.flush > 0 && p.batch[kind] == batch:
				if !p.whole(kind) {
					break kinds // its rest is due later; what follows it is not shown before that
				}
				continue
			}
			delta, ok := p.unsent(kind)
			if at == eventHere && p.whole(kind) {
				p.before[kind] = before
			}
			if !ok {
				continue
			}
			if p.whole(kind) {
				p.batch[kind] = batch
				w.startBatch()
			}
			return delta, true
		}
	}
	return Delta{}, false
}

// notice makes the last frame of a session that is gone.
func (s *seat) notice(to *Frame) {
	to.feed(&store.FeedEvent{
		WorkspaceID: s.watcher.scope.WorkspaceID, SessionID: s.room.id, Type: parley.FeedSessionDeleted,
		Data: event.SessionDeleted{SessionID: s.room.id}.Encode().Data(),
	})
}

// fill reads from the source what the current seat needs.
func (w *Watcher) fill(ctx context.Context) error {
	s := w.seats[w.turn]
	r := s.room
	r.mu.Lock()
	state, after := s.state, s.after
	missed := after >= r.head // no event for this seat, but perhaps one that settled a stream
	if missed {
		after = r.told
	}
	r.mu.Unlock()
	if state != seatPlaced {
		return w.locate(ctx, s)
	}
	events, err := w.hub.source.Events(ctx, w.scope, r.id, after, pageEvents)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound:
		s.state = seatGone
		return nil
	case err != nil:
		return err
	case len(events) == 0 || events[0].Sequence != after+1:
		s.stalled = true // the announced event cannot be read yet: the poller will wake the reader
		return nil
	}
	if !missed {
		s.page = events
	}
	r.reread(events)
	return nil
}

// locate finds the session's position.
func (w *Watcher) locate(ctx context.Context, s *seat) error {
	r := s.room
	heads, err := w.hub.source.Heads(ctx, []parley.ID{r.id})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(heads) == 0 || heads[0].Deleted {
		s.state = seatGone
		return nil
	}
	r.head, r.known = max(r.head, heads[0].LastEvent), true
	switch {
	case s.state == seatFromNow:
		s.after = heads[0].LastEvent
	case s.state == seatNew && s.after > r.head:
		s.after = r.head
		w.ahead, w.ready = Frame{Kind: ResyncFrame, SessionID: r.id, Reason: parley.ResyncBeyond}, true
	}
	if s.state != seatGone {
		s.state = seatPlaced
	}
	if r.said > r.head { // committed after this look at the head
		r.lag(w.hub.exchange, w.scope.WorkspaceID, r.said)
	}
	return nil
}
