package anthropic

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
)

// decoded reads a request with some members beside a model and a message.
func decoded(t *testing.T, members string) (*request, error) {
	t.Helper()
	body := `{"model":"parley","max_tokens":9`
	if !strings.HasPrefix(members, `,"messages"`) {
		body += `,"messages":[{"role":"user","content":"x"}]`
	}
	r, err := decode([]byte(body + members + `}`))
	if err != nil {
		return nil, err
	}
	instructions, _, err := r.split()
	if err != nil {
		return nil, err
	}
	if _, err := r.thinks(); err != nil {
		return nil, err
	}
	_, _, err = r.settings(&parley.Agent{}, "", instructions)
	return r, err
}

// Every parameter is mapped or refused by its name: none is dropped without a word.
func TestParametersAreRefusedByName(t *testing.T) {
	t.Parallel()
	const blocks, first = `"messages":[{"role":"user","content":[`, "messages[0].content[0]."
	for member, field := range map[string]string{
		`"top_k":5`:                          "top_k",
		`"Stream":true`:                      "Stream",
		`"container":"c"`:                    "container",
		`"mcp_servers":[]`:                   "mcp_servers",
		`"fallbacks":[]`:                     "fallbacks",
		`"speed":"fast"`:                     "speed",
		`"temperature":"hot"`:                "temperature",
		`"model":""`:                         "model",
		`"messages":[]`:                      "messages",
		`"messages":[{"role":"user"}]`:       "messages[0].content",
		`"messages":[{"role":"boss"}]`:       "messages[0].content",
		`"system":[{"type":"image"}]`:        "system[0].type",
		`"thread":{"type":"lose"}`:           "thread.type",
		`"thinking":{"type":"loud"}`:         "thinking.type",
		`"tool_choice":{"type":"tool"}`:      "tool_choice.name",
		`"tool_choice":{"type":"some"}`:      "tool_choice.type",
		`"tools":[{"type":"bash_20250124"}]`: "tools[0].type",
		`"output_config":{"format":{}}`:      "output_config.format",
		blocks + `{"type":"video"}]}]`:       first + "type",
		blocks + `{"type":"image"}]}]`:       first + "source",
		blocks + `{"type":"tool_result"}]}]`: first + "tool_use_id",
		blocks + `{"type":"tool_result","tool_use_id":"c","content":[{"type":"audio"}]}]}]`: first + "content[0].type",
		blocks + `{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"c"}]}]`:   "messages[0].content[1]",
		blocks + `{"type":"document","source":{"type":"file","file_id":"f"}}]}]`:            first + "source.type",
		blocks + `{"type":"image","source":{"type":"base64"}}]}]`:                           first + "source.data",
		blocks + strings.Repeat(`{"type":"text"},`, parley.MaxParts) + `{"type":"text"}]}]`: "messages[0].content",
		blocks + strings.Repeat(`0,`, maxBlocks) + `0]}]`:                                   "messages[0].content",
	} {
		_, err := decoded(t, ","+member)
		got, ok := err.(*parley.Error) //nolint:errorlint // of this package
		if !ok || got.Code != parley.CodeInvalid || got.Field != field {
			t.Errorf("%.99s: %v; want a refusal of %s", member, err, field)
		}
	}
	for _, accepted := range []string{
		`"cache_control":{"type":"ephemeral"}`, `"service_tier":"auto"`, `"context_management":null`, `"speed":null`,
		`"metadata":{"user_id":null}`, `"thread":null`, `"container":null`, `"thread":{"type":"create"}`,
	} {
		if _, err := decoded(t, ","+accepted); err != nil {
			t.Errorf("%s: %v", accepted, err)
		}
	}
}

