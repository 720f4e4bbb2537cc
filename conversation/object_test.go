package conversation_test

import (
	"errors"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// place is what the model is asked for.
type place struct {
	City  string   `json:"city"`
	Size  int      `json:"size"`
	Names []string `json:"names"`
}

// The object of a type grows, is whole in the end, and stands in the record of both databases; a model whose answers
// never fit ends the range with class schema.
func TestStreamObject(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		streamsObjects(t, store)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		store, err := postgres.Open(t.Context(), databases.New(t), postgres.Options{MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		streamsObjects(t, store)
	})
}

func streamsObjects(t *testing.T, db store.Store) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { must(db.Close()) })
	ctx := t.Context()
	home, err := conversation.Start(ctx, conversation.Options{Store: db, Models: models()})
	must(err)
	t.Cleanup(func() { must(home.Close(t.Context())) })
	for model, refused := range map[parley.ModelID]int{"sim/object": 0, "sim/object-2": 2} {
		chat, err := home.Open(ctx, engine.SessionInput{Settings: parley.Settings{Model: model}})
		must(err)
		var last place
		partial, whole := 0, 0
		for piece, err := range conversation.StreamObject[place](ctx, chat, "Which?") {
			must(err)
			value, err := piece.Value()
			must(err)
			if !strings.HasPrefix("Simulated city", value.City) {
				t.Errorf("%s: a piece is %+v", model, value)
			}
			if last = value; piece.Whole {
				whole++
			} else {
				partial++
			}
		}
		if last.City != "Simulated city" || last.Size != 1 || len(last.Names) != 2 || whole != 1 || partial <= refused {
			t.Errorf("%s: after %d pieces, %d of them whole: %+v", model, partial, whole, last)
		}
		failed := 0
		for message, err := range chat.Messages(ctx) {
			must(err)
			if message.Error != nil && message.Error.Class == parley.ClassSchema {
				failed++
			}
		}
		if failed != refused {
			t.Errorf("%s: %d answers were refused, want %d", model, failed, refused)
		}
	}
	chat, err := home.Open(ctx, engine.SessionInput{Settings: parley.Settings{Model: "sim/object-9"}})
	must(err)
	var end error
	for _, err := range conversation.StreamObject[place](ctx, chat, "Which?") {
		end = err
	}
	var failure *conversation.TurnError
	if !errors.As(end, &failure) || failure.Turn.Error.Class != parley.ClassSchema {
		t.Errorf("the range ends with %v", end)
	}
}
