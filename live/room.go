package live

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// room is what the hub knows of one session.
type room struct {
	id parley.ID

	mu      sync.Mutex // guards all below, the streams of the room and the seats' fields
	known   bool       // head is known, from a commit or from the store
	head    int64      // the last event known of; the store may have more
	told    int64      // while something streams: no event up to it was missed
	epoch   int64      // the highest seen; streams of older epochs are over
	ring    []parley.Event
	bytes   int // size of the data in ring
	streams []*Stream
	seats   []*seat
	deleted bool
	parked  bool          // in the hub's idle line
	said    int64         // the last event announced by another process
	asked   int64         // the last event when the poller last asked what streams
	mine    parley.ID     // the turn that runs here: no other process has text of it
	pace    time.Duration // the announced interval of its watchers; 0: not announced
	wanted  time.Duration // the interval of watchers in other processes
	over    []parley.ID   // settled messages that streamed elsewhere; at most maxRememberedOver
	raw     tape          // empty unless rawHere

	rawHere      int         // seats that read unprocessed text
	rawElsewhere bool        // other processes read it
	rawSaid      bool        // those know of rawHere
	rawWanted    atomic.Bool // rawHere or rawElsewhere; changed under mu
}

// empty reports whether nobody needs the room; the caller holds r.mu.
func (r *room) empty() bool { return len(r.seats) == 0 && len(r.streams) == 0 }

// local reports whether something streams in this process; the caller holds r.mu.
func (r *room) local() bool {
	return slices.ContainsFunc(r.streams, func(stream *Stream) bool { return stream.in == nil })
}

// clear forgets the session's position, for a room without watchers; the caller holds r.mu.
func (r *room) clear() {
	r.known, r.head, r.told, r.said = false, 0, 0, 0
	r.ring, r.bytes, r.over = nil, 0, nil
}

// paceOfSeats returns the shortest interval of the watchers that wait for other processes; 0 if there are none. The
// caller holds r.mu.
func (r *room) paceOfSeats() (pace time.Duration) {
	for _, s := range r.seats {
		if own := s.watcher.pace(); !s.watcher.own && (pace == 0 || own < pace) {
			pace = own
		}
	}
	return pace
}

// learn takes in a commit and wakes the watchers; it reports whether the room is now empty.
func (r *room) learn(c store.Commit) (empty bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range c.Events {
		r.append(c.Events[i])
		r.follow(c.Events[i].Sequence)
	}
	if len(c.Settled) > 0 && len(r.streams) > 0 {
		r.settle(c.Settled, lastSettle(c.Events))
	}
	r.raise(c.Epoch)
	for i := range c.Events {
		switch event := &c.Events[i]; {
		case event.Type == parley.EventSessionStarted:
			r.mine = event.TurnID
		case event.Type == parley.EventSessionWaiting:
			r.mine = parley.ID{} // those who hear the answer continue
		case event.Type.EndsTurn():
			r.endTurn(event.TurnID)
		}
	}
	if len(c.Events) > 0 {
		r.wake()
	}
	return r.empty()
}

// append puts an event into the ring. The ring is contiguous: after a gap it restarts, and readers fetch the events in
// between.
func (r *room) append(event parley.Event) {
	if n := len(r.ring); n > 0 {
		switch last := r.ring[n-1].Sequence; {
		case event.Sequence <= last:
			return
		case event.Sequence > last+1:
			clear(r.ring)
			r.ring, r.bytes = r.ring[:0], 0
		}
	}
	for _, s := range r.seats {
		switch {
		case s.state == seatFromNow: // subscribed before this event, but without a position yet
			s.after, s.state = event.Sequence-1, seatPlaced
		case s.state == seatNew && s.after == event.Sequence-1:
			s.state = seatPlaced
		}
	}
	r.ring = append(r.ring, event)
	r.bytes += len(event.Data)
	r.head, r.known = max(r.head, event.Sequence), true
	if len(r.ring) <= ringEvents && r.bytes <= ringBytes {
		return
	}
	// Half of the ring is dropped at a time, so that shifting costs little per event.
	cut := 0
	for cut < len(r.ring)-1 && (len(r.ring)-cut > ringEvents/2 || r.bytes > ringBytes/2) {
		r.bytes -= len(r.ring[cut].Data)
		cut++
	}
	r.ring = slices.Delete(r.ring, 0, cut)
}

// follow notes an event seen in order.
func (r *room) follow(sequence int64) {
	if sequence == r.told+1 || len(r.streams) == 0 {
		r.told = max(r.told, sequence)
	}
}

// doubtful reports whether events were missed while something streams: one of them may have settled it, so nothing of
// it is shown before they are read.
func (r *room) doubtful() bool { return len(r.streams) > 0 && r.told < r.head }

// at finds an event in the ring.
func (r *room) at(sequence int64) (parley.Event, bool) {
	if len(r.ring) == 0 {
		return parley.Event{}, false
	}
	i := sequence - r.ring[0].Sequence
	if i < 0 || i >= int64(len(r.ring)) {
		return parley.Event{}, false
	}
	return r.ring[i], true
}

