package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
)

// value is a JSON text as a tree, to compare forms whatever their order.
func value(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func ptr[T any](v T) *T { return &v }

func fullMessage() parley.Message {
	return parley.Message{
		ID:          parley.NewID(),
		WorkspaceID: parley.NewID(),
		SessionID:   parley.NewID(),
		LogID:       parley.NewID(),
		Sequence:    7,
		TurnID:      parley.NewID(),
		Step:        2,
		Role:        parley.RoleAssistant,
		Status:      parley.MessageFailed,
		Author:      parley.Author{Kind: parley.AuthorAgent, ID: parley.NewID(), Name: "Ada \"L\"\n"},
		Content: json.RawMessage(
			`{"text":"a\u2028b"}`,
		),
		ContextNote:   "note",
		ToolCallID:    "call",
		ToolName:      "tool",
		CoversThrough: ptr(int64(3)),
		Internal:      true,
		Steer:         true,
		Model:         "sim/echo",
		AgentType:     "qa",
		Iteration:     4,
		Usage:         &parley.Usage{InputTokens: ptr(int64(5))},
		ContentHash:   parley.HashOf([]byte("x")),
		Error: &parley.Failure{
			Class:    parley.ClassStream,
			Sentence: "broke",
		},
		Metadata:      json.RawMessage(`{"a":[1]}`),
		Marks:         parley.Marks{Pinned: true, SetAside: true},
		TokenEstimate: 9,
		CreatedAt:     1,
		UpdatedAt:     2,
	}
}

// The rows encoded by hand are what encoding/json makes of the same types.
func TestRowsByHandEqualReflection(t *testing.T) {
	t.Parallel()
	queued := parley.Message{
		ID:       parley.NewID(),
		Position: ptr(int64(2)),
		Role:     parley.RoleUser,
		Status:   parley.MessageQueued,
		Content:  json.RawMessage(`{"text":"q"}`),
		Metadata: json.RawMessage(`{}`),
	}
	for _, m := range []parley.Message{fullMessage(), queued} {
		byReflection, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value(t, byReflection), value(t, appendMessage(nil, &m))); diff != "" {
			t.Errorf("message (-reflection +by hand):\n%s", diff)
		}
	}
	bare := parley.Session{ID: parley.NewID(), Tags: []string{}, Metadata: json.RawMessage(`{}`)}
	full := parley.Session{
		ID:           parley.NewID(),
		AgentID:      parley.NewID(),
		ProjectID:    parley.NewID(),
		Visibility:   parley.VisibilityPrivate,
		Kind:         parley.KindTool,
		Mode:         parley.ModeBackground,
		Type:         "dev",
		Feature:      "f",
		Task:         "t",
		Key:          "k",
		Title:        "T\t",
		Instructions: "i",
		Tags:         []string{"a", "b\""},
		Pinned:       true,
		Metadata:     json.RawMessage(`{"x":null}`),
		Settings: parley.Settings{
			Model:        "sim/echo",
			SystemPrompt: ptr(""),
			Parameters:   parley.Parameters{Temperature: ptr(0.5), Seed: ptr(int64(1))},
			Tools:        &[]parley.ToolRef{{Name: "current_time"}},
			Policy:       &parley.Policy{Kind: parley.PolicyRecent, Limit: 3},
			Retry:        &parley.RetryPolicy{},
		},
		During:     parley.DuringSteer,
		Status:     parley.SessionWaiting,
		WaitReason: parley.WaitChild,
		Statistics: parley.Statistics{
			Messages: 3,
			Cost:     150_000,
			Tokens:   parley.Tokens{InputTokens: 4},
		},
		Context:      parley.Context{Messages: 2, Tokens: 9, ClearedAt: 4},
		LastSequence: 3,
		LastEvent:    9,
		TurnID:       parley.NewID(),
		ArchivedAt:   5,
		CreatedAt:    6,
		UpdatedAt:    7,
		StartedAt:    8,
		FinishedAt:   9,
	}
	for _, session := range []parley.Session{bare, full} {
		byReflection, err := json.Marshal(session)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value(t, byReflection), value(t, appendSession(nil, &session))); diff != "" {
			t.Errorf("session (-reflection +by hand):\n%s", diff)
		}
	}
}

// A transcript's row by hand is what encoding/json makes of it, and a message
// inside has the same form as alone.
func TestTranscriptRowHoldsTheMessageAsItIs(t *testing.T) {
	t.Parallel()
	queued := parley.Message{
		ID:       parley.NewID(),
		Position: ptr(int64(2)),
		Role:     parley.RoleUser,
		Content:  json.RawMessage(`{}`),
		Metadata: json.RawMessage(`{}`),
	}
	row, ok := value(t, appendEntry(nil, &engine.Entry{Role: parley.RoleUser, Message: &queued})).(map[string]any)
	if !ok {
		t.Fatal("no object")
	}
	for _, entry := range []engine.Entry{
		{Role: parley.RoleUser, Message: &queued},
		{Role: parley.RoleAssistant, TurnID: parley.NewID(),
			Author: parley.Author{Kind: parley.AuthorAgent, ID: parley.NewID(), Name: "<A>"}, Model: "sim/echo",
			Status: parley.MessageFailed,
			Blocks: []engine.Block{{Type: engine.BlockContent, Content: json.RawMessage(`"x"`)}}, From: 2, To: 3},
	} {
		byReflection, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value(t, byReflection), value(t, appendEntry(nil, &entry))); diff != "" {
			t.Errorf("row (-reflection +by hand):\n%s", diff)
		}
	}
	if diff := cmp.Diff(value(t, appendMessage(nil, &queued)), row["message"]); diff != "" {
		t.Errorf("message (-alone +in the transcript):\n%s", diff)
	}
}

func BenchmarkPageOfMessages(b *testing.B) {
	rows := make([]parley.Message, 50)
	for i := range rows {
		rows[i] = fullMessage()
	}
	b.ReportAllocs()
	for b.Loop() {
		appendPage(make([]byte, 0, 64+len(rows)*messageBytes), rows, nil, appendMessage)
	}
}
