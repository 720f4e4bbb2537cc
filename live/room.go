package live

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// room is what the hub knows of one session.
type room struct {
	id parley.ID

	mu      sync.Mutex // guards all below, the streams of the room and the seats' fields
	known   bool       // head was told by a commit or by the store
	head    int64      // the last event known of; the store may be further
	told    int64      // while something streams: no event up to it was missed
	epoch   int64      // the highest seen; streams of older ones are over
	ring    []parley.Event
	bytes   int // of data in ring
	streams []*Stream
	seats   []*seat
	deleted bool
	parked  bool          // in the hub's idle line
	said    int64         // the last event that another process spoke of
	asked   int64         // the last event when the poller had it looked up what streams
	mine    parley.ID     // the turn that was started here, while it runs: nobody else has text of it
	pace    time.Duration // at which its watchers were said to need new text; 0: that was not said
	wanted  time.Duration // the same of watchers in other processes
	over    []parley.ID   // settled messages that streamed in other processes; of rememberOver
}

// empty reports that nobody needs the room; r.mu is held.
func (r *room) empty() bool { return len(r.seats) == 0 && len(r.streams) == 0 }

// local reports that something streams in this process; r.mu is held.
func (r *room) local() bool {
	return slices.ContainsFunc(r.streams, func(stream *Stream) bool { return stream.in == nil })
}

// clear forgets where the session stands, for a room without watchers; r.mu is held.
func (r *room) clear() {
	r.known, r.head, r.told, r.said = false, 0, 0, 0
	r.ring, r.bytes, r.over = nil, 0, nil
}

// paceOfSeats is the fastest pace of the watchers that wait for other processes; 0
// when there are none. r.mu is held.
func (r *room) paceOfSeats() (pace time.Duration) {
	for _, s := range r.seats {
		if own := s.watcher.pace(); !s.watcher.own && (pace == 0 || own < pace) {
			pace = own
		}
	}
	return pace
}

// learn takes in a commit and wakes the watchers; it reports that the room is
// empty now.
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
			r.mine = parley.ID{} // whoever hears the answer goes on
		case event.Type.EndsTurn():
			r.endTurn(event.TurnID)
		}
	}
	if len(c.Events) > 0 {
		r.wake()
	}
	return r.empty()
}

// append puts an event into the ring. The ring is contiguous: after a gap it
// begins anew, and readers fetch what lies between.
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
		case s.state == seatFromNow: // subscribed before this event, and not placed yet
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
	// Half of the ring goes at once, so that shifting costs little per event.
	cut := 0
	for cut < len(r.ring)-1 && (len(r.ring)-cut > ringEvents/2 || r.bytes > ringBytes/2) {
		r.bytes -= len(r.ring[cut].Data)
		cut++
	}
	r.ring = slices.Delete(r.ring, 0, cut)
}

// follow notes that an event was seen in its turn.
func (r *room) follow(sequence int64) {
	if sequence == r.told+1 || len(r.streams) == 0 {
		r.told = max(r.told, sequence)
	}
}

// doubtful reports that events were missed while something streams: one of them
// may have settled it, so nothing of it is shown before they are read.
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

// settle ends the streams of settled messages. Readers that have come that far
// still get what is pending of them, before the settle event.
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

// endTurn drops what still streams in a turn that is over.
func (r *room) endTurn(turnID parley.ID) {
	if r.mine == turnID {
		r.mine = parley.ID{}
	}
	r.drop(func(stream *Stream) bool { return !turnID.IsZero() && stream.ref.TurnID == turnID })
}

// drop forgets streams without a settle.
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

// listed takes in what a list change means to the session's own watchers: it is
// gone, or no longer theirs to see.
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

// hide cuts off the watchers who may not see the session any more.
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

// moved takes in where the store says the session stands. With x, events that no
// hint told of are read once for all watchers.
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
			r.mine = parley.ID{} // that was not committed here
		}
		if r.pace > 0 && r.mine.IsZero() && head.LastEvent != r.asked {
			r.asked = head.LastEvent
			x.ask(r.id) // something may stream of which no hint came
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

// refill takes in events that the hub read for all watchers; r.mu is held.
func (r *room) refill(events []parley.Event) {
	for i := range events {
		r.append(events[i])
	}
	r.reread(events)
	r.wake()
}

// reread takes in events that a reader fetched: what they settle streams no more.
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

// lastSettle is the sequence of the last settle event, 0 for none.
func lastSettle(events []parley.Event) int64 {
	for _, event := range slices.Backward(events) {
		if isSettle(event.Type) {
			return event.Sequence
		}
	}
	return 0
}

// settledBy reads which messages a settle event names; none when it is unreadable.
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
