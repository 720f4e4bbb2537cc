package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"example.org/parley"
)

// lastEvent is the place before a session's running turn ends, as text.
func (s *testServer) lastEvent(session string, headers ...string) string {
	s.Helper()
	now := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "", headers...)
	if now.TurnID.IsZero() { // it has ended already: replay its end
		return strconv.FormatInt(now.LastEvent-2, 10)
	}
	return strconv.FormatInt(now.LastEvent, 10)
}

// loopEnded watches a loop to its end and tells the iterations in their order.
func (s *testServer) loopEnded(session, loop string) (ended parley.Loop, told []string) {
	s.Helper()
	watch := s.stream("GET", "/v1/sessions/"+session+"/events", "")
	defer func() { _ = watch.body.Close() }()
	for {
		next := watch.until("loop.progress")
		var data struct {
			LoopID    string `json:"loop_id"`
			Iteration int
			State     parley.LoopState
		}
		if err := json.Unmarshal(next[len(next)-1].data.Data, &data); err != nil {
			s.Fatal(err)
		}
		if data.LoopID != loop {
			continue
		}
		told = append(told, fmt.Sprint(data.Iteration, " ", data.State))
		if data.State != parley.LoopRunning {
			return want[parley.Loop](s, 200, "GET", "/v1/loops/"+loop, ""), told
		}
	}
}

func TestLoopThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/echo"}`).ID.String()
	loops := "/v1/sessions/" + session + "/loops"
	const body = `{"prompt":"Count the open doors.","max":3,"until":{"text_matches":"nothing of the kind"}}`
	loop := want[parley.Loop](s, 201, "POST", loops, body, "Idempotency-Key", "k")
	if repeat := want[parley.Loop](s, 201, "POST", loops, body, "Idempotency-Key", "k"); repeat.ID != loop.ID {
		t.Errorf("the repeat gives loop %s", repeat.ID)
	}
	ended, told := s.loopEnded(session, loop.ID.String())
	if ended.State != parley.LoopExhausted || ended.Reason != "max" ||
		strings.Join(told, ", ") != "1 running, 2 running, 3 running, 3 exhausted" {
		t.Errorf("the loop is %s (%s) and told %v", ended.State, ended.Reason, told)
	}
	turns := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns?order=asc", "").Data
	for i, turn := range turns {
		if turn.LoopID != loop.ID || turn.Iteration != i+1 || turn.Status != parley.TurnCompleted {
			t.Errorf("turn %d is %+v", i+1, turn)
		}
	}
	if rows := want[page[parley.Message]](
		s,
		200,
		"GET",
		"/v1/sessions/"+session+"/messages?iteration=2",
		"",
	).Data; len(rows) != 2 ||
		rows[0].Author.Kind != parley.AuthorPerson {
		t.Errorf("the second iteration has %+v", rows)
	}
	if call := s.lastCall(session); !call.Exact || len(call.Manifest.Ranges) != 1 || call.Manifest.Policy != "single" {
		t.Errorf("the last iteration was shown %+v, exact %t", call.Manifest, call.Exact)
	}
	if now := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, ""); now.Title != "Count the open doors." {
		t.Errorf("the title is %q", now.Title)
	}
	if got := s.do(
		"POST",
		"/v1/loops/"+loop.ID.String()+"/stop",
		"",
	); got.status != 409 ||
		*got.problem(t).State != string(parley.LoopExhausted) {
		t.Errorf("stopping an exhausted loop: status %d %s", got.status, got.body)
	}
	met := want[parley.Loop](
		s,
		201,
		"POST",
		loops,
		`{"prompt":"Say done.","until":{"text_matches":"(?i)DONE"},"archive_when_done":true}`,
	)
	if ended, _ := s.loopEnded(
		session,
		met.ID.String(),
	); ended.State != parley.LoopCompleted || ended.Iteration != 1 ||
		ended.Max != parley.DefaultLoopIterations {
		t.Errorf("the loop is %+v", ended)
	}
	if got := s.do("POST", loops, body); got.status != 409 || got.problem(t).Code != parley.CodeArchived {
		t.Errorf("a loop in the archived session: status %d %s", got.status, got.body)
	}
	if list := want[page[parley.Loop]](
		s,
		200,
		"GET",
		loops+"?limit=1",
		"",
	); len(list.Data) != 1 || list.Data[0].ID != met.ID ||
		list.Next == nil {
		t.Errorf("the newest loop is %+v", list)
	}
}

