package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// fold is a client's view of a session, by the rules of the stream.
type fold struct {
	texts map[parley.ID][]byte
	last  int64
	ended map[parley.ID]parley.EventType // by turn
	waits bool                           // a turn waits for the client
}

func newFold() *fold {
	return &fold{texts: map[parley.ID][]byte{}, ended: map[parley.ID]parley.EventType{}}
}

// take applies a frame; an error is a gap, a repeat or an event out of order.
func (f *fold) take(frame client.Frame) error {
	if frame.ID > 0 {
		if frame.ID != f.last+1 {
			return fmt.Errorf("event %d (%s) follows %d", frame.ID, frame.Type, f.last)
		}
		f.last = frame.ID
	}
	switch {
	case frame.Type == parley.EventSessionWaiting:
		f.waits = true
	case frame.Type == parley.EventSessionStarted:
		f.waits = false
	case frame.Type == parley.EventResync:
		return fmt.Errorf("behind event %d came %s: %s", f.last, frame.Type, frame.Data)
	case frame.Type == parley.EventStepGenerating:
		return f.delta(frame)
	case frame.Type == parley.EventStepGenerated || frame.Type == parley.EventStepError:
		for _, m := range settledBy(frame).Messages {
			text, err := textOf(m.Content)
			if err != nil {
				return err
			}
			f.texts[m.MessageID] = []byte(text)
		}
	case frame.Type.EndsTurn():
		turn := endOf(frame)
		if before, twice := f.ended[turn.ID]; twice {
			return fmt.Errorf("turn %s ended with %s and again with %s", turn.ID, before, frame.Type)
		}
		f.ended[turn.ID], f.waits = frame.Type, false
	}
	return nil
}

// settledBy returns the settled messages of a step, from a frame.
func settledBy(frame client.Frame) event.Settled {
	switch step := frame.Event.(type) {
	case *event.StepGenerated:
		return step.Settled
	case *event.StepError:
		return step.Settled
	}
	return event.Settled{}
}

// endOf is the turn whose end a frame reports.
func endOf(frame client.Frame) parley.Turn {
	switch end := frame.Event.(type) {
	case *event.SessionCompleted:
		return end.Turn
	case *event.SessionFailed:
		return end.Turn
	case *event.SessionCancelled:
		return end.Turn
	}
	return parley.Turn{}
}

func (f *fold) delta(frame client.Frame) error {
	delta, ok := frame.Event.(*event.StepGenerating)
	if !ok {
		return fmt.Errorf("a delta cannot be read: %s", frame.Data)
	}
	if delta.Kind != parley.KindText {
		return nil
	}
	have := f.texts[delta.MessageID]
	switch delta.Offset {
	case 0:
		have = have[:0]
	case len(have):
	default:
		return fmt.Errorf("a delta at %d follows %d bytes of message %s", delta.Offset, len(have), delta.MessageID)
	}
	if have = append(have, delta.Delta...); len(have) != delta.End {
		return fmt.Errorf(
			"a delta of message %s ends at %d, but there are %d bytes",
			delta.MessageID,
			delta.End,
			len(have),
		)
	}
	f.texts[delta.MessageID] = have
	return nil
}

func textOf(content json.RawMessage) (string, error) {
	var in parley.AssistantContent // reads parts and the short form; a user's text is in the same place
	err := json.Unmarshal(content, &in)
	return in.Text, err
}

// watcher folds one session's stream, from whichever process responds; it resumes after its
// last event.
type watcher struct {
	x       *trial
	account *account
	session parley.ID
	random  *rand.Rand
	stays   bool // at one process while the connection holds
	fold    *fold
	seen    atomic.Int64 // the fold's last event
}

// until watches until the fold satisfies done. It returns false if ctx ended first or the
// stream broke a rule.
func (w *watcher) until(ctx context.Context, done func() bool) bool {
	for !done() {
		through := w.random.IntN(len(w.account.clients))
		visit, leave := context.WithCancel(ctx)
		if !w.stays {
			leave()
			visit, leave = context.WithTimeout(ctx, time.Duration(500+w.random.IntN(3500))*time.Millisecond)
		}
		err := w.visit(visit, through, done)
		left := visit.Err() != nil
		leave()
		switch {
		case ctx.Err() != nil:
			return done()
		case err == nil || left:
		case parley.ErrorCode(err) == parley.CodeUnavailable:
			w.x.count("streams broken")
			pause(ctx, 50*time.Millisecond)
		default:
			w.x.problem("watching session %s through %s: %v", w.session, w.x.processes[through].name, err)
			return false
		}
	}
	return true
}

func (w *watcher) visit(ctx context.Context, through int, done func() bool) error {
	for frame, err := range w.account.clients[through].WatchSession(ctx, w.session,
		client.WatchSessionQuery{After: w.fold.last}) {
		if err != nil {
			return err
		}
		if err := w.fold.take(frame); err != nil {
			return err
		}
		w.seen.Store(w.fold.last)
		if done() {
			return nil
		}
	}
	return nil
}
