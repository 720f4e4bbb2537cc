package history_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/sqlite"
	"example.org/parley/stream"
	"example.org/parley/tool/builtin"
)

// TestEventsTellWhatTheRecordHas: what a client sees of a turn is the same whether its events told it or the record
// did, and the events of answers alone tell it without a reading.
func TestEventsTellWhatTheRecordHas(t *testing.T) {
	t.Parallel()
	registry, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{{
		Name: sim.ProviderName, Model: sim.New(), DefaultModel: sim.DefaultModel, Models: sim.Models(), Simulator: true,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	home, err := conversation.Start(
		t.Context(), conversation.Options{Store: db, Models: registry, Tools: builtin.Tools()},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := home.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for _, test := range []struct {
		name, says string
		told, cut  bool
	}{
		{"an answer", `[[{"text":"Hello."}]]`, true, false},
		{
			"an answer with reasoning",
			`[[{"reasoning":"Hm. "},{"text":"Hello."},{"usage":{"input_tokens":9,"output_tokens":8,"cached_tokens":7,` +
				`"cache_write_tokens":6,"reasoning_tokens":5}}]]`,
			true, false,
		},
		{"an answer that is cut", `[[{"text":"Hel"},{"finish":"length"}]]`, true, true},
		{"an answer without usage", `[[{"text":"Hello."},{"usage":{"none":true}}]]`, true, false},
		{"a refusal", `[[{"refusal":"No."}]]`, false, false},
		{"a call", `[[{"tool_call":{"name":"current_time","arguments":{}}}],[{"text":"Noon."}]]`, false, false},
		{"a failure", `[[{"text":"Hel"},{"error":{"class":"model","retryable":false}}]]`, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			input := engine.SessionInput{Settings: parley.Settings{Model: "sim/script"}}
			input.Tools = &[]parley.ToolRef{{Name: "current_time"}}
			chat, err := home.Open(t.Context(), input)
			if err != nil {
				t.Fatal(err)
			}
			turn, err := chat.Say(t.Context(), test.says)
			if err != nil {
				t.Fatal(err)
			}
			var told, earlier history.Progress
			for frame, err := range turn.Frames(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if frame.Kind != stream.EventFrame {
					continue
				}
				if err := told.Happened(&frame.Event); err != nil {
					t.Fatal(err)
				}
				if frame.Event.Data, err = without(frame.Event.Data, "finish", "usage"); err != nil {
					t.Fatal(err)
				}
				if err := earlier.Happened(&frame.Event); err != nil {
					t.Fatal(err)
				}
			}
			asked := history.Turn{Session: chat.ID, ID: turn.ID, Sequence: turn.Message.Sequence}
			book := &history.Book{Engine: home.Engine}
			want, err := book.Seen(t.Context(), home.Owner, asked)
			if err != nil {
				t.Fatal(err)
			}
			if want.Cut != test.cut {
				t.Errorf("the record says that it is cut: %v", want.Cut)
			}
			if test.told {
				book = nil // reading would panic
			}
			got, err := book.SeenBy(t.Context(), home.Owner, asked, &told)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the events tell something else (-record +events):\n%s", diff)
			}
			book = &history.Book{Engine: home.Engine}
			if got, err = book.SeenBy(t.Context(), home.Owner, asked, &earlier); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events of an earlier version tell something else (-record +events):\n%s", diff)
			}
		})
	}
}

// without returns an object without some members.
func without(data json.RawMessage, names ...string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	for _, name := range names {
		delete(members, name)
	}
	return json.Marshal(members)
}
