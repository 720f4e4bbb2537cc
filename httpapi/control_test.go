package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// busy is a session with a turn in a state that lasts until somebody acts.
type busy struct {
	session, turn, messages string
	call                    string // what a waiting turn waits for
}

// stream begins a turn that is at its model call until it is stopped.
func (s *testServer) streaming(session string) busy {
	s.Helper()
	id := s.session(session).ID.String()
	messages := "/v1/sessions/" + id + "/messages"
	posted := want[parley.Message](s, 201, "POST", messages, `{"content":{"text":"Go"},"model":"sim/lorem-100000-20"}`)
	s.stream("GET", "/v1/sessions/"+id+"/events?flush_ms=0", "").until("step.generating")
	return busy{session: id, turn: posted.TurnID.String(), messages: messages}
}

// waiting begins a turn that waits for a client's tool.
func (s *testServer) waiting(session string) busy {
	s.Helper()
	id := s.session(session).ID.String()
	want[parley.Session](
		s,
		200,
		"PATCH",
		"/v1/sessions/"+id,
		`{"model":"sim/script","tools":[{"name":"ask","parameters":{"type":"object"}}]}`,
	)
	messages := "/v1/sessions/" + id + "/messages"
	posted := want[parley.Message](
		s,
		201,
		"POST",
		messages,
		fmt.Sprintf(`{"content":{"text":%q}}`, `[[{"tool_call":{"name":"ask","arguments":{}}}],[{"text":"Thanks."}]]`),
	)
	s.stream("GET", "/v1/sessions/"+id+"/events", "").until("session.waiting")
	call := want[page[parley.Message]](s, 200, "GET", messages+"?role=tool_call", "").Data[0]
	return busy{session: id, turn: posted.TurnID.String(), messages: messages, call: call.ToolCallID}
}

func (b busy) turnOf(s *testServer) parley.Turn {
	s.Helper()
	return want[parley.Turn](s, 200, "GET", "/v1/turns/"+b.turn, "")
}

// A message that arrives while a turn streams, or waits, does what during says:
// on the session, and on the post, which wins.
func TestDuringATurn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for name, begin := range map[string]func(string) busy{"streaming": s.streaming, "waiting": s.waiting} {
		for _, place := range []struct{ session, post string }{{`{}`, `,"during":%q`}, {`{"during":%q}`, ``},
			{`{"during":"reject"}`, `,"during":%q`}} {
			for _, policy := range []parley.During{parley.DuringQueue, parley.DuringSteer, parley.DuringInterrupt,
				parley.DuringReject} {
				settings, body := place.session, `{"content":{"text":"Say hello."},"model":"sim/echo"`+place.post+`}`
				if place.post == "" {
					settings = fmt.Sprintf(settings, policy)
				} else {
					body = fmt.Sprintf(body, policy)
				}
				b := begin(settings)
				before := b.turnOf(s)
				answer := s.do("POST", b.messages, body)
				about := fmt.Sprintf("%s, %s with %s", name, settings, body)
				if policy == parley.DuringReject {
					if answer.status != 409 || answer.problem(t).Code != parley.CodeBusy {
						t.Errorf("%s: status %d %s", about, answer.status, answer.body)
					}
					continue
				}
				if answer.status != 201 {
					t.Fatalf("%s: status %d %s", about, answer.status, answer.body)
				}
				queued := want[page[parley.Message]](s, 200, "GET", b.messages+"?status=queued", "").Data
				switch policy {
				case parley.DuringQueue:
					if now := b.turnOf(
						s,
					); now.Status != before.Status || len(queued) != 1 || queued[0].Steer ||
						queued[0].TurnID == now.ID {
						t.Errorf("%s: the turn is %s, queued %+v", about, now.Status, queued)
					}
				case parley.DuringSteer:
					if now := b.turnOf(
						s,
					); now.Status != before.Status || len(queued) != 1 || !queued[0].Steer ||
						queued[0].TurnID != now.ID {
						t.Errorf("%s: the turn is %s, queued %+v", about, now.Status, queued)
					}
				case parley.DuringInterrupt:
					s.stream("GET", "/v1/sessions/"+b.session+"/events", "").until("session.completed")
					if now := b.turnOf(s); now.Status != parley.TurnCancelled {
						t.Errorf("%s: the interrupted turn is %s", about, now.Status)
					}
				}
			}
		}
	}
}

