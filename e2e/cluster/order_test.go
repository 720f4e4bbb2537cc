package cluster

import (
	"encoding/json"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/store/storetest"
)

// order follows a session's turns through its events.
type order struct {
	holds    parley.ID // the turn that began and has not ended
	attempts map[parley.ID]int
	lives    map[parley.ID]int // by turn: lives since it last settled a step
}

func newOrder() *order {
	return &order{attempts: map[parley.ID]int{}, lives: map[parley.ID]int{}}
}

// turnEvent is the part of an event's data that the order needs.
type turnEvent struct {
	TurnID  parley.ID `json:"turn_id"`
	Attempt int       `json:"attempt"`
	Turn    parley.Turn
}

// checkOneAtATime requires that, by the order of events, no turn works while another does, no
// attempt works after a later one began, and none is given up too early.
func (x *trial) checkOneAtATime(s storetest.Snapshot) {
	x.t.Helper()
	o := newOrder()
	for _, event := range s.Events {
		var data turnEvent
		err := json.Unmarshal(event.Data, &data)
		if err == nil {
			err = o.take(event.Type, data)
		}
		if err != nil {
			x.problem("session %s: event %d (%s): %v", s.Session.ID, event.Sequence, event.Type, err)
		}
	}
	calls := map[string]parley.ID{}
	for _, call := range s.Calls {
		at := fmt.Sprint(call.TurnID, call.Step, call.Attempt)
		if other, twice := calls[at]; twice {
			x.problem(
				"session %s: calls %s and %s are both attempt %d at step %d",
				s.Session.ID,
				other,
				call.ID,
				call.Attempt,
				call.Step,
			)
		}
		calls[at] = call.ID
	}
}

// take applies the next event; an error names the rule that it breaks. Later events are
// checked against the new state, so that each break is reported once.
func (o *order) take(event parley.EventType, data turnEvent) error {
	switch {
	case event == parley.EventSessionStarted:
		return o.begin(data)
	case event.EndsTurn():
		return o.end(data)
	case event == parley.EventSessionWaiting: // nobody holds a waiting turn: that life cannot be taken over
		o.lives[data.TurnID]--
	case strings.HasPrefix(string(event), "step.") || strings.HasPrefix(string(event), "tool."):
		if event == parley.EventStepGenerated { // the life that settles it may die right after
			o.lives[data.TurnID] = 1
		}
		if data.TurnID != o.holds {
			return fmt.Errorf("of turn %s while %s ran", data.TurnID, o.holds)
		}
	}
	return nil
}

func (o *order) begin(data turnEvent) error {
	before, last := o.holds, o.attempts[data.TurnID]
	o.lives[data.TurnID]++
	o.holds, o.attempts[data.TurnID] = data.TurnID, data.Attempt
	switch {
	case !before.IsZero() && before != data.TurnID:
		return fmt.Errorf("turn %s began while %s ran", data.TurnID, before)
	case data.Attempt <= last:
		return fmt.Errorf("attempt %d of turn %s follows attempt %d", data.Attempt, data.TurnID, last)
	}
	return nil
}

func (o *order) end(data turnEvent) error {
	before := o.holds
	if before == data.TurnID {
		o.holds = parley.ID{}
	}
	if before != data.TurnID && o.attempts[data.TurnID] > 0 {
		return fmt.Errorf("turn %s ended while %s ran", data.TurnID, before)
	}
	return o.counted(data)
}

// counted requires that a turn was taken over no more often than it lived since it last
// settled a step, and is given up as a crash loop only when that was too often. (If something
// else may have ended its processes, it is given up later.) The record does not say how a life
// ended: a drained one counts as one that may have died.
func (o *order) counted(data turnEvent) error {
	takeovers, lives := data.Turn.Takeovers, o.lives[data.TurnID]
	loops := data.Turn.Error != nil && data.Turn.Error.Class == parley.ClassCrashLoop
	switch {
	case loops && takeovers < parley.CrashLoopLimit:
		return fmt.Errorf(
			"turn %s is %s after %d takeovers (%+v)",
			data.TurnID,
			data.Turn.Status,
			takeovers,
			data.Turn.Error,
		)
	case takeovers > lives:
		return fmt.Errorf(
			"turn %s was taken over %d times and lived %d times since it last settled a step",
			data.TurnID,
			takeovers,
			lives,
		)
	}
	return nil
}
