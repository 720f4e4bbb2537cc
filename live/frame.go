package live

import (
	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// FrameKind says which field of a Frame is set.
type FrameKind uint8

// The kinds of frame.
const (
	EventFrame  FrameKind = iota // Event, durable
	DeltaFrame                   // Delta
	FeedFrame                    // Feed
	ResyncFrame                  // Reason: fetch again what is shown
	RawFrame                     // Raw
	PatchFrame                   // Patch; made by package stream
)

// Frame is one thing to send to a watcher. SessionID is set on all but resyncs
// of the feed.
type Frame struct {
	Kind      FrameKind
	SessionID parley.ID
	Event     parley.Event
	Delta     Delta
	Feed      store.FeedEvent
	Reason    parley.ResyncReason
	Raw       *store.RawPiece
	Patch     *event.ObjectPatch // valid until the next frame
}

// feed makes an empty frame a feed frame.
func (f *Frame) feed(news *store.FeedEvent) {
	f.Kind = FeedFrame
	f.SessionID = news.SessionID
	f.Feed = *news
}

// Delta is a piece of a streaming message's text. It continues the previous piece (Offset is that piece's End) or
// starts over (Offset 0).
type Delta struct {
	SessionID, MessageID parley.ID
	Kind                 parley.ContentKind
	Offset, End          int // UTF-8 bytes
	Text                 string
}

// Place is where in a session's events a watcher begins.
type Place struct {
	SessionID parley.ID
	After     int64 // replay what comes after it; 0: everything; or one of the below
}

// Values of After for a Place without replay.
const (
	FromNow    int64 = -1 // from now on
	Unreadable int64 = -2 // from now on, after a resync: the reader's position cannot be read
)
