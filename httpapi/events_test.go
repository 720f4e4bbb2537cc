package httpapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// The durable events of a session's life, in order and without a gap; every
// turn that begins does so once, and every turn ends once.
func TestEventsOfASession(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/tool","tools":["current_time"],"retry_policy":{"max_wait_ms":1}}`).ID.String()
	messages := "/v1/sessions/" + session + "/messages"
	s.told(session, `{"content":{"text":"What time is it?"}}`)
	s.told(session, `{"content":{"text":"Again"},"model":"sim/fail-network-1"}`)
	s.told(session, `{"content":{"text":"Never"},"model":"sim/fail-auth-9"}`)
	running := s.stream("POST", messages+"?flush_ms=0", `{"content":{"text":"Long"},"model":"sim/lorem-2000-20"}`)
	running.until("step.generating")
	queued := want[parley.Message](s, 201, "POST", messages, `{"content":{"text":"Later"}}`)
	want[struct{}](s, 204, "DELETE", "/v1/messages/"+queued.ID.String(), "")
	want[engine.CancelResult](s, 200, "POST", "/v1/sessions/"+session+"/cancel", "")
	running.rest()
	want[parley.Message](s, 200, "PUT", "/v1/messages/"+queued.ID.String()+"/marks", `{"pinned":true}`)

	var got []parley.EventType
	starts, ends := map[parley.ID]int{}, map[parley.ID]int{}
	for _, f := range s.stream("GET", "/v1/sessions/"+session+"/events", "").until("message.marked") {
		if f.data.SessionID.String() != session {
			t.Errorf("%s names session %s", f.event, f.data.SessionID)
		}
		got = append(got, parley.EventType(f.event))
		if f.id != strconv.Itoa(len(got)) {
			t.Errorf("event %d, %s, has id %q", len(got), f.event, f.id)
		}
		var data struct {
			TurnID parley.ID `json:"turn_id"`
		}
		if err := json.Unmarshal(f.data.Data, &data); err != nil {
			t.Fatal(err)
		}
		switch kind := parley.EventType(f.event); {
		case kind == parley.EventSessionStarted:
			starts[data.TurnID]++
		case kind.EndsTurn():
			ends[data.TurnID]++
		}
	}
	wanted := []parley.EventType{
		// a turn with a tool
		"message.created",
		"session.started",
		"step.started",
		"message.created",
		"message.created",
		"step.generated",
		"tool.started",
		"message.created",
		"tool.completed",
		"step.started",
		"message.created",
		"step.generated",
		"session.completed",
		// one that is tried again
		"message.created",
		"session.started",
		"step.started",
		"message.created",
		"step.retrying",
		"step.started",
		"step.generated",
		"session.completed",
		// one that fails
		"message.created",
		"session.started",
		"step.started",
		"message.created",
		"step.error",
		"session.failed",
		// one that is cancelled, a message behind it queued and removed: its turn
		// ends without having begun
		"message.created",
		"session.started",
		"step.started",
		"message.created",
		"message.queued",
		"message.removed",
		"session.cancelled",
		"step.error",
		"session.cancelled",
		"message.marked",
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("events\n%v, want\n%v", got, wanted)
	}
	for _, turn := range want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data {
		begun := 1
		if turn.ID == queued.TurnID {
			begun = 0
		}
		if starts[turn.ID] != begun || ends[turn.ID] != 1 {
			t.Errorf("turn %s started %d times and ended %d times", turn.ID, starts[turn.ID], ends[turn.ID])
		}
	}
}
