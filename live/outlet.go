package live

import (
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// outlet is how much of a local stream other processes have been sent. Like a watcher it is an offset into the text, so
// waiting text takes no memory.
type outlet struct {
	told     [kindCount]int // length of text sent
	kept     [kindCount]int // length of text in the store
	keptTold [kindCount]int
	at       time.Time // when something was last sent
	talking  bool      // in the exchange's queue
}

// Kept notes that the store has a text up to end, in bytes. Watchers in other processes that lack some of it read it
// there.
func (s *Stream) Kept(kind parley.ContentKind, end int) {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.out.kept[kindIndex(kind)] = end
	s.talk()
}

// talk queues the stream for the next round; the caller holds room.mu.
func (s *Stream) talk() {
	if s.room.wanted == 0 || s.over || s.out.talking {
		return
	}
	s.out.talking = true
	x := s.hub.exchange
	x.mu.Lock()
	x.talking = append(x.talking, s)
	x.mu.Unlock()
	poke(x.talkNow)
}

// tell adds the stream's news to hints, or returns how long it must wait by the interval that others want.
func (s *Stream) tell(hints *store.RelayHints, now time.Time) (wait time.Duration) {
	r, out := s.room, &s.out
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.over || r.wanted == 0 {
		out.talking = false
		return 0
	}
	if wait := out.at.Add(r.wanted).Sub(now); wait > 0 {
		return wait
	}
	out.talking, out.at = false, now
	for kind := range kindCount {
		text := s.texts[kind].String()
		piece := store.StreamPiece{
			WorkspaceID: s.ref.WorkspaceID,
			SessionID:   s.ref.SessionID,
			TurnID:      s.ref.TurnID,
			MessageID:   s.ref.MessageID,
			Epoch:       s.ref.Epoch,
			After:       s.openedAt,
			Kind:        kindName(kind),
		}
		if n := len(text) - out.told[kind]; n > 0 && n <= maxToldBytes { // the store serves longer text
			piece.Offset, piece.Text = out.told[kind], text[out.told[kind]:]
			hints.Pieces = append(hints.Pieces, piece)
		}
		out.told[kind] = len(text)
		if out.kept[kind] > out.keptTold[kind] {
			piece.Offset, piece.Text = out.kept[kind], ""
			hints.Pieces = append(hints.Pieces, piece)
			out.keptTold[kind] = out.kept[kind]
		}
	}
	return 0
}

// setWanted notes the interval at which others want the room's streams; 0: nobody does. They are sent new text from now
// on, and read earlier text from the store. The caller holds r.mu.
func (r *room) setWanted(pace time.Duration) {
	if r.wanted == 0 && pace > 0 {
		for _, stream := range r.streams {
			for kind := range kindCount {
				stream.out.told[kind] = stream.texts[kind].Len()
			}
			stream.out.keptTold = stream.out.kept
		}
	}
	r.wanted = pace
}
