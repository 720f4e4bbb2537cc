package live

import (
	"example.org/parley"
	"example.org/parley/store"
)

// tapeBytes bounds the unprocessed text that is kept for the readers of one session. Older text is dropped: a reader
// who is that slow sees a gap between its pieces.
const tapeBytes = 256 << 10

// rawOverhead is what a piece of unprocessed text counts in addition to its bytes.
const rawOverhead = 256

// tape holds the latest unprocessed text of a session, while somebody reads it.
type tape struct {
	pieces []*store.RawPiece
	first  int64 // the number of the first piece; later ones count up
	bytes  int
}

// add appends a piece and drops the oldest ones beyond the bound.
func (t *tape) add(piece *store.RawPiece) {
	t.pieces = append(t.pieces, piece)
	t.bytes += len(piece.Text) + rawOverhead
	for t.bytes > tapeBytes {
		t.bytes -= len(t.pieces[0].Text) + rawOverhead
		t.pieces[0] = nil
		t.pieces = t.pieces[1:]
		t.first++
	}
}

// next returns the number of the next piece that will be added.
func (t *tape) next() int64 { return t.first + int64(len(t.pieces)) }

// clear drops all pieces.
func (t *tape) clear() { *t = tape{first: t.next()} }

// WantsRaw reports whether anybody reads the unprocessed text of a session's calls.
func (h *Hub) WantsRaw(sessionID parley.ID) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	r := h.rooms[sessionID]
	return r != nil && r.rawWanted.Load()
}

// AppendRaw shows a piece of unprocessed text to those who asked for it, here and in other processes. It never blocks
// on a reader.
func (h *Hub) AppendRaw(piece store.RawPiece) {
	if elsewhere := h.showRaw(&piece, true); elsewhere {
		h.exchange.relay.Tell(store.RelayHints{Raws: []store.RawPiece{piece}})
	}
}

// showRaw shows a piece to those who read it here, and reports whether somebody reads it elsewhere. A piece of this
// process gets its place among the events.
func (h *Hub) showRaw(piece *store.RawPiece, own bool) (elsewhere bool) {
	h.mu.RLock()
	r := h.rooms[piece.SessionID]
	h.mu.RUnlock()
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if own {
		piece.After = r.head
	}
	if r.rawHere == 0 || r.deleted {
		return r.rawElsewhere
	}
	r.raw.add(piece)
	for _, s := range r.seats {
		if s.watcher.raw {
			s.dirty.Store(true)
			s.watcher.signal()
		}
	}
	return r.rawElsewhere
}

// readRaw notes a reader of unprocessed text, from now on; the caller holds room.mu.
func (s *seat) readRaw() {
	s.room.rawHere++
	s.room.countRaw()
	s.nextRaw = s.room.raw.next()
}

// leaveRaw ends that; the caller holds room.mu.
func (s *seat) leaveRaw() {
	r := s.room
	if r.rawHere--; r.rawHere == 0 {
		r.raw.clear()
		r.rawSaid = false
	}
	r.countRaw()
}

// countRaw notes whether anybody reads unprocessed text; the caller holds r.mu.
func (r *room) countRaw() { r.rawWanted.Store(r.rawHere > 0 || r.rawElsewhere) }

// unprocessed takes the next piece that may be shown at the seat's position; nil if there is none.
func (s *seat) unprocessed() *store.RawPiece {
	t := &s.room.raw
	for s.nextRaw = max(s.nextRaw, t.first); s.nextRaw < t.next(); s.nextRaw++ {
		piece := t.pieces[s.nextRaw-t.first]
		if piece.After > s.after {
			return nil // events first
		}
		if until := s.watcher.until; until.IsZero() || piece.TurnID == until {
			s.nextRaw++
			return piece
		}
	}
	return nil
}
