package httpapi

import (
	"fmt"
	"testing"

	"example.org/parley"
)

// A tool that the server does not have is answered by whoever posts its result:
// the turn waits for it, and goes on once, with the first.
func TestToolResultFromOutside(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"model":"sim/script","tools":[{"name":"ask","description":"Asks a person.","parameters":{"type":"object"}}]}`,
	).ID.String()
	messages := "/v1/sessions/" + session + "/messages"
	posted := s.do(
		"POST",
		messages,
		fmt.Sprintf(
			`{"content":{"text":%q}}`,
			`[[{"tool_call":{"name":"ask","arguments":{"q":"Sure?"}}}],[{"text":"Thanks."}]]`,
		),
	)
	s.stream("GET", "/v1/sessions/"+session+"/events?after="+posted.header.Get(eventSequenceHeader), "").
		until("session.waiting")
	if waits := want[parley.Session](
		s,
		200,
		"GET",
		"/v1/sessions/"+session,
		"",
	); waits.Status != parley.SessionWaiting ||
		waits.WaitReason != parley.WaitToolResult {
		t.Errorf("status %s, reason %s", waits.Status, waits.WaitReason)
	}
	call := want[page[parley.Message]](s, 200, "GET", messages+"?role=tool_call", "").Data[0]
	result := fmt.Sprintf(
		`{"role":"tool_result","tool_call_id":%q,"content":{"result":"Yes.","success":true}}`,
		call.ToolCallID,
	)
	if got := s.do(
		"POST",
		messages,
		`{"role":"tool_result","tool_call_id":"none","content":{"result":"Yes.","success":true}}`,
	); got.status != 409 {
		t.Errorf("a result of no call: status %d %s", got.status, got.body)
	}
	all := s.stream("POST", messages+"?flush_ms=0", result).rest()
	if first, last := all[0].event, all[len(all)-1].event; first != "message.created" || last != "session.completed" {
		t.Errorf("the result's stream goes from %s to %s", first, last)
	}
	if got := s.do("POST", messages, result); got.status != 409 {
		t.Errorf("a second result: status %d %s", got.status, got.body)
	}
	record := want[page[parley.Message]](s, 200, "GET", messages, "").Data
	if len(record) != 5 || record[3].Role != parley.RoleToolResult || record[3].ToolName != "ask" ||
		record[3].TurnID != call.TurnID {
		t.Errorf("the record %+v", record)
	}
}