// A steer of a turn that waits is shown when it goes on.
func TestSteerOfAWaitingTurn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := s.waiting(`{}`)
	steer := want[parley.Message](s, 201, "POST", b.messages, `{"content":{"text":"Be brief."},"during":"steer"}`)
	all := s.stream("POST", b.messages,
		fmt.Sprintf(`{"role":"tool_result","tool_call_id":%q,"content":{"result":1,"success":true}}`, b.call)).
		rest()
	if all[len(all)-1].event != "session.completed" {
		t.Fatalf("the turn ends with %s", all[len(all)-1].event)
	}
	record := want[page[parley.Message]](s, 200, "GET", b.messages, "").Data
	at := slices.IndexFunc(record, func(m parley.Message) bool { return m.ID == steer.ID })
	if at != 4 || record[at].TurnID.String() != b.turn || record[at-1].Role != parley.RoleToolResult ||
		record[at+1].Role != parley.RoleAssistant {
		t.Errorf("the steer is row %d of %+v", at, record)
	}
}

// Queued messages are read, edited, moved, removed and sent now.
func TestTheQueueIsInHand(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := s.streaming(`{}`)
	var ids []string
	for _, text := range []string{"a", "b", "c", "d"} {
		ids = append(
			ids,
			want[parley.Message](
				s,
				201,
				"POST",
				b.messages,
				fmt.Sprintf(`{"content":{"text":%q},"model":"sim/echo"}`, text),
			).ID.String(),
		)
	}
	want[parley.Message](s, 200, "PATCH", "/v1/messages/"+ids[0], `{"content":{"text":"A"}}`)
	want[parley.Message](s, 200, "POST", "/v1/messages/"+ids[3]+"/move", `{"before":"`+ids[0]+`"}`)
	want[struct{}](s, 204, "DELETE", "/v1/messages/"+ids[1], "")
	queued := want[page[parley.Message]](s, 200, "GET", b.messages+"?status=queued", "").Data
	if len(queued) != 3 || queued[0].ID.String() != ids[3] || queued[1].ID.String() != ids[0] ||
		short(queued[1]) != `{"text":"A"}` ||
		queued[2].ID.String() != ids[2] {
		t.Fatalf("the queue is %+v", queued)
	}
	if got := s.do(
		"POST",
		"/v1/messages/"+ids[1]+"/send",
		`{}`,
	); got.status != 409 ||
		*got.problem(t).State != string(parley.MessageCancelled) {
		t.Errorf("sending what was removed: status %d %s", got.status, got.body)
	}
	if got := s.do("POST", "/v1/messages/"+ids[0]+"/send", `{"how":"queue"}`); got.status != 422 {
		t.Errorf("sending in an unknown way: status %d", got.status)
	}
	sent := want[parley.Message](s, 200, "POST", "/v1/messages/"+ids[0]+"/send", ``)
	if !sent.Steer || sent.TurnID.String() != b.turn {
		t.Errorf("sent as a steer it is %+v", sent)
	}
	sent = want[parley.Message](s, 200, "POST", "/v1/messages/"+ids[2]+"/send", `{"how":"interrupt"}`)
	watch := s.stream("GET", "/v1/sessions/"+b.session+"/events", "")
	for range 3 { // c, d, and the steer, which is a turn of its own now
		watch.until("session.completed")
	}
	if now := b.turnOf(s); now.Status != parley.TurnCancelled {
		t.Errorf("the interrupted turn is %s", now.Status)
	}
	record := want[page[parley.Message]](s, 200, "GET", b.messages+"?role=user&status=completed", "").Data
	if len(record) != 4 || record[1].ID != sent.ID || record[2].ID.String() != ids[3] ||
		record[3].ID.String() != ids[0] {
		t.Errorf("the messages ran as %+v", record)
	}
	if got := s.do(
		"POST",
		"/v1/messages/"+ids[0]+"/send",
		`{}`,
	); got.status != 409 ||
		*got.problem(t).State != string(parley.MessageCompleted) {
		t.Errorf("sending what has run: status %d %s", got.status, got.body)
	}
}

// awaitEnd waits until a session has no unfinished turn.
func (s *testServer) awaitEnd(session string, headers ...string) parley.Session {
	s.Helper()
	watch := s.stream("GET", "/v1/sessions/"+session+"/events", "", headers...)
	defer func() { _ = watch.body.Close() }()
	for {
		if now := want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "", headers...); now.TurnID.IsZero() &&
			now.Status != parley.SessionPending {
			return now
		}
		if _, err := watch.next(); err != nil {
			s.Fatal(err)
		}
	}
}