// What a request sets reaches the settings of its turn.
func TestParametersBecomeSettings(t *testing.T) {
	t.Parallel()
	r, err := decoded(t, `,"temperature":0.5,"top_p":0.9,"stop_sequences":["END"],"metadata":{"user_id":"ann"},
		"system":[{"type":"text","text":"Be {{brief}}."}],"stream":true,
		"tools":[{"name":"look"},{"type":"web_search_20250305","name":"web_search"}],
		"tool_choice":{"type":"any","disable_parallel_tool_use":true},
		"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	own := "You are {{agent.name}}."
	instructions, _, err := r.split()
	if err != nil {
		t.Fatal(err)
	}
	s, search, err := r.settings(&parley.Agent{Settings: parley.Settings{
		SystemPrompt: &own, Tools: &[]parley.ToolRef{{Name: "search"}},
	}}, "a/b", instructions)
	if err != nil {
		t.Fatal(err)
	}
	if *s.SystemPrompt != own+"\n\nBe {{{{brief}}." || s.Model != "a/b" || *s.EndUser != "ann" || !search {
		t.Errorf("prompt %q, model %s, user %q, search %v", *s.SystemPrompt, s.Model, *s.EndUser, search)
	}
	if *s.ToolChoice != parley.ToolChoiceRequired || *s.ParallelToolCalls || *s.ReasoningEffort != "low" ||
		*s.MaxTokens != 9 || (*s.Stop)[0] != "END" || *s.Temperature != 0.5 || *s.TopP != 0.9 {
		t.Errorf("the settings are %+v", s.Parameters)
	}
	if tools := *s.Tools; len(tools) != 2 || tools[1].Definition.Name != "look" ||
		!json.Valid(tools[1].Definition.Parameters) || s.Output.Again() != 0 {
		t.Errorf("the tools are %+v, asked again %d times", tools, s.Output.Again())
	}
}

// historyOf reads messages and hashes them.
func historyOf(t *testing.T, user, messages string) history.History {
	t.Helper()
	r, err := decode([]byte(`{"model":"parley","messages":` + messages + `}`))
	if err != nil {
		t.Fatal(err)
	}
	_, said, err := r.split()
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.New(historyKind, parley.ID{}, user, said)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A history has one hash in all forms in which clients send it, and another as soon as anything that they see differs.
func TestHashesOfHistories(t *testing.T) {
	t.Parallel()
	const plain = `[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
		`{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"yes"},` +
		`{"type":"tool_use","id":"c","name":"look","input":{"a":1,"b":2}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"1"},` +
		`{"type":"text","text":"so?"}]}]`
	want := historyOf(t, "ann", plain)
	if want.First != 2 || len(want.Said) != 4 || want.Said[1].Reasoning != "hm" {
		t.Errorf("it is read as %+v", want)
	}
	for name, change := range map[string][2]string{
		"blocks": {`"content":"hi"`, `"content":[{"type":"text","text":"hi",` +
			`"cache_control":{"type":"ephemeral"}}]`},
		"no thoughts":  {`{"type":"thinking","thinking":"hm","signature":"s"},`, ``},
		"arguments":    {`{"a":1,"b":2}`, `{ "b": 2, "a": 1 }`},
		"a result's":   {`"content":"1"`, `"content":[{"type":"text","text":"1"}],"is_error":false`},
		"other blocks": {`{"type":"text","text":"yes"}`, `{"type":"text","text":"yes"},{"type":"server_tool_use"}`},
		"a split text": {`{"type":"text","text":"yes"}`, `{"type":"text","text":"yes "}`},
		"a system role": {`[{"role":"user","content":"hi"}`, `[{"role":"system","content":"S"},` +
			`{"role":"user","content":"hi"}`},
	} {
		changed := strings.Replace(plain, change[0], change[1], 1)
		if got := historyOf(t, "ann", changed); changed == plain || got.End() != want.End() {
			t.Errorf("%s changes the hash", name)
		}
	}
	for name, change := range map[string][2]string{
		"a text":    {`"hi"`, `"ho"`},
		"an answer": {`"yes"`, `"no"`},
		"a call":    {`"look"`, `"see"`},
		"a value":   {`"a":1`, `"a":2`},
		"a result":  {`"content":"1"`, `"content":"2"`},
		"an error":  {`"content":"1"`, `"content":"1","is_error":true`},
		"an image": {`"content":"hi"`, `"content":[{"type":"text","text":"hi"},{"type":"image","source":` +
			`{"type":"url","url":"https://x"}}]`},
	} {
		changed := strings.Replace(plain, change[0], change[1], 1)
		if got := historyOf(t, "ann", changed); changed == plain || got.End() == want.End() {
			t.Errorf("%s changes nothing", name)
		}
	}
	if historyOf(t, "bob", plain).End() == want.End() {
		t.Error("histories of other users are the same")
	}
}

// Problems have the vendor's types, also where Parley has another status.
func TestErrorsHaveTheVendorsTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem protocol.Problem
		status  int
		kind    string
		code    string
	}{
		{protocol.Problem{Status: 422, Code: parley.CodeInvalid}, 400, invalidRequest, "invalid"},
		{protocol.Problem{Status: 401}, 401, "authentication_error", ""},
		{protocol.Problem{Status: 403}, 403, "permission_error", ""},
		{protocol.Problem{Status: 404, Field: threadMember}, 404, "not_found_error", threadUnknown},
		{protocol.Problem{Status: 409, Field: threadMember}, 400, invalidRequest, threadMoved},
		{protocol.Problem{Status: 409}, 409, conflict, ""},
		{protocol.Problem{Status: 413}, 413, "request_too_large", ""},
		{protocol.Problem{Status: 429}, 429, rateLimited, ""},
		{protocol.Problem{Status: 500}, 500, serverError, ""},
		{protocol.Problem{Status: 503}, 503, overloaded, ""},
		{protocol.Problem{Status: 507}, 507, serverError, ""},
	} {
		c.problem.Detail, c.problem.RequestID = `It "is" so.`, parley.NewID()
		status, body := fail(c.problem)
		var got struct {
			Type  string
			Error struct {
				Type, Message string
				Details       struct {
					Code string `json:"error_code"`
				}
			}
			Request string `json:"request_id"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if status != c.status || got.Type != "error" || got.Error.Type != c.kind ||
			got.Error.Message != `It "is" so.` ||
			got.Error.Details.Code != c.code ||
			got.Request != c.problem.RequestID.String() {
			t.Errorf("%+v became %d %s", c.problem, status, body)
		}
	}
}

// Pages of models go forward and backward, and do not repeat.
func TestPagesOfModels(t *testing.T) {
	t.Parallel()
	var list []listedModel
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		list = append(list, newModel(id, id, time.Unix(0, 0)))
	}
	for query, want := range map[string]string{
		"": "abcde", "limit=2": "ab+", "limit=2&after_id=b": "cd+", "limit=2&after_id=d": "e",
		"limit=2&before_id=e": "cd+", "before_id=b": "a", "after_id=e": "", "after_id=d&before_id=b": "",
	} {
		request, err := http.NewRequest(http.MethodGet, "/?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		page, err := pageOf(list, request.URL.Query().Get)
		got := ""
		for _, m := range page.Data {
			got += m.ID
		}
		if page.HasMore {
			got += "+"
		}
		if err != nil || got != want {
			t.Errorf("%q shows %q, %v; want %q", query, got, err, want)
		}
	}
	if _, err := pageOf(list, func(string) string { return "0" }); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("a page of nothing: %v", err)
	}
}

// The events of a message have one open block at a time, and say each byte once whatever arrives twice.
func TestStreamsSayEachByteOnce(t *testing.T) {
	t.Parallel()
	first, second := parley.NewID(), parley.NewID()
	w := writer{frames: new(protocol.Frames)}
	w.say(first, parley.KindReasoning, 0, "I th")
	w.say(first, parley.KindReasoning, 0, "I think")
	w.say(first, parley.KindText, 0, "Let")
	w.say(first, parley.KindText, 9, "lost")
	w.say(first, parley.KindReasoning, 0, "I think")
	w.say(first, parley.KindText, 0, "Let me.")
	w.say(second, parley.KindText, 0, "Done.")
	w.ends(&history.Segment{Calls: []parley.ToolCallContent{history.Call("c", "look", `{"a":1}`)}}, "tool_use")
	var got []string
	for line := range bytes.Lines(w.frames.Buffer) {
		raw, data := bytes.CutPrefix(line, []byte("data: "))
		if !data {
			continue
		}
		var e struct {
			Type  string
			Index int
			Delta struct {
				Text, Thinking, Signature string
				JSON                      string `json:"partial_json"`
			}
			Block struct{ Type string } `json:"content_block"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		d := e.Delta
		got = append(got, strings.TrimPrefix(e.Type, "content_block_")+string(rune('0'+e.Index))+
			e.Block.Type+d.Text+d.Thinking+d.JSON+strings.ReplaceAll(d.Signature, first.String(), "1"))
	}
	want := "start0thinking delta0I th delta0ink delta0parley_1 stop0 start1text delta1Let delta1 me. stop1 " +
		"start2text delta2Done. stop2 start3tool_use delta3{\"a\":1} stop3 message_delta0 message_stop0"
	if all := strings.Join(got, " "); all != want || string(w.text) != "Let me.\n\nDone." {
		t.Errorf("the events are\n%s, of %q; want\n%s", all, w.text, want)
	}
}

// A client that has no stream left is refused before anything is done: it sends its request again, and would pay for
// two turns. Nothing else is there: whatever began would panic.
func TestRoomIsTakenBeforeTheTurnBegins(t *testing.T) {
	t.Parallel()
	refusal := parley.TooManyStreams("You have", 1, time.Second)
	err := new(api).create(&protocol.Exchange{
		Body: []byte(`{"model":"parley","max_tokens":9,"messages":[{"role":"user","content":"Hello"}]}`),
		Room: func() (func(), error) { return nil, refusal },
	})
	if err != refusal { //nolint:errorlint // this one
		t.Errorf("the request was answered with %v; want %v", err, refusal)
	}
}

// Whatever is sent, reading it ends without a panic, and what is accepted has something new.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"parley","max_tokens":1,"messages":[{"role":"user","content":"x"}],"system":"s"}`))
	f.Add(
		[]byte(`{"model":"a/b","messages":[{"role":"assistant","content":[` +
			`{"type":"tool_use","id":"c","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[` +
			`{"type":"image","source":{}}]},` +
			`{"type":"document","source":{"type":"content","content":"x"}}]}],"tools":[{}],` +
			`"tool_choice":{"type":"any"}}`),
	)
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode(body)
		if err != nil {
			return
		}
		instructions, said, err := r.split()
		if err != nil {
			return
		}
		_, _ = r.thinks()
		_, _, _ = r.settings(&parley.Agent{}, "", instructions)
		h, err := history.New(historyKind, parley.ID{}, r.user(), said)
		if err == nil && h.First >= len(said) {
			t.Fatalf("nothing is new in %s", body)
		}
	})
}
