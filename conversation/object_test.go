package conversation_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
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

// paced is a model whose answers end only when a part of each was seen.
type paced struct {
	model.Model
	seen chan struct{}
}

func (m paced) Stream(ctx context.Context, request model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for chunk, err := range m.Model.Stream(ctx, request) {
			if chunk.Kind == model.ChunkFinish {
				select {
				case <-m.seen:
				case <-ctx.Done():
				}
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// The object of a type grows, is whole in the end, and stands in the record of both databases; a model whose answers
// never fit ends the range with class schema.
func TestStreamObject(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
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
	seen := make(chan struct{}, 1000) // one for each part of an answer
	registry, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{{
		Name: sim.ProviderName, Model: paced{sim.New(), seen}, DefaultModel: sim.DefaultModel, Models: sim.Models(),
		Simulator: true,
	}}})
	must(err)
	home, err := conversation.Start(ctx, conversation.Options{Store: db, Models: registry})
	must(err)
	t.Cleanup(func() { must(home.Close(t.Context())) })
	for name, refused := range map[parley.ModelID]int{"sim/object": 0, "sim/object-2": 2} {
		chat, err := home.Open(ctx, engine.SessionInput{Settings: parley.Settings{Model: name}})
		must(err)
		var last place
		partial, whole := 0, 0
		for piece, err := range conversation.StreamObject[place](ctx, chat, "Which?") {
			must(err)
			value, err := piece.Value()
			must(err)
			if !strings.HasPrefix("Simulated city", value.City) {
				t.Errorf("%s: a piece is %+v", name, value)
			}
			if last = value; piece.Whole {
				whole++
			} else {
				partial++
				seen <- struct{}{}
			}
		}
		if last.City != "Simulated city" || last.Size != 1 || len(last.Names) != 2 || whole != 1 || partial <= refused {
			t.Errorf("%s: after %d pieces, %d of them whole: %+v", name, partial, whole, last)
		}
		failed := 0
		for message, err := range chat.Messages(ctx) {
			must(err)
			if message.Error != nil && message.Error.Class == parley.ClassSchema {
				failed++
			}
		}
		if failed != refused {
			t.Errorf("%s: %d answers were refused, want %d", name, failed, refused)
		}
	}
	chat, err := home.Open(ctx, engine.SessionInput{Settings: parley.Settings{Model: "sim/object-9"}})
	must(err)
	var end error
	for piece, err := range conversation.StreamObject[place](ctx, chat, "Which?") {
		if end = err; err == nil && !piece.Whole {
			seen <- struct{}{}
		}
	}
	var failure *conversation.TurnError
	if !errors.As(end, &failure) || failure.Turn.Error.Class != parley.ClassSchema {
		t.Errorf("the range ends with %v", end)
	}
}