// starved is a turn that failed at its steps.
func (s *testServer) starved() string {
	s.Helper()
	session := s.session(`{"model":"sim/script","tools":["current_time"]}`).ID.String()
	step := `[{"tool_call":{"name":"current_time","arguments":{}}}],`
	script := "[" + strings.Repeat(step, parley.DefaultMaxSteps) + `[{"text":"Found."}]]`
	s.told(session, fmt.Sprintf(`{"content":{"text":%q}}`, script))
	turn := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data[0]
	if turn.Error == nil || turn.Error.Class != parley.ClassLimit {
		s.Fatalf("the turn ended as %+v", turn)
	}
	return turn.ID.String()
}

// A failed turn is tried again: with a stream, by a key, on other settings.
func TestRetryThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/fail-auth-9"}`).ID.String()
	s.told(session, `{"content":{"text":"Hello"}}`)
	first := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data[0]
	retry := "/v1/turns/" + first.ID.String() + "/retry"
	if got := s.do(
		"POST",
		"/v1/turns/"+first.ID.String()+"/continue",
		"",
	); got.status != 409 ||
		*got.problem(t).State != string(parley.TurnFailed) {
		t.Errorf("going on with what did not stop at a limit: status %d %s", got.status, got.body)
	}
	want[parley.Session](s, 200, "PATCH", "/v1/sessions/"+session, `{"model":"sim/echo"}`)
	all := s.stream("POST", retry+"?flush_ms=0", "", "Idempotency-Key", "k").rest()
	if begin, end := all[0].event, all[len(all)-1].event; begin != "session.started" || end != "session.completed" {
		t.Errorf("the retry's stream goes from %s to %s", begin, end)
	}
	again := s.stream("POST", retry+"?flush_ms=0", "", "Idempotency-Key", "k").rest()
	if again[0].id != all[0].id || again[len(again)-1].id != all[len(all)-1].id {
		t.Errorf(
			"the repeat shows %s to %s, the first %s to %s",
			again[0].id,
			again[len(again)-1].id,
			all[0].id,
			all[len(all)-1].id,
		)
	}
	turns := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data
	if len(turns) != 2 || turns[0].ContinuesID != first.ID || turns[0].TriggerMessageID != first.TriggerMessageID ||
		turns[0].Status != parley.TurnCompleted {
		t.Errorf("the turns %+v", turns)
	}
	for about, path := range map[string]string{"the retried": retry,
		"the completed": "/v1/turns/" + turns[0].ID.String() + "/retry"} {
		if got := s.do("POST", path, ""); got.status != 409 || got.problem(t).State == nil {
			t.Errorf("retrying %s: status %d %s", about, got.status, got.body)
		}
	}
	if call := s.lastCall(session); !call.Exact {
		t.Errorf("the retry's request cannot be rebuilt: %s", call.Reason)
	}
}

// What a cancel stopped is tried again without what it had begun to say.
func TestRetryOfWhatWasCancelled(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := s.streaming(`{}`)
	retry := "/v1/turns/" + b.turn + "/retry"
	if got := s.do("POST", retry, ""); got.status != 409 || *got.problem(t).State != string(parley.TurnRunning) {
		t.Errorf("retrying a running turn: status %d %s", got.status, got.body)
	}
	want[engine.CancelResult](s, 200, "POST", "/v1/sessions/"+b.session+"/cancel", "")
	turn := want[parley.Turn](s, 201, "POST", retry, "")
	s.stream("GET", "/v1/sessions/"+b.session+"/events?flush_ms=0", "").until("step.generating")
	want[engine.CancelResult](s, 200, "POST", "/v1/sessions/"+b.session+"/cancel", "")
	if call := s.lastCall(
		b.session,
	); call.TurnID != turn.ID || len(call.Manifest.Ranges) != 1 || call.Manifest.Ranges[0].To != 1 ||
		!call.Exact {
		t.Errorf("the retry was shown %+v", call.Manifest)
	}
}

func TestContinueThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	starved := s.starved()
	turn := want[parley.Turn](s, 201, "POST", "/v1/turns/"+starved+"/continue", "", "Idempotency-Key", "k")
	if now := s.awaitEnd(turn.SessionID.String()); now.Status != parley.SessionCompleted {
		t.Errorf("the session is %s", now.Status)
	}
	if repeat := want[parley.Turn](
		s,
		201,
		"POST",
		"/v1/turns/"+starved+"/continue",
		"",
		"Idempotency-Key",
		"k",
	); repeat.ID != turn.ID {
		t.Errorf("the repeat gives turn %s", repeat.ID)
	}
	if got := s.do("POST", "/v1/turns/"+starved+"/continue", `{"steps":3}`); got.status != 422 {
		t.Errorf("a body where none belongs: status %d %s", got.status, got.body)
	}
}
