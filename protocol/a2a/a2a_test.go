package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/protocol"
)

// exchangeOf is a request with headers, given as name and value.
func exchangeOf(body string, headers ...string) *protocol.Exchange {
	r := httptest.NewRequest(http.MethodPost, Prefix, nil)
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set(VersionHeader, version)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return &protocol.Exchange{R: r, Body: []byte(body)}
}

// TestRequestsAreChecked: what the protocol forbids is refused with its own code, and says why.
func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	with := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":` + params + `}`
	}
	for _, c := range []struct {
		name, body string
		headers    []string
		code       int // 0: it is read
		says       string
	}{
		{"a request", with(`{"tenant":"parley"}`), nil, 0, ""},
		{"a patch of the version", with(`{}`), []string{VersionHeader, "1.0.1"}, 0, ""},
		{"another type of JSON", with(`{}`), []string{"Content-Type", "application/a2a+json"}, 0, ""},
		{"no params", `{"jsonrpc":"2.0","id":"a","method":"ListTasks"}`, nil, 0, ""},
		{"no version", with(`{}`), []string{VersionHeader, ""}, codeVersion, "0.3"},
		{"an old version", with(`{}`), []string{VersionHeader, "0.3"}, codeVersion, "1.0"},
		{"a later version", with(`{}`), []string{VersionHeader, "1.01"}, codeVersion, "1.0"},
		{"another type", with(`{}`), []string{"Content-Type", "text/plain"}, codeInvalidRequest, "application/json"},
		{"no JSON", `{`, nil, codeParse, "not JSON"},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}`, nil, codeParse, "not JSON"},
		{"a batch", ` [` + with(`{}`) + `]`, nil, codeInvalidRequest, "Batches"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, nil, codeInvalidRequest, "method"},
		{"no id", `{"jsonrpc":"2.0","method":"x"}`, nil, codeInvalidRequest, "id"},
		{"a fraction as id", `{"jsonrpc":"2.0","id":1.5,"method":"x"}`, nil, codeInvalidRequest, "id"},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"x"}`, nil, codeInvalidRequest, "id"},
		{
			"a long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxID) + `","method":"x"}`, nil,
			codeInvalidRequest, "id",
		},
		{"wrong params", with(`{"message":{"role":7}}`), nil, codeInvalidParams, "message.role"},
		{"a list of params", with(`[]`), nil, codeInvalidParams, "object"},
		{"no tasks", with(`{"pageSize":0}`), nil, codeInvalidParams, "pageSize"},
		{"too many tasks", with(`{"pageSize":101}`), nil, codeInvalidParams, "pageSize"},
		{"less than no history", with(`{"historyLength":-1}`), nil, codeInvalidParams, "historyLength"},
		{
			"too many modes",
			with(`{"configuration":{"acceptedOutputModes":["a"` + strings.Repeat(`,"a"`, maxModes) + `]}}`),
			nil, codeInvalidParams, "acceptedOutputModes",
		},
	} {
		r, err := read(exchangeOf(c.body, c.headers...))
		var wrong *fault
		switch {
		case c.code == 0:
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		case !errors.As(err, &wrong) || wrong.code != c.code || !strings.Contains(wrong.message, c.says):
			t.Errorf("%s: %+v, want %d with %q", c.name, err, c.code, c.says)
		case !json.Valid(wrong.encode(idOf(r))):
			t.Errorf("%s: the error is not JSON: %s", c.name, wrong.encode(idOf(r)))
		}
	}
}

func idOf(r *request) []byte {
	if r == nil {
		return nil
	}
	return r.rpc.ID
}

// TestTheAgentIsNamedOnce: a tenant is the agent of a request to the server, and no other than the address says.
func TestTheAgentIsNamedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, tenant, want string
		refused            bool
	}{{"", "", "", false}, {"", "a", "a", false}, {"a", "", "a", false}, {"a", "a", "a", false}, {"a", "b", "", true}} {
		x := exchangeOf(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"tenant":"` + c.tenant + `"}}`)
		x.R.SetPathValue("agent", c.path)
		if r, err := read(x); (err != nil) != c.refused || err == nil && r.agent != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestPartsHaveOneContent: a part without a content, or with two, is refused.