// A loop that runs can be stopped after its iteration, or with it.
func TestStoppingALoop(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, c := range []struct {
		stop   string
		turn   parley.TurnStatus
		reason string
	}{{`{"now":true}`, parley.TurnCancelled, parley.LoopReasonStopped},
		{`{}`, parley.TurnRunning, parley.LoopReasonStopped}, {"", parley.TurnCancelled, parley.LoopReasonCancelled}} {
		session := s.session(`{"model":"sim/lorem-100000-20"}`).ID.String()
		loop := want[parley.Loop](s, 201, "POST", "/v1/sessions/"+session+"/loops", `{"prompt":"Go"}`)
		s.stream("GET", "/v1/sessions/"+session+"/events?flush_ms=0", "").until("step.generating")
		if got := s.do(
			"POST",
			"/v1/sessions/"+session+"/loops",
			`{"prompt":"Go"}`,
		); got.status != 409 ||
			*got.problem(t).State != string(parley.LoopRunning) {
			t.Errorf("a second loop: status %d %s", got.status, got.body)
		}
		if c.stop == "" {
			s.do("POST", "/v1/sessions/"+session+"/cancel", "")
		} else {
			want[parley.Loop](s, 200, "POST", "/v1/loops/"+loop.ID.String()+"/stop", c.stop)
			want[parley.Loop](s, 200, "POST", "/v1/loops/"+loop.ID.String()+"/stop", c.stop) // again
		}
		now := want[parley.Loop](s, 200, "GET", "/v1/loops/"+loop.ID.String(), "")
		if turn := want[parley.Turn](
			s,
			200,
			"GET",
			"/v1/turns/"+loop.TurnID.String(),
			"",
		); now.State != parley.LoopStopped || now.Reason != c.reason ||
			turn.Status != c.turn {
			t.Errorf("stopped with %s the loop is %s (%s) and its turn %s", c.stop, now.State, now.Reason, turn.Status)
		}
		s.do("POST", "/v1/sessions/"+session+"/cancel", "")
	}
}

func TestLoopsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	loops := "/v1/sessions/" + s.session(`{}`).ID.String() + "/loops"
	for body, field := range map[string]string{
		`{}`: "prompt", `{"prompt":" "}`: "prompt", `{"prompt":"x","max":0}`: "max", `{"prompt":"x","max":1001}`: "max",
		`{"prompt":"x","until":{}}`: "until", `{"prompt":"x","until":{"tool_called":"a","text_matches":"b"}}`: "until",
		`{"prompt":"x","until":{"tool_called":"a b"}}`:                       "until.tool_called",
		`{"prompt":"x","until":{"text_matches":"("}}`:                        "until.text_matches",
		`{"prompt":"x","until":{"schema":{"$ref":"https://example.com/x"}}}`: "until.schema",
		`{"prompt":"x","until":{"schema":7}}`:                                "until.schema",
		`{"prompt":"x","until":{"schema":{"type":"nonsense"}}}`:              "is not a type",
		`{"prompt":"x","context":"stale"}`:                                   `context: is \"fresh\"`,
		`{"prompt":"x","context":{"recent":0}}`:                              `context: is \"fresh\"`,
		`{"prompt":"x","stop":1}`:                                            "stop",
	} {
		got := s.do("POST", loops, body)
		if got.status != 422 || !strings.Contains(string(got.body), field) {
			t.Errorf("%s: status %d %s; want one about %s", body, got.status, got.body, field)
		}
	}
}
