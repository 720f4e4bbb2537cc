package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
	"example.org/parley/tool/builtin"
)

// TestNoWriterStoresTheShortForm: on both databases every writer stores contents in parts, whichever form they came in,
// and clients get both forms.
func TestNoWriterStoresTheShortForm(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		storesParts(t, db)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		db, err := postgres.Open(t.Context(), databases.New(t), postgres.Options{MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		storesParts(t, db)
	})
}

// writers makes every writer write a message.
type writers struct {
	*testing.T
	*conversation.Home
}

func storesParts(t *testing.T, db store.Store) {
	ctx := t.Context()
	home, err := conversation.Start(ctx, conversation.Options{Store: db, Models: models(), Tools: builtin.Tools()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := home.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := writers{t, home}
	w.clients()
	w.turns()
	w.outside()
	scope := store.Scope{WorkspaceID: home.Owner.WorkspaceID}
	sessions, err := db.Sessions(ctx, scope, store.SessionQuery{Limit: parley.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[parley.Role]int{}
	for i := range sessions {
		messages, err := db.Messages(ctx, scope, sessions[i].ID, store.MessageQuery{Limit: parley.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		for j := range messages {
			m := &messages[j]
			seen[m.Role]++
			if storetest.InShort(m.Role, m.Content) {
				t.Errorf("%s %s is stored in the short form: %s", m.Status, m.Role, m.Content)
			}
			w.answered(m)
		}
	}
	for role, least := range map[parley.Role]int{
		parley.RoleUser: 9, parley.RoleAssistant: 10, parley.RoleToolResult: 4,
	} {
		if seen[role] < least {
			t.Errorf("the story has %d messages of the role %s", seen[role], role)
		}
	}
}

// answered requires both parts and the short form in a message's JSON.
func (w writers) answered(m *parley.Message) {
	w.Helper()
	if m.Role == parley.RoleToolCall {
		return
	}
	raw, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	var answer struct {
		Content struct {
			Parts        *[]parley.Part
			Text, Result json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Content.Parts == nil ||
		answer.Content.Text == nil && answer.Content.Result == nil {
		w.Errorf("%s is answered as %s, %v", m.Role, raw, err)
	}
}

func (w writers) post(chat *conversation.Conversation, input engine.MessageInput) *conversation.Turn {
	w.Helper()
	turn, err := chat.Post(w.Context(), input)
	if err != nil {
		w.Fatal(err)
	}
	return turn
}

// ends waits for a turn's end, which may be a failure or a cancel.
func (w writers) ends(turn *conversation.Turn) {
	w.Helper()
	for _, err := range turn.Frames(w.Context()) {
		if err != nil {
			w.Fatal(err)
		}
	}
}

// clients posts in the short form: as users with files and links, as outside agents, and into the queue.
func (w writers) clients() {
	ctx := w.Context()
	file, _, err := w.Engine.UploadFile(ctx, w.Owner, "a.txt", strings.NewReader("a"))
	if err != nil {
		w.Fatal(err)
	}
	chat := open(w.T, w.Home, with("sim/echo"))
	turn := w.post(chat, engine.MessageInput{Content: fmt.Appendf(nil,
		`{"text":"See","files":[%q],"links":["https://parley.example/a"],"think":true}`, file.ID)})
	w.ends(turn)
	w.ends(w.post(chat, engine.MessageInput{Content: []byte(`{"text":"Plain"}`)}))
	if _, err := chat.Add(ctx, "By the way"); err != nil {
		w.Fatal(err)
	}
	for _, input := range []engine.MessageInput{
		{Role: parley.RoleAssistant, Content: []byte(`{"text":"I look.","reasoning":"Hm."}`)},
		{Role: parley.RoleToolCall, Content: []byte(`{"id":"c","name":"look","arguments":{}}`)},
		{Role: parley.RoleToolResult, ToolCallID: "c", Content: []byte(`{"result":{"seen":[1]}}`)},
	} {
		if _, err := w.Engine.PostMessage(ctx, w.Owner, chat.ID, input, store.Idempotency{}); err != nil {
			w.Fatal(err)
		}
	}
	_, edited, err := chat.Rephrase(ctx, turn.Message.ID, "Otherwise")
	if err != nil {
		w.Fatal(err)
	}
	w.ends(edited)
	_, again, err := chat.Regenerate(ctx, turn.Message.ID)
	if err != nil {
		w.Fatal(err)
	}
	w.ends(again)
}

// turns writes a model's answers, tools' results, and turns that end in between.
func (w writers) turns() {
	ctx := w.Context()
	chat := open(w.T, w.Home, with("sim/script", "current_time", "ask_user"))
	say := func(script string) *conversation.Turn {
		w.Helper()
		turn, err := chat.Say(ctx, script)
		if err != nil {
			w.Fatal(err)
		}
		return turn
	}
	w.ends(say(`[[{"reasoning":"Hm."},{"text":"I look."},{"tool_call":{"name":"current_time","arguments":{}}},` +
		`{"tool_call":{"name":"nothing","arguments":{}}}],[{"refusal":"No."}]]`))
	waiting := say(`[[{"tool_call":{"name":"ask_user","arguments":{"question":"Well?"}}}],[{"text":"Thanks."}]]`)
	for frame, err := range waiting.Frames(ctx) {
		if err != nil {
			w.Fatal(err)
		}
		if frame.Event.Type == parley.EventSessionWaiting {
			break
		}
	}
	queued := say("a")
	if _, err := chat.Edit(ctx, queued.Message.ID, `[[{"text":"Edited."}]]`); err != nil {
		w.Fatal(err)
	}
	if _, err := chat.Cancel(ctx); err != nil { // its call gets a result that says so
		w.Fatal(err)
	}
	w.ends(queued)
	if _, err := chat.Loop(ctx, engine.LoopInput{
		Prompt: `[[{"text":"Again."}]]`, Max: new(1), Until: &engine.LoopUntilInput{TextMatches: "never"},
	}); err != nil {
		w.Fatal(err)
	}
	w.ends(say(`[[{"text":"Behind the loop."}]]`))
}

// outside streams a message as an outside agent.
func (w writers) outside() {
	ctx := w.Context()
	chat := open(w.T, w.Home, engine.SessionInput{})
	for _, content := range []string{"", `{"text":"Half and half"}`} {
		draft, err := chat.Draft(ctx, "mine/one")
		if err == nil {
			err = draft.Write(ctx, "Half")
		}
		if err == nil {
			_, err = draft.Settle(ctx, engine.SettleInput{Status: parley.MessageCompleted, Content: []byte(content)})
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}