func TestPartsHaveOneContent(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]bool{
		`[{"text":""}]`: true, `[{"raw":"eA=="},{"url":"https://example.com/"},{"data":null},{"data":[1]}]`: true,
		`[{"text":"a","url":"b"}]`: false, `[{}]`: false, `[]`: false, `{}`: false, ``: false,
		`[{"text":7}]`: false,
		"[" + strings.TrimSuffix(strings.Repeat(`{"text":"a"},`, maxParts+1), ",") + "]": false,
	} {
		m := said{Raw: json.RawMessage(given)}
		if _, err := m.parts(); (err == nil) != want {
			t.Errorf("%.80s: %v, want it read: %t", given, err, want)
		}
	}
}

// TestTurnsAreTasks: each state of a turn is one of the protocol's.
func TestTurnsAreTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turn parley.Turn
		want taskState
	}{
		{parley.Turn{Status: parley.TurnQueued}, submitted},
		{parley.Turn{Status: parley.TurnQueued, Attempt: 1}, working},
		{parley.Turn{Status: parley.TurnRunning}, working},
		{parley.Turn{Status: parley.TurnCompleted}, completed},
		{parley.Turn{Status: parley.TurnFailed}, failed},
		{parley.Turn{Status: parley.TurnCancelled}, canceled},
		{parley.Turn{Status: parley.TurnWaiting, WaitReason: parley.WaitApproval}, inputRequired},
		{parley.Turn{Status: parley.TurnWaiting, WaitReason: parley.WaitInput}, inputRequired},
		{parley.Turn{Status: parley.TurnWaiting, WaitReason: parley.WaitToolResult}, inputRequired},
		{parley.Turn{Status: parley.TurnWaiting, WaitReason: parley.WaitBudget}, inputRequired},
		{parley.Turn{Status: parley.TurnWaiting, WaitReason: parley.WaitChild}, working},
		{parley.Turn{Status: parley.TurnWaiting, WaitReason: parley.WaitRateLimit}, working},
	} {
		if got := stateOf(&c.turn); got != c.want {
			t.Errorf(
				"a turn that is %s %s is a task that is %s, want %s",
				c.turn.Status,
				c.turn.WaitReason,
				got,
				c.want,
			)
		}
	}
}

// TestATextAnswersTheOnlyQuestion: a text is a decision, an answer or a result, and ambiguous ones are refused.
func TestATextAnswersTheOnlyQuestion(t *testing.T) {
	t.Parallel()
	approval, call := question{ApprovalID: parley.NewID()}, question{CallID: "c"}
	for text, want := range map[string]parley.ApprovalDecision{
		"approve": parley.DecideApprove, " Yes\n": parley.DecideApprove, "deny": parley.DecideDeny,
		"No":    parley.DecideDeny,
		"maybe": "", "": "",
	} {
		if got, err := replyOf([]question{approval}, text); got.Decision != want || (err == nil) != (want != "") {
			t.Errorf("%q decides %q, %v; want %q", text, got.Decision, err, want)
		}
	}
	got, err := replyOf([]question{call}, `a "b"`)
	if err != nil || string(got.Result) != `"a \"b\""` || got.CallID != "c" {
		t.Errorf("a text answers a call with %s of %q, %v", got.Result, got.CallID, err)
	}
	for _, asks := range [][]question{nil, {approval, call}} {
		if _, err := replyOf(asks, "yes"); err == nil {
			t.Errorf("a text answers %d questions", len(asks))
		}
	}
}

// TestPageTokens: a token is read back as it was, and others are refused.
func TestPageTokens(t *testing.T) {
	t.Parallel()
	want := pageToken{Sessions: "a", Skip: 3, Turns: "b", Before: 7}
	if got, err := readPageToken(want.encode()); got != want || err != nil {
		t.Errorf("%+v is read as %+v, %v", want, got, err)
	}
	for _, wrong := range []string{"x", "!", pageToken{Skip: -1}.encode(), pageToken{Before: -1}.encode(),
		pageToken{Sessions: strings.Repeat("x", maxPageToken)}.encode()} {
		if _, err := readPageToken(wrong); err == nil {
			t.Errorf("%.40q is read", wrong)
		}
	}
}