// settle ends the streams of settled messages. Readers that have followed this far still get the pending text, before
// the settle event.
func (r *room) settle(messages []parley.ID, at int64) {
	kept := r.streams[:0]
	for _, stream := range r.streams {
		if !slices.Contains(messages, stream.ref.MessageID) {
			kept = append(kept, stream)
			continue
		}
		if stream.in != nil {
			r.remember(stream.ref.MessageID)
		}
		stream.finish(at)
		for _, s := range r.seats {
			s.hold(stream)
		}
	}
	clear(r.streams[len(kept):])
	r.streams = kept
}

// raise notes an epoch and drops the streams of older ones: their workers are fenced.
func (r *room) raise(epoch int64) {
	if epoch <= r.epoch {
		return
	}
	r.epoch, r.mine = epoch, parley.ID{}
	r.drop(func(stream *Stream) bool { return stream.ref.Epoch < epoch })
}

// endTurn drops the remaining streams of a finished turn.
func (r *room) endTurn(turnID parley.ID) {
	if r.mine == turnID {
		r.mine = parley.ID{}
	}
	r.drop(func(stream *Stream) bool { return !turnID.IsZero() && stream.ref.TurnID == turnID })
}

// drop forgets streams without a settle event.
func (r *room) drop(which func(*Stream) bool) {
	r.streams = slices.DeleteFunc(r.streams, func(stream *Stream) bool {
		if !which(stream) {
			return false
		}
		stream.over = true
		for _, s := range r.seats {
			s.forget(stream)
		}
		return true
	})
}

// listed applies a list change to the session's own watchers: the session is gone, or no longer visible to them.
func (r *room) listed(event store.FeedEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch event.Type {
	case parley.FeedSessionDeleted:
		r.remove()
	case parley.FeedSessionUpdated:
		r.hide(event.OwnerID, event.Visibility)
	}
}

// hide cuts off watchers who may not see the session any more.
func (r *room) hide(ownerID parley.ID, visibility parley.Visibility) {
	for _, s := range r.seats {
		if !visible(s.watcher.scope, ownerID, visibility) && s.state != seatGone {
			s.state = seatGone
			s.mark()
		}
	}
}

// remove notes that the session was deleted.
func (r *room) remove() {
	r.deleted = true
	r.drop(func(*Stream) bool { return true })
	r.wake()
}

// moved takes in the store's position of the session. With x, events without a hint are read once for all watchers.
func (r *room) moved(x *exchange, head store.HeadState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if head.Deleted {
		r.remove()
		return
	}
	r.hide(head.OwnerID, head.Visibility)
	if x != nil && len(r.seats) > 0 {
		if r.known && head.LastEvent > r.reach() {
			r.mine = parley.ID{} // the commit was not made here
		}
		if r.pace > 0 && r.mine.IsZero() && head.LastEvent != r.asked {
			r.asked = head.LastEvent
			x.ask(r.id) // something may stream without a hint
		}
		if r.known && head.LastEvent > r.reach() {
			r.lag(x, r.seats[0].watcher.scope.WorkspaceID, head.LastEvent)
			return
		}
	}
	r.head, r.known = max(r.head, head.LastEvent), true
	for _, s := range r.seats {
		if s.after < head.LastEvent || r.doubtful() {
			s.mark()
		}
	}
}

// refill takes in events that the hub read for all watchers; the caller holds r.mu.
func (r *room) refill(events []parley.Event) {
	for i := range events {
		r.append(events[i])
	}
	r.reread(events)
	r.wake()
}

// reread takes in events that a reader fetched: messages that they settle no longer stream.
func (r *room) reread(events []parley.Event) {
	if len(events) == 0 {
		return
	}
	r.head, r.known = max(r.head, events[len(events)-1].Sequence), true
	for i := range events {
		r.follow(events[i].Sequence)
		if len(r.streams) == 0 {
			continue
		}
		if isSettle(events[i].Type) {
			r.settle(settledBy(events[i]), events[i].Sequence)
		}
		if events[i].Type.EndsTurn() {
			r.endTurn(events[i].TurnID)
		}
	}
}

// wake tells every watcher of the room that there is an event.
func (r *room) wake() {
	for _, s := range r.seats {
		s.mark()
	}
}

func isSettle(t parley.EventType) bool {
	return t == parley.EventStepGenerated || t == parley.EventStepError
}

// lastSettle returns the sequence of the last settle event, 0 for none.
func lastSettle(events []parley.Event) int64 {
	for _, event := range slices.Backward(events) {
		if isSettle(event.Type) {
			return event.Sequence
		}
	}
	return 0
}

// settledBy returns the messages named by a settle event; none if it is unreadable.
func settledBy(event parley.Event) []parley.ID {
	var data struct {
		Messages []struct {
			MessageID parley.ID `json:"message_id"`
		} `json:"messages"`
	}
	if json.Unmarshal(event.Data, &data) != nil {
		return nil
	}
	ids := make([]parley.ID, len(data.Messages))
	for i := range data.Messages {
		ids[i] = data.Messages[i].MessageID
	}
	return ids
}
