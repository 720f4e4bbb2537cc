package live

import (
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/parley"
)

// StreamRef names a streaming message and the claim under which it is written.
type StreamRef struct {
	WorkspaceID, SessionID, TurnID, MessageID parley.ID
	Epoch                                     int64
}

// The kinds in the order in which they are shown.
const (
	kindReasoning = iota
	kindText
	kindArguments
	kindCount
)

func kindName(index int) parley.ContentKind {
	return [kindCount]parley.ContentKind{parley.KindReasoning, parley.KindText, parley.KindArguments}[index]
}

func kindIndex(kind parley.ContentKind) int {
	switch kind {
	case parley.KindReasoning:
		return kindReasoning
	case parley.KindArguments:
		return kindArguments
	default:
		return kindText
	}
}

// Stream is the growing text of one message, shared by all of its watchers. It belongs to the worker that opened it and
// ends when a commit settles its message, or with Drop.
type Stream struct {
	hub  *Hub
	room *room
	ref  StreamRef

	// The fields below are guarded by room.mu. The texts only grow: a piece given to a watcher never changes.
	texts     [kindCount]strings.Builder
	openedAt  int64 // the last event known when it was opened: deltas follow it
	settledAt int64 // its settle event; 0 while it streams
	ends      [kindCount]int
	over      bool   // no longer shown, except text pending before settledAt
	in        *inlet // set for a stream written by another process
	out       outlet // for a stream written by this process
}

// Open registers a message's stream, after the transaction that opened its row has committed. A stream under an
// outdated epoch is shown to nobody.
func (h *Hub) Open(ref StreamRef) *Stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.room(ref.SessionID)
	stream := &Stream{hub: h, room: r, ref: ref}
	r.mu.Lock()
	defer r.mu.Unlock()
	stream.openedAt = r.head
	if ref.Epoch < r.epoch || h.closed || r.deleted {
		stream.over = true
		return stream
	}
	r.raise(ref.Epoch)
	r.drop(func(other *Stream) bool { return other.in != nil }) // this process holds the session now
	if len(r.streams) == 0 {
		r.told = r.head // earlier events concern no stream
	}
	r.streams = append(r.streams, stream)
	return stream
}

// Append adds valid UTF-8 text. Watchers see it when their interval allows. It never blocks on a reader.
func (s *Stream) Append(kind parley.ContentKind, text string) {
	if text == "" {
		return
	}
	k := kindIndex(kind)
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	s.texts[k].WriteString(text)
	if s.over {
		return
	}
	for _, seat := range r.seats {
		seat.tell(s, k)
	}
	s.talk()
}

// Text returns all text of a kind so far, without copying.
func (s *Stream) Text(kind parley.ContentKind) string {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	return s.texts[kindIndex(kind)].String()
}

// Len returns the length of a kind's text so far, in bytes.
func (s *Stream) Len(kind parley.ContentKind) int {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	return s.texts[kindIndex(kind)].Len()
}

// Drop forgets the stream without a settle event: the claim was lost.
func (s *Stream) Drop() {
	s.room.mu.Lock()
	s.room.drop(func(other *Stream) bool { return other == s })
	s.over = true
	empty := s.room.empty()
	s.room.mu.Unlock()
	if empty {
		s.hub.vacate(s.room)
	}
}

// finish freezes the stream at its settle event.
func (s *Stream) finish(at int64) {
	s.over, s.settledAt = true, at
	for i := range s.texts {
		s.ends[i] = s.texts[i].Len()
	}
}

// shown returns the text that readers may get.
func (s *Stream) shown(kind int) string {
	text := s.texts[kind].String()
	if s.settledAt > 0 {
		return text[:s.ends[kind]]
	}
	return text
}

// progress is how much of one stream one reader has.
type progress struct {
	stream *Stream
	sent   [kindCount]int
	batch  [kindCount]uint32 // the reader's batch of the last delta; 0: none
	before [kindCount]int64  // the event before which everything was sent
}

// unsent returns the next delta of a kind, at most deltaBytes of it.
func (p *progress) unsent(kind int) (Delta, bool) {
	text := p.stream.shown(kind)
	from := p.sent[kind]
	if from >= len(text) {
		return Delta{}, false
	}
	to := len(text)
	if to-from > deltaBytes {
		to = from + deltaBytes
		for !utf8.RuneStart(text[to]) {
			to--
		}
	}
	p.sent[kind] = to
	ref := &p.stream.ref
	return Delta{
		SessionID: ref.SessionID, MessageID: ref.MessageID, Kind: kindName(kind),
		Offset: from, End: to, Text: text[from:to],
	}, true
}

// whole reports whether all text of a kind was sent.
func (p *progress) whole(kind int) bool { return p.sent[kind] == len(p.stream.shown(kind)) }

// findProgress returns the index of a stream in a list, -1 if absent.
func findProgress(list []progress, stream *Stream) int {
	return slices.IndexFunc(list, func(p progress) bool { return p.stream == stream })
}
