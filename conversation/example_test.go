package conversation_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"
	"strings"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/worker"
)

// check ends the example on an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// models offers the built-in simulator; llm/openai and llm/anthropic are providers of the same kind.
func models() model.Source {
	registry, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
		{
			Name:         sim.ProviderName,
			Model:        sim.New(),
			DefaultModel: sim.DefaultModel,
			Models:       sim.Models(),
			Simulator:    true,
		},
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

// A conversation can be resumed by its id, even after a restart.
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
		text, _ := parley.PlainText(message.Content)
		fmt.Println(message.Sequence, message.Role, text)
	}
	// Output:
	// 1 user Remember me.
	// 2 assistant Remember me.
}

// A tool may be an agent: each call opens a conversation.
func ExampleConversation_Tree() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	_, _, err := home.Engine.CreateAgent(
		ctx,
		home.Owner,
		engine.AgentInput{Name: "Scout", Settings: parley.Settings{Model: "sim/echo"}},
		store.Idempotency{},
	)
	check(err)
	_, _, err = home.Engine.CreateAgent(
		ctx,
		home.Owner,
		engine.AgentInput{Name: "Captain", Settings: parley.Settings{Model: "sim/script", Tools: &[]parley.ToolRef{
			{
				Name:  "ask_scout",
				Agent: &parley.AgentTool{Name: "ask_scout", Description: "Sends the scout to look.", Agent: "scout"},
			},
		}}},
		store.Idempotency{},
	)
	check(err)
	chat, err := home.Open(ctx, engine.SessionInput{AgentID: "captain"})
	check(err)
	turn, err := chat.Say(
		ctx,
		`[[{"tool_call":{"name":"ask_scout","arguments":{"task":"What do you see?"}}}],[{"text":"Steady as she `+
			`goes."}]]`,
	)
	check(err)
	answer, err := turn.All(ctx)
	check(err)
	fmt.Println(answer)

	tree, err := chat.Tree(ctx)
	check(err)
	for _, node := range tree.Data {
		fmt.Println(node.Depth, node.AgentSlug, node.Kind, node.Status, node.Statistics.Messages)
	}
	child, err := home.Resume(ctx, tree.Data[1].ID)
	check(err)
	for message, err := range child.Messages(ctx) {
		check(err)
		text, _ := parley.PlainText(message.Content)
		fmt.Println(message.Role, text)
	}
	// Output:
	// Steady as she goes.
	// 0 captain agent completed 5
	// 1 scout tool completed 2
	// user What do you see?
	// assistant What do you see?
}

// start sets up what the examples share.
func start(ctx context.Context) (home *conversation.Home, end func()) {
	dir, err := os.MkdirTemp("", "parley")
	check(err)
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	home, err = conversation.Start(ctx, conversation.Options{Store: store, Models: models()})
	check(err)
	return home, func() {
		check(home.Close(ctx))
		check(store.Close()) //nolint:contextcheck // closing does not depend on ctx
		check(os.RemoveAll(dir))
	}
}

// capitals is a program's own middleware, which makes the model answer in capitals.
type capitals struct{}

func (capitals) Name() string { return "capitals@1" }

func (capitals) Request(_ context.Context, _ model.Exchange, request *model.Request) (model.AnswerFilter, error) {
	request.System += "Answer in capitals." // for models that obey
	return func(chunks iter.Seq2[model.Chunk, error]) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			for chunk, err := range chunks {
				if chunk.Kind == model.ChunkText {
					chunk.Text = strings.ToUpper(chunk.Text) // and for those that do not
				}
				if !yield(chunk, err) {
					return
				}
			}
		}
	}, nil
}

// Middleware stands between Parley and the models.
func ExampleOptions_middleware() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parley")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	defer func() { check(store.Close()) }()
	home, err := conversation.Start(ctx, conversation.Options{
		Store: store, Models: models(), Worker: worker.Options{Middleware: []model.Middleware{capitals{}}},
	})
	check(err)
	defer func() { check(home.Close(ctx)) }()

	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	for piece, err := range chat.StreamText(ctx, "Good morning!") {
		check(err)
		fmt.Print(piece)
	}
	// Output: GOOD MORNING!
}
