package stream

import (
	"strings"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/partialjson"
	"example.org/parley/live"
)

// maxObjects bounds the objects that one stream follows at once. Of others it shows the text alone.
const maxObjects = 64

// objects follows the texts of a stream that are JSON objects, and says how these grow. It belongs to one reader: what
// it says depends on the deltas that this reader gets, so that a late reader, and one of another process, begin with
// the whole object so far.
type objects struct {
	open map[parley.ID]*growing // by message
}

// growing is a text that began as an object.
type growing struct {
	sessionID parley.ID
	end       int // bytes read
	reader    partialjson.Reader
	patch     event.ObjectPatch // the latest
}

// after returns the patch that follows a frame, valid until the next call; nil if none does.
func (o *objects) after(frame *Frame) *event.ObjectPatch {
	switch frame.Kind {
	case live.DeltaFrame:
		if frame.Delta.Kind == parley.KindText {
			return o.grow(&frame.Delta)
		}
	case live.EventFrame:
		if kind := frame.Event.Type; len(o.open) > 0 && (kind == parley.EventStepGenerated ||
			kind == parley.EventStepError || kind.EndsTurn()) {
			for id, one := range o.open {
				if one.sessionID == frame.SessionID {
					delete(o.open, id)
				}
			}
		}
	case live.FeedFrame, live.ResyncFrame, live.RawFrame, live.PatchFrame:
	}
	return nil
}

// grow reads a delta. A text that does not begin as an object, or is none after all, is read no further.
func (o *objects) grow(delta *live.Delta) *event.ObjectPatch {
	one := o.open[delta.MessageID]
	switch {
	case delta.Offset == 0:
		delete(o.open, delta.MessageID)
		if begins := strings.TrimLeft(delta.Text, " \n\t\r"); begins != "" && begins[0] != '{' ||
			len(o.open) >= maxObjects {
			return nil
		}
		if o.open == nil {
			o.open = map[parley.ID]*growing{}
		}
		one = &growing{sessionID: delta.SessionID}
		o.open[delta.MessageID] = one
	case one == nil:
		return nil
	case one.end != delta.Offset:
		delete(o.open, delta.MessageID)
		return nil
	}
	one.end = delta.End
	operations := one.reader.Write(delta.Text)
	if one.reader.Failed() {
		delete(o.open, delta.MessageID)
	}
	if len(operations) == 0 {
		return nil
	}
	one.patch = event.ObjectPatch{MessageID: delta.MessageID, Patch: operations}
	return &one.patch
}
