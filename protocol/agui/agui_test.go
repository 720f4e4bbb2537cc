package agui

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/protocol"
)

const hello = `{"id":"m","role":"user","content":"Hello"}`

func fieldOf(err error) string {
	var known *parley.Error
	if errors.As(err, &known) {
		return known.Field
	}
	return ""
}

// TestRequestsAreBounded: what no client sends is refused with the field's name before anything is stored.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(n int, one string) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	for _, c := range []struct{ name, body, field string }{
		{"no run", `{"threadId":"t"}`, "runId"},
		{"an endless run", `{"runId":"` + strings.Repeat("r", parley.MaxNameBytes+1) + `"}`, "runId"},
		{"too many messages", `{"runId":"r","messages":` + many(maxMessages+1, `{}`) + `}`, "messages"},
		{
			"too many calls", `{"runId":"r","messages":[{"toolCalls":` + many(maxCalls+1, `{}`) + `}]}`,
			"messages.toolCalls",
		},
		{"too many tools", `{"runId":"r","tools":` + many(maxTools+1, `{}`) + `}`, "tools"},
		{"too much context", `{"runId":"r","context":` + many(maxContext+1, `{}`) + `}`, "context"},
		{"too many answers", `{"runId":"r","resume":` + many(maxResume+1, `{"status":"resolved"}`) + `}`, "resume"},
		{"an unknown status", `{"runId":"r","resume":[{"interruptId":"i","status":"denied"}]}`, "resume[0].status"},
		{"no list", `{"runId":"r","messages":{}}`, "messages"},
		{"a wrong item", `{"runId":"r","messages":[` + hello + `,7]}`, "messages[1]"},
		{"a wrong type", `{"runId":7}`, "runId"},
		{"a wrong model", `{"runId":"r","forwardedProps":{"parley":{"model":7}}}`, "forwardedProps.parley"},
		{"a name twice", `{"runId":"r","threadId":"a","threadId":"b"}`, ""},
		{"no object", `[]`, ""},
	} {
		if _, err := decode([]byte(c.body)); parley.ErrorCode(err) != parley.CodeInvalid || fieldOf(err) != c.field {
			t.Errorf("%s: %v; want an error about %q", c.name, err, c.field)
		}
	}
	if _, err := partsOf(json.RawMessage(many(maxParts+1, `{"type":"text"}`))); fieldOf(err) != "messages.content" {
		t.Errorf("too many parts: %v", err)
	}
	if parts, err := partsOf(nil); err != nil || len(parts) > 0 { // a result that is an error has none
		t.Errorf("no content has the parts %v, %v", parts, err)
	}
}

