package conversation_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"parley"
	"parley/conversation"
	"parley/engine"
	"parley/llm"
	"parley/llm/sim"
	"parley/sqlite"
)

// check ends the example on an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// models offers the built-in simulator; llm/openai and llm/anthropic are
// providers in the same way.
func models() parley.ModelSource {
	registry, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
		{Name: sim.ProviderName, Model: sim.New(), DefaultModel: sim.DefaultModel, Models: sim.Models(), Simulator: true},
	}})
	check(err)
	return registry
}

// A store, a worker, a message, and its answer as it streams.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parley")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	defer func() { check(store.Close()) }()
	home, err := conversation.Start(ctx, conversation.Options{Store: store, Models: models()})
	check(err)
	defer func() { check(home.Close(ctx)) }()

	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	for piece, err := range chat.StreamText(ctx, "Good morning!") {
		check(err)
		fmt.Print(piece)
	}
	// Output: Good morning!
}

// A conversation is found again by its id, also after a restart.
func ExampleHome_Resume() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{Title: "Tour"})
	check(err)
	turn, err := chat.Say(ctx, "Remember me.")
	check(err)
	_, err = turn.All(ctx)
	check(err)

	again, err := home.Resume(ctx, chat.ID)
	check(err)
	for message, err := range again.Messages(ctx) {
		check(err)
		fmt.Println(message.Sequence, message.Role, string(message.Content))
	}
	// Output:
	// 1 user {"text":"Remember me."}
	// 2 assistant {"text":"Remember me."}
}

// start is what Example does first.
func start(ctx context.Context) (home *conversation.Home, end func()) {
	dir, err := os.MkdirTemp("", "parley")
	check(err)
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	home, err = conversation.Start(ctx, conversation.Options{Store: store, Models: models()})
	check(err)
	return home, func() {
		check(home.Close(ctx))
		check(store.Close()) //nolint:contextcheck // what closing does is not bound by ctx
		check(os.RemoveAll(dir))
	}
}
