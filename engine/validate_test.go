package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

func ptr[T any](value T) *T { return &value }

// Every rule about agents names its field.
func TestAgentRules(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	inline := func(name, schema string) []parley.ToolRef {
		return []parley.ToolRef{
			{Name: name, Definition: &parley.ToolDefinition{Name: name, Parameters: json.RawMessage(schema)}},
		}
	}
	for _, test := range []struct {
		field string
		input engine.AgentInput
	}{
		{"name", engine.AgentInput{Name: "  "}},
		{"name", engine.AgentInput{Name: "nul\x00"}},
		{"name", engine.AgentInput{Name: strings.Repeat("n", parley.MaxNameBytes+1)}},
		{"slug", engine.AgentInput{Name: "a", Slug: "No Slug"}},
		{"slug", engine.AgentInput{Name: "a", Slug: parley.NewID().String()}},
		{"runtime", engine.AgentInput{Name: "a", Runtime: "quantum"}},
		{"system_prompt", engine.AgentInput{Name: "a",
			Settings: parley.Settings{SystemPrompt: new("You are {{session.nonsense}}")}}},
		{"model", engine.AgentInput{Name: "a", Settings: parley.Settings{Model: "noslash"}}},
		{"model", engine.AgentInput{Name: "a", Settings: parley.Settings{Model: "nobody/gpt"}}},
		{"temperature", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Parameters: parley.Parameters{Temperature: ptr(2.5)}}}},
		{"tools", engine.AgentInput{Name: "a", Settings: parley.Settings{Tools: &[]parley.ToolRef{{Name: "missing"}}}}},
		{"tools", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Tools: &[]parley.ToolRef{{Name: "missing*"}}}}},
		{"tools", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Tools: &[]parley.ToolRef{{Name: "current_time"}, {Name: "current_time"}}}}},
		{"tools.name", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Tools: new(inline("has space", `{"type":"object"}`))}}},
		{"tools.parameters", engine.AgentInput{Name: "a", Settings: parley.Settings{Tools: new(inline("ask", `[]`))}}},
		{"tools.parameters", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Tools: new(inline("ask", `{"type":"string"}`))}}},
		{"tools.parameters", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Tools: new(inline("ask", `{"type":"object","properties":{"x":{"type":7}}}`))}}},
		{"tools.parameters", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Tools: new(inline("ask",
				`{"type":"object","properties":{"x":{"$ref":"#/$defs/none"}}}`))}}},
		{"context_policy.limit", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Policy: &parley.Policy{Kind: parley.PolicyRecent}}}},
		{"retry_policy.retries", engine.AgentInput{Name: "a",
			Settings: parley.Settings{Retry: &parley.RetryPolicy{Retries: ptr(-1)}}}},
		{"tags", engine.AgentInput{Name: "a", Tags: []string{""}}},
		{"tags", engine.AgentInput{Name: "a", Tags: make([]string, parley.MaxTags+1)}},
	} {
		_, _, err := h.CreateAgent(t.Context(), h.member, test.input, store.Idempotency{})
		wantCode(t, err, parley.CodeInvalid, test.field)
	}
	good := engine.AgentInput{
		Name: "Good One",
		Settings: parley.Settings{
			SystemPrompt: new("{{{{ {{session.title}}"),
			Model:        "sim/echo",
			Tools: new(
				append(
					inline("ask_person", `{"type":"object","properties":{"question":{"type":"string"}}}`),
					parley.ToolRef{Name: "current_time"},
					parley.ToolRef{Name: "current_*"},
				),
			),
		},
	}
	agent, _, err := h.CreateAgent(t.Context(), h.member, good, store.Idempotency{})
	if err != nil || agent.Slug != "good-one" || agent.Runtime != parley.StandardRuntime || agent.Version != 1 {
		t.Fatalf("CreateAgent = %+v, %v", agent, err)
	}
	good.Slug = "good-one"
	_, _, err = h.CreateAgent(t.Context(), h.member, good, store.Idempotency{})
	wantCode(t, err, parley.CodeConflict, "")
}