// TestWhatIsNew: of a thread's messages those behind the last answer count, and of the user's the last one.
func TestWhatIsNew(t *testing.T) {
	t.Parallel()
	r, err := decode([]byte(`{"threadId":"t","runId":"r","unknown":1,"forwardedProps":"the application's","messages":[
		{"id":"s","role":"system","content":"Be brief."},{"id":"1","role":"user","content":"one"},
		{"id":"2","role":"assistant","toolCalls":[{"id":"c1"},{"id":"c2"}]},
		{"id":"3","role":"tool","toolCallId":"c1","content":"-3"},
		{"id":"4","role":"tool","toolCallId":"c2","error":"no"},
		{"id":"5","role":"user","content":"two"},{"id":"6","role":"user","content":"three"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.results) != 2 || r.results[1].Error != "no" || r.said == nil || r.said.ID != "6" || len(r.told) != 1 {
		t.Errorf("new are the results %v, the message %v and %q", r.results, r.said, r.told)
	}
	if !r.has["2"] || !r.called["c1"] || !r.called[resultOf("c2")] || r.called[resultOf("c3")] {
		t.Errorf("the client has %v and the calls %v", r.has, r.called)
	}
	own := "You are {{agent.name}}."
	if got := *r.settings(&parley.Agent{Settings: parley.Settings{SystemPrompt: &own}}).SystemPrompt; got !=
		own+"\n\nBe brief." {
		t.Errorf("the system prompt is %q", got)
	}
	answered := `{"runId":"r","messages":[` + hello + `,{"id":"a","role":"assistant","content":"Hi"}]}`
	if r, err = decode([]byte(answered)); err != nil || r.said != nil {
		t.Errorf("%v: an answered message is new: %v", err, r.said)
	}
}

// TestAnswersToInterrupts: a payload that does not fit is refused before anything is decided; an unknown interrupt is
// left out with a warning, and one that is cancelled needs no payload.
func TestAnswersToInterrupts(t *testing.T) {
	t.Parallel()
	id := parley.NewID()
	open := []interrupt{
		{
			ID:     kindApproval + ":" + id.String(),
			target: id,
		},
		{ID: kindQuestion + ":" + id.String(), CallID: "c", target: id},
		limitReached(id, ""),
	}
	for _, c := range []struct {
		to            int
		status, given string
		right         bool
	}{
		{0, statusResolved, `{"approved":false,"comment":"No."}`, true},
		{0, statusResolved, `true`, true},
		{0, statusCancelled, ``, true},
		{0, statusResolved, ``, false},
		{0, statusResolved, `{}`, false},
		{0, statusResolved, `null`, false},
		{0, statusResolved, `{"approved":"yes"}`, false},
		{0, statusResolved, `{"approved":true,"editedArgs":{"a":1}}`, false},
		{1, statusResolved, `{"answer":"red"}`, true},
		{1, statusResolved, `"red"`, true},
		{1, statusCancelled, ``, true},
		{1, statusResolved, `{"answer":7}`, false},
		{1, statusResolved, `{}`, false},
		{2, statusResolved, ``, true},
	} {
		r := &request{Resume: []resumeEntry{
			{ID: "approval:unknown", Status: statusResolved},
			{ID: open[c.to].ID, Status: c.status, Payload: json.RawMessage(c.given)},
		}}
		do, err := r.decisions(open)
		if c.right && (err != nil || len(do) != 1) || !c.right && fieldOf(err) != "resume[1].payload" {
			t.Errorf("%s %s to %s: %d answers, %v", c.status, c.given, open[c.to].ID, len(do), err)
		}
		if len(r.warnings) != 1 {
			t.Errorf("an unknown interrupt left the warnings %q", r.warnings)
		}
	}
}

// TestErrorsAreEvents: an error before a run has the form of the event that ends a failed one.
func TestErrorsAreEvents(t *testing.T) {
	t.Parallel()
	status, body := fail(protocol.Problem{Status: 422, Code: parley.CodeInvalid, Detail: `Not "that".`, Field: "runId"})
	const want = `{"type":"RUN_ERROR","message":"Not \"that\".","code":"invalid","metadata":{"field":"runId"}}`
	if status != 422 || string(body) != want {
		t.Errorf("%d %s, want %s", status, body, want)
	}
}

// FuzzRequest: any body is a request or an error, and so is the content of its last message.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"threadId":"t","runId":"r","messages":[` + hello + `],"state":{"a":1},"context":[{"value":"v"}]}`))
	f.Add([]byte(`{"runId":"r","tools":[{"name":"x","parameters":null}],"forwardedProps":{"parley":{"again":true}},` +
		`"resume":[{"interruptId":"approval:1","status":"resolved","payload":{"approved":true}}]}`))
	f.Add([]byte(`{"runId":"r","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url"}}]},` +
		`{"role":"assistant","toolCalls":[{"id":"c"}]},{"role":"tool","toolCallId":"c","content":"1"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode(body)
		if err != nil {
			return
		}
		r.settings(&parley.Agent{})
		if _, err := r.decisions([]interrupt{{ID: "approval:1"}, {ID: "question:1"}, {ID: "limit:1"}}); err != nil &&
			parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("the answers: %v", err)
		}
		if r.said == nil {
			return
		}
		parts, err := partsOf(r.said.Content)
		for i := range parts {
			if parts[i].Source != nil {
				linkTo(parts[i].Source.Value)
			}
		}
		if err == nil && len(parts) > maxParts {
			t.Errorf("%d parts", len(parts))
		}
	})
}

// Not parallel: it counts what it allocates.
func TestItemsAreCountedAsTheyAreRead(t *testing.T) {
	const items, most = 2_000_000, 64 << 20
	body := []byte(`{"runId":"r","messages":[{}` + strings.Repeat(",{}", items) + "]}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := decode(body)
	runtime.ReadMemStats(&after)
	if fieldOf(err) != "messages" {
		t.Errorf("%d messages: %v", items, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("%d messages take %d bytes before they are refused, want at most %d", items, took, most)
	}
}
