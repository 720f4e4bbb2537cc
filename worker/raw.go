package worker

import (
	"example.org/parley/live"
	"example.org/parley/store"
)

// earlyRawBytes bounds the unprocessed text that waits for its step to begin.
const earlyRawBytes = 64 << 10

// unprocessed passes the text of one attempt's answer on to those who read it as the provider sends it. It implements
// model.RawSink and belongs to the goroutine that takes the answer.
type unprocessed struct {
	hub     *live.Hub
	of      store.RawPiece // all but the text and its place
	begun   bool           // the call is in the record
	early   []store.RawPiece
	waiting int // bytes of early
}

// Wanted implements model.RawSink.
func (u *unprocessed) Wanted() bool { return u.hub.WantsRaw(u.of.SessionID) }

// Raw implements model.RawSink.
func (u *unprocessed) Raw(offset, end int64, text string) {
	piece := u.of
	piece.Offset, piece.End, piece.Text = offset, end, text
	switch {
	case u.begun:
		u.hub.AppendRaw(piece)
	case u.waiting+len(text) <= earlyRawBytes:
		u.early, u.waiting = append(u.early, piece), u.waiting+len(text)
	}
}

// begin shows what waited: nothing is shown of a call before its record has committed.
func (u *unprocessed) begin() {
	u.begun = true
	for _, piece := range u.early {
		u.hub.AppendRaw(piece)
	}
	u.early = nil
}
