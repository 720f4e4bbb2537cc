package live

import (
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// inlet is the state of another process's stream besides its text: the pieces that came too early. The text grows only
// without gaps, so its watchers are served like those of a local stream.
type inlet struct {
	held   [kindCount][]heldPiece // by offset, all beyond the text's end
	bytes  int                    // total size of held
	known  [kindCount]int         // the announced length of the text
	heard  time.Time              // when a piece last arrived
	begged time.Time              // when the holder was asked to flush
}

// heldPiece waits for the text before it.
type heldPiece struct {
	offset int
	text   string
}

// lacks reports whether text is missing.
func (in *inlet) lacks(stream *Stream) bool {
	for kind := range kindCount {
		if in.known[kind] > stream.texts[kind].Len() {
			return true
		}
	}
	return false
}

// take inserts a piece, and reports whether the text grew; the caller holds room.mu. Pieces of one text agree where
// they overlap.
func (s *Stream) take(kind, offset int, text string) (grew bool) {
	in, have := s.in, s.texts[kind].Len()
	in.known[kind] = max(in.known[kind], offset+len(text))
	if offset > have {
		in.hold(kind, offset, text)
		return false
	}
	if offset+len(text) > have {
		s.texts[kind].WriteString(text[have-offset:])
		grew = true
	}
	used := 0
	for _, piece := range in.held[kind] {
		have := s.texts[kind].Len()
		if piece.offset > have {
			break
		}
		if piece.offset+len(piece.text) > have {
			s.texts[kind].WriteString(piece.text[have-piece.offset:])
			grew = true
		}
		in.bytes -= len(piece.text)
		used++
	}
	in.held[kind] = slices.Delete(in.held[kind], 0, used)
	return grew
}

// hold keeps a piece for later. Beyond the bound it drops all pieces: the store will have them soon.
func (in *inlet) hold(kind, offset int, text string) {
	if text == "" {
		return
	}
	if in.bytes+len(text) > maxHeldBytes {
		in.held, in.bytes = [kindCount][]heldPiece{}, 0
		return
	}
	at, there := slices.BinarySearchFunc(
		in.held[kind],
		offset,
		func(p heldPiece, offset int) int { return p.offset - offset },
	)
	if there && len(in.held[kind][at].text) >= len(text) {
		return
	}
	in.held[kind] = slices.Insert(in.held[kind], at, heldPiece{offset, text})
	in.bytes += len(text)
}

// inlet finds or makes the stream of a message that another process writes; nil if it is over, or local. The caller
// holds r.mu.
func (r *room) inlet(h *Hub, piece *store.StreamPiece) *Stream {
	if slices.Contains(r.over, piece.MessageID) {
		return nil
	}
	for _, stream := range r.streams {
		if stream.ref.MessageID == piece.MessageID {
			if stream.in == nil {
				return nil
			}
			stream.ref.Epoch = max(stream.ref.Epoch, piece.Epoch)
			r.raise(piece.Epoch)
			return stream
		}
	}
	if piece.After == 0 { // the holder does not know; ask the store
		h.exchange.ask(r.id)
		return nil
	}
	r.raise(piece.Epoch)
	over, sure := r.overSince(piece)
	if over {
		r.remember(piece.MessageID)
		return nil
	}
	stream := &Stream{hub: h, room: r, in: new(inlet), openedAt: piece.After, ref: StreamRef{
		WorkspaceID: piece.WorkspaceID, SessionID: piece.SessionID, TurnID: piece.TurnID,
		MessageID: piece.MessageID, Epoch: piece.Epoch,
	}}
	switch {
	case len(r.streams) == 0:
		r.told = piece.After
		if sure {
			r.told = max(r.told, r.head)
		}
	case !sure: // its settle event may have been missed: show nothing before those events are read again
		r.told = min(r.told, piece.After)
	}
	r.streams = append(r.streams, stream)
	h.exchange.mu.Lock()
	h.exchange.inlets[r] = struct{}{}
	h.exchange.mu.Unlock()
	return stream
}

// overSince reports whether an event after the piece's settled its message; sure is false if not all of those events
// are in memory. The caller holds r.mu.
func (r *room) overSince(piece *store.StreamPiece) (over, sure bool) {
	if piece.After >= r.head {
		return false, true
	}
	for i := range r.ring {
		event := &r.ring[i]
		switch {
		case event.Sequence <= piece.After:
		case event.Type.EndsTurn() && event.TurnID == piece.TurnID,
			isSettle(event.Type) && slices.Contains(settledBy(*event), piece.MessageID):
			return true, true
		}
	}
	_, sure = r.at(piece.After + 1)
	return false, sure && r.reach() >= r.head
}

// remember notes messages of which nothing more may be shown.
func (r *room) remember(messages ...parley.ID) {
	for _, id := range messages {
		if len(r.over) == maxRememberedOver {
			r.over = slices.Delete(r.over, 0, 1)
		}
		r.over = append(r.over, id)
	}
}
