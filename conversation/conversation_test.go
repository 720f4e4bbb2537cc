package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/live"
	"example.org/parley/sqlite"
	"example.org/parley/tool/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(databases.Main(m)) }

func newHome(t *testing.T) *conversation.Home {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	home, err := conversation.Start(
		t.Context(),
		conversation.Options{Store: store, Models: models(), Tools: builtin.Tools()},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := home.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return home
}

func open(t *testing.T, home *conversation.Home, input engine.SessionInput) *conversation.Conversation {
	t.Helper()
	chat, err := home.Open(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	return chat
}

func with(model parley.ModelID, tools ...string) engine.SessionInput {
	input := engine.SessionInput{Settings: parley.Settings{Model: model}}
	if len(tools) > 0 {
		refs := make([]parley.ToolRef, len(tools))
		for i := range tools {
			refs[i].Name = tools[i]
		}
		input.Tools = &refs
	}
	return input
}

// record returns the text of the assistant's messages in the store.
func record(t *testing.T, chat *conversation.Conversation) string {
	t.Helper()
	var text strings.Builder
	for message, err := range chat.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var content parley.AssistantContent
		if message.Role == parley.RoleAssistant && json.Unmarshal(message.Content, &content) == nil {
			text.WriteString(content.Text)
		}
	}
	return text.String()
}

// TestStreamedTextIsTheRecord: for every simulated model the streamed text equals the record.
func TestStreamedTextIsTheRecord(t *testing.T) {
	home := newHome(t)
	for _, test := range []struct {
		model parley.ModelID
		tools []string
	}{
		{"sim/echo", nil}, {"sim/lorem-300-0", nil}, {"sim/reason", nil}, {"sim/tool", []string{"current_time"}},
	} {
		t.Run(string(test.model), func(t *testing.T) {
			chat := open(t, home, with(test.model, test.tools...))
			var streamed strings.Builder
			for piece, err := range chat.StreamText(t.Context(), "Say something.") {
				if err != nil {
					t.Fatal(err)
				}
				streamed.WriteString(piece)
			}
			want := record(t, chat)
			if want == "" {
				t.Fatal("the record has no answer")
			}
			if diff := cmp.Diff(want, streamed.String()); diff != "" {
				t.Errorf("(-record +streamed)\n%s", diff)
			}
		})
	}
}

func TestFailedTurnSaysWhy(t *testing.T) {
	chat := open(t, newHome(t), with("sim/fail-auth-99"))
	turn, err := chat.Say(t.Context(), "Hello")
	if err != nil {
		t.Fatal(err)
	}
	_, err = turn.All(t.Context())
	var failed *conversation.TurnError
	if !errors.As(err, &failed) || failed.Turn.Error == nil || failed.Turn.Error.Class != parley.ClassAuth {
		t.Fatalf("All: %v; want a turn error of class auth", err)
	}
	if failed.Error() != parley.ClassAuth.Sentence() {
		t.Errorf("it says %q", failed)
	}
}

// TestCancelKeepsThePartialText: a cancel keeps the streamed text, and the conversation continues.
func TestCancelKeepsThePartialText(t *testing.T) {
	chat := open(t, newHome(t), with("sim/lorem-100000-1"))
	turn, err := chat.Say(t.Context(), "Talk.")
	if err != nil {
		t.Fatal(err)
	}
	var streamed strings.Builder
	for piece, err := range turn.Text(t.Context()) {
		var cancelled *conversation.TurnError
		if errors.As(err, &cancelled) {
			if cancelled.Turn.Status != parley.TurnCancelled {
				t.Errorf("the turn is %s", cancelled.Turn.Status)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if streamed.Len() == 0 {
			result, err := chat.Cancel(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if result.By != parley.ByHolder || len(result.Settled) == 0 {
				t.Errorf("cancelled by %s, %d messages settled", result.By, len(result.Settled))
			}
		}
		streamed.WriteString(piece)
	}
	if diff := cmp.Diff(record(t, chat), streamed.String()); diff != "" {
		t.Errorf("(-record +streamed)\n%s", diff)
	}
	next, err := chat.Post(
		t.Context(),
		engine.MessageInput{
			Content:  json.RawMessage(`{"text":"Still there?"}`),
			Settings: parley.Settings{Model: "sim/echo"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := next.All(t.Context()); err != nil || text != "Still there?" {
		t.Errorf("the next answer is %q, %v", text, err)
	}
}

// TestFramesReplay: ranging over a finished turn's frames again replays the same events.
func TestFramesReplay(t *testing.T) {
	chat := open(t, newHome(t), with("sim/tool", "current_time"))
	turn, err := chat.Say(t.Context(), "What time is it?")
	if err != nil {
		t.Fatal(err)
	}
	events := func() (types []parley.EventType) {
		for frame, err := range turn.Frames(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if frame.Kind == live.EventFrame {
				types = append(types, frame.Event.Type)
			}
		}
		return types
	}
	first, again := events(), events()
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("(-live +replayed)\n%s", diff)
	}
	if len(first) == 0 || first[0] != parley.EventMessageCreated ||
		first[len(first)-1] != parley.EventSessionCompleted {
		t.Errorf("the events are %v", first)
	}
}

func TestRecordedAloneHasNothingToWatch(t *testing.T) {
	chat := open(t, newHome(t), engine.SessionInput{})
	no := false
	turn, err := chat.Post(
		t.Context(),
		engine.MessageInput{Content: json.RawMessage(`{"text":"Just so you know."}`), Respond: &no},
	)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := turn.All(t.Context()); text != "" || err != nil || !turn.ID.IsZero() {
		t.Errorf("turn %s answers %q, %v", turn.ID, text, err)
	}
	if _, err := chat.Cancel(t.Context()); parley.ErrorCode(err) != parley.CodeNothingToCancel {
		t.Errorf("Cancel: %v", err)
	}
}