// Every rule about messages names its field, and a refusal writes nothing.
func TestMessageRules(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	call := json.RawMessage(`{"id":"c1","name":"search","arguments":{}}`)
	for _, test := range []struct {
		field string
		input engine.MessageInput
	}{
		{"content", engine.MessageInput{}},
		{"content.text", engine.MessageInput{Content: text(" ")}},
		{"content.txt", engine.MessageInput{Content: json.RawMessage(`{"txt":"x"}`)}},
		{"content.text", engine.MessageInput{Content: json.RawMessage(`{"text":7}`)}},
		{"role", engine.MessageInput{Role: "system", Content: text("x")}},
		{"role", engine.MessageInput{Role: "summary", Content: text("x")}},
		{"role", engine.MessageInput{Role: "robot", Content: text("x")}},
		{"metadata", engine.MessageInput{Content: text("x"), Metadata: json.RawMessage(`[1]`)}},
		{"metadata.a", engine.MessageInput{Content: text("x"),
			Metadata: json.RawMessage(`{"a":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`)}},
		{"during", engine.MessageInput{Content: text("x"), During: "maybe"}},
		{"internal", engine.MessageInput{Content: text("x"), Internal: true}},
		{"tool_call_id", engine.MessageInput{Content: text("x"), ToolCallID: "c1"}},
		{"model", engine.MessageInput{Content: text("x"), Settings: parley.Settings{Model: "nobody/x"}}},
		{"system_prompt", engine.MessageInput{Content: text("x"),
			Settings: parley.Settings{SystemPrompt: ptr("{{nope}}")}}},
		{"max_tokens", engine.MessageInput{Content: text("x"),
			Settings: parley.Settings{Parameters: parley.Parameters{MaxTokens: ptr(0)}}}},
		{"iteration", engine.MessageInput{Content: text("x"), Iteration: -1}},
		{"respond", engine.MessageInput{Role: "assistant", Content: text("x"), Respond: ptr(true)}},
		{"during", engine.MessageInput{Role: "tool_call", Content: call, During: parley.DuringQueue}},
		{"model", engine.MessageInput{Role: "tool_call", Content: call, Settings: parley.Settings{Model: "sim/echo"}}},
		{"tool_call_id", engine.MessageInput{Role: "tool_result", Content: json.RawMessage(`{"result":1}`)}},
		{"content.arguments", engine.MessageInput{Role: "tool_call",
			Content: json.RawMessage(`{"id":"c","name":"n","arguments":[]}`)}},
	} {
		_, err := h.PostMessage(t.Context(), h.member, session.ID, test.input, store.Idempotency{})
		wantCode(t, err, parley.CodeInvalid, test.field)
	}
	_, err := h.PostMessage(
		t.Context(),
		h.member,
		session.ID,
		engine.MessageInput{Role: "system", Content: text("x")},
		store.Idempotency{},
	)
	if err == nil || !strings.Contains(err.Error(), "system_prompt") {
		t.Errorf("the refusal of a system message does not say what to use instead: %v", err)
	}
	now, err := h.Session(t.Context(), h.member, session.ID)
	if err != nil || now.LastSequence != 0 || now.LastEvent != session.LastEvent {
		t.Errorf("refused messages left something: %+v, %v", now, err)
	}
	wantIn := "message.content.text"
	_, err = h.OpenSession(
		t.Context(),
		h.member,
		engine.SessionInput{Message: &engine.MessageInput{Content: text("")}},
		store.Idempotency{},
	)
	wantCode(t, err, parley.CodeInvalid, wantIn)
}

func TestSessionRules(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	for _, test := range []struct {
		field string
		input engine.SessionInput
	}{
		{"visibility", engine.SessionInput{Visibility: "public"}},
		{"kind", engine.SessionInput{Kind: "other"}},
		{"mode", engine.SessionInput{Mode: "sideways"}},
		{"during", engine.SessionInput{During: "maybe"}},
		{"key", engine.SessionInput{Key: "a\x00"}},
		{"metadata", engine.SessionInput{Metadata: json.RawMessage(`"x"`)}},
		{"parent_session_id", engine.SessionInput{ParentMessageID: parley.NewID()}},
		{"context_policy.kind", engine.SessionInput{Settings: parley.Settings{Policy: &parley.Policy{Kind: "vibes"}}}},
		{"model", engine.SessionInput{Settings: parley.Settings{Model: "x"}}},
	} {
		_, err := h.OpenSession(t.Context(), h.member, test.input, store.Idempotency{})
		wantCode(t, err, parley.CodeInvalid, test.field)
	}
	_, err := h.OpenSession(t.Context(), h.member, engine.SessionInput{AgentID: "nobody"}, store.Idempotency{})
	wantCode(t, err, parley.CodeNotFound, "")
	_, err = h.EnsureSession(t.Context(), h.member, engine.SessionInput{Type: "qa-task"}, store.Idempotency{})
	wantCode(t, err, parley.CodeInvalid, "key")
	for _, list := range []engine.SessionList{
		{Statuses: []parley.SessionStatus{"failed", "odd"}}, {Archived: "perhaps"},
		{Kinds: []parley.SessionKind{"odd"}}, {Modes: []parley.Mode{"odd"}},
		{Paging: engine.Paging{Limit: 1001}}, {Paging: engine.Paging{Order: "up"}},
	} {
		_, err := h.Sessions(t.Context(), h.member, list)
		wantCode(t, err, parley.CodeInvalid, "")
	}
}
