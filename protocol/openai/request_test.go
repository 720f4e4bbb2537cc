package openai

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/history"
)

// decoded reads a request with some members beside a model and a message.
func decoded(t *testing.T, members string) (*request, error) {
	t.Helper()
	if strings.HasPrefix(members, `,"messages"`) {
		return decode([]byte(`{"model":"parley"` + members + `}`))
	}
	return decode([]byte(`{"model":"parley","messages":[{"role":"user","content":"x"}]` + members + `}`))
}

// Every parameter is mapped or refused by its name: none is dropped without a word.
func TestParametersAreRefusedByName(t *testing.T) {
	t.Parallel()
	for member, field := range map[string]string{
		`"n":2`:                                      "n",
		`"N":1`:                                      "N",
		`"top_k":5`:                                  "top_k",
		`"logprobs":true`:                            "logprobs",
		`"top_logprobs":1`:                           "top_logprobs",
		`"logit_bias":{"1":2}`:                       "logit_bias",
		`"presence_penalty":0.5`:                     "presence_penalty",
		`"frequency_penalty":0.5`:                    "frequency_penalty",
		`"functions":[]`:                             "functions",
		`"function_call":"auto"`:                     "function_call",
		`"audio":{"voice":"x"}`:                      "audio",
		`"modalities":["text","audio"]`:              "modalities",
		`"prediction":{}`:                            "prediction",
		`"verbosity":"low"`:                          "verbosity",
		`"temperature":"hot"`:                        "temperature",
		`"messages":"x"`:                             "messages",
		`"messages":[{"role":"user"}]`:               "messages[0].content",
		`"messages":[{"role":"boss"}]`:               "messages[0].role",
		`"messages":[{"role":"function"}]`:           "messages[0].role",
		`"messages":[]`:                              "messages",
		`"model":""`:                                 "model",
		`"messages":[{"role":"tool","content":"x"}]`: "messages[0].tool_call_id",
		`"messages":[{"role":"tool","tool_call_id":"c","content":[{}]}]`:     "messages[0].content[0].type",
		`"messages":[{"role":"user","content":[{"type":"image_url"}]}]`:      "messages[0].content[0].type",
		`"messages":[{"role":"user","content":[{"type":"file","file":{}}]}]`: "messages[0].content[0].file",
		`"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text"},`, parley.MaxParts) +
			`{"type":"text"}]}]`: "messages[0].content",
	} {
		_, err := decoded(t, ","+member)
		got, ok := err.(*parley.Error) //nolint:errorlint // of this package
		if !ok || got.Code != parley.CodeInvalid || got.Field != field {
			t.Errorf("%s: %v; want a refusal of %s", member, err, field)
		}
	}
	for _, accepted := range []string{
		`"n":1`, `"n":null`, `"logprobs":false`, `"frequency_penalty":0`, `"modalities":["text"]`, `"store":true`,
		`"verbosity":"medium"`, `"prompt_cache_key":"k"`, `"functions":null`, `"stream_options":null`,
	} {
		if _, err := decoded(t, ","+accepted); err != nil {
			t.Errorf("%s: %v", accepted, err)
		}
	}
}

