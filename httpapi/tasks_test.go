package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
)

// TestATaskBringsItsFiles: what belongs to a task reaches the model's request. A task given again under its key is the
// same one, and one with an unknown file is refused.
func TestATaskBringsItsFiles(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.member(`{"name":"Digger","model":"sim/echo","draw_knowledge":false}`)
	photo, notes := s.upload("photo.png", picture(t, 6, 4, false)), s.upload("notes.txt", "The north is rocky.")
	body := fmt.Sprintf(`{"text":"Where shall we dig?","files":[%q,%q]}`, photo.ID, notes.ID)
	const tasks = "/v1/agents/digger/tasks"
	given := want[parley.Message](s, 201, "POST", tasks, body, "Idempotency-Key", "k")
	again := want[parley.Message](s, 201, "POST", tasks, body, "Idempotency-Key", "k")
	if again.ID != given.ID {
		t.Errorf("the repeat gives message %s, not %s", again.ID, given.ID)
	}
	s.awaitEnd(given.SessionID.String())
	call := s.lastCall(given.SessionID.String())
	if call.TurnID != given.TurnID || !call.Exact {
		t.Errorf("the call is of turn %s, exact %t", call.TurnID, call.Exact)
	}
	for _, part := range []string{"Where shall we dig?", "The north is rocky.", `"name":"photo.png"`} {
		if !strings.Contains(string(call.Request), part) {
			t.Errorf("%q is not in the request: %s", part, call.Request)
		}
	}
	want[Problem](s, 404, "POST", tasks, fmt.Sprintf(`{"text":"And there?","files":[%q]}`, parley.NewID()))
	if record := s.recordOf("/v1/sessions/" + given.SessionID.String()); len(record) != 2 {
		t.Errorf("the background session has %d messages, want the task and its answer", len(record))
	}
}

// TestCompactionIsCheckedAfterATask: what a task leaves behind is summed up when its work session ends, whether or not
// another one follows.
func TestCompactionIsCheckedAfterATask(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.member(`{"name":"Digger","model":"sim/echo","draw_knowledge":false,` +
		`"context_policy":{"kind":"summary","limit":4}}`)
	first := s.worked("digger", "Dig in the north.")
	at := "/v1/sessions/" + first.SessionID.String() + "/compaction"
	if c := want[parley.Compaction](s, 200, "GET", at, ""); c.State != parley.CompactionNone {
		t.Errorf("after one task the compaction is %+v", c)
	}
	s.worked("digger", "Dig in the south.") // its answer is the fourth message
	if c := s.compacted(first.SessionID.String()); c.State != parley.CompactionCompleted ||
		c.Reason != parley.CompactMessages {
		t.Errorf("after two tasks the compaction is %+v", c)
	}
}
