package cluster

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley"
	"parley/storetest"
)

// order is what the events of a session say of its turns, one after the other.
type order struct {
	holds    parley.ID // the turn that began and has not ended
	attempts map[parley.ID]int
	lives    int // of holds since it last settled a step
}

// turnEvent is what the order reads of an event's data.
type turnEvent struct {
	TurnID  parley.ID `json:"turn_id"`
	Attempt int       `json:"attempt"`
	Turn    parley.Turn
}

// checkOneAtATime: by the order of events no turn works while another does, no
// attempt works after a later one began, and none is given up before its time.
func (x *trial) checkOneAtATime(s storetest.Snapshot) {
	x.t.Helper()
	o := order{attempts: map[parley.ID]int{}}
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
			x.problem("session %s: calls %s and %s are both attempt %d at step %d", s.Session.ID, other, call.ID, call.Attempt, call.Step)
		}
		calls[at] = call.ID
	}
}

// take is the next event; an error is what it breaks.
func (o *order) take(event parley.EventType, data turnEvent) error {
	switch {
	case event == parley.EventSessionStarted:
		return o.begin(data)
	case event.EndsTurn():
		return o.end(data)
	case strings.HasPrefix(string(event), "step.") || strings.HasPrefix(string(event), "tool."):
		if event == parley.EventStepGenerated {
			o.lives = 0
		}
		if data.TurnID != o.holds {
			return fmt.Errorf("of turn %s while %s ran", data.TurnID, o.holds)
		}
	}
	return nil
}

func (o *order) begin(data turnEvent) error {
	before, last := o.holds, o.attempts[data.TurnID]
	if before != data.TurnID {
		o.lives = 0
	}
	o.lives++
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
	if failed := data.Turn.Error; failed != nil && failed.Class == parley.ClassCrashLoop && o.lives < parley.CrashLoopLimit {
		return fmt.Errorf("turn %s is given up as a crash loop after %d lives", data.TurnID, o.lives)
	}
	switch {
	case o.holds == data.TurnID:
		o.holds = parley.ID{}
	case o.attempts[data.TurnID] > 0:
		return fmt.Errorf("turn %s ended while %s ran", data.TurnID, o.holds)
	}
	return nil
}