// What a request sets reaches the settings of its turn.
func TestParametersBecomeSettings(t *testing.T) {
	t.Parallel()
	r, err := decoded(t, `,"temperature":0.5,"top_p":0.9,"max_tokens":7,"max_completion_tokens":8,"seed":3,"stop":"END",
		"reasoning_effort":"low","parallel_tool_calls":false,"safety_identifier":"ann","service_tier":"flex",
		"tool_choice":{"type":"function","function":{"name":"look"}},"stream":true,
		"tools":[{"type":"function","function":{"name":"look"}}],
		"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	own := "You are {{agent.name}}."
	agent := parley.Agent{Settings: parley.Settings{
		SystemPrompt: &own, Tools: &[]parley.ToolRef{{Name: "search"}},
	}}
	s, err := r.settings(&agent, "sim/echo", "Say {{what}}.")
	if err != nil {
		t.Fatal(err)
	}
	if got := *s.SystemPrompt; got != "You are {{agent.name}}.\n\nSay {{{{what}}." {
		t.Errorf("the prompt is %q", got)
	}
	if s.Model != "sim/echo" || *s.Temperature != 0.5 || *s.TopP != 0.9 || *s.MaxTokens != 8 || *s.Seed != 3 ||
		*s.ReasoningEffort != "low" || *s.ParallelToolCalls || *s.EndUser != "ann" || *s.ServiceTier != "flex" ||
		*s.ToolChoice != "look" || !reflect.DeepEqual(*s.Stop, []string{"END"}) {
		t.Errorf("the settings are %+v", s)
	}
	if tools := *s.Tools; len(tools) != 2 || tools[0].Name != "search" || tools[1].Definition.Name != "look" ||
		!json.Valid(tools[1].Definition.Parameters) {
		t.Errorf("the tools are %+v", tools)
	}
	if s.Output.Name != "a" || s.Output.Again() != 0 {
		t.Errorf("a streamed answer is asked for %d times more", s.Output.Again())
	}
}

// historyOf reads messages and hashes them.
func historyOf(t *testing.T, agent parley.ID, user, messages string) history.History {
	t.Helper()
	r, err := decode([]byte(`{"model":"parley","messages":` + messages + `}`))
	if err != nil {
		t.Fatal(err)
	}
	_, said := r.split()
	h, err := history.New(historyKind, agent, user, said)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A history has one hash in all forms in which clients send it, and another as soon as anything that they see differs.
func TestHashesOfHistories(t *testing.T) {
	t.Parallel()
	agent := parley.NewID()
	const call = `{"id":"c","type":"function","function":{"name":"look","arguments":"{\"a\":1,\"b\":2}"}}`
	const plain = `[{"role":"user","content":"hi"},{"role":"assistant","content":"yes","tool_calls":[` + call + `]},` +
		`{"role":"tool","tool_call_id":"c","content":"1"}]`
	want := historyOf(t, agent, "ann", plain)
	if want.First != 2 {
		t.Errorf("new from %d", want.First)
	}
	for name, change := range map[string][2]string{
		"a prompt":         {`[{"role":"user"`, `[{"role":"system","content":"Be brief."},{"role":"user"`},
		"parts":            {`"content":"hi"`, `"content":[{"type":"text","text":"hi"}]`},
		"space":            {`"content":"yes"`, `"content":" yes\n"`},
		"arguments":        {`"{\"a\":1,\"b\":2}"`, `"{ \"b\": 2, \"a\": 1 }"`},
		"members of ours":  {`"content":"yes"`, `"content":"yes","refusal":null,"annotations":[],"audio":null`},
		"others' members":  {`"content":"yes"`, `"content":"yes","reasoning_content":"hm"`},
		"no text, no null": {`"role":"user","content":"hi"`, `"content":"hi","role":"user"`},
	} {
		changed := strings.Replace(plain, change[0], change[1], 1)
		if got := historyOf(t, agent, "ann", changed); changed == plain || got.End() != want.End() {
			t.Errorf("%s changes the hash", name)
		}
	}
	for name, change := range map[string][2]string{
		"a text":    {`"hi"`, `"ho"`},
		"an answer": {`"yes"`, `"no"`},
		"a call":    {`"look"`, `"see"`},
		"a value":   {`\"a\":1`, `\"a\":2`},
		"its id":    {`"id":"c"`, `"id":"d"`},
		"a result":  {`"content":"1"`, `"content":"2"`},
		"an image": {`"content":"hi"`, `"content":[{"type":"text","text":"hi"},` +
			`{"type":"image_url","image_url":{"url":"data:x"}}]`},
	} {
		changed := strings.Replace(plain, change[0], change[1], 1)
		if got := historyOf(t, agent, "ann", changed); changed == plain || got.End() == want.End() {
			t.Errorf("%s changes nothing", name)
		}
	}
	if historyOf(t, agent, "bob", plain).End() == want.End() ||
		historyOf(t, parley.NewID(), "ann", plain).End() == want.End() {
		t.Error("histories of other users or agents are the same")
	}
}

// Whatever is sent, reading it ends without a panic, and what is accepted has something new.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"parley","messages":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"model":"a/b","messages":[{"role":"assistant","tool_calls":[{"id":"c"}]},{"role":"tool",` +
		`"tool_call_id":"c","content":[{"type":"text"}]}],"stop":["a"],"tools":[{}],"tool_choice":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode(body)
		if err != nil {
			return
		}
		instructions, said := r.split()
		_, _ = r.settings(&parley.Agent{}, "", instructions)
		h, err := history.New(historyKind, parley.ID{}, r.User, said)
		if err == nil && len(said) > 0 && h.First >= len(said) {
			t.Fatalf("nothing is new in %s", body)
		}
	})
}
