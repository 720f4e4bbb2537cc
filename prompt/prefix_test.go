package prompt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/openai"
	"example.org/parley/llm/wire"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// wires returns the encoders of both wires, with each way to request caching.
func wires(t testing.TB) map[parley.ModelID]model.Model {
	t.Helper()
	chat, err := openai.New(openai.Options{BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := anthropic.New(anthropic.Options{BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chat.Close)
	t.Cleanup(messages.Close)
	return map[parley.ModelID]model.Model{
		"openai/gpt-5":                chat,
		"dashscope/qwen-plus":         chat,
		"anthropic/claude-sonnet-4-5": messages,
	}
}

// front returns an encoded request from its first byte to the end of its messages, without marks and with the last
// message open: it may grow.
func front(t rapid.TB, encoded []byte) []byte {
	t.Helper()
	body := bytes.ReplaceAll(encoded, []byte(wire.CacheMark), nil)
	const name = `"messages":`
	at := bytes.Index(body, []byte(name)) + len(name)
	var messages json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(body[at:])).Decode(&messages); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(body[:at+len(messages)], "]}")
}

// asked has another turn repeat some cancelled answers, as a retry does, and gives each row its provider's data.
func asked(t *rapid.T, r *record, model parley.ModelID) (continues map[parley.ID]parley.Turn) {
	continues = map[parley.ID]parley.Turn{}
	for i := range r.rows {
		m := &r.rows[i]
		m.Model = model
		switch m.Role {
		case parley.RoleAssistant:
			if m.ProviderData != nil {
				m.ProviderData = []byte(`{"type":"thinking","thinking":"because","signature":"EqQB"}`)
			}
		case parley.RoleToolCall:
			if rapid.Bool().Draw(t, "exact") {
				m.ProviderData = wire.CallData{ID: "p" + m.ToolCallID, Arguments: `{ "q": 1 }`}.Bytes()
			}
		}
	}
	for i := 1; i < len(r.rows); i++ {
		before, m := &r.rows[i-1], &r.rows[i]
		if before.Status != parley.MessageCancelled || m.Role != parley.RoleUser || m.TurnID.IsZero() || m.Internal ||
			!rapid.Bool().Draw(t, "again") {
			continue
		}
		first := slices.IndexFunc(r.rows, func(m parley.Message) bool { return m.TurnID == before.TurnID })
		continues[m.TurnID] = parley.Turn{ID: m.TurnID, ContinuesID: before.TurnID, TriggerMessageID: r.rows[first].ID}
		m.Role, m.ContextNote, m.Content = parley.RoleAssistant, "", content(
			parley.AssistantContent{Text: "Let me try again."},
		)
	}
	return continues
}

// Of any two successive calls of a session, the earlier one's bytes up to the end of its messages, marks aside, begin
// the later one's: with tools, steers, failed and cancelled answers, repeated answers, context notes, and values hidden
// from the provider.
func TestSuccessiveRequestsShareTheirPrefix(t *testing.T) {
	models := wires(t)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]parley.ModelID{"anthropic/claude-sonnet-4-5", "dashscope/qwen-plus", "openai/gpt-5"}).
			Draw(t, "wire")
		r, begins := drawRecord(t, rapid.IntRange(1, 6).Draw(t, "turns"), []parley.ModelID{id})
		for i := range r.rows {
			r.rows[i].ID = turnID(1000 + i)
		}
		continues := asked(t, r, id)
		layers := mustLayers(t, redacting(parley.RedactPattern{Name: "n", Pattern: `(question|answer) \d|found`}))
		settings := prompt.Settings{
			Model:  id,
			System: "Answer question 7.",
			Think:  rapid.Bool().Draw(t, "think"),
			Policy: parley.Policy{Kind: parley.PolicyAll},
		}
		var before []byte
		for _, at := range begins {
			turn := parley.Turn{ID: r.rows[at-1].TurnID}
			if again, ok := continues[turn.ID]; ok {
				turn = again
			}
			request, _ := mustBuild(t, settings, mustWindow(t, settings.Policy, r.session(at), turn, r.tail(at)))
			request.CacheKey = "key"
			if _, err := layers.Request(
				context.Background(),
				model.Exchange{WorkspaceID: turnID(1)},
				&request,
			); err != nil {
				t.Fatal(err)
			}
			encoded, err := models[id].Encode(request)
			if err != nil {
				t.Fatal(err)
			}
			now := front(t, encoded.Body)
			if !bytes.HasPrefix(now, before) {
				t.Fatalf("the request at %d does not extend the previous one\nbefore %s\nnow    %s", at, before, now)
			}
			before = now
		}
	})
}