// TestNotifications: only what changes the status of the own turn is told.
func TestNotifications(t *testing.T) {
	t.Parallel()
	turn, other := parley.NewID(), parley.NewID()
	data := func(id parley.ID, more string) []byte { return []byte(`{"turn_id":"` + id.String() + `"` + more + `}`) }
	ended := `,"turn":{"id":"` + turn.String() + `","status":"failed","error":{"class":"model","sentence":"It broke."}}`
	for _, c := range []struct {
		kind parley.EventType
		data []byte
		want string // in the body; "" for none
	}{
		{parley.EventSessionStarted, data(turn, ""), `"state":"TASK_STATE_WORKING"`},
		{parley.EventSessionStarted, data(other, ""), ""},
		{parley.EventSessionWaiting, data(turn, `,"reason":"approval"`), `"state":"TASK_STATE_INPUT_REQUIRED"`},
		{parley.EventSessionWaiting, data(turn, `,"reason":"child"`), ""},
		{parley.EventSessionFailed, data(turn, ended), `"text":"It broke."`},
		{parley.EventSessionFailed, data(turn, ended), `"state":"TASK_STATE_FAILED"`},
		{parley.EventStepStarted, data(turn, ""), ""},
		{parley.EventSessionStarted, []byte("{"), ""},
	} {
		body := Notification(turn, &parley.Event{Type: c.kind, SessionID: parley.NewID(), Data: c.data})
		if (body == nil) != (c.want == "") || !bytes.Contains(body, []byte(c.want)) ||
			body != nil && !json.Valid(body) {
			t.Errorf("%s %s is told as %s, want %s", c.kind, c.data, body, c.want)
		}
	}
}

// FuzzRequest reads any body. Whatever it is, a request that was read has an id that stands in its answer unchanged,
// and a refusal is JSON.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER",` +
			`"parts":[{"text":"a"},{"data":{"approvalId":"x"}},{"raw":"eA==","filename":"f"},{"url":"https://a"}]}}}`,
		`{"jsonrpc":"2.0","id":"\"\n","method":"ListTasks","params":{"pageToken":"e30","status":"TASK_STATE_WORKING"}}`,
		`{"jsonrpc":"2.0","id":-0,"method":"x"}`, `[]`, `{"jsonrpc":"2.0","id":1e9,"method":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := read(exchangeOf(string(body)))
		if err != nil {
			var wrong *fault
			if !errors.As(err, &wrong) {
				t.Fatalf("%q: %v", body, err)
			}
			if answer := wrong.encode(idOf(r)); !json.Valid(answer) {
				t.Fatalf("%q is refused with %q", body, answer)
			}
			return
		}
		answer := append(response(r.rpc.ID), `"result":{}}`...)
		if !json.Valid(answer) || !bytes.Contains(answer, r.rpc.ID) || bytes.ContainsRune(answer, '\n') {
			t.Fatalf("%q is answered with %q", body, answer)
		}
		_, _, _ = r.wants()
		_, _ = readPageToken(r.PageToken)
		if r.Message == nil {
			return
		}
		parts, err := r.Message.parts()
		if err != nil {
			return
		}
		for i := range parts {
			if _, err := parley.EncodeJSON(parts[i]); err != nil {
				t.Errorf("%+v cannot be written: %v", parts[i], err)
			}
		}
	})
}

// Not parallel: it counts what it allocates.
func TestPartsAreCountedBeforeTheyAreRead(t *testing.T) {
	const items, most = 500_000, 128 << 20
	m := said{Raw: json.RawMessage("[null" + strings.Repeat(",null", items) + "]")}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := m.parts()
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Errorf("%d parts are read", items)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("%d parts take %d bytes before they are refused, want at most %d", items, took, most)
	}
}
